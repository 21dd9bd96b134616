"""Answers for everything outside of a rehearsal by a script: the inputs in order, the mocks by step."""

from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from orchestrator.domain.errors import ServiceFailed
from orchestrator.domain.outcome import Outcome
from orchestrator.domain.own_reads import DocumentAnswer, DocumentPassage
from orchestrator.domain.run_inputs import RunAnswer
from orchestrator.engines.runs import Ask, RunEffect, RunFailed, RunModelRequest
from orchestrator.language.foreign_text import split_foreign_text
from orchestrator.rehearsals.dialogue import EACH, FAILED, REFUSED, Dialogue, Given
from orchestrator.rehearsals.rehearsal import Happening, Place, RehearsalStopped

_NOTHING: Final = object()
Ending = Callable[[Place, str], Awaitable[str | None]]
"""Returns what is given in place of what the script does not have, for (place, what is asked), None for nothing."""


class ScriptEnded(RehearsalStopped):
    """The scenario asks for something that the script does not have, or cannot take what it has; the text says which step, and what."""


AskModel = Callable[[RunModelRequest], Awaitable[str | None]]
"""Returns the answer of a model for which there is no mock, None for nothing."""


async def ask_no_model(_request: RunModelRequest) -> str | None:
    """Return nothing."""
    return None


async def end_script(_place: Place, _asked: str) -> str | None:
    """Return nothing: a test has all that it needs."""
    return None


class Script:
    """The outside of a rehearsal. It keeps what happened."""

    def __init__(
        self, dialogue: Dialogue, *, ask_further: Ending = end_script, model: AskModel = ask_no_model, is_strict: bool = True
    ) -> None:
        """Answer by the inputs and mocks of this dialogue.

        What they lack of answers is asked of `ask_further`, answers of models first of `model`. With `is_strict` a search of documents
        without a mock ends the rehearsal, otherwise it is one without documents.
        """
        self._inputs = deque(dialogue.inputs)
        self._mocks, self._further, self._model, self._is_strict = dialogue.mocks, ask_further, model, is_strict
        self._used: Counter[str] = Counter()
        self.happenings: list[Happening] = []
        self.at = Place("", "")
        """The step that is being done, as the engine's steps tell it."""

    @property
    def left(self) -> int:
        """How many inputs were not asked for."""
        return len(self._inputs)

    def tell(self, happening: Happening) -> None:
        """Keep what happened."""
        self.happenings.append(happening)

    async def answer(self, place: Place, ask: Ask) -> RunAnswer | None:
        """Return the next input as the answer to this question. Raises ScriptEnded."""
        given: str | Given | None = self._inputs.popleft() if self._inputs else await self._further(place, "answer")
        if given is None:
            raise ScriptEnded(f'step {place.step} of {place.definition} asks "{ask.text}", and no input is left')
        return read_answer(given, ask, place)

    async def ask_model(self, place: Place, request: RunModelRequest) -> str:
        """Return the mock of this step, or what stands in its place. Raises RunFailed and ScriptEnded."""
        found = self._take_mock(place)
        if found is _NOTHING:
            given = await self._model(request)
            if given is None:
                given = await self._further(place, str(request.messages[-1].get("content", "")))
            if given is None:
                raise ScriptEnded(f"step {place.step} of {place.definition} asks a model: give its answer as mocks.{place.step}")
            return given
        if (why := _read_problem(found, FAILED)) is not None:
            raise RunFailed("degraded", why)
        return found if isinstance(found, str) else str(found)

    async def perform(self, place: Place, effect: RunEffect, params: Any) -> Outcome:
        """Return the mock of this step as the result of the effect; without one it is only planned."""
        del params
        found = self._take_mock(place)
        told = {"effect_id": f"rehearsal:{place.definition}/{place.node}", "method": effect.method}
        if found is _NOTHING:
            return Outcome(status="planned", **told)
        if (why := _read_problem(found, REFUSED)) is not None:
            return Outcome(status="refused", detail=why, **told)
        return Outcome(status="succeeded", result=found, **told)

    async def ask_agent(self, place: Place, engine: str, args: Mapping[str, Any]) -> str:
        """Return the mock of this step, or what stands in its place. Raises RunFailed and ScriptEnded."""
        found = self._take_mock(place)
        given = await self._further(place, f"{engine}: {args.get('text', '')}") if found is _NOTHING else str(found)
        if (why := _read_problem(found, FAILED)) is not None:
            raise RunFailed("degraded", why)
        if given is None:
            raise ScriptEnded(f"step {place.step} of {place.definition} asks {engine}: give its answer as mocks.{place.step}")
        return given

    async def run_elsewhere(self, place: Place, engine: str, args: Mapping[str, Any]) -> Any:
        """Return the mock of this step as what the run gives. Raises RunFailed and ScriptEnded."""
        del args
        found = self._take_mock(place)
        if (why := _read_problem(found, FAILED)) is not None:
            raise RunFailed("degraded", why)
        if found is _NOTHING:
            raise ScriptEnded(f"step {place.step} of {place.definition} runs a {engine}: give its result as mocks.{place.step}")
        return found

    async def find_documents(self, question: str, *, person: str, role: str, top_k: int | None) -> DocumentAnswer:
        """Return the mock of the present step as what the company's documents say. Raises ServiceFailed and ScriptEnded."""
        del question, person, role, top_k
        found = self._take_mock(self.at)
        if found is _NOTHING and self._is_strict:
            raise ScriptEnded(f"step {self.at.step} of {self.at.definition} asks the documents: give the answer as mocks.{self.at.step}")
        if found is _NOTHING:
            raise ServiceFailed("a rehearsal has no documents")
        if (why := _read_problem(found, FAILED)) is not None:
            raise ServiceFailed(why)
        if not isinstance(found, Mapping):
            return DocumentAnswer(answer=str(found))
        passages = [one if isinstance(one, Mapping) else {"text": str(one)} for one in found.get("passages", ())]
        read = [DocumentPassage(title=str(one.get("title", "")), text=str(one.get("text", ""))) for one in passages]
        return DocumentAnswer(answer=str(found.get("answer", "")), passages=tuple(read))

    def _take_mock(self, place: Place) -> Any:
        """Return what the script gives for this step: under KEY/STEP of a sub-scenario, or under STEP. Raises ScriptEnded."""
        name = next((one for one in (f"{place.definition}/{place.step}", place.step) if one in self._mocks), "")
        if not name:
            return _NOTHING
        found = self._mocks[name]
        if not (isinstance(found, Mapping) and set(found) == {EACH} and isinstance(found[EACH], list)):
            return found
        values, number = found[EACH], self._used[name]
        self._used[name] += 1
        if number >= len(values):
            raise ScriptEnded(f"step {place.step} of {place.definition} is done a further time, and mocks.{name}.{EACH} has no more")
        return values[number]


def read_answer(given: str | Given, ask: Ask, place: Place) -> RunAnswer | None:
    """Return an input as the answer to a question, None for one that does not come in time. Raises ScriptEnded if nobody could give it."""
    labels = [one.label for one in (*ask.options, *ask.controls)]
    one = given if isinstance(given, Given) else None
    if one is not None and one.timeout:
        if ask.timeout is None:
            raise ScriptEnded(f"step {place.step} of {place.definition} waits for ever: its input cannot be a timeout")
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
    raise ScriptEnded(f"step {place.step} of {place.definition} takes {', '.join(wanted)}, not {what}")


def _read_problem(found: Any, key: str) -> str | None:
    """Return why something was refused or failed, None for an ordinary mock."""
    return str(found[key]) if isinstance(found, Mapping) and set(found) == {key} else None
