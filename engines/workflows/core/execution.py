"""Runs a compiled workflow with one pool of globals (S003-8…21, 26…37), and each tuum in it (S003-32…52)."""

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pydantic import ValidationError

from engines.workflows.core.compile import CompiledTuum, CompiledWorkflow
from engines.workflows.core.definition import Rune, Script, Tuum
from engines.workflows.core.operations import (
    MOST_OPERATIONS,
    Emitted,
    OperationUnfit,
    Published,
    check_proposals,
    judge_nulls,
    leave_out,
    read_operations,
)
from engines.workflows.core.registry import OWN
from engines.workflows.core.results import WorkflowExecutionResult
from engines.workflows.core.rune_types import AUTHOR, PROMPTS, AnyRuneType, RuneCall, RuneParams, TuumFailed, TuumStopped
from engines.workflows.core.scheduler import Graph, NotStarted, Played, play_graph
from engines.workflows.core.surroundings import Surroundings
from engines.workflows.core.tuum_work import UNFIT, AiFailed, Chunks, TuumWork
from engines.workflows.core.variables import AI_ERROR, EXECUTION_TIME, FINAL_OUTPUT
from orchestrator.domain.taint import Origins, Value, join_origins
from orchestrator.domain.value_faults import describe_fault
from orchestrator.engines.base import name_step_node
from orchestrator.engines.runs import RunContext, RunFailed, RunSuspended, note_value
from orchestrator.engines.shared.block_marks import escape_value
from orchestrator.expressions.placeholders import format_value
from state.canonical import dumps, loads
from state.stored import JsonObject

log = logging.getLogger(__name__)
_OWN: Final = frozenset(kind.name for kind in OWN)
"""Types of the program escape what comes in from outside; plugins read what they like."""
_NULL: Final = Value(None, AUTHOR)


async def run_tuum(ctx: RunContext, compiled: CompiledTuum, pool: Mapping[str, Value], surroundings: Surroundings) -> Published:
    """Run a tuum, or return what it has stored.

    Raises TuumFailed, RunSuspended while a node waits, RunFailed if the run cannot go on, NotStarted if it has failed elsewhere.
    """
    node = name_step_node(compiled.id)
    if ctx.find_state(node) == "finished":
        return Published.from_stored(await ctx.memo(node, _make_nothing))
    try:
        published = await _TuumRun(ctx, compiled, pool, surroundings, node).run()
        origins = published.find_origins()
        stored_value = await note_value(ctx, node, published.to_stored(), origins=origins)
        return published if stored_value.origins == origins else Published.from_stored(stored_value)
    except RunFailed as error:
        if error.code not in UNFIT:
            raise
        raise TuumFailed(f"{compiled.id}: {error.detail}") from error


async def _make_nothing() -> JsonObject:
    raise AssertionError("the node is finished")


