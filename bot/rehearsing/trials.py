"""Tries a definition step by step: what it lacks is asked of the author.

It is played from its beginning each time in a thread of bounded time; nothing is sent or stored.
"""

import asyncio
import hashlib
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Literal, Protocol

from bot.i18n.translate import Translator
from orchestrator.definitions.references import StoredVersions, is_version_id
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Outcome
from orchestrator.domain.run_inputs import RunAnswer
from orchestrator.engines.runs import Ask, RunEffect, RunModelRequest, RunResult
from orchestrator.rehearsals.case import Case, Given
from orchestrator.rehearsals.recorded_nodes import build_mocks
from orchestrator.rehearsals.rehearsal import Happening, Place, RehearsalStopped, TakeText
from orchestrator.rehearsals.script import AnswerUnfit, FindRefusal, Script, ScriptEnded
from state.journal.async_store import AsyncStore
from state.stored import JsonObject

MOST_SECONDS: Final = 15.0
MOST_HAPPENINGS: Final = 500
_READS: Final = frozenset("R")
WantedKind = Literal["answer", "model", "agent", "read", "run"]
Status = Literal["done", "failed", "cancelled", "waiting", "unfinished", "stopped"]
"""unfinished: only a file of tests can give what it needs."""


Describe = Callable[[Translator], str]


class TrialStopped(RehearsalStopped):
    """By the author, or it took too long."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a trial needs to go on."""

    kind: WantedKind
    step: str
    name: str
    """As `TrialInputs` gives it; "" for an answer."""
    text: str = ""
    options: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    """Codes of the program's own buttons."""
    takes_text: bool = False
    is_unfit: bool = False
    """The last answer did not fit, so it is asked once more."""
    key: str = ""
    """Of what is asked of a model or the portal, by all of its words; "" for what else is asked."""
    request: RunModelRequest | None = None
    params: JsonObject = field(default_factory=dict)
    """Of the method `text` that reads the portal."""


@dataclass(frozen=True, kw_only=True)
class TrialInputs:
    case: JsonObject = field(default_factory=dict)
    """In the form of `NAME.test.yaml`; `expect` is not looked at."""
    answers: tuple[str | Given, ...] = ()
    spoken: Mapping[str, str] = field(default_factory=dict)
    """By `Wanted.name`."""
    reads: Mapping[str, Any] = field(default_factory=dict)
    """By `Wanted.name`."""
    kept: Mapping[str, Any] = field(default_factory=dict)
    """By `Wanted.key`: the same question is not asked twice, and another one is never answered with it."""
    begun: datetime | None = None
    """So that a prompt with the time in it stays the same when the trial is played again."""

    def add(self, need: Wanted, answer: Any) -> "TrialInputs":
        if need.kind == "answer":
            return replace(self, answers=(*self.answers, answer))
        if need.kind == "read":
            return self.keep(need, answer)
        if need.kind == "run":
            return replace(self, reads={**self.reads, need.name: answer})
        return replace(self, spoken={**self.spoken, need.name: str(answer)})

    def keep(self, need: Wanted, answer: Any) -> "TrialInputs":
        return replace(self, kept={**self.kept, need.key: answer})

    def begin_again(self, case: JsonObject, now: datetime) -> "TrialInputs":
        """With what the model and the portal gave, for as long as they are asked the same."""
        return TrialInputs(case=case, kept=self.kept, begun=self.begun if self.kept else now)

    def drop_answer(self) -> "TrialInputs":
        return replace(self, answers=self.answers[:-1])


@dataclass(frozen=True, kw_only=True)
class Tried:
    status: Status
    happenings: Sequence[Happening] = ()
    wanted: Wanted | None = None
    code: str = ""
    problem: str = ""
    """In English; "" if `wanted` says it, or if it ended."""
    result: JsonObject = field(default_factory=dict)
    """Variables of a scenario, or the result of a flow or workflow."""
    proposed: tuple[Describe, ...] = ()
    used: Mapping[str, Mapping[str, Sequence[Any]]] = field(default_factory=dict)
    """What a model and the portal really gave, as `Asking.used`."""
    case: Case | None = None
    """What was played, without what was really given."""


