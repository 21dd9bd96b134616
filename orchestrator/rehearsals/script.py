"""Answers for everything outside of a rehearsal by a script: the inputs in order, the mocks by step."""

import re
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal, Protocol

from bitrix.catalogue.catalogue import Catalogue, load_catalogue
from orchestrator.definitions.calls import LATER
from orchestrator.definitions.rules import FindClasses
from orchestrator.domain.errors import ServiceFailed
from orchestrator.domain.outcome import Outcome
from orchestrator.domain.own_reads import DocumentAnswer, DocumentPassage
from orchestrator.domain.run_inputs import RunAnswer
from orchestrator.engines.runs import Ask, RunEffect, RunFailed, RunModelRequest, RunUpdate
from orchestrator.gate.call.effect_kinds import find_method_classes
from orchestrator.gate.call.policy import SHIPPED, load_policy
from orchestrator.language.run_words import RunWords, read_other_words
from orchestrator.language.text import split_foreign_text
from orchestrator.rehearsals.call_forms import CallForms
from orchestrator.rehearsals.case import EACH, FAILED, REFUSED, Given
from orchestrator.rehearsals.rehearsal import CALLS, NO_ANSWER, Happening, Place, RehearsalStopped, RunLeft, TakeText
from orchestrator.runs.questions import LEAVE_LABEL
from state.canonical import dumps
from state.stored import JsonObject

NO_MOCK: Final = object()
_UNFILLED: Final = re.compile(r"\{[^{}]+\}")
Asked = Literal["model", "effect", "agent", "documents", "memo", "run"]
"""What is asked for in the place of the outside."""
Ending = Callable[[Place, str], Awaitable[str | None]]
"""Returns what is given in place of what the script does not have, for (place, what is asked), None for nothing."""


@cache
def _load_catalogue() -> Catalogue:
    rows = load_policy(None).catalogue
    return load_catalogue(SHIPPED.parent / "catalogue", [row.model_dump() for row in rows])


def find_shipped_classes(kind: str, method: str) -> Collection[str] | None:
    """Return the class letters that a call of this method may have by the shipped policy, None for one that it does not know."""
    return find_method_classes(_load_catalogue(), kind, method)


FindRefusal = Callable[[str, str, JsonObject], Awaitable[str]]
"""Returns why an effect of (kind, method, parameters) would be refused as it is written, "" if it would not be."""


async def find_shipped_refusal(kind: str, method: str, params: JsonObject) -> str:
    """Return why an effect is refused as it is written, by the shipped policy and with no portal, "" if it is not."""
    return await CallForms(_load_catalogue).find_refusal(kind, method, params)


class ScriptEnded(RehearsalStopped):
    """The scenario asks for something that the script does not have, or cannot take what it has; the text says which step, and what."""


class Scripted(Protocol):
    """What a script reads: a test of a scenario, a flow or a workflow."""

    @property
    def inputs(self) -> Sequence[str | Given]:
        """The answers of the person, in order."""

    def choose_mocks(self, place: Place, kind: Asked) -> tuple[str, Mapping[str, Any]]:
        """Return the mocks by step among which that of this place is, with the name of their field in the file."""


class AnswerUnfit(ScriptEnded):
    """An input is none of the answers that the question takes."""


AskModel = Callable[[RunModelRequest, TakeText | None], Awaitable[Any]]
"""Returns the answer of a model for which there is no mock, or the calls of tools that it asks for as {text, calls}; None for nothing.

What takes the pieces of the answer is given with the request, None if nobody wants them.
"""


async def ask_no_model(_request: RunModelRequest, _on_delta: TakeText | None) -> str | None:
    """Return nothing."""
    return None


async def end_script(_place: Place, _asked: str) -> str | None:
    """Return nothing: a test has all that it needs."""
    return None


