"""Plays flows: one agent after another, as the routes of their steps say, until one ends the flow (S002)."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from pydantic import ValidationError

from orchestrator.domain.outputs import Reply
from orchestrator.domain.own_reads import FindDocuments
from orchestrator.domain.taint import FOREIGN, NOWHERE, Origins, Value
from orchestrator.engines.flows.agents import Agent, FindAgents, find_no_agents
from orchestrator.engines.flows.attempts import Attempts, Why
from orchestrator.engines.flows.definition import Flow, FlowStep
from orchestrator.engines.flows.launch import find_start
from orchestrator.engines.flows.memory import Channels
from orchestrator.engines.flows.operations import OPERATIONS, submit_operations
from orchestrator.engines.flows.outputs import StepOutputs
from orchestrator.engines.flows.progress import StepMark, draw_progress
from orchestrator.engines.flows.prompt import build_request
from orchestrator.engines.flows.routes import find_route_after_failure, find_route_after_success
from orchestrator.engines.flows.telling import build_result_reply
from orchestrator.engines.runs import RunContext, RunFailed, RunResult, RunUpdate

MOST_STEPS: Final = 100
"""How many steps a run makes at most (S002-A6)."""
_AUTHOR: Final[Origins] = frozenset({"definition"})


class FlowEngine:
    """Plays flows. What it has played stands in the run's stream, so a restart goes on where it was."""

    replay = 1
    replays = frozenset({1})

    def __init__(
        self, find_agents: FindAgents = find_no_agents, *, most_steps: int = MOST_STEPS, find_documents: FindDocuments | None = None
    ) -> None:
        """Play flows whose agents `find_agents` finds; their tool rag_search asks `find_documents`."""
        self._find_agents, self._most_steps, self._find_documents = find_agents, most_steps, find_documents

    def connect(self, find_agents: FindAgents, find_documents: FindDocuments | None = None) -> "FlowEngine":
        """Return an engine that is the same, whose agents `find_agents` finds; itself if it was made with a way to find them."""
        if self._find_agents is not find_no_agents:
            return self
        return FlowEngine(find_agents, most_steps=self._most_steps, find_documents=find_documents)

    async def run(self, ctx: RunContext) -> RunResult:
        """Play the flow and return {payload, summary}. Raises RunFailed and RunSuspended."""
        try:
            flow = Flow.model_validate(ctx.run.definition.document)
        except ValidationError as error:
            raise RunFailed("flow-unreadable", f"the definition is no flow: {error.error_count()} mistakes") from None
        agents = await self._load_agents(ctx, flow)
        start = await find_start(ctx, flow)
        return await _Playing(ctx, flow, agents, start, self._most_steps, self._find_documents).play()

    async def _load_agents(self, ctx: RunContext, flow: Flow) -> Mapping[str, Agent]:
        """Return the agents by version, as they were when the run began: what is published afterwards does not reach it."""
        versions = list(dict.fromkeys(step.agent_version_id for step in flow.steps))
        found = await ctx.memo("agents", lambda: self._find(versions), origins=_AUTHOR)
        missing = [version for version in versions if version not in found.data]
        if missing:
            raise RunFailed("flow-agent-gone", f"the agents {', '.join(missing)} are not published or not active", agent=missing[0])
        return {version: Agent.model_validate(document) for version, document in found.data.items()}

    async def _find(self, versions: list[str]) -> dict[str, object]:
        return dict(await self._find_agents(versions))


class _Playing:
    """One pass through a flow."""

    def __init__(
        self, ctx: RunContext, flow: Flow, agents: Mapping[str, Agent], start: Value, most_steps: int, find_documents: FindDocuments | None
    ) -> None:
        self._ctx, self._flow, self._agents, self._start, self._most_steps = ctx, flow, agents, start, most_steps
        self._steps = {step.id: step for step in flow.steps}
        self._channels = Channels(flow)
        self._outputs = StepOutputs()
        self._visits: Counter[str] = Counter()
        self._marks: dict[str, StepMark] = {}
        self._caused_by: Origins = NOWHERE
        """Where the texts of strangers come from that were read so far: what the flow does afterwards was caused by them, too."""
        self._attempts = Attempts(ctx, find_documents, self._show)

    async def play(self) -> RunResult:
        """Follow the routes from the first step to an end. Raises RunFailed if the flow fails."""
        place = self._flow.start_step_id or self._flow.steps[0].id
        doomed: FlowStep | None = None
        reasons: dict[str, Why] = {}
        while place:
            if self._visits.total() >= self._most_steps:
                raise RunFailed("flow-too-long", f"more than {self._most_steps} steps", most=self._most_steps)
            step = self._steps[place]
            self._visits[step.id] += 1
            why = await self._play_step(step)
            self._marks[step.id] = "failed" if why else "done"
            route = find_route_after_failure(step) if why else find_route_after_success(step)
            reasons[step.id] = why
            if route.is_doomed and doomed is None:
                doomed = step
            if not route.next_step and route.ending == "failed":
                doomed = doomed or step
            place = route.next_step
        if doomed is not None:
            why = reasons[doomed.id]
            raise RunFailed("flow-step-failed", f"step {doomed.id} failed: {why}", step=doomed.name or doomed.id, why=why)
        result = self._outputs.resolve(self._flow.outputs)
        return RunResult(value=result, reply=self._build_reply(result.data))

    def _build_reply(self, result: Mapping[str, object]) -> Reply:
        run, locale = self._ctx.run, self._ctx.actor.locale
        return build_result_reply(self._flow, self._outputs, result, today=run.today, locale=locale)

    async def _show(self, step: FlowStep, attempt: int) -> None:
        """Show how far the flow is: a draft in the chat, and a picture to clients that watch the run."""
        self._marks[step.id] = "working"
        update = RunUpdate(
            text=draw_progress(self._flow, self._marks, attempt),
            snapshot={"step": step.id, "attempt": attempt, "visits": dict(self._visits), "marks": dict(self._marks)},
        )
        await self._ctx.show(update, node=f"{step.id}/{self._visits[step.id]}/begins")

    async def _play_step(self, step: FlowStep) -> Why:
        """Play a step: its attempts, its operations, its memory. Return why it failed, "" if it did not."""
        agent, base = self._agents[step.agent_version_id], f"{step.id}/{self._visits[step.id]}"
        request = build_request(self._flow, step, agent, self._start, self._channels, self._ctx.run)
        self._caused_by |= request.origins & FOREIGN
        made = await self._attempts.make(step, agent, request, base)
        output, why = made.output, made.why
        if output is not None:
            self._caused_by |= output.origins & FOREIGN
            if made.operations:
                done = await submit_operations(self._ctx, f"{base}/{OPERATIONS}", made.operations, output, self._caused_by)
                output, why = done.output, "" if done.is_success else "refused"
            self._outputs.add(step.id, output)
        if why or output is None:
            self._outputs.note_failure(step.id)
            return why
        self._channels.write(step, output)
        return ""
