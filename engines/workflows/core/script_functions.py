"""The functions that scripts of workflows may call (S003-41, S003-49, S003-63…66), and which marks of blocks they wrote themselves.

If in doubt the script is played once more on escaped values: what is a mark then, it has written itself. Nothing of the second play
reaches anybody.
"""

import inspect
from collections import Counter, defaultdict, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from pydantic import ValidationError

from engines.workflows.core.blocks.queries import RecordQueries
from engines.workflows.core.entities import ENTITIES
from engines.workflows.core.operations import MOST_OPERATIONS, OperationUnfit, read_operation
from engines.workflows.core.results import AtomicOperation, DisplayUpdatePayload
from engines.workflows.core.rune_types import AUTHOR, TuumStopped
from orchestrator.domain.taint import Value, split_values
from orchestrator.domain.value_faults import describe_fault
from orchestrator.engines.shared.block_marks import (
    Data,
    break_marks,
    copy_signs,
    escape_marks,
    escape_value,
    list_marks,
    restore_data,
    restore_marks,
)
from orchestrator.expressions.scripts.failures import ScriptCallFailed, ScriptFailed
from orchestrator.expressions.scripts.runner import ScriptFunction, ScriptResult
from state.canonical import dumps, hash_text, map_leaves, to_storable_text

QUERY: Final = "query"
QUERIES: Final = (
    "get_entity",
    QUERY,
    "get_all_entities",
    "get_game_state",
    "get_block_raw_text",
    "get_parent_block_ids",
    "get_player_metadata",
)
SHOW: Final = "show"
EMIT: Final = "emit"
STOP: Final = "stop"
ALL: Final = (*QUERIES, EMIT, SHOW, STOP)
Query = Callable[[str, str, Mapping[str, Any]], Awaitable[Value]]
"""Reads for (node, method, params) from the portal."""
ShowNow = Callable[[DisplayUpdatePayload], Awaitable[None]]

_NOTHING: Final = Value(None, AUTHOR)
_LONGEST_WORDS: Final = 1_000
_DIGEST: Final = 12
"""Characters of the hash in the name of a node."""


@dataclass(slots=True, kw_only=True)
class ScriptCalls:
    """The functions of one run of one script.

    A replay gets the same answers: each query is a node named by what it asks, for of two calls side by side either may be answered first.
    """

    node: str
    query: Query
    show: ShowNow
    blocks: RecordQueries | None = None
    player: Mapping[str, Value] = field(default_factory=dict)
    operations: list[AtomicOperation] = field(default_factory=list)
    _asked: Counter[str] = field(default_factory=Counter)

    def list_functions(self, *, may_query: bool, may_emit: bool) -> Mapping[str, ScriptFunction]:
        """A script that calls one wrongly gets an error that it may catch."""
        functions: dict[str, ScriptFunction] = {SHOW: self._show}
        if may_emit:
            functions |= {EMIT: self._emit, STOP: self._stop}
        if may_query:
            functions |= {"get_entity": self._get_entity, QUERY: self._query}
            functions |= {
                "get_all_entities": self._ask_blocks("get_all_entities", lambda blocks, node, key: blocks.list_entities(node, key)),
                "get_game_state": self._ask_blocks("get_game_state", lambda blocks, node, key: blocks.read_game_state(node, key)),
                "get_block_raw_text": self._ask_blocks("get_block_raw_text", lambda blocks, node, key: blocks.read_raw_text(node, key)),
                "get_parent_block_ids": self._ask_blocks("get_parent_block_ids", lambda blocks, node, key: blocks.list_parents(node, key)),
                "get_player_metadata": self._read_player,
            }
        return {name: _check_calls(name, function) for name, function in functions.items()}

    def _name_node(self, function: str, question: object) -> str:
        """A repeated query gets a further node."""
        digest = hash_text(dumps([function, question]))[:_DIGEST]
        self._asked[digest] += 1
        number = self._asked[digest]
        return f"{self.node}/q-{digest}" if number == 1 else f"{self.node}/q-{digest}-{number}"

    async def _get_entity(self, entity_type: object, entity_id: object) -> Value:
        entity = ENTITIES.get(str(entity_type))
        if entity is None:
            raise ScriptCallFailed(f"there is no entity {str(entity_type)[:60]!r}; there are {', '.join(ENTITIES)}")
        return await self._query(entity.get_method, {entity.id_parameter: entity_id})

    async def _query(self, method: object, params: object = None) -> Value:
        if not isinstance(method, str) or not isinstance(params, Mapping | None):
            raise ScriptCallFailed("query takes the name of a method, and its parameters as an object")
        return await self.query(self._name_node(method, params or {}), method, params or {})

    def _ask_blocks(self, name: str, ask: Callable[[RecordQueries, str, str], Awaitable[Value]]) -> ScriptFunction:
        async def answer(key: object = "") -> Value:
            if self.blocks is None:
                raise ScriptCallFailed("this workflow does not work on a record, so there are no blocks")
            answer = await ask(self.blocks, self._name_node(name, str(key)), str(key))
            return answer if name == "get_block_raw_text" else escape_value(answer)  # the text of a block was escaped when it was made

        return answer

    def _read_player(self, key: str) -> Value:
        return escape_value(self.player.get(str(key), _NOTHING))

    def _stop(self, words: object = "", *_more: object, **_named: object) -> Value:
        """However it is called: after a refused call the script might go on and propose."""
        raise TuumStopped(self.node, to_storable_text(str(words)).strip()[:_LONGEST_WORDS] or f"{STOP}()")

    def _emit(self, operation: object) -> Value:
        if len(self.operations) >= MOST_OPERATIONS:
            raise ScriptCallFailed(f"more than {MOST_OPERATIONS} operations")
        try:
            self.operations.append(read_operation(operation))
        except OperationUnfit as error:
            raise ScriptCallFailed(str(error)) from None
        return _NOTHING

    async def _show(self, content: object, update_mode: object = "FullSnapshot", incremental_type: object = None) -> Value:
        try:
            payload = DisplayUpdatePayload.model_validate(
                {"Content": content, "UpdateMode": update_mode, "IncrementalType": incremental_type}
            )
        except ValidationError as error:
            raise ScriptCallFailed(f"{error.errors()[0]['loc'][0]}: {describe_fault(error.errors()[0])}") from None
        await self.show(payload)
        return _NOTHING


def _check_calls(name: str, function: ScriptFunction) -> ScriptFunction:
    """Check the number of arguments: otherwise a script could end the run with a TypeError."""

    def call(*args: object, **keywords: object) -> Any:
        try:
            inspect.signature(function).bind(*args, **keywords)
        except TypeError as error:
            raise ScriptCallFailed(f"{name}: {error}") from None
        return function(*args, **keywords)

    return call


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
        return Value(map_leaves(data, self._break) if self._foreign_marks else data, value.origins)

    def _break(self, leaf: Data) -> Data:
        return break_marks(leaf, self._foreign_marks) if isinstance(leaf, str) else leaf

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