class Script:
    """The outside of a rehearsal. It keeps what happened."""

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
        """Answer by the inputs and mocks of this test.

        What they lack of answers is asked of `ask_further`, answers of models first of `model`. With `is_strict` a search of documents
        without a mock ends the rehearsal, otherwise it is one without documents. `find_classes` says which effects only read, and
        `find_refusal` which are written so that a run would be refused.
        """
        self._inputs = deque(dialogue.inputs)
        self._dialogue, self._further, self._model, self._is_strict = dialogue, ask_further, model, is_strict
        self._find_classes, self._find_refusal = find_classes, find_refusal
        self._has_planned = False
        """Whether an effect was only planned, so that nobody knows what it would have given."""
        self._used: Counter[str] = Counter()
        self._taken: dict[Place, Any] = {}
        """The mocks of steps whose file was asked for, for the effects that send these files."""
        self.happenings: list[Happening] = []
        self.at = Place("", "")
        """The step that is being done, as the engine's steps tell it."""

    def judge_by(self, forms: CallForms) -> None:
        """Refuse what is written wrong for this installation and its portal."""
        self._find_refusal = forms.find_refusal

    @property
    def left(self) -> int:
        """How many inputs were not asked for."""
        return len(self._inputs)

    def show(self, place: Place, update: RunUpdate) -> None:
        """Drop it: a script watches what comes of a run."""

    def tell(self, happening: Happening) -> None:
        """Keep what happened."""
        self.happenings.append(happening)

    async def answer(self, place: Place, ask: Ask) -> RunAnswer | None:
        """Return the next input as the answer to this question. Raises ScriptEnded."""
        given: str | Given | None = self._inputs.popleft() if self._inputs else await self._further(place, "answer")
        if given is None:
            raise build_end(place, ask)
        return read_answer(given, ask, place)

    async def ask_model(self, place: Place, request: RunModelRequest, on_delta: TakeText | None = None) -> Any:
        """Return the mock of this step, or what stands in its place. Raises RunFailed and ScriptEnded.

        Where tools are offered a mock {text, calls} calls some; any other that is no text is an answer in JSON, null an empty one.
        """
        mock = self.take_mock(place, "model")
        if mock is not NO_MOCK:
            return await self.give_answer(mock, request, on_delta)
        given = await self._model(request, on_delta)
        if given is None:
            given = await self._further(place, str(request.messages[-1].get("content", "")))
        if given is None:
            raise ScriptEnded(f"step {place.step} of {place.definition} asks a model: give its answer as {self._name_mock(place, 'model')}")
        return given

    async def give_answer(self, found: Any, request: RunModelRequest, on_delta: TakeText | None) -> Any:
        """Return what a model answers by its mock; it has come in one piece, which nobody is told of. Raises RunFailed."""
        del on_delta
        if (why := _read_problem(found, FAILED)) is not None:
            raise RunFailed(NO_ANSWER, why)
        is_call = bool(request.tools) and isinstance(found, Mapping) and CALLS in found and set(found) <= {CALLS, "text"}
        return found if is_call else to_written(found)

    async def perform(self, place: Place, effect: RunEffect, params: Any) -> Outcome:
        """Return the mock of this step as the result of the effect; without one it is only planned, unless a run would refuse it."""
        if (refused := await self.refuse_form(place, effect, params)) is not None:
            return refused
        found = self._taken.pop(_find_step(place), NO_MOCK)
        return self.build_outcome(place, effect, self.take_mock(place, "effect") if found is NO_MOCK else found)

    async def refuse_form(self, place: Place, effect: RunEffect, params: JsonObject) -> Outcome | None:
        """Return the refusal of an effect that is written wrong; None for any other."""
        is_own = effect.kind == "bitrix" and find_shipped_classes("bitrix", effect.method) is None
        if is_own and self._find_classes("bitrix", effect.method) is not None:  # a method that the policy of the installation adds
            return None
        why = await self._find_refusal(effect.kind, effect.method, _open_planned(params) if self._has_planned else params)
        if not why:
            return None
        effect_id = f"rehearsal:{place.definition}/{place.node}"
        return Outcome(status="refused", effect_id=effect_id, method=effect.method, detail=why, is_form=True)

    def build_outcome(self, place: Place, effect: RunEffect, found: Any) -> Outcome:
        """Return the outcome of an effect by its mock: a mock that failed is one that the other side has not done."""
        classes = "".join(sorted(self._find_classes(effect.kind, effect.method) or ()))
        told = {"effect_id": f"rehearsal:{place.definition}/{place.node}", "method": effect.method, "call_class": classes}
        if found is NO_MOCK:
            self._has_planned = True
            return Outcome(status="planned", **told)
        for key in (REFUSED, FAILED):
            if (why := _read_problem(found, key)) is not None:
                return Outcome(status="refused", detail=why, **told)
        return Outcome(status="succeeded", result=found, **told)

    async def ask_agent(self, place: Place, engine: str, args: Mapping[str, Any]) -> str:
        """Return the mock of this step, or what stands in its place. Raises RunFailed and ScriptEnded."""
        mock = self.take_mock(place, "agent")
        given = await self._further(place, f"{engine}: {args.get('text', '')}") if mock is NO_MOCK else to_written(mock)
        if (why := _read_problem(mock, FAILED)) is not None:
            raise RunFailed(NO_ANSWER, why)
        if given is None:
            where = self._name_mock(place, "agent")
            raise ScriptEnded(f"step {place.step} of {place.definition} asks {engine}: give its answer as {where}")
        return given

    async def run_elsewhere(self, place: Place, engine: str, args: Mapping[str, Any]) -> Any:
        """Return the mock of this step as what the run gives. Raises RunFailed and ScriptEnded."""
        del args
        found = self.take_required(place, "run", f"runs a {engine}: give its result")
        if (why := _read_problem(found, FAILED)) is not None:
            raise RunFailed(NO_ANSWER, why)
        return found

    async def find_documents(self, question: str, *, person: str, role: str, top_k: int | None) -> DocumentAnswer:
        """Return the mock of the present step as what the company's documents say. Raises ServiceFailed and ScriptEnded."""
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
        """Return what the run notes by itself: it needs nothing of the outside."""
        del place
        return await make()

    async def find_file_problem(self, place: Place) -> str:
        """Return the problem that the mock of this step tells; any other mock is that of the effect which sends the file."""
        mock = self.take_mock(place, "effect")
        if (why := _read_problem(mock, FAILED)) is not None:
            return why or "failed"
        self._taken[_find_step(place)] = mock
        return ""

    def take_required(self, place: Place, kind: Asked, why: str) -> Any:
        """Return the mock of this step, which is needed because of `why`. Raises ScriptEnded."""
        mock = self.take_mock(place, kind)
        if mock is NO_MOCK:
            raise ScriptEnded(f"step {place.step} of {place.definition} {why} as {self._name_mock(place, kind)}")
        return mock

    def _name_mock(self, place: Place, kind: Asked) -> str:
        """Return where in the file the mock of this place would stand."""
        return f"{self._dialogue.choose_mocks(place, kind)[0]}.{place.step}"

    def take_mock(self, place: Place, kind: Asked, names: Sequence[str] = ()) -> Any:
        """Return what the script gives under the first of these names that it has, `NO_MOCK` for nothing. Raises ScriptEnded.

        Without names it is that of the step: under KEY/STEP of a sub-scenario, or under STEP.
        """
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


