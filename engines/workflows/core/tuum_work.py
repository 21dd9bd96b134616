"""What the runes of one run of a tuum reach: model, sandbox, portal, and the staging area of operations."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, NamedTuple

from engines.workflows.core.definition import Script
from engines.workflows.core.operations import (
    MOST_OPERATIONS,
    NO_ENDING,
    Emitted,
    Ending,
    OperationUnfit,
    check_proposals,
    judge_nulls,
    read_operations,
)
from engines.workflows.core.results import AtomicOperation, DisplayUpdatePayload
from engines.workflows.core.rune_types import AUTHOR, PROMPTS, AnyRuneType, TuumFailed
from engines.workflows.core.script_functions import MarkedPlay, ScriptCalls
from engines.workflows.core.surroundings import Surroundings
from engines.workflows.core.variables import ADDED_OUTPUT, EXECUTION_TIME, TOTAL_OUTPUT
from orchestrator.domain.taint import FOREIGN, NOWHERE, Origins, Value, join_origins
from orchestrator.engines.runs import RunContext, RunEffect, RunFailed, RunModelRequest, note_value
from orchestrator.engines.shared.block_marks import escape_data, escape_value, list_marks, restore_data
from orchestrator.engines.shared.declared import Options, join_options
from orchestrator.engines.shared.model_json import ONLY_JSON, build_complaint
from orchestrator.expressions.scripts.failures import ScriptFailed
from orchestrator.expressions.scripts.runner import ScriptLimits
from state.stored import JsonObject

NO_ANSWER: Final = "degraded"
"""No provider answered, so a main script still runs. Other failures end the run."""
UNFIT: Final = frozenset({"run-large-value", "run-bad-value"})
"""A value cannot be stored: that is a failure of the tuum which made it."""
SCRIPT_LIMITS: Final = ScriptLimits(total_seconds=60.0, calls=MOST_OPERATIONS + 100)
CALLBACK_LIMITS: Final = ScriptLimits(seconds=0.1, total_seconds=5.0, calls=10)
MOST_FAILURES: Final = 3
"""Failures after which the callback of an answer is left alone."""
MOST_PARTIAL: Final = 500_000
MOST_CALLBACK_SECONDS: Final = 20.0
_SEARCH: Final = """
import re
found = list(re.finditer(pattern, text)) if is_all else [one for one in [re.search(pattern, text)] if one]
[{"groups": [one.group(0), *one.groups()], "names": one.groupdict()} for one in found]
"""
_PROSE: Final[Origins] = frozenset({"prose"})
_MODEL: Final[Origins] = frozenset({"model"})
_TOLD_BY_PARAMETERS: Final = frozenset({"script", "terminal"})
"""Types that propose what their parameters tell beforehand: see `kind.py`."""
_ROLES: Final = frozenset({"system", "user", "assistant"})
log = logging.getLogger(__name__)


class AiFailed(TuumFailed):
    """`reason` is in English."""

    def __init__(self, node: str, reason: str) -> None:
        super().__init__(f"{node}: the model gave no answer: {reason}")
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    answer: Value
    node: str
    prompts: Value
    service: str
    options: Options
    number: int = 0


@dataclass(slots=True)
class Staged:
    operations: list[Emitted] = field(default_factory=list)
    ending: Ending = NO_ENDING
    asked: list[_Asked] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class TuumWork:
    """See `Work`. That of one rune holds its type to what it says of itself."""

    ctx: RunContext
    node: str
    surroundings: Surroundings
    may_propose: Sequence[str] | None = None
    """None for any."""
    opens_blocks: bool = False
    """Answers open blocks, unless the model has read something foreign."""
    staged: Staged = field(default_factory=Staged)
    rune: str = ""
    """For people who look for what went wrong; "" for the tuum's own."""
    may_emit: bool = True
    may_end: bool = True

    def narrow(self, node: str, kind: AnyRuneType) -> "TuumWork":
        return TuumWork(  # not by `replace`, which would take a third of what a whole tuum takes
            ctx=self.ctx,
            node=self.node,
            surroundings=self.surroundings,
            may_propose=self.may_propose,
            opens_blocks=self.opens_blocks,
            staged=self.staged,
            rune=f"{node} ({kind.name})",
            may_emit=kind.emits or kind.name in _TOLD_BY_PARAMETERS,
            may_end=kind.is_terminal,
        )

    async def ask(
        self, node: str, prompts: Value, service: str, options: Options, *, is_streaming: bool, chunks: "Chunks | None" = None
    ) -> Value:
        """Ask once for each node. Raises AiFailed, RunFailed if the run cannot go on, NotStarted if it fails while this waits."""
        messages = _read_messages(node, prompts.data)
        request = RunModelRequest(
            messages=messages,
            service=service,
            options=join_options(options),
            origins=prompts.origins | AUTHOR,
            is_shown=is_streaming and chunks is None,
        )
        on_delta = chunks.take if chunks is not None and is_streaming else None
        try:
            if self.ctx.find_state(node) == "finished":
                answer = self._take_answer(await self.ctx.ask_model(node, request))
            else:
                async with self.surroundings.halt.hold(self.surroundings.bounds.find(service)):
                    answer = self._take_answer(await self.ctx.ask_model(node, request, on_delta))
        except RunFailed as error:
            if error.code != NO_ANSWER and error.code not in UNFIT:
                raise
            raise AiFailed(node, error.detail) from error
        self.staged.asked.append(_Asked(answer=answer, node=node, prompts=prompts, service=service, options=options))
        return answer

    async def ask_again(self, answer: Value, why: str) -> Value | None:
        """An answer to this waits for a retry before it can be asked again."""
        previous = next((previous for previous in self.staged.asked if previous.answer is answer), None)
        if previous is None or (previous.number and not self.ctx.is_before_retry(f"{previous.node}/again{previous.number}")):
            return None
        message = {"role": "User", "content": build_complaint(why, ONLY_JSON)}
        prompts = Value([*previous.prompts.data, message], previous.prompts.origins | answer.origins)
        number = previous.number + 1
        again = await self.ask(f"{previous.node}/again{number}", prompts, previous.service, previous.options, is_streaming=False)
        self.staged.asked[-1] = replace(previous, answer=again, number=number)
        return again

    def _take_answer(self, answer: Value) -> Value:
        return answer if self.opens_blocks and not answer.is_foreign else escape_value(answer)

    async def run_script(self, node: str, script: Script, names: Mapping[str, Value]) -> Mapping[str, Value]:
        """What the script proposes counts only if it ends well. Raises TuumFailed."""
        calls = self._build_calls(node)
        functions = calls.list_functions(may_query=True, may_emit=True)
        async with self.surroundings.bounds.scripts:
            return await self._run(node, script, names, calls, functions, SCRIPT_LIMITS)

    async def run_callback(
        self, node: str, script: Script, names: Mapping[str, Value], foreign_marks: Sequence[str] = ()
    ) -> Mapping[str, Value]:
        """`foreign_marks` open nothing in what it gives. Raises TuumFailed."""
        calls = self._build_calls(node)
        functions = calls.list_functions(may_query=False, may_emit=False)
        return await self._run(node, script, names, calls, functions, CALLBACK_LIMITS, foreign_marks)

    def _build_calls(self, node: str) -> ScriptCalls:
        around = self.surroundings
        return ScriptCalls(node=node, query=self.query, show=self._show_now, blocks=around.blocks, player=around.player)

    async def _show_now(self, payload: DisplayUpdatePayload) -> None:
        await self.show(payload, NOWHERE)

    async def _run(
        self,
        node: str,
        script: Script,
        names: Mapping[str, Value],
        calls: ScriptCalls,
        functions: Mapping[str, Any],
        limits: ScriptLimits,
        foreign_marks: Sequence[str] = (),
    ) -> Mapping[str, Value]:
        missing = [name for name in script.consumes if name not in names]
        if missing:
            raise TuumFailed(f"{node}: there is no variable {missing[0]}")
        inputs = {name: names[name] for name in script.consumes}
        seed = f"{self.ctx.run.run_id}/{node}"
        scripts, now = self.surroundings.scripts, self.surroundings.clock
        play = partial(scripts.run, script.source, limits=limits, now=now, seed=seed)
        marked = MarkedPlay(inputs, self._show_now, foreign_marks)
        calls.show = marked.show
        try:
            value = await marked.run(play, functions)
        except ScriptFailed as error:
            place = f" (line {error.finding.line})" if error.finding.line else ""
            raise TuumFailed(f"{node}{place}: {error.finding.message}") from None
        for operation in calls.operations:
            self.emit(operation, value.origins)
        if not script.produces:
            return {}
        data = value.data
        if not isinstance(data, dict):
            raise TuumFailed(f"{node}: the last line of the script must be an object with {', '.join(script.produces)}")
        return {name: Value(data[name], value.origins) for name in script.produces if name in data}

    async def query(self, node: str, method: str, params: Mapping[str, Any]) -> Value:
        """Raises TuumFailed if it is not read, RunFailed in shadow mode."""
        outcome = await self.ctx.submit(node, RunEffect(method=method, params=restore_data(params), must_read=True))
        if outcome.status == "planned":
            raise RunFailed("workflow-shadow-unread", f"{node}: {method} is not read in shadow mode")
        if outcome.status != "succeeded":
            raise TuumFailed(f"{node}: {method} was not read ({outcome.status}): {outcome.detail}")
        return Value(escape_data(outcome.result), _PROSE)

    async def search_pattern(self, node: str, pattern: str, text: Value, *, is_all: bool = True) -> Value:
        """Search in the sandbox, where an endless expression is stopped. Raises TuumFailed."""
        script = Script.model_validate({"source": _SEARCH, "consumes": ["pattern", "text", "is_all"]})
        inputs = {"pattern": Value(pattern, AUTHOR), "text": text, "is_all": Value(is_all, AUTHOR)}
        try:
            async with self.surroundings.bounds.scripts:
                result = await self.surroundings.scripts.run(script.source, inputs, limits=SCRIPT_LIMITS, seed=node)
        except ScriptFailed as error:
            raise TuumFailed(f"{node}: {error.finding.message}") from None
        return result.value

    def emit(self, operation: AtomicOperation, origins: Origins, left_out: Sequence[str] | None = None) -> None:
        """Raises TuumFailed for too many, or one that is not allowed."""
        self._check_type()
        self._check_proposals(operation)
        if len(self.staged.operations) >= MOST_OPERATIONS:
            raise TuumFailed(f"{self.node}: more than {MOST_OPERATIONS} operations")
        emitted = Emitted(operation=operation, origins=origins, left_out=tuple(left_out or ()))
        self.staged.operations.append(judge_nulls(emitted) if left_out is None else emitted)

    async def show(self, payload: DisplayUpdatePayload, origins: Origins) -> None:
        await self.surroundings.show(self.node, payload, origins)

    def end_with(self, *, raw_text: Value | None, operations: Value | None) -> None:
        """Raises TuumFailed for what the tuum or the type of the rune does not do."""
        if not self.may_end:
            raise TuumFailed(f"{self.rune}: runes of this type say that they make no result, and this one did")
        if operations is not None:
            self._check_type()
        if operations is not None and self.may_propose is not None:
            try:
                self._check_proposals(*(one.operation for one in read_operations(operations)))
            except OperationUnfit as error:
                raise TuumFailed(f"{self.node}: {error}") from None
        self.staged.ending = Ending(raw_text=raw_text, operations=operations)

    def _check_type(self) -> None:
        """Raise TuumFailed if the type does not say that it proposes: nobody was told."""
        if not self.may_emit:
            raise TuumFailed(f"{self.rune}: runes of this type say that they propose nothing, and this one did")

    def _check_proposals(self, *operations: AtomicOperation) -> None:
        """Raise TuumFailed."""
        try:
            check_proposals(operations, self.may_propose)
        except OperationUnfit as error:
            raise TuumFailed(f"{self.node}: {error}") from None


