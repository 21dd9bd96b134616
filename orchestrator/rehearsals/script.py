"""Answers for the outside of a rehearsal: inputs in order, mocks by step."""

import re
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal, Protocol

from bitrix.catalogue.catalogue import Catalogue, load_catalogue
from orchestrator.definitions.calls import LATER
from orchestrator.definitions.rules import FindClasses
from orchestrator.domain.effect import Outcome
from orchestrator.domain.errors import ServiceFailed
from orchestrator.domain.own_reads import DocumentAnswer, DocumentPassage
from orchestrator.domain.run_inputs import RunAnswer
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import Ask, FindParts, RunEffect, RunFailed, RunModelRequest, RunResult, RunUpdate
from orchestrator.gate.call.effect_kinds import find_method_classes
from orchestrator.gate.call.policy import SHIPPED, load_policy
from orchestrator.language.request_words import RunWords, read_other_words
from orchestrator.language.text import split_foreign_text
from orchestrator.rehearsals.call_forms import CallForms
from orchestrator.rehearsals.case import EACH, FAILED, REFUSED, Given
from orchestrator.rehearsals.rehearsal import CALLS, NO_ANSWER, Happening, Place, Rehearsal, RehearsalStopped, RunLeft, TakeText
from orchestrator.runs.questions import LEAVE_LABEL
from state.canonical import dumps, map_leaves
from state.stored import JsonObject

NO_MOCK: Final = object()
_UNFILLED: Final = re.compile(r"\{[^{}]+\}")
Asked = Literal["model", "effect", "agent", "documents", "memo", "run"]
Ending = Callable[[Place, str], Awaitable[str | None]]
"""What the script lacks, for (place, what is asked); None for nothing."""


@cache
def _load_catalogue() -> Catalogue:
    rows = load_policy(None).catalogue
    return load_catalogue(SHIPPED.parent / "catalogue", [row.model_dump() for row in rows])


def find_shipped_classes(kind: str, method: str) -> Collection[str] | None:
    """By the shipped policy; None for an unknown method."""
    return find_method_classes(_load_catalogue(), kind, method)


FindRefusal = Callable[[str, str, JsonObject], Awaitable[str]]
""""" if (kind, method, parameters) is not refused as written."""


async def find_shipped_refusal(kind: str, method: str, params: JsonObject) -> str:
    """By the shipped policy, without a portal; "" if it is not."""
    return await CallForms(_load_catalogue).find_refusal(kind, method, params)


class ScriptEnded(RehearsalStopped):
    """The text says which step lacks what, or cannot take what there is."""


class Scripted(Protocol):
    @property
    def inputs(self) -> Sequence[str | Given]: ...

    def choose_mocks(self, place: Place, kind: Asked) -> tuple[str, Mapping[str, Any]]:
        """Return (field of the file, mocks by step)."""


async def play_script(rehearsal: Rehearsal, engine: str, key: str, args: Mapping[str, Value]) -> tuple[RunResult, str]:
    """How it ended, and why it could not be played to its end; "" if it was."""
    try:
        return await rehearsal.play(engine, key, args), ""
    except ScriptEnded as error:
        return RunResult(status="cancelled"), str(error)


def find_among(parts: Mapping[str, object]) -> FindParts:
    """By what names them."""

    async def find(names: list[str], /) -> Mapping[str, object]:
        return {name: parts[name] for name in names if name in parts}

    return find


class AnswerUnfit(ScriptEnded):
    """The question takes no such answer."""


AskModel = Callable[[RunModelRequest, TakeText | None], Awaitable[Any]]
"""Also {text, calls}; None for nothing."""


async def ask_no_model(_request: RunModelRequest, _on_delta: TakeText | None) -> str | None:
    return None


async def end_script(_place: Place, _asked: str) -> str | None:
    return None


