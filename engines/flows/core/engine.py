"""Plays flows: one agent after another, until one ends the flow (S002)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import ValidationError

from engines.flows.core.attempts import Attempted, Attempts, Why
from engines.flows.core.definition import (
    Agent,
    Flow,
    FlowStep,
    find_route_after_failure,
    find_route_after_success,
)
from engines.flows.core.memory import Channels, LongChannels, NoMemory, PersonMemory
from engines.flows.core.operations import OPERATIONS, submit_operations
from engines.flows.core.outputs import StepOutputs
from engines.flows.core.prompt import build_request
from engines.flows.core.telling import build_result_reply
from orchestrator.domain.outputs import Notice, Reply
from orchestrator.domain.own_reads import FindDocuments
from orchestrator.domain.taint import NOWHERE, Origins, Value, combine
from orchestrator.engines.base import name_step_node
from orchestrator.engines.runs import LIMIT, FindParts, RunContext, RunFailed, RunResult, RunUpdate, find_no_parts, note_value
from orchestrator.engines.shared.budget import StepCounter
from orchestrator.engines.shared.changes import build_left_notice, count_changes
from orchestrator.engines.shared.launch import CONTEXT, PARAMETERS, TEXT, check_names, check_trigger, find_parameters, read_object
from state.stored import JsonObject

MOST_STEPS: Final = 100
"""Steps of a run (S002-A6)."""
LEFT: Final = "left"
"""The node of a failed visit from which the flow went on with another step."""
REOPENED: Final = "reopened"
"""The node of a visit that succeeded after a retry: it notes the visits that had followed its failure."""
TOO_OLD: Final = "outdated"
"""The node that notes which entries were too old when a visit read them; without it none were."""
_AUTHOR: Final[Origins] = frozenset({"definition"})
_STEP_LIMITS: Final = frozenset({"flow-too-long", "flow-budget-steps"})
NoteStep = Callable[[str, int, bool], None]
"""Hears (step, its visit, whether it succeeded) at each end of a step, also in a replay."""


def note_nothing(_step: str, _visit: int, _is_success: bool, /) -> None:  # noqa: FBT001 - see NoteStep
    ...


@dataclass(frozen=True, slots=True)
class _Surroundings:
    most_steps: int
    memory: PersonMemory
    find_documents: FindDocuments | None
    note_step: NoteStep


class FlowEngine:
    """A restart goes on where the run was: what was played stands in its stream."""

    replay = 2
    replays = frozenset({1, 2})

    def __init__(
        self,
        find_agents: FindParts = find_no_parts,
        memory: PersonMemory | None = None,
        *,
        most_steps: int = MOST_STEPS,
        find_documents: FindDocuments | None = None,
        note_step: NoteStep = note_nothing,
    ) -> None:
        """Without `memory` channels of scope `user` end with the run. `find_documents` serves rag_search."""
        self._find_agents = find_agents
        self._surroundings = _Surroundings(most_steps, memory or NoMemory(), find_documents, note_step)

    def connect(
        self, find_agents: FindParts, find_documents: FindDocuments | None = None, memory: PersonMemory | None = None
    ) -> "FlowEngine":
        """Return this engine with these parts; itself if it was made with a way to find agents."""
        if self._find_agents is not find_no_parts:
            return self
        known = self._surroundings
        return FlowEngine(find_agents, memory, most_steps=known.most_steps, find_documents=find_documents, note_step=known.note_step)

    async def run(self, ctx: RunContext) -> RunResult:
        """Return {payload, summary}. Raises RunFailed and RunSuspended."""
        try:
            flow = Flow.model_validate(ctx.run.definition.document)
        except ValidationError as error:
            raise RunFailed("flow-unreadable", f"the definition is no flow: {error.error_count()} mistakes") from None
        agents = await self._load_agents(ctx, flow)
        start = await find_start(ctx, flow)
        channels = Channels(flow, LongChannels(ctx, flow, self._surroundings.memory))
        await channels.load()
        return await _Playing(ctx, flow, agents, start, channels, self._surroundings).play()

    async def _load_agents(self, ctx: RunContext, flow: Flow) -> Mapping[str, Agent]:
        """Agents by version, as they were when the run began."""
        versions = list(dict.fromkeys(step.agent_version_id for step in flow.steps))
        documents = await ctx.memo("agents", lambda: self._find(versions), origins=_AUTHOR)
        missing = [version for version in versions if version not in documents.data]
        if missing:
            raise RunFailed("flow-agent-gone", f"the agents {', '.join(missing)} are not published or not active", agent=missing[0])
        return {version: Agent.model_validate(document) for version, document in documents.data.items()}

    async def _find(self, versions: list[str]) -> dict[str, object]:
        return dict(await self._find_agents(versions))


class _Playing:
    def __init__(
        self, ctx: RunContext, flow: Flow, agents: Mapping[str, Agent], start: Value, channels: Channels, surroundings: _Surroundings
    ) -> None:
        self._ctx, self._flow, self._agents, self._start, self._channels = ctx, flow, agents, start, channels
        self._note_step = surroundings.note_step
        self._counter = StepCounter(ctx, flow.budget, surroundings.most_steps)
        self._visits = self._counter.visits
        self._steps = {step.id: step for step in flow.steps}
        self._outputs = StepOutputs()
        self._reports: list[JsonObject] = []
        self._reasons: dict[str, Notice] = {}
        self._marks: dict[str, StepMark] = {}
        self._attempts = Attempts(ctx, flow.outputs, surroundings.find_documents, self._show)

    async def play(self) -> RunResult:
        """Raises RunFailed if the flow fails; one that a limit stopped keeps what was collected."""
        try:
            return await self._play_all()
        except RunFailed as error:
            if error.code in _STEP_LIMITS or error.code.startswith(LIMIT):
                error.value = self._outputs.resolve(self._flow.outputs)
            raise

    async def _play_all(self) -> RunResult:
        place = self._flow.start_step_id or self._flow.steps[0].id
        doomed: FlowStep | None = None
        reasons: dict[str, Why] = {}
        while place:
            step = self._steps[place]
            self._counter.begin(step.id)
            why = await self._play_step(step)
            self._marks[step.id] = "failed" if why else "done"
            self._note_step(step.id, self._visits[step.id], not why)
            route = find_route_after_failure(step) if why else find_route_after_success(step)
            reasons[step.id] = why
            if route.is_doomed and doomed is None:
                doomed = step
            if not route.next_step and route.ending == "failed":
                doomed = doomed or step
            if why and route.next_step and not route.is_doomed:
                await self._leave(step, why)
            place = route.next_step
        if doomed is not None:
            why = reasons[doomed.id]
            raise RunFailed("flow-step-failed", f"step {doomed.id} failed: {why}", step=doomed.name or doomed.id, why=why)
        result = self._outputs.resolve(self._flow.outputs)
        caused = Value(result.data, result.origins | self._attempts.heard.origins)
        return RunResult(value=caused, reply=self._build_reply(result.data), changes=count_changes(self._reports))

    def _build_reply(self, result: Mapping[str, object]) -> Reply | None:
        """For a flow that another run started, tell only what was not made: its author decides about the rest."""
        run, locale = self._ctx.run, self._ctx.actor.locale
        left = build_left_notice(self._reports) if not self._ctx.actor.for_customers else None
        if run.parent and left is None:
            return None
        reply = Reply() if run.parent else build_result_reply(self._flow, self._outputs, result, today=run.today, locale=locale)
        if left is None:
            return reply
        return reply.model_copy(update={"notices": (left, *self._reasons.values())})

    async def _show(self, step: FlowStep, attempt: int) -> None:
        self._marks[step.id] = "working"
        update = RunUpdate(
            text=draw_progress(self._flow, self._marks, attempt),
            snapshot={"step": step.id, "attempt": attempt, "visits": dict(self._visits), "marks": dict(self._marks)},
        )
        await self._ctx.show(update, node=f"{self._name_visit(step)}/begins")

    def _name_visit(self, step: FlowStep) -> str:
        return f"{name_step_node(step.id)}/{self._visits[step.id]}"

    async def _play_step(self, step: FlowStep) -> Why:
        """Return why it failed, "" if it did not."""
        agent, base = self._agents[step.agent_version_id], self._name_visit(step)
        if self._ctx.find_state(f"{base}/{LEFT}") == "finished":
            return await self._recall_failure(step)
        channels = await self._read_channels(step, base)
        request = build_request(self._flow, step, agent, self._start, channels, self._ctx.run)
        attempted = await self._attempts.make(step, agent, request, base)
        output, why = attempted.output, attempted.why
        if output is not None:
            if attempted.operations:
                heard = self._attempts.heard
                done = await submit_operations(self._ctx, f"{base}/{OPERATIONS}", attempted.operations, output, heard.origins)
                output, why = done.output, "" if done.is_success else "refused"
                self._reports += output.data[OPERATIONS]
                self._reasons |= {base: done.reason} if done.reason is not None else {}
                heard.add(output.origins)
            self._outputs.add(step.id, output)
        if why or output is None:
            self._outputs.note_failure(step.id)
            return why
        await self._leave_other_way(base, attempted)
        last = f"{base}/{OPERATIONS}" if attempted.operations else attempted.node
        await self._channels.write(step, output, self._ctx.find_time(last), place=base)
        return ""

    async def _read_channels(self, step: FlowStep, base: str) -> Sequence[tuple[str, Value]]:
        """What the channels held when the visit began, however long it has been trying since."""
        reads, node = step.memory_reads, f"{base}/{TOO_OLD}"
        first = f"{base}/1"
        has_begun = self._ctx.find_state(first) == "finished" or self._ctx.count_failures(first) > 0
        too_old = {} if has_begun else self._channels.count_too_old(reads, self._ctx.now)
        if too_old or self._ctx.find_state(node) == "finished":
            too_old = (await note_value(self._ctx, node, too_old, origins=_AUTHOR)).data
        return self._channels.read(reads, too_old)

    async def _leave_other_way(self, base: str, attempted: Attempted) -> None:
        """After a retry, skip visits that followed its failure, unless they have changed something: that must not be made twice."""
        ctx, node = self._ctx, f"{base}/{REOPENED}"
        is_reopened = ctx.is_before_retry(f"{base}/1") and (
            not ctx.is_before_retry(attempted.node) or (bool(attempted.operations) and ctx.count_failures(f"{base}/{OPERATIONS}") > 0)
        )
        if not is_reopened and ctx.find_state(node) != "finished":
            return

        async def count_visits() -> Mapping[str, int]:
            return {name: count for name in self._steps if (count := self._count_before_retry(name)) > self._visits[name]}

        visits = await ctx.memo(node, count_visits, origins=_AUTHOR)
        for name, count in visits.data.items():
            self._visits[name] = max(self._visits[name], count)

    def _count_before_retry(self, step: str) -> int:
        """Number the last visit that began before the retry, up to one that has changed something."""
        count = self._visits[step]
        while self._has_only_answered(f"{name_step_node(step)}/{count + 1}"):
            count += 1
        return count

    def _has_only_answered(self, base: str) -> bool:
        return self._ctx.is_before_retry(f"{base}/1") and self._ctx.find_state(f"{base}/{OPERATIONS}") == "new"

    async def _leave(self, step: FlowStep, why: Why) -> None:
        """The flow has recovered, so a retry does not open this failure again."""
        output = self._outputs.find(step.id) if why == "refused" else None
        reason = self._reasons.get(self._name_visit(step))
        failure = {"why": why, "output": None if output is None else output.data}
        await self._note_left(step, {**failure, **({"reason": reason.model_dump(mode="json")} if reason is not None else {})}, output)

    async def _recall_failure(self, step: FlowStep) -> Why:
        left = await self._note_left(step, {}, None)
        self._attempts.heard.add(left.origins)
        if left.data["output"] is not None:
            self._outputs.add(step.id, Value(left.data["output"], left.origins))
            self._reports += left.data["output"].get(OPERATIONS, [])
        if reason := left.data.get("reason"):
            self._reasons[self._name_visit(step)] = Notice.model_validate(reason)
        self._outputs.note_failure(step.id)
        why: Why = left.data["why"]
        return why

    async def _note_left(self, step: FlowStep, failure: JsonObject, output: Value | None) -> Value:
        origins = _AUTHOR | self._attempts.heard.origins | (NOWHERE if output is None else output.origins)
        return await note_value(self._ctx, f"{self._name_visit(step)}/{LEFT}", failure, origins=origins)


MOST_LINES: Final = 12
StepMark = Literal["done", "failed", "working", "ahead"]
_SIGNS: Final[Mapping[StepMark, str]] = {"done": "✅", "failed": "❌", "working": "⏳", "ahead": "⚪"}


def draw_progress(flow: Flow, marks: Mapping[str, StepMark], attempt: int) -> str:
    """Draw a line with a sign for each step, without words so that every language reads it."""
    count = len(flow.steps)
    working = next((index for index, step in enumerate(flow.steps) if marks.get(step.id) == "working"), 0)
    first = max(0, min(working - MOST_LINES // 2, count - MOST_LINES))
    last = min(first + MOST_LINES, count)
    lines = [_draw_line(step, marks.get(step.id, "ahead"), attempt) for step in flow.steps[first:last]]
    window = [*(["…"] if first else []), *lines, *(["…"] if last < count else [])]
    return "\n".join([flow.metadata.title, *window] if flow.metadata.title else window)


def _draw_line(step: FlowStep, mark: StepMark, attempt: int) -> str:
    tries = f" ({attempt}/{step.max_attempts})" if mark == "working" and attempt > 1 else ""
    return f"{_SIGNS[mark]} {step.name or step.id}{tries}"


async def find_start(ctx: RunContext, flow: Flow) -> Value:
    """Return {parameters, context}: the start's context replaces the flow's (S002-A10).

    Raises RunFailed for unfit parameters, RunSuspended while a person is asked.
    """
    check_trigger(ctx, flow.triggers)
    check_names(ctx, (PARAMETERS, CONTEXT, TEXT))
    context = read_object(ctx, CONTEXT)
    own = Value(flow.defaults.context, _AUTHOR)
    parameters = await find_parameters(ctx, flow.launch_parameters)
    return combine(lambda mine, theirs, read: {"context": {**mine, **theirs}, "parameters": read}, own, context, parameters)
