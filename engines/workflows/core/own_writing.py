"""Tells which marks of blocks in what a script gives are its own.

If in doubt the script is played once more on escaped values: what is a mark then, it has written itself. Nothing of the second play
reaches anybody.
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


class Play(Protocol):
    def __call__(self, *, inputs: Mapping[str, Data], functions: Mapping[str, ScriptFunction]) -> Awaitable[ScriptResult]:
        """Raises ScriptFailed."""


class MarkedPlay:
    def __init__(self, inputs: Mapping[str, Value], show: ShowNow, foreign_marks: Sequence[str]) -> None:
        """`inputs` have their marks from outside escaped; `foreign_marks` are never the script's."""
        self._inputs, self._show, self._foreign_marks = inputs, show, foreign_marks
        plain = split_values(dict(inputs))[0]
        self._is_doubtful = bool(restore_data(plain) != plain)
        """Something that the script has read holds a mark from outside."""
        self._answers: dict[str, deque[Data]] = defaultdict(deque)
        self._held: list[DisplayUpdatePayload] = []
        self._shown_again: list[str] = []

    async def run(self, play: Play, functions: Mapping[str, ScriptFunction]) -> Value:
        """Return the script's value with its own marks alone. Raises what `play` raises."""
        value = (await play(inputs=restore_data(self._inputs), functions=self._wrap(functions))).value
        data = value.data
        if self._is_doubtful:
            again: Data = MISSING
            with suppress(ScriptFailed):
                # functions of the same names that give the kept answers once more, and do nothing
                again = (await play(inputs=self._inputs, functions={name: self._answer(name) for name in functions})).value.data
            second_shows = self._shown_again if len(self._shown_again) == len(self._held) else [MISSING] * len(self._held)
            for payload, other in zip(self._held, second_shows, strict=True):
                await self._show_own(payload.model_copy(update={"content": keep_own_marks(payload.content, other)}))
            data = keep_own_marks(data, again)
        return Value(_break_data(data, self._foreign_marks) if self._foreign_marks else data, value.origins)

    async def show(self, payload: DisplayUpdatePayload) -> None:
        if self._is_doubtful:
            self._held.append(payload)
        else:
            await self._show_own(payload)

    async def _show_own(self, payload: DisplayUpdatePayload) -> None:
        await self._show(payload.model_copy(update={"content": break_marks(payload.content, self._foreign_marks)}))

    def _wrap(self, functions: Mapping[str, ScriptFunction]) -> dict[str, ScriptFunction]:
        return {name: self._keep(name, function) for name, function in functions.items()}

    def _keep(self, name: str, function: ScriptFunction) -> ScriptFunction:
        async def call(*args: Data, **keywords: Data) -> Data:
            answer = function(*args, **keywords)
            if not isinstance(answer, Value):
                answer = await answer
            read = restore_data(answer)
            self._answers[_name_call(name, args, keywords)].append(answer)
            self._is_doubtful = self._is_doubtful or read != answer
            return read

        return call

    def _answer(self, name: str) -> ScriptFunction:
        async def call(*args: Data, **keywords: Data) -> Data:
            if name == "show":
                self._shown_again.append(str(args[0] if args else keywords.get("content", "")))
                return Value(None)
            answers = self._answers.get(_name_call(name, args, keywords))
            if not answers:
                if name == "emit":
                    return Value(None)
                raise ScriptCallFailed("this was not asked before")
            return answers.popleft()

        return call


def _name_call(name: str, args: tuple[Data, ...], keywords: dict[str, Data]) -> str:
    return dumps([name, restore_data(list(args)), restore_data(keywords)])


def _break_data(data: Data, marks: Sequence[str]) -> Data:
    if isinstance(data, str):
        return break_marks(data, marks)
    if isinstance(data, dict):
        return {name: _break_data(one, marks) for name, one in data.items()}
    return [_break_data(one, marks) for one in data] if isinstance(data, list) else data


def keep_own_marks(script_data: Data, again: Data) -> Data:
    """Keep only the script's own marks in what it gave; `again` is what its second play gave."""
    if isinstance(script_data, str):
        return _choose_text(script_data, again)
    if isinstance(script_data, dict):
        marked_names = {restore_marks(name): name for name in again} if isinstance(again, dict) else {}
        return {
            marked_names.get(name) or escape_marks(name): keep_own_marks(
                one, again[marked_names[name]] if name in marked_names else MISSING
            )
            for name, one in script_data.items()
        }
    if isinstance(script_data, list):
        others = again if isinstance(again, list) and len(again) == len(script_data) else [MISSING] * len(script_data)
        return [keep_own_marks(one, other) for one, other in zip(script_data, others, strict=True)]
    return script_data


def _choose_text(text: str, again: Data) -> str:
    marks = list_marks(text)
    if not isinstance(again, str):
        return break_marks(text, marks) if marks else escape_marks(text)
    if restore_marks(again) == text:
        return again
    if not marks:
        return escape_marks(text)
    return text if list_marks(again) == marks else copy_signs(text, again)
