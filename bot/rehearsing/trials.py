"""Tries a scenario, flow or workflow step by step: whatever it asks for that nobody has given yet is asked of the author.

A trial is played from its beginning each time something more was given, as every rehearsal is; it sends nothing and stores nothing. It
runs in a thread of its own, for a bounded time, and can be stopped.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, Protocol

from bot.i18n.translate import Translator
from orchestrator.definitions.references import StoredVersions, is_version_id
from orchestrator.domain.actor import Actor
from orchestrator.domain.outcome import Outcome
from orchestrator.domain.run_inputs import RunAnswer
from orchestrator.engines.runs import Ask, RunEffect, RunModelRequest, RunResult
from orchestrator.rehearsals.case import Case, Given
from orchestrator.rehearsals.rehearsal import Happening, Place, RehearsalStopped, TakeText
from orchestrator.rehearsals.script import AnswerUnfit, FindRefusal, Script, ScriptEnded
from state.journal.async_store import AsyncStore
from state.stored import JsonObject

MOST_SECONDS: Final = 15.0
"""How long one trial may take; nothing in it waits for anybody."""
MOST_HAPPENINGS: Final = 500
_READS: Final = frozenset("R")
WantedKind = Literal["answer", "model", "agent", "read", "run"]
Status = Literal["done", "failed", "cancelled", "waiting", "unfinished", "stopped"]
"""How a trial ended; waiting: for what it wants; unfinished: it needs something that only a file of tests can give."""


Describe = Callable[[Translator], str]


class TrialStopped(RehearsalStopped):
    """The author has stopped the trial, or it has taken too long."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a trial needs to go on."""

    kind: WantedKind
    step: str
    name: str
    """Under which name `TrialInputs` gives it; "" for an answer."""
    text: str = ""
    """What is asked: of a model all its messages, of a read its method, of a run what is started."""
    options: tuple[str, ...] = ()
    """The buttons of a question, in the words of the author."""
    controls: tuple[str, ...] = ()
    """The codes of the program's own buttons."""
    takes_text: bool = False
    is_unfit: bool = False
    """Whether the last answer was none that the question takes, so that it is asked once more."""


@dataclass(frozen=True, kw_only=True)
class TrialInputs:
    """What the author has given so far."""

    case: JsonObject = field(default_factory=dict)
    """A test in the form of `NAME.test.yaml`, of which what is expected is not looked at."""
    answers: tuple[str | Given, ...] = ()
    spoken: Mapping[str, str] = field(default_factory=dict)
    """What models and agents say, by the names of `Wanted`."""
    reads: Mapping[str, Any] = field(default_factory=dict)
    """What reads and other runs give, by the names of `Wanted`."""

    def add(self, wanted: Wanted, given: Any) -> "TrialInputs":
        """Return the inputs with what was wanted."""
        if wanted.kind == "answer":
            return replace(self, answers=(*self.answers, given))
        if wanted.kind in {"read", "run"}:
            return replace(self, reads={**self.reads, wanted.name: given})
        return replace(self, spoken={**self.spoken, wanted.name: str(given)})

    def drop_answer(self) -> "TrialInputs":
        """Return the inputs without the last answer."""
        return replace(self, answers=self.answers[:-1])


@dataclass(frozen=True, kw_only=True)
class Tried:
    """What came of a trial so far."""

    status: Status
    happenings: Sequence[Happening] = ()
    wanted: Wanted | None = None
    code: str = ""
    """The code of the failure of a run that failed."""
    problem: str = ""
    """Why it could not go on, in English; "" if that is said by `wanted`, or if it ended."""
    result: JsonObject = field(default_factory=dict)
    """The variables of a scenario at its end, or the result of a flow or workflow."""
    proposed: tuple[Describe, ...] = ()
    """What it proposes, each as what says it."""