class Watch:
    def __init__(self, seconds: float = MOST_SECONDS) -> None:
        self.find_refusal: FindRefusal | None = None
        """None for what every installation refuses."""
        self.kept: Mapping[str, Any] = {}
        self._stopped, self._until = threading.Event(), time.monotonic() + seconds
        self.seconds = seconds
        self.happenings: list[Happening] = []

    def stop(self) -> None:
        """May be called from every thread."""
        self._stopped.set()

    def take(self, happening: Happening) -> None:
        """Raises TrialStopped."""
        self.happenings.append(happening)
        self.check()

    def check(self) -> None:
        if self._stopped.is_set():
            raise TrialStopped("the author has stopped it")
        if time.monotonic() > self._until:
            raise TrialStopped(f"it took more than {self.seconds:g} seconds")
        if len(self.happenings) > MOST_HAPPENINGS:
            raise TrialStopped(f"more than {MOST_HAPPENINGS} things happened")


class Asking(Script):
    """It notes what it lacks, and looks at the watch at each step."""

    watch: Watch
    key: str
    wanted: Wanted | None = None
    used: dict[str, dict[str, list[Any]]]
    """What was kept and is now played, in order: by the field of a test, and by what it is named there."""

    def start(self, key: str, watch: Watch) -> None:
        self.key, self.watch, self.used = key, watch, {}
        if watch.find_refusal is not None:
            self._find_refusal = watch.find_refusal

    @property
    def case(self) -> Case | None:
        return self._dialogue if isinstance(self._dialogue, Case) else None

    def tell(self, happening: Happening) -> None:
        super().tell(happening)
        self.watch.take(happening)

    async def answer(self, place: Place, ask: Ask) -> RunAnswer | None:
        """Raises ScriptEnded if there is none that the question takes."""
        need = Wanted(
            kind="answer",
            step=place.step,
            name="",
            text=ask.text,
            options=tuple(option.label for option in ask.options),
            controls=tuple(control.label for control in ask.controls),
            takes_text="text" in ask.takes,
        )
        if not self.left:
            self._want(need)
        try:
            return await super().answer(place, ask)
        except AnswerUnfit:
            self._want(replace(need, is_unfit=True))
            raise

    async def ask_model(self, place: Place, request: RunModelRequest, on_delta: TakeText | None = None) -> Any:
        """Raises ScriptEnded or RunFailed if nothing is given."""
        self.watch.check()
        if not self._has_mock(place, "model"):
            key = _find_key(request.messages, request.options, request.tools, request.service)
            if key in self.watch.kept:
                return await self.give_answer(self._use(place, "model", self._name(place), self.watch.kept[key]), request, on_delta)
            text = "\n\n".join(str(message.get("content") or "") for message in request.messages).strip()
            self._want(Wanted(kind="model", step=place.step, name=self._name(place), text=text, key=key, request=request))
        return await super().ask_model(place, request, on_delta)

    async def ask_agent(self, place: Place, engine: str, args: Mapping[str, Any]) -> str:
        """Raises ScriptEnded."""
        self.watch.check()
        if not self._has_mock(place, "agent"):
            self._want(Wanted(kind="agent", step=place.step, name=self._name(place), text=str(args.get("text", ""))))
        return await super().ask_agent(place, engine, args)

    async def run_elsewhere(self, place: Place, engine: str, args: Mapping[str, Any]) -> Any:
        """Raises RunFailed and ScriptEnded."""
        self.watch.check()
        if not self._has_mock(place, "run"):
            self._want(Wanted(kind="run", step=place.step, name=self._name(place), text=engine))
        return await super().run_elsewhere(place, engine, args)

    async def perform(self, place: Place, effect: RunEffect, params: Any) -> Outcome:
        """Everything but reads is only planned. Raises ScriptEnded."""
        self.watch.check()
        if (refused := await self.refuse_form(place, effect, params)) is not None:
            return refused
        classes = frozenset(self._find_classes(effect.kind, effect.method) or ())
        if (effect.must_read or classes == _READS) and not self._has_read(place, name := self._name_read(place, effect)):
            key = _find_key(effect.kind, effect.method, params)
            if key in self.watch.kept:
                return self.build_outcome(place, effect, self._use(place, "effect", name, self.watch.kept[key]))
            self._want(Wanted(kind="read", step=place.step, name=name, text=effect.method, key=key, params=params))
            return await self._miss_read(place, effect, params)
        return await super().perform(place, effect, params)

    async def _miss_read(self, place: Place, effect: RunEffect, params: Any) -> Outcome:
        """Raises ScriptEnded, or what takes it along."""
        del params
        raise ScriptEnded(f"step {place.step} of {place.definition} reads with {effect.method}")

    def _use(self, place: Place, kind: Literal["model", "effect"], name: str, answer: Any) -> Any:
        self.used.setdefault(self._dialogue.choose_mocks(place, kind)[0], {}).setdefault(name, []).append(answer)
        return answer

    def _want(self, need: Wanted) -> None:
        """Only the first: parts of a workflow ask side by side."""
        self.wanted = self.wanted or need

    def _name(self, place: Place) -> str:
        return place.step if place.definition == self.key else f"{place.definition}/{place.step}"

    def _has_mock(self, place: Place, kind: Literal["model", "agent", "effect", "run"]) -> bool:
        mocks = self._dialogue.choose_mocks(place, kind)[1]
        return f"{place.definition}/{place.step}" in mocks or place.step in mocks

    def _name_read(self, place: Place, effect: RunEffect) -> str:
        """As a test names it."""
        del effect
        return self._name(place)

    def _has_read(self, place: Place, name: str) -> bool:
        del name
        return self._has_mock(place, "effect")


