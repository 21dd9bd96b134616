"""Runs a compiled workflow with one pool of globals (S003-8…21, 26…37)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from engines.workflows.core.compile import CompiledTuum, CompiledWorkflow
from engines.workflows.core.operations import (
    MOST_OPERATIONS,
    Emitted,
    OperationUnfit,
    check_proposals,
    judge_nulls,
    leave_out,
    read_operations,
)
from engines.workflows.core.published import Published
from engines.workflows.core.results import WorkflowExecutionResult
from engines.workflows.core.rune_types import AUTHOR, TuumFailed, TuumStopped
from engines.workflows.core.scheduler import Graph, NotStarted, Played, play_graph
from engines.workflows.core.surroundings import Surroundings
from engines.workflows.core.tuum_run import run_tuum
from orchestrator.domain.taint import Origins, Value, join_origins
from orchestrator.engines.runs import RunContext, RunSuspended
from orchestrator.engines.shared.block_marks import escape_value
from orchestrator.expressions.placeholders import format_value
from state.canonical import dumps

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