class Script:
    """The outside of a rehearsal; it keeps what happened."""

    def __init__(
        self,
        dialogue: Scripted,
        *,
        ask_further: Ending = end_script,
        model: AskModel = ask_no_model,
        find_classes: FindClasses = find_shipped_classes,
        is_strict: bool = True,
        find_refusal: FindRefusal = find_shipped_refusal,
    ) -> None:
        """What is lacking is asked of `model`, then `ask_further`.

        `is_strict`: a search of documents without a mock ends the rehearsal.
        """
        self._inputs = deque(dialogue.inputs)
        self._dialogue, self._further, self._model, self._is_strict = dialogue, ask_further, model, is_strict
        self._find_classes, self._find_refusal = find_classes, find_refusal
        self._has_planned = False
        """Nobody knows what a planned effect would give."""
        self._used: Counter[str] = Counter()
        self._taken: dict[Place, Any] = {}
        """Of steps whose file was asked for, until the effect sends it."""
        self.happenings: list[Happening] = []
        self.at = Place("", "")

    def judge_by(self, forms: CallForms) -> None:
        self._find_refusal = forms.find_refusal

    @property
    def left(self) -> int:
        return len(self._inputs)

    def show(self, place: Place, update: RunUpdate) -> None: ...

    def tell(self, happening: Happening) -> None:
        self.happenings.append(happening)

    async def answer(self, place: Place, ask: Ask) -> RunAnswer | None:
        """Raises ScriptEnded."""
        answer: str | Given | None = self._inputs.popleft() if self._inputs else await self._further(place, "answer")
        if answer is None:
            raise build_end(place, ask)
        return read_answer(answer, ask, place)

    async def ask_model(self, place: Place, request: RunModelRequest, on_delta: TakeText | None = None) -> Any:
        """{text, calls} calls tools; other data is JSON, null empty. Raises RunFailed and ScriptEnded."""
        mock = self.take_mock(place, "model")
        if mock is not NO_MOCK:
            return await self.give_answer(mock, request, on_delta)
        answer = await self._model(request, on_delta)
        if answer is None:
            answer = await self._further(place, str(request.messages[-1].get("content", "")))
        if answer is None:
            raise ScriptEnded(f"step {place.step} of {place.definition} asks a model: give its answer as {self._name_mock(place, 'model')}")
        return answer

    async def give_answer(self, mock: Any, request: RunModelRequest, on_delta: TakeText | None) -> Any:
        """In one piece. Raises RunFailed."""
        del on_delta
        if (why := _read_problem(mock, FAILED)) is not None:
            raise RunFailed(NO_ANSWER, why)
        is_call = bool(request.tools) and isinstance(mock, Mapping) and CALLS in mock and set(mock) <= {CALLS, "text"}
        return mock if is_call else to_written(mock)

    async def perform(self, place: Place, effect: RunEffect, params: Any) -> Outcome:
        """Without a mock it is only planned, unless a run would refuse it."""
        if (refused := await self.refuse_form(place, effect, params)) is not None:
            return refused
        mock = self._taken.pop(_find_step(place), NO_MOCK)
        return self.build_outcome(place, effect, self.take_mock(place, "effect") if mock is NO_MOCK else mock)

    async def refuse_form(self, place: Place, effect: RunEffect, params: JsonObject) -> Outcome | None:
        """None unless it is written wrong."""
        is_own = effect.kind == "bitrix" and find_shipped_classes("bitrix", effect.method) is None
        if is_own and self._find_classes("bitrix", effect.method) is not None:  # a method that the policy of the installation adds
            return None
        why = await self._find_refusal(effect.kind, effect.method, map_leaves(params, _open_planned) if self._has_planned else params)
        if not why:
            return None
        effect_id = f"rehearsal:{place.definition}/{place.node}"
        return Outcome(status="refused", effect_id=effect_id, method=effect.method, detail=why, is_form=True)

    def build_outcome(self, place: Place, effect: RunEffect, mock: Any) -> Outcome:
        """What failed was not done by the other side."""
        classes = "".join(sorted(self._find_classes(effect.kind, effect.method) or ()))
        common = {"effect_id": f"rehearsal:{place.definition}/{place.node}", "method": effect.method, "call_class": classes}
        if mock is NO_MOCK:
            self._has_planned = True
            return Outcome(status="planned", **common)
        for key in (REFUSED, FAILED):
            if (why := _read_problem(mock, key)) is not None:
                return Outcome(status="refused", detail=why, **common)
        return Outcome(status="succeeded", result=mock, **common)

    async def ask_agent(self, place: Place, engine: str, args: Mapping[str, Any]) -> str:
        """Raises RunFailed and ScriptEnded."""
        mock = self.take_mock(place, "agent")
        answer = await self._further(place, f"{engine}: {args.get('text', '')}") if mock is NO_MOCK else to_written(mock)
        if (why := _read_problem(mock, FAILED)) is not None:
            raise RunFailed(NO_ANSWER, why)
        if answer is None:
            where = self._name_mock(place, "agent")
            raise ScriptEnded(f"step {place.step} of {place.definition} asks {engine}: give its answer as {where}")
        return answer

    async def run_elsewhere(self, place: Place, engine: str, args: Mapping[str, Any]) -> Any:
        """Raises RunFailed and ScriptEnded."""
        del args
        mock = self.take_required(place, "run", f"runs a {engine}: give its result")
        if (why := _read_problem(mock, FAILED)) is not None:
            raise RunFailed(NO_ANSWER, why)
        return mock

    async def find_documents(self, question: str, *, person: str, role: str, top_k: int | None) -> DocumentAnswer:
        """Raises ServiceFailed and ScriptEnded."""
        del question, person, role, top_k
        mock = self.take_mock(self.at, "documents")
        if mock is NO_MOCK and self._is_strict:
            where = self._name_mock(self.at, "documents")
            raise ScriptEnded(f"step {self.at.step} of {self.at.definition} asks the documents: give the answer as {where}")
        if mock is NO_MOCK:
            raise ServiceFailed("a rehearsal has no documents")
        if (why := _read_problem(mock, FAILED)) is not None:
            raise ServiceFailed(why)
        if not isinstance(mock, Mapping):
            return DocumentAnswer(answer=str(mock))
        passages = [one if isinstance(one, Mapping) else {"text": str(one)} for one in mock.get("passages", ())]
        read = [DocumentPassage(title=str(passage.get("title", "")), text=str(passage.get("text", ""))) for passage in passages]
        return DocumentAnswer(answer=str(mock.get("answer", "")), passages=tuple(read))

    async def read_memo(self, place: Place, make: Callable[[], Awaitable[Any]]) -> Any:
        del place
        return await make()

    async def find_file_problem(self, place: Place) -> str:
        """Other mocks are kept for the effect that sends the file."""
        mock = self.take_mock(place, "effect")
        if (why := _read_problem(mock, FAILED)) is not None:
            return why or "failed"
        self._taken[_find_step(place)] = mock
        return ""

    def take_required(self, place: Place, kind: Asked, why: str) -> Any:
        """It is needed because of `why`. Raises ScriptEnded."""
        mock = self.take_mock(place, kind)
        if mock is NO_MOCK:
            raise ScriptEnded(f"step {place.step} of {place.definition} {why} as {self._name_mock(place, kind)}")
        return mock

    def _name_mock(self, place: Place, kind: Asked) -> str:
        return f"{self._dialogue.choose_mocks(place, kind)[0]}.{place.step}"

    def take_mock(self, place: Place, kind: Asked, names: Sequence[str] = ()) -> Any:
        """Under the first of `names`, otherwise KEY/STEP or STEP. Raises ScriptEnded."""
        field, mocks = self._dialogue.choose_mocks(place, kind)
        name = next((one for one in names or (f"{place.definition}/{place.step}", place.step) if one in mocks), "")
        if not name:
            return NO_MOCK
        mock = mocks[name]
        if not (isinstance(mock, Mapping) and set(mock) == {EACH} and isinstance(mock[EACH], list)):
            return mock
        where = f"{field}.{name}"
        values, number = mock[EACH], self._used[where]
        self._used[where] += 1
        if number >= len(values):
            raise ScriptEnded(f"step {place.step} of {place.definition} is done a further time, and {where}.{EACH} has no more")
        return values[number]