class Playable(Protocol):
    """A definition without mistakes, with all that it needs."""

    @property
    def case_model(self) -> type[Case]: ...

    async def play(self, inputs: TrialInputs, person: Actor, watch: Watch) -> Tried:
        """Raises TrialStopped and pydantic's ValidationError."""


async def try_definition(
    playable: Playable, inputs: TrialInputs, person: Actor, watch: Watch, find_refusal: FindRefusal | None = None
) -> Tried:
    """Play it in a thread, until the watch ends it. Raises pydantic's ValidationError for a wrong case.

    `find_refusal` is called in the caller's loop.
    """
    loop = asyncio.get_running_loop()

    async def ask(kind: str, method: str, params: JsonObject) -> str:
        assert find_refusal is not None  # noqa: S101 - it is set below only then
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_await(find_refusal(kind, method, params)), loop))

    watch.find_refusal, watch.kept = ask if find_refusal is not None else None, inputs.kept
    return await asyncio.to_thread(lambda: asyncio.run(_try(playable, inputs, person, watch)))


def _find_key(*asked: object) -> str:
    return hashlib.sha256(repr(asked).encode()).hexdigest()


async def _await(refusal: Awaitable[str]) -> str:
    return await refusal


async def _try(playable: Playable, inputs: TrialInputs, person: Actor, watch: Watch) -> Tried:
    try:
        async with asyncio.timeout(watch.seconds):
            return await playable.play(inputs, person, watch)
    except TrialStopped as error:
        why = str(error)
    except TimeoutError:
        why = f"it took more than {watch.seconds:g} seconds"
    return Tried(status="stopped", happenings=tuple(watch.happenings), problem=why)


def build_case(inputs: TrialInputs, person: Actor, spoken: str, reads: str) -> JsonObject:
    """`spoken` and `reads` are names of fields."""
    case = {name: one for name, one in inputs.case.items() if name != "expect"}
    person_fields = {"name": person.name, "key": person.key, "employee": person.bitrix_user_id, "time_zone": person.time_zone}
    case.setdefault("person", person_fields)
    case["inputs"] = [*case.get("inputs", ()), *inputs.answers]
    case[spoken] = {**case.get(spoken, {}), **inputs.spoken}
    case[reads] = {**case.get(reads, {}), **inputs.reads}
    return {**case, "name": case.get("name") or "trial"}


def build_tried(script: Asking, ended: RunResult, problem: str, *, result: JsonObject, proposed: tuple[Describe, ...] = ()) -> Tried:
    happened, used = tuple(script.happenings), script.used
    if problem:
        status: Status = "waiting" if script.wanted is not None else "unfinished"
        why = "" if script.wanted is not None else problem
        return Tried(status=status, happenings=happened, wanted=script.wanted, problem=why)
    case = script.case
    return Tried(status=ended.status, happenings=happened, code=ended.code, result=result, proposed=proposed, used=used, case=case)


def build_test(tried: Tried, name: str, begun: datetime | None) -> Case:
    """Of a trial that came to its end: a test that asks nobody, but for what is expected."""
    assert tried.case is not None  # noqa: S101 - what came to its end was played with one
    given = tried.case.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    for part, answers in tried.used.items():
        given[part] = {**{one: build_mocks(list(many)) for one, many in answers.items()}, **given.get(part, {})}
    day = {"day": begun.date().isoformat()} if begun is not None and not tried.case.day else {}
    return type(tried.case).model_validate({**given, **day, "name": name})


async def load_named(ids: Iterable[str], store: AsyncStore) -> Mapping[str, object]:
    versions, documents = StoredVersions(store), dict[str, object]()
    for version_id in dict.fromkeys(ids):
        version = await versions.find_by_id(version_id.lower()) if is_version_id(version_id) else None
        if version is not None:
            documents[version_id] = version.document
    return documents
