"""Plays workflows as runs (S003)."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from pydantic import ValidationError

from engines.workflows.core.applying import Applied, apply_operations, keep_all
from engines.workflows.core.blocks.choosing import Chosen, choose_record
from engines.workflows.core.blocks.conflicts import Record
from engines.workflows.core.blocks.host import ALONE, RecordHost
from engines.workflows.core.blocks.work import RecordWork, begin_work, read_record
from engines.workflows.core.compile import CompiledWorkflow, compile_workflow
from engines.workflows.core.definition import Tuum, TuumReference, Workflow
from engines.workflows.core.execution import Execution, execute_workflow
from engines.workflows.core.results import Notifier
from engines.workflows.core.rune_types import AUTHOR, RuneParams, RuneTypes
from engines.workflows.core.surroundings import Bounds, Surroundings
from orchestrator.domain.finding import DefinitionRefused
from orchestrator.domain.outputs import Notice, Reply, Row
from orchestrator.domain.taint import Origins, Value
from orchestrator.engines.runs import FindParts, RunContext, RunFailed, RunResult, find_no_parts
from orchestrator.engines.shared.budget import build_limits
from orchestrator.engines.shared.changes import build_left_notice, count_changes
from orchestrator.engines.shared.launch import PARAMETERS, TEXT, check_names, check_trigger, find_parameters
from orchestrator.engines.shared.left_out import list_left_out
from orchestrator.engines.shared.rendering import build_result_reply, list_record_keys
from orchestrator.expressions.scripts.runner import ScriptRunner
from state.canonical import dumps, hash_text
from state.clock import parse_iso
from state.stored import JsonObject

_MOST_GLOBALS: Final = 200_000
"""Characters of globals in a result; larger ones are left out."""
_MOST_KEPT: Final = 5_000
"""Tuums of all workflows in memory together; one larger workflow stays alone."""
TUUMS: Final = "_tuums"
"""The node with the run's stored tuums, by UUID."""
_CLOCK: Final = "_clock"
"""The engine's own nodes begin with `_`, ids of tuums with a letter or digit."""
_LABEL: Final[Origins] = frozenset({"label"})


NoteExecution = Callable[[Execution], None]
"""Hears what the tuums came to, before their operations are handed on."""


def note_nothing(_execution: Execution) -> None: ...