class _TuumRun:
    __slots__ = ("_began", "_compiled", "_ctx", "_locals", "_node", "_surroundings", "_tuum", "_work")

    def __init__(self, ctx: RunContext, compiled: CompiledTuum, pool: Mapping[str, Value], surroundings: Surroundings, node: str) -> None:
        self._ctx, self._compiled, self._surroundings, self._node = ctx, compiled, surroundings, node
        self._tuum: Tuum = compiled.tuum
        self._began = time.monotonic()
        self._locals = _take_inputs(compiled, pool)
        self._work = TuumWork(ctx=ctx, node=node, surroundings=surroundings, may_propose=compiled.tuum.may_propose)
        self._work.opens_blocks = compiled.tuum.blocks == "model"

    async def run(self) -> Published:
        tuum = self._tuum
        if tuum.prompt_runes:
            await self._run_runes(tuum.prompt_runes, "prompt")
        self._locals[FINAL_OUTPUT] = self._locals[AI_ERROR] = _NULL
        unmade: Mapping[str, Value] = {}
        if tuum.ai_service is None or await self._ask(tuum.ai_service):
            await self._run_runes(tuum.runes, "rune")
        else:
            unmade = self._list_unmade()
        if tuum.main_script is not None:
            await self._run_main(tuum.main_script, unmade)
        variables = {name: self._locals[local] for name, local in self._compiled.outputs.items() if local in self._locals}  # S003-X5
        return Published(variables=variables, operations=tuple(self._work.staged.operations), ending=self._work.staged.ending)

    async def _run_runes(self, runes: list[Rune], part: str) -> None:
        for number, rune in enumerate(runes, 1):
            if rune.enabled:
                await self._run_rune(rune, f"{self._node}/{part}{number}")

    async def _run_rune(self, rune: Rune, node: str) -> None:
        kind = self._surroundings.types.get(rune.rune_type)
        if kind is None:
            raise TuumFailed(f"{node}: there are no runes of the type {rune.rune_type!r} here")
        params = self._find_params(kind, rune, node)
        work = self._work.narrow(node, kind)
        call: RuneCall[Any] = RuneCall(node=node, params=params, variables=self._locals, work=work, note_missing=self._note_missing)
        try:
            changes = await kind.perform(call)
            self._locals.update(changes if kind.name in _OWN else {name: escape_value(value) for name, value in changes.items()})
        except (TuumFailed, RunFailed, RunSuspended, NotStarted):
            raise
        except Exception as error:  # a type of a plugin may do anything, and the other tuums go on
            log.exception("run %s: the rune %s failed", self._ctx.run.run_id, node, extra={"action": "workflow_rune_failed"})
            raise TuumFailed(f"{node}: {type(error).__name__}: {error}") from error

    def _find_params(self, kind: AnyRuneType, rune: Rune, node: str) -> RuneParams:
        """Read once for all runs. Raises TuumFailed."""
        if (params := self._surroundings.params.get(id(rune))) is None:
            params = self._surroundings.params[id(rune)] = _read_params(kind, rune, node)
        return params

    def _note_missing(self, name: str) -> None:
        log_args = (self._ctx.run.run_id, self._compiled.id, name[:100])
        log.warning("run %s, tuum %s: a text names %s, which is not there", *log_args, extra={"action": "workflow_variable_missing"})

    async def _ask(self, service: str) -> bool:
        """Return whether the model did (S003-42, S003-43). Raises TuumFailed if the tuum cannot go on without."""
        tuum, node = self._tuum, f"{self._node}/ai"
        number = self._find_attempt(node)
        failed = f"{node}/failed{number}"
        if self._ctx.find_state(failed) == "finished":
            self._take_failure(await self._ctx.memo(failed, _make_nothing))
            return False
        was_answered = self._ctx.find_state(node) == "finished"
        chunks = Chunks(self._work, tuum.chunk_callback if tuum.is_streaming else None, self._locals, self._began)
        prompts = self._locals.get(PROMPTS, Value([], AUTHOR))
        try:
            answer = await self._work.ask(node, prompts, service, tuum.options, is_streaming=tuum.is_streaming, chunks=chunks)
            await chunks.wait()
        except AiFailed as error:
            await chunks.wait()
            if tuum.main_script is None:  # S003-A7
                raise
            self._take_failure(await chunks.keep_failure(failed, error.reason, prompts.origins))
            return False
        finally:
            await chunks.close()
        self._locals[FINAL_OUTPUT] = answer
        if tuum.chunk_callback is not None and tuum.is_streaming:
            await chunks.finish(f"{self._node}/callback", answer, was_answered=was_answered)
        self._set_unheard()
        return True

    def _set_unheard(self) -> None:
        """Set what the callback has not given to null: its failure breaks nothing else (S003-52)."""
        callback = self._tuum.chunk_callback
        if callback is not None and self._tuum.is_streaming:
            for name in callback.produces:
                self._locals.setdefault(name, Value(None, self._locals[FINAL_OUTPUT].origins))

    def _list_unmade(self) -> dict[str, Value]:
        """Null for what runes after an answer would have made: a main script may read that (S003-A7)."""
        null = Value(None, self._locals[FINAL_OUTPUT].origins)
        unmade: dict[str, Value] = {}
        for rune in self._tuum.runes:
            kind = self._surroundings.types.get(rune.rune_type)
            if rune.enabled and kind is not None:
                unmade |= dict.fromkeys(kind.list_produces(self._find_params(kind, rune, self._node)), null)
        return unmade

    def _find_attempt(self, node: str) -> int:
        number = 1
        while self._ctx.is_before_retry(f"{node}/failed{number}"):
            number += 1
        return number

    def _take_failure(self, left: Value) -> None:
        self._locals |= {name: Value.from_stored(variable) for name, variable in left.data["variables"].items()}
        self._locals |= {FINAL_OUTPUT: left.get("text"), AI_ERROR: left.get("error")}
        self._set_unheard()

    async def _run_main(self, script: Script, unmade: Mapping[str, Value]) -> None:
        """Runs also after a failed call of the model (S003-46); then `unmade` is what no rune has made."""
        node = f"{self._node}/main"
        names = {**unmade, **self._locals}
        if EXECUTION_TIME in script.consumes:
            names[EXECUTION_TIME] = await self._ctx.memo(f"{node}/time", self._measure, origins=AUTHOR)
        self._locals |= await self._work.run_script(node, script, names)

    async def _measure(self) -> float:
        return round(time.monotonic() - self._began, 3)


