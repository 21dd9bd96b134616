"""Tells which marks of blocks in what a script gives are its own: others came in with a record, a person's words or a model's answer.

A script reads what came from outside as it came. If any of that holds a mark, or a part of one, the script is played once more, with the
same answers of its functions, on the same values with their marks escaped: what is a mark then, the script has written itself. Nothing that
the second play does reaches anybody.
"""

from collections import defaultdict, deque
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from typing import Final, Protocol

from engines.workflows.core.results import DisplayUpdatePayload
from engines.workflows.core.script_functions import ShowNow
from orchestrator.domain.taint import Value, split_values
from orchestrator.engines.shared.block_marks import Data, break_marks, copy_signs, escape_marks, list_marks, restore_data, restore_marks
from orchestrator.expressions.scripts.failures import ScriptCallFailed, ScriptFailed
from orchestrator.expressions.scripts.runner import ScriptFunction, ScriptResult
from state.canonical import dumps

MISSING: Final = object()
"""What the second play has not given."""


class Play(Protocol):
    """Plays the script."""

    def __call__(self, *, inputs: Mapping[str, Data], functions: Mapping[str, ScriptFunction]) -> Awaitable[ScriptResult]:
        """Return what it gives. Raises ScriptFailed."""


class MarkedPlay:
    """One play of a script, and the second one where it is needed."""

    def __init__(self, inputs: Mapping[str, Value], show: ShowNow, foreign_marks: Sequence[str]) -> None:
        """Play with these inputs, whose marks from outside are escaped; `foreign_marks` are none of the script's, wherever they stand."""
        self._inputs, self._show, self._foreign_marks = inputs, show, foreign_marks
        plain = split_values(dict(inputs))[0]
        self._is_doubtful = bool(restore_data(plain) != plain)
        """Whether anything that the script has read holds a mark from outside."""
        self._answers: dict[str, deque[Data]] = defaultdict(deque)
        """What its functions gave, with marks escaped."""
        self._held: list[DisplayUpdatePayload] = []
        """What it wants to show, until it is known which marks in it are its own."""
        self._shown_again: list[str] = []

    async def run(self, play: Play, functions: Mapping[str, ScriptFunction]) -> Value:
        """Return what the script gives, with its own marks alone. Raises what `play` raises for the first play."""
        value = (await play(inputs=restore_data(self._inputs), functions=self._wrap(functions))).value
        data = value.data
        if self._is_doubtful:
            again: Data = MISSING
            with suppress(ScriptFailed):
                # functions of the same names that give the kept answers once more, and do nothing
                again = (await play(inputs=self._inputs, functions={name: self._answer(name) for name in functions})).value.data
            shown = self._shown_again if len(self._shown_again) == len(self._held) else [MISSING] * len(self._held)
            for payload, other in zip(self._held, shown, strict=True):
                await self._show_own(payload.model_copy(update={"content": keep_own_marks(payload.content, other)}))
            data = keep_own_marks(data, again)
        return Value(_break_data(data, self._foreign_marks) if self._foreign_marks else data, value.origins)

    async def show(self, payload: DisplayUpdatePayload) -> None:
        """Show what the script wants to show."""
        if self._is_doubtful:
            self._held.append(payload)
        else:
            await self._show_own(payload)

    async def _show_own(self, payload: DisplayUpdatePayload) -> None:
        await self._show(payload.model_copy(update={"content": break_marks(payload.content, self._foreign_marks)}))

    def _wrap(self, functions: Mapping[str, ScriptFunction]) -> dict[str, ScriptFunction]:
        """Return the functions, which give what came from outside as it came, and whose answers are kept."""
        return {name: self._keep(name, function) for name, function in functions.items()}

    def _keep(self, name: str, function: ScriptFunction) -> ScriptFunction:
        async def call(*args: Data, **named: Data) -> Data:
            answer = function(*args, **named)
            if not isinstance(answer, Value):
                answer = await answer
            read = restore_data(answer)
            self._answers[_name_call(name, args, named)].append(answer)
            self._is_doubtful = self._is_doubtful or read != answer
            return read

        return call

    def _answer(self, name: str) -> ScriptFunction:
        async def call(*args: Data, **named: Data) -> Data:
            if name == "show":
                self._shown_again.append(str(args[0] if args else named.get("content", "")))
                return Value(None)
            kept = self._answers.get(_name_call(name, args, named))
            if not kept:
                if name == "emit":
                    return Value(None)
                raise ScriptCallFailed("this was not asked before")
            return kept.popleft()

        return call


def _name_call(name: str, args: tuple[Data, ...], named: dict[str, Data]) -> str:
    return dumps([name, restore_data(list(args)), restore_data(named)])


def _break_data(data: Data, marks: Sequence[str]) -> Data:
    if isinstance(data, str):
        return break_marks(data, marks)
    if isinstance(data, dict):
        return {name: _break_data(one, marks) for name, one in data.items()}
    return [_break_data(one, marks) for one in data] if isinstance(data, list) else data


def keep_own_marks(given: Data, again: Data) -> Data:
    """Return JSON data that a script gave, in whose texts only its own marks are marks; `again` is what its second play gave."""
    if isinstance(given, str):
        return _choose_text(given, again)
    if isinstance(given, dict):
        named = {restore_marks(name): name for name in again} if isinstance(again, dict) else {}
        return {
            named.get(name) or escape_marks(name): keep_own_marks(one, again[named[name]] if name in named else MISSING)
            for name, one in given.items()
        }
    if isinstance(given, list):
        others = again if isinstance(again, list) and len(again) == len(given) else [MISSING] * len(given)
        return [keep_own_marks(one, other) for one, other in zip(given, others, strict=True)]
    return given


def _choose_text(given: str, again: Data) -> str:
    """Return the text in which only the script's own marks are marks: what was given, if the second play tells them apart there."""
    marks = list_marks(given)
    if not isinstance(again, str):
        return break_marks(given, marks) if marks else escape_marks(given)
    if restore_marks(again) == given:
        return again
    if not marks:
        return escape_marks(given)
    return given if list_marks(again) == marks else copy_signs(given, again)