def _open_planned(tree: Any) -> Any:
    """Return parameters in which is open what a planned effect may have given: nothing, or a placeholder that nothing fills."""
    if isinstance(tree, Mapping):
        return {name: _open_planned(one) for name, one in tree.items()}
    if isinstance(tree, list):
        return [_open_planned(one) for one in tree]
    return LATER if tree is None or (isinstance(tree, str) and (not tree or _UNFILLED.search(tree))) else tree


def _find_step(place: Place) -> Place:
    """Return the place of the step to which a place belongs."""
    return Place(place.definition, place.step)


def build_end(place: Place, ask: Ask) -> ScriptEnded:
    """Return the error of a question for which no input is left."""
    return ScriptEnded(f'step {place.step} of {place.definition} asks "{ask.text}", and no input is left')


def read_answer(given: str | Given, ask: Ask, place: Place) -> RunAnswer | None:
    """Return an input as the answer to a question, None for one that does not come in time.

    Words that leave the run or go back do so, as in a chat; under `text` they are an answer. Raises AnswerUnfit if nobody could give it,
    and RunLeft.
    """
    meant = find_other_words(given, ask)
    if meant == "leave":
        raise RunLeft(f"step {place.step} of {place.definition} is left")
    if meant == "back" and not ask.can_go_back:
        raise AnswerUnfit(f"step {place.step} of {place.definition} has no question before it to go back to")
    if meant == "back":
        return RunAnswer(question_id="", answer_kind="back")
    labels = [option.label for option in (*ask.options, *ask.controls)]
    one = given if isinstance(given, Given) else None
    if one is not None and one.timeout:
        if ask.timeout is None:
            raise AnswerUnfit(f"step {place.step} of {place.definition} waits for ever: its input cannot be a timeout")
        return None
    pressed = one.press if one is not None else given
    if isinstance(pressed, str) and pressed in labels:
        return RunAnswer(question_id="", option=labels.index(pressed))
    for kind in ("contact", "photo", "document"):
        sent = getattr(one, kind, None)
        if sent is not None and kind in ask.takes:
            told = {"phone": sent, "name": sent} if kind == "contact" else {"name": sent, "digest": "", "size": 0, "type": ""}
            return RunAnswer(question_id="", answer_kind=kind, sent=told, is_own_contact=kind == "contact")
    typed = one.text if one is not None else given
    if isinstance(typed, str) and "text" in ask.takes:
        own, pasted = split_foreign_text(typed)
        return RunAnswer(question_id="", text=own, quoted=pasted)
    wanted = [*(f'the button "{label}"' for label in labels), *sorted(ask.takes)]
    what = given if isinstance(given, str) else one.model_dump(exclude_none=True) if one is not None else ""
    raise AnswerUnfit(f"step {place.step} of {place.definition} takes {', '.join(wanted)}, not {what}")


def find_other_words(given: str | Given, ask: Ask) -> RunWords | None:
    """Return what typed words are instead of an answer to the question. A new request is its answer here, for nobody else hears it."""
    if isinstance(given, Given) and given.press == LEAVE_LABEL:
        return "leave"
    own = (*(option.label for option in ask.options), *ask.words)
    meant = read_other_words(given, own) if isinstance(given, str) and not any(given == control.label for control in ask.controls) else None
    return meant if meant != "request" else None


def to_written(found: Any) -> str:
    """Return a mock as the text that a model would have written: JSON for what is no text, nothing for null."""
    return found if isinstance(found, str) else "" if found is None else dumps(found)


def _read_problem(found: Any, key: str) -> str | None:
    """Return why something was refused or failed, None for an ordinary mock."""
    return str(found[key]) if isinstance(found, Mapping) and set(found) == {key} else None