def _read_params(kind: AnyRuneType, rune: Rune, node: str) -> RuneParams:
    try:
        params: RuneParams = kind.params.model_validate(rune.model_extra or {})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise TuumFailed(f"{node}: {'.'.join(map(str, first['loc']))}: {describe_fault(first)}") from None
    return params


def _take_inputs(compiled: CompiledTuum, pool: Mapping[str, Value]) -> dict[str, Value]:
    """The locals at the start (S003-32). Raises TuumFailed if a needed one is missing (S003-X4)."""
    local_values: dict[str, Value] = {}
    for local, name in compiled.inputs.items():
        if (value := pool.get(name)) is None:
            raise TuumFailed(f"{compiled.id}: there is no global variable {name}")
        local_values[local] = _copy(value)
    for local, name in compiled.reads.items():
        if name in pool:
            local_values[local] = _copy(pool[name])
    return local_values


def _copy(value: Value) -> Value:
    """Share nothing with the global: a rune may change what it gets (S003-X11)."""
    return Value(loads(dumps(value.data)), value.origins) if isinstance(value.data, dict | list) else value


TUUM_FAILED: Final = "TuumExecutionFailed"
RESULT_UNFIT: Final = "ResultUnfit"
STOPPED: Final = "Stopped"
"""Codes of ends without success: the first is the seed's (S003-X4), the others are ours."""
MOST_RESULT: Final = 1_200_000
"""Characters of JSON of text and operations."""
JUDGES_NULLS: Final = 2
"""The replay version from which fields are left out for which a model gave no value."""
NO_TEXT: Final = Value("", AUTHOR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    result: WorkflowExecutionResult
    raw_text: Value = NO_TEXT
    operations: tuple[Emitted, ...] = ()
    left_out: tuple[str, ...] = ()
    """Fields that are not written, because no value came for them."""
    failed_tuum: str = ""
    words: str = ""
    code: str = ""
    origins: Origins = AUTHOR


async def execute_workflow(
    ctx: RunContext, compiled: CompiledWorkflow, parameters: Mapping[str, Value], surroundings: Surroundings
) -> Execution:
    """Run a workflow; `parameters` are the first globals (S003-X3).

    Raises RunSuspended while something waits, RunFailed if the run cannot go on.
    """
    running = _Running(ctx, compiled, {name: escape_value(value) for name, value in parameters.items()}, surroundings)
    graph = Graph(needs=[tuum.needs for tuum in compiled.tuums], dependents=compiled.dependents, levels=compiled.levels)
    workflow = compiled.workflow
    played = await play_graph(graph, running.run, scheduling=workflow.scheduling, on_failure=workflow.on_failure)
    running.raise_other(played)
    if played.failed:
        place = min(played.failed)
        return running.build_failure(compiled.tuums[place], played.failed[place])
    for wait in played.waiting.values():
        raise wait
    try:
        return running.build_success()
    except OperationUnfit as error:
        return running.build_error(RESULT_UNFIT, str(error))


@dataclass(slots=True)
class _Running:
    ctx: RunContext
    compiled: CompiledWorkflow
    pool: dict[str, Value]
    """The globals. Values are never changed, only replaced (S003-X11)."""
    surroundings: Surroundings
    published: dict[int, Published] = field(default_factory=dict)

    async def run(self, place: int) -> None:
        """Run a tuum and publish what it gives, all at once (S003-34)."""
        try:
            published = await run_tuum(self.ctx, self.compiled.tuums[place], self.pool, self.surroundings)
        except (RunSuspended, NotStarted):
            raise
        except Exception:
            if self.compiled.workflow.on_failure == "stop":
                self.surroundings.halt.stop()
            raise
        self.published[place] = published
        self.pool.update(published.variables)

    def raise_other(self, played: Played) -> None:
        """Raise failures of the run, such as a used-up budget, or a mistake of the program."""
        for error in played.failed.values():
            if not isinstance(error, TuumFailed):
                raise error

    def build_success(self) -> Execution:
        """Raises OperationUnfit."""
        terminal = self.compiled.workflow.terminal
        endings = [one.ending for one in self._list_published()]
        raw_text = self._find(terminal.raw_text) or next((one.raw_text for one in endings if one.raw_text is not None), None)
        operations = [operation for one in self._list_published() for operation in one.operations]
        terminal_operations = self._find(terminal.operations)
        if terminal_operations is not None:
            operations += self._judge(self._read_named(str(terminal.operations), terminal_operations))
        elif (ending := next((one.operations for one in endings if one.operations is not None), None)) is not None:
            operations += self._judge(read_operations(ending))
        if len(operations) > MOST_OPERATIONS:
            raise OperationUnfit(f"there are {len(operations)} operations, and {MOST_OPERATIONS} are allowed")
        sorted_out = leave_out(operations)
        operations = list(sorted_out.operations)
        text = raw_text.map(format_value) if raw_text is not None else NO_TEXT
        _check_size(text.data, operations)
        result = WorkflowExecutionResult(
            is_success=True,
            raw_text=text.data,
            operations=tuple(one.operation for one in operations),
            globals=self._list_globals(),
            finished=self._list_finished(),
        )
        origins = join_origins([text, *self.pool.values()]).union(*(operation.origins for operation in operations))
        return Execution(result=result, raw_text=text, operations=sorted_out.operations, left_out=sorted_out.left_out, origins=origins)

    def _judge(self, operations: Iterable[Emitted]) -> Iterable[Emitted]:
        return map(judge_nulls, operations) if self.ctx.run.replay >= JUDGES_NULLS else operations

    def _read_named(self, name: str, operations_value: Value) -> list[Emitted]:
        """Raises OperationUnfit for one that the publishing tuum may not propose."""
        operations = list(read_operations(operations_value))
        for tuum in self.compiled.tuums:
            if name in tuum.outputs:
                check_proposals((one.operation for one in operations), tuum.tuum.may_propose)
        return operations

    def build_failure(self, failed: CompiledTuum, error: Exception) -> Execution:
        """What finished is named; half a plan is not given (S003-A6)."""
        if isinstance(error, TuumStopped):
            return self.build_error(STOPPED, error.words, failed_tuum=failed.id, words=error.words)
        code = error.code if isinstance(error, TuumFailed) else TuumFailed.code
        return replace(self.build_error(TUUM_FAILED, str(error), failed_tuum=failed.id), code=code)

    def build_error(self, code: str, message: str, *, failed_tuum: str = "", words: str = "") -> Execution:
        result = WorkflowExecutionResult(
            is_success=False, globals=self._list_globals(), error_code=code, error_message=message, finished=self._list_finished()
        )
        return Execution(result=result, failed_tuum=failed_tuum, words=words, origins=join_origins(self.pool.values()))

    def _find(self, name: str | None) -> Value | None:
        return self.pool.get(name) if name is not None else None

    def _list_published(self) -> list[Published]:
        return [self.published[place] for level in self.compiled.levels for place in level if place in self.published]

    def _list_globals(self) -> dict[str, Any]:
        return {name: self.pool[name].data for name in sorted(self.pool)}

    def _list_finished(self) -> tuple[str, ...]:
        return tuple(self.compiled.tuums[place].id for place in sorted(self.published))


def _check_size(text: str, operations: Sequence[Emitted]) -> None:
    """Raise OperationUnfit if the run could not store the result."""
    size = len(dumps([text, [operation.to_stored()["operation"] for operation in operations]]))
    if size > MOST_RESULT:
        raise OperationUnfit(f"the text and the operations have {size} characters, and {MOST_RESULT} are allowed")