class Watch:
    """Tells a trial that it must end: the author has stopped it, or its time is over."""

    def __init__(self, seconds: float = MOST_SECONDS) -> None:
        """Let it take so many seconds from now on."""
        self.find_refusal: FindRefusal | None = None
        """What knows the calls that a run of this installation would be refused; None for what every installation refuses."""
        self._stopped, self._until = threading.Event(), time.monotonic() + seconds
        self.seconds = seconds
        self.happenings: list[Happening] = []
        """What has happened so far."""

    def stop(self) -> None:
        """End the trial at its next step; may be called from every thread."""
        self._stopped.set()

    def take(self, happening: Happening) -> None:
        """Take in what happened. Raises TrialStopped."""
        self.happenings.append(happening)
        self.check()

    def check(self) -> None:
        """Raise TrialStopped if the trial must end, also because too much has happened."""
        if self._stopped.is_set():
            raise TrialStopped("the author has stopped it")
        if time.monotonic() > self._until:
            raise TrialStopped(f"it took more than {self.seconds:g} seconds")
        if len(self.happenings) > MOST_HAPPENINGS:
            raise TrialStopped(f"more than {MOST_HAPPENINGS} things happened")


class Asking(Script):
    """A script that notes what it lacks, and looks at the watch at each step."""

    watch: Watch
    key: str
    wanted: Wanted | None = None

    def start(self, key: str, watch: Watch) -> None:
        """Play the definition `key`, as long as the watch allows."""
        self.key, self.watch = key, watch
        if watch.find_refusal is not None:
            self._find_refusal = watch.find_refusal

    def tell(self, happening: Happening) -> None:
        """Keep what happened. Raises TrialStopped."""
        super().tell(happening)
        self.watch.take(happening)

    async def answer(self, place: Place, ask: Ask) -> RunAnswer | None:
        """Return the next answer. Raises ScriptEnded if there is none, or none that the question takes."""
        wanted = Wanted(
            kind="answer",
            step=place.step,
            name="",
            text=ask.text,
            options=tuple(option.label for option in ask.options),
            controls=tuple(control.label for control in ask.controls),
            takes_text="text" in ask.takes,
        )
        if not self.left:
            self._want(wanted)
        try:
            return await super().answer(place, ask)
        except AnswerUnfit:
            self._want(replace(wanted, is_unfit=True))
            raise

    async def ask_model(self, place: Place, request: RunModelRequest, on_delta: TakeText | None = None) -> Any:
        """Return what the model says by the inputs. Raises ScriptEnded or RunFailed if nothing is given."""
        self.watch.check()
        if not self._has_mock(place, "model"):
            text = "\n\n".join(str(message.get("content") or "") for message in request.messages).strip()
            self._want(Wanted(kind="model", step=place.step, name=self._name(place), text=text))
        return await super().ask_model(place, request, on_delta)

    async def ask_agent(self, place: Place, engine: str, args: Mapping[str, Any]) -> str:
        """Return what the agent says by the inputs. Raises ScriptEnded."""
        self.watch.check()
        if not self._has_mock(place, "agent"):
            self._want(Wanted(kind="agent", step=place.step, name=self._name(place), text=str(args.get("text", ""))))
        return await super().ask_agent(place, engine, args)

    async def run_elsewhere(self, place: Place, engine: str, args: Mapping[str, Any]) -> Any:
        """Return what a flow or workflow gives that a scenario starts, by the inputs. Raises RunFailed and ScriptEnded."""
        self.watch.check()
        if not self._has_mock(place, "run"):
            self._want(Wanted(kind="run", step=place.step, name=self._name(place), text=engine))
        return await super().run_elsewhere(place, engine, args)

    async def perform(self, place: Place, effect: RunEffect, params: Any) -> Outcome:
        """Return what a read gives by the inputs; everything else is only planned. Raises ScriptEnded."""
        self.watch.check()
        if (refused := await self.refuse_form(place, effect, params)) is not None:
            return refused
        classes = frozenset(self._find_classes(effect.kind, effect.method) or ())
        if (effect.must_read or classes == _READS) and (name := self._name_read(place, effect)) and not self._has_read(place, name):
            self._want(Wanted(kind="read", step=place.step, name=name, text=effect.method))
            if not effect.must_read:
                raise ScriptEnded(f"step {place.step} of {place.definition} reads with {effect.method}")
        return await super().perform(place, effect, params)

    def _want(self, wanted: Wanted) -> None:
        """Note what is lacking first: parts of a workflow ask side by side."""
        self.wanted = self.wanted or wanted

    def _name(self, place: Place) -> str:
        return place.step if place.definition == self.key else f"{place.definition}/{place.step}"

    def _has_mock(self, place: Place, kind: Literal["model", "agent", "effect", "run"]) -> bool:
        mocks = self._dialogue.choose_mocks(place, kind)[1]
        return f"{place.definition}/{place.step}" in mocks or place.step in mocks

    def _name_read(self, place: Place, effect: RunEffect) -> str:
        """Return under which name the result of a read is given; "" if it is only planned."""
        del effect
        return self._name(place)

    def _has_read(self, place: Place, name: str) -> bool:
        del name
        return self._has_mock(place, "effect")