def _read_messages(node: str, prompts: Any) -> list[JsonObject]:
    """Raises TuumFailed if the prompt, which a script may have made, is none."""
    if not isinstance(prompts, list) or not all(isinstance(prompt, dict) and {"role", "content"} <= prompt.keys() for prompt in prompts):
        raise TuumFailed(f"{node}: {PROMPTS} is no list of messages with role and content")
    if not prompts:
        raise TuumFailed(f"{node}: there is no prompt to ask with")
    messages: list[JsonObject] = [
        {"role": str(prompt["role"]).lower(), "content": restore_data(str(prompt["content"]))} for prompt in prompts
    ]
    if unknown := {message["role"] for message in messages} - _ROLES:
        raise TuumFailed(f"{node}: a message has the role {min(unknown)[:40]!r}; there are {', '.join(sorted(_ROLES))}")
    return messages


class _Chunk(NamedTuple):
    added: str
    seconds: float


class Chunks:
    """Runs the callback for each piece of a streamed answer, in order (S003-43…45). The answer never waits; a failing one is skipped."""

    def __init__(self, work: TuumWork, callback: Script | None, variables: dict[str, Value], began: float) -> None:
        """`callback` may change `variables`; `began` is on the monotonic clock."""
        self._work, self._callback, self._variables, self._began = work, callback, variables, began
        self._pieces: list[str] = []
        self._heard = ""
        """What the callback was told; pieces that it adds up may make a mark together."""
        self._waiting: deque[_Chunk] = deque()
        self._calling: asyncio.Task[None] | None = None
        self._failures = 0
        self._seconds = 0.0
        self._origins: Origins = _MODEL | join_origins(variables.values())

    @property
    def total(self) -> str:
        return "".join(self._pieces)

    async def take(self, added: str) -> None:
        self._pieces.append(added)
        if self._callback is None or not added or self._is_left_alone:
            return
        self._waiting.append(_Chunk(added, round(time.monotonic() - self._began, 3)))
        if self._calling is None or self._calling.done():
            self._calling = asyncio.create_task(self._call_all(self._callback))

    @property
    def _is_left_alone(self) -> bool:
        return self._failures >= MOST_FAILURES or self._seconds >= MOST_CALLBACK_SECONDS

    async def _call_all(self, callback: Script) -> None:
        while self._waiting and not self._is_left_alone:
            begun = time.monotonic()
            try:
                await self._call(callback, self._waiting.popleft())
            except Exception as error:  # noqa: BLE001 - whatever a callback raises, the answer goes on without it
                self._failures += 1
                log.warning("a callback was skipped: %s", error, extra={"action": "workflow_callback_skipped"})
            self._seconds += time.monotonic() - begun
        if self._waiting:
            log.warning("the callback of %s is left alone", self._work.node, extra={"action": "workflow_callback_left"})
            self._waiting.clear()

    async def _call(self, callback: Script, chunk: _Chunk) -> None:
        extra = {ADDED_OUTPUT: self._take(chunk.added), EXECUTION_TIME: Value(chunk.seconds, AUTHOR)}
        self._heard += chunk.added
        if TOTAL_OUTPUT in callback.consumes:  # of a long answer it is long, and many callbacks only add up
            extra[TOTAL_OUTPUT] = self._take(self._heard)
        adds_up = ADDED_OUTPUT in callback.consumes and "BLOCK" in self._heard and not self._opens_blocks
        marks = list_marks(self._heard) if adds_up else ()
        self._variables.update(await self._work.run_callback(f"{self._work.node}/callback", callback, self._variables | extra, marks))

    def _take(self, text: str) -> Value:
        value = Value(text, self._origins)
        return value if self._opens_blocks else escape_value(value)

    @property
    def _opens_blocks(self) -> bool:
        return self._work.opens_blocks and not self._origins & FOREIGN

    async def wait(self) -> None:
        if self._calling is not None:
            await self._calling

    async def close(self) -> None:
        if self._calling is not None and not self._calling.done():
            self._calling.cancel()
            await asyncio.gather(self._calling, return_exceptions=True)

    async def finish(self, node: str, answer: Value, *, was_answered: bool) -> None:
        """Store what the callback has left, so that a replay finds the same."""
        callback = self._callback
        if callback is None or not callback.produces:
            return
        if was_answered and self._work.ctx.find_state(node) != "finished":
            await self.take(restore_data(str(answer.data)))
            await self.wait()
        stored, origins = self._list_left()
        left = await note_value(self._work.ctx, node, stored, origins=origins)
        self._variables.update({name: Value.from_stored(one) for name, one in left.data.items()})

    async def keep_failure(self, node: str, reason: str, origins: Origins) -> Value:
        """Return {error, text, variables}; stored, so that the model is not asked once more."""
        variables, more = self._list_left()
        failure = {"error": reason, "text": self._take(self.total[:MOST_PARTIAL]).data, "variables": variables}
        return await note_value(self._work.ctx, node, failure, origins=origins | more | _MODEL)

    def _list_left(self) -> tuple[JsonObject, Origins]:
        names = self._callback.produces if self._callback is not None else ()
        left = {name: self._variables[name] for name in names if name in self._variables}
        return {name: one.to_stored() for name, one in left.items()}, join_origins(left.values()) | AUTHOR