def _open_planned(leaf: Any) -> Any:
    """Nothing, or a placeholder, is what a planned effect may have given."""
    return LATER if leaf is None or leaf == "" or (isinstance(leaf, str) and _UNFILLED.search(leaf)) else leaf


def _find_step(place: Place) -> Place:
    return Place(place.definition, place.step)


def build_end(place: Place, ask: Ask) -> ScriptEnded:
    return ScriptEnded(f'step {place.step} of {place.definition} asks "{ask.text}", and no input is left')


def read_answer(answer: str | Given, ask: Ask, place: Place) -> RunAnswer | None:
    """None: not in time. Words may leave or go back, as in a chat. Raises AnswerUnfit and RunLeft."""
    meant = find_other_words(answer, ask)
    if meant == "leave":
        raise RunLeft(f"step {place.step} of {place.definition} is left")
    if meant == "back" and not ask.can_go_back:
        raise AnswerUnfit(f"step {place.step} of {place.definition} has no question before it to go back to")
    if meant == "back":
        return RunAnswer(question_id="", answer_kind="back")
    labels = [option.label for option in (*ask.options, *ask.controls)]
    special = answer if isinstance(answer, Given) else None
    if special is not None and special.timeout:
        if ask.timeout is None:
            raise AnswerUnfit(f"step {place.step} of {place.definition} waits for ever: its input cannot be a timeout")
        return None
    pressed = special.press if special is not None else answer
    if isinstance(pressed, str) and pressed in labels:
        return RunAnswer(question_id="", option=labels.index(pressed))
    for kind in ("contact", "photo", "document"):
        sent = getattr(special, kind, None)
        if sent is not None and kind in ask.takes:
            sent_data = {"phone": sent, "name": sent} if kind == "contact" else {"name": sent, "digest": "", "size": 0, "type": ""}
            return RunAnswer(question_id="", answer_kind=kind, sent=sent_data, is_own_contact=kind == "contact")
    typed = special.text if special is not None else answer
    if isinstance(typed, str) and "text" in ask.takes:
        own, pasted = split_foreign_text(typed)
        return RunAnswer(question_id="", text=own, quoted=pasted)
    fitting = [*(f'the button "{label}"' for label in labels), *sorted(ask.takes)]
    what = answer if isinstance(answer, str) else special.model_dump(exclude_none=True) if special is not None else ""
    raise AnswerUnfit(f"step {place.step} of {place.definition} takes {', '.join(fitting)}, not {what}")


def find_other_words(answer: str | Given, ask: Ask) -> RunWords | None:
    """A new request is an answer here, for nobody else hears it."""
    if isinstance(answer, Given) and answer.press == LEAVE_LABEL:
        return "leave"
    own = (*(option.label for option in ask.options), *ask.words)
    meant = (
        read_other_words(answer, own) if isinstance(answer, str) and not any(answer == control.label for control in ask.controls) else None
    )
    return meant if meant != "request" else None


def to_written(mock: Any) -> str:
    """JSON for what is no text, "" for null."""
    return mock if isinstance(mock, str) else "" if mock is None else dumps(mock)


def _read_problem(mock: Any, key: str) -> str | None:
    return str(mock[key]) if isinstance(mock, Mapping) and set(mock) == {key} else None