class Playable(Protocol):
    """A definition without mistakes, with all that it needs of others."""

    @property
    def case_model(self) -> type[Case]:
        """The form of its tests."""

    async def play(self, inputs: TrialInputs, person: Actor, watch: Watch) -> Tried:
        """Return what comes of it with these inputs. Raises TrialStopped, and pydantic's ValidationError for a case that is none."""


async def try_definition(
    playable: Playable, inputs: TrialInputs, person: Actor, watch: Watch, find_refusal: FindRefusal | None = None
) -> Tried:
    """Return what comes of a definition with these inputs; it is played in a thread, which ends when the watch says so.

    `find_refusal` is asked in the loop of the caller, to which the client of a portal belongs. Raises
    pydantic's ValidationError for a case that is none.
    """
    loop = asyncio.get_running_loop()

    async def ask(kind: str, method: str, params: JsonObject) -> str:
        assert find_refusal is not None  # noqa: S101 - it is set below only then
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_await(find_refusal(kind, method, params)), loop))

    watch.find_refusal = ask if find_refusal is not None else None
    return await asyncio.to_thread(lambda: asyncio.run(_try(playable, inputs, person, watch)))


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
    """Return the test that the inputs are; `spoken` and `reads` are its fields for what models say and what reads give."""
    case = {name: one for name, one in inputs.case.items() if name != "expect"}
    told = {"name": person.name, "key": person.key, "employee": person.bitrix_user_id, "time_zone": person.time_zone}
    case.setdefault("person", told)
    case["inputs"] = [*case.get("inputs", ()), *inputs.answers]
    case[spoken] = {**case.get(spoken, {}), **inputs.spoken}
    case[reads] = {**case.get(reads, {}), **inputs.reads}
    return {**case, "name": case.get("name") or "trial"}


def build_tried(script: Asking, ended: RunResult, problem: str, *, result: JsonObject, proposed: tuple[Describe, ...] = ()) -> Tried:
    """Return what came of a trial: how it ended, or what it lacks."""
    happened = tuple(script.happenings)
    if problem:
        status: Status = "waiting" if script.wanted is not None else "unfinished"
        return Tried(status=status, happenings=happened, wanted=script.wanted, problem="" if script.wanted is not None else problem)
    return Tried(status=ended.status, happenings=happened, code=ended.code, result=result, proposed=proposed)


async def load_named(ids: Iterable[str], store: AsyncStore) -> Mapping[str, object]:
    """Return the documents of versions by their ids."""
    versions, documents = StoredVersions(store), dict[str, object]()
    for version_id in dict.fromkeys(ids):
        version = await versions.find_by_id(version_id.lower()) if is_version_id(version_id) else None
        if version is not None:
            documents[version_id] = version.document
    return documents