class WorkflowEngine:
    """A restart goes on where the run was: what was played stands in its stream."""

    replay = 2
    replays = frozenset({1, 2})

    def __init__(
        self,
        types: RuneTypes,
        scripts: ScriptRunner,
        find_tuums: FindParts = find_no_parts,
        *,
        bounds: Bounds | None = None,
        host: RecordHost = ALONE,
        note_execution: NoteExecution = note_nothing,
    ) -> None:
        """Until `connect` no stored tuums are found; `host` keeps blocks."""
        self._types, self._scripts, self._find_tuums = types, scripts, find_tuums
        self._bounds, self._host, self._note_execution = bounds or Bounds(), host, note_execution
        self._recent = _Recent()

    def connect(self, find_tuums: FindParts, scripts: ScriptRunner, host: RecordHost = ALONE) -> "WorkflowEngine":
        """Replace what was not given when this engine was made."""
        host = host if self._host is ALONE else self._host
        if self._find_tuums is not find_no_parts:
            scripts, find_tuums = self._scripts, self._find_tuums
        return WorkflowEngine(self._types, scripts, find_tuums, bounds=self._bounds, host=host, note_execution=self._note_execution)

    async def run(self, ctx: RunContext) -> RunResult:
        """Raises RunFailed and RunSuspended."""
        ready = await self._prepare(ctx)
        workflow = ready.compiled.workflow
        check_trigger(ctx, workflow.triggers)
        check_names(ctx, (PARAMETERS, TEXT))
        ctx.limit(build_limits(workflow.budget))
        chosen = await choose_record(ctx, workflow.record, self._host.words) if workflow.record is not None else None
        arguments = await find_parameters(ctx, workflow.trigger_parameters, first=workflow.record)
        parameters = {str(name): Value(one, arguments.origins) for name, one in arguments.data.items()}
        work = await begin_work(ctx, workflow, chosen, self._host) if chosen is not None else None
        if chosen is not None:
            parameters[chosen.record.kind] = chosen.number
        notifier = work.notifier if work is not None else Notifier(ctx)
        try:
            return await self._play(ctx, ready, parameters, notifier, work)
        except RunFailed as error:
            await notifier.tell_end("Error")
            if work is not None:
                await work.fail(error.code)
            raise

    async def _play(
        self, ctx: RunContext, ready: "_Ready", parameters: Mapping[str, Value], notifier: Notifier, work: RecordWork | None
    ) -> RunResult:
        """Raises RunFailed and RunSuspended."""
        compiled = ready.compiled
        surroundings = Surroundings(
            types=self._types,
            params=ready.params,
            scripts=self._scripts,
            show=notifier.show,
            blocks=work.build_queries() if work is not None else None,
            bounds=self._bounds,
            player=_describe_player(ctx),
            clock=await _find_clock(ctx, compiled),
        )
        execution = await execute_workflow(ctx, compiled, parameters, surroundings)
        self._note_execution(execution)
        if not execution.result.is_success:
            failure = _build_failure(execution)
            failure.origins = execution.origins | AUTHOR
            if not ctx.run.parent:  # what a run around this one knows of it is that it has failed
                failure.value = _build_value(execution, Applied(), {})
            raise failure
        operations = await work.settle(execution) if work is not None else execution.operations
        applied = await apply_operations(ctx, operations, work.recheck if work is not None else keep_all)
        block_part = await work.finish(execution, operations, applied) if work is not None else {}
        await notifier.tell_end("Complete", execution.raw_text.data)
        reply = await self._build_reply(ctx, execution, applied)
        return RunResult(value=_build_value(execution, applied, block_part), reply=reply, changes=count_changes(applied.reports))

    async def _build_reply(self, ctx: RunContext, execution: Execution, applied: Applied) -> Reply | None:
        """Return the text, the fields left out, and what was not made and why."""
        reply = None if ctx.run.parent else build_result_reply(execution.raw_text, ctx.run.run_id, await self._find_rows(ctx, execution))
        is_told = not ctx.actor.for_customers
        left = build_left_notice(applied.reports) if is_told else None
        left_out = list_left_out(execution.left_out) if is_told else ()
        if notices := (*left_out, *((left,) if left is not None else ()), *applied.notices):
            return (reply or Reply()).model_copy(update={"notices": notices})
        return reply or self._build_quiet_reply(ctx, execution, applied)

    def _build_quiet_reply(self, ctx: RunContext, execution: Execution, applied: Applied) -> Reply | None:
        """Tell the end to whoever would otherwise hear nothing; None where something else has told it."""
        if ctx.run.parent or TEXT not in ctx.run.args or any(report["status"] != "already" for report in applied.reports):
            return None
        title = str((ctx.run.definition.document.get("metadata") or {}).get("title") or ctx.run.definition.key)
        proposed = "some" if execution.operations else "none"
        return Reply(notices=(Notice(code="workflow-ended-quietly", args={"title": title, "proposed": proposed}),))

    async def _find_rows(self, ctx: RunContext, execution: Execution) -> dict[str, Row]:
        """Lines of the named records that the person may see, by key."""
        rows: dict[str, Row] = {}
        for key in list_record_keys(execution.raw_text.data):
            kind, _, number = key.partition(":")
            record = Chosen(record=Record(kind=kind, number=number), origins=execution.raw_text.origins)
            with suppress(RunFailed):
                record_words = await self._host.words.describe_record(
                    ctx.actor, record.record, await read_record(ctx, record, f"_shown/{key}")
                )
                rows[key] = Row(label=record_words.title, url=record_words.url, target=key)
        return rows

    async def _prepare(self, ctx: RunContext) -> "_Ready":
        """Order the workflow with its tuums as they were when the run began. Raises RunFailed."""
        key = hash_text(dumps(ctx.run.definition.document))
        ready = self._recent.find(key)
        if ready is not None and not ready.has_references:
            return ready
        try:
            workflow = ready.compiled.workflow if ready is not None else Workflow.model_validate(ctx.run.definition.document)
        except ValidationError as error:
            raise RunFailed("workflow-unreadable", f"the definition is no workflow: {error.error_count()} mistakes") from None
        versions = list(dict.fromkeys(one.tuum for one in workflow.tuums if isinstance(one, TuumReference) and one.enabled))
        tuums = await self._find_referenced(ctx, versions) if versions else {}
        if ready is None or ready.tuums != tuums:
            ready = _Ready(self._compile(workflow, tuums), tuums)
            self._recent.add(key, ready)
        return ready

    async def _find_referenced(self, ctx: RunContext, versions: list[str]) -> dict[str, Tuum]:
        stored_tuums = await ctx.memo(TUUMS, lambda: self._find(versions), origins=AUTHOR)
        missing = [version for version in versions if version not in stored_tuums.data]
        if missing:
            raise RunFailed("workflow-tuum-gone", f"the tuums {', '.join(missing)} are not published or not active", tuum=missing[0])
        try:
            return {version: Tuum.model_validate(document) for version, document in stored_tuums.data.items()}
        except ValidationError as error:  # one that another program, or another version of a plugin, has let pass
            raise RunFailed("workflow-unreadable", f"a tuum that it names is none: {error.error_count()} mistakes") from None

    def _compile(self, workflow: Workflow, tuums: Mapping[str, Tuum]) -> CompiledWorkflow:
        try:
            return compile_workflow(workflow, tuums, self._types)
        except DefinitionRefused as error:
            first = error.findings[0]
            raise RunFailed("workflow-uncompiled", f"{first.path}: {first.message}", why=first.message) from None

    async def _find(self, versions: list[str]) -> dict[str, object]:
        return dict(await self._find_tuums(versions))


@dataclass(frozen=True, slots=True)
class _Ready:
    """A workflow in its order, with the tuums that its references named then."""

    compiled: CompiledWorkflow
    tuums: Mapping[str, Tuum]
    params: dict[int, RuneParams] = field(default_factory=dict)

    @property
    def has_references(self) -> bool:
        return bool(self.tuums)


class _Recent:
    """A workflow that waits for people is played anew each time it goes on."""

    def __init__(self) -> None:
        self._kept: dict[str, _Ready] = {}

    def find(self, key: str) -> _Ready | None:
        if (ready := self._kept.pop(key, None)) is not None:
            self._kept[key] = ready
        return ready

    def add(self, key: str, ready: _Ready) -> None:
        self._kept[key] = ready
        while sum(len(one.compiled.tuums) for one in self._kept.values()) > _MOST_KEPT and len(self._kept) > 1:
            del self._kept[next(iter(self._kept))]


def _describe_player(ctx: RunContext) -> dict[str, Value]:
    """The person's profile when the run began, so that a replay reads the same (S003-64)."""
    run = ctx.run
    profile = {"name": run.owner_name, "employee": run.employee, "time_zone": run.time_zone, "today": run.today}
    return {name: Value(one, _LABEL if name == "name" else AUTHOR) for name, one in profile.items()}


async def _find_clock(ctx: RunContext, compiled: CompiledWorkflow) -> datetime | None:
    """When the clocks of scripts stand; None without scripts."""
    if not compiled.has_scripts:
        return None

    async def read() -> str:
        return ctx.now.isoformat()

    return parse_iso((await ctx.memo(_CLOCK, read, origins=AUTHOR)).data)


def _build_failure(execution: Execution) -> RunFailed:
    result = execution.result
    if execution.words:
        return RunFailed("workflow-stopped", result.error_message, why=execution.words)
    if not execution.failed_tuum:
        return RunFailed("workflow-result-unfit", result.error_message)
    return RunFailed(
        execution.code, result.error_message, tuum=execution.failed_tuum, why=result.error_message, finished=len(result.finished)
    )


def _build_value(execution: Execution, applied: Applied, block_part: JsonObject) -> Value:
    data = execution.result.model_dump(mode="json", by_alias=True, exclude_none=True)
    if sum(len(str(one)) for one in data["globals"].values()) > _MOST_GLOBALS:
        del data["globals"]
    origins = execution.origins
    left_out = {"leftOut": list(execution.left_out)} if execution.left_out else {}
    return Value({**data, "applied": applied.reports, **left_out, **block_part}, origins | applied.origins | AUTHOR)
