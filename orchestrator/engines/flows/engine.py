"""Plays flows: one agent after another, as the routes of their steps say, until one ends the flow (S002)."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import count
from typing import Final

from pydantic import ValidationError

from orchestrator.domain.taint import Origins, Value
from orchestrator.engines.flows.agents import Agent, FindAgents, find_no_agents
from orchestrator.engines.flows.budget import StepCounter
from orchestrator.engines.flows.definition import Flow, FlowStep
from orchestrator.engines.flows.launch import find_start
from orchestrator.engines.flows.memory import Channels
from orchestrator.engines.flows.outputs import StepOutputs
from orchestrator.engines.flows.person_memory import LongChannels, NoMemory, PersonMemory
from orchestrator.engines.flows.prompt import build_request, read_output
from orchestrator.engines.flows.routes import find_route_after_failure, find_route_after_success
from orchestrator.engines.flows.telling import build_result_reply
from orchestrator.engines.runs import RunContext, RunFailed, RunModelRequest, RunResult, RunUpdate

MOST_STEPS: Final = 100
"""How many steps a run makes at most (S002-A6)."""
PAUSE: Final = timedelta(seconds=1)
"""How long a flow waits before it tries a step again (S002-X6)."""
NO_ANSWER: Final = "degraded"
"""The code of the failure that a step may be repeated after: no provider answered. Others, such as a used-up budget, end the run."""
_AUTHOR: Final[Origins] = frozenset({"definition"})


class FlowEngine:
    """Plays flows. What it has played stands in the run's stream, so a restart goes on where it was."""

    replay = 1
    replays = frozenset({1})

    def __init__(
        self, find_agents: FindAgents = find_no_agents, memory: PersonMemory | None = None, *, most_steps: int = MOST_STEPS
    ) -> None:
        """Play flows whose agents `find_agents` finds; channels of scope `user` are kept in `memory`, without it they end with the run."""
        self._find_agents, self._most_steps = find_agents, most_steps
        self._memory = memory or NoMemory()

    def connect(self, find_agents: FindAgents, memory: PersonMemory | None = None) -> "FlowEngine":
        """Return an engine that is the same with these ways to find agents and to keep memory; itself if it was made with such ways."""
        return FlowEngine(find_agents, memory, most_steps=self._most_steps) if self._find_agents is find_no_agents else self

    async def run(self, ctx: RunContext) -> RunResult:
        """Play the flow and return {payload, summary}. Raises RunFailed and RunSuspended."""
        try:
            flow = Flow.model_validate(ctx.run.definition.document)
        except ValidationError as error:
            raise RunFailed("flow-unreadable", f"the definition is no flow: {error.error_count()} mistakes") from None
        agents = await self._load_agents(ctx, flow)
        start = await find_start(ctx, flow)
        channels = Channels(flow, LongChannels(ctx, flow, self._memory))
        await channels.load()
        return await _Playing(ctx, flow, agents, start, channels, StepCounter(ctx, flow.budget, self._most_steps)).play()

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
        self, ctx: RunContext, flow: Flow, agents: Mapping[str, Agent], start: Value, channels: Channels, counter: StepCounter
    ) -> None:
        self._ctx, self._flow, self._agents, self._start = ctx, flow, agents, start
        self._channels, self._counter, self._visits = channels, counter, counter.visits
        self._steps = {step.id: step for step in flow.steps}
        self._outputs = StepOutputs()

    async def play(self) -> RunResult:
        """Follow the routes from the first step to an end. Raises RunFailed if the flow fails."""
        place = self._flow.start_step_id or self._flow.steps[0].id
        doomed: FlowStep | None = None
        while place:
            step = self._steps[place]
            self._counter.begin(step.id)
            await self._show(step)
            output = await self._play_step(step)
            route = find_route_after_success(step) if output is not None else find_route_after_failure(step)
            if route.is_doomed and doomed is None:
                doomed = step
            if not route.next_step and route.ending == "failed":
                doomed = doomed or step
            place = route.next_step
        if doomed is not None:
            raise RunFailed("flow-step-failed", f"step {doomed.id} failed", step=doomed.name or doomed.id)
        result = self._outputs.resolve(self._flow.outputs)
        return RunResult(value=result, reply=build_result_reply(self._flow, self._outputs, result.data))

    async def _show(self, step: FlowStep) -> None:
        """Show which step is being done: a draft in the chat, and a picture to clients that watch the run."""
        node = f"{step.id}/{self._visits[step.id]}/begins"
        await self._ctx.show(RunUpdate(snapshot={"step": step.id, "visits": dict(self._visits)}), node=node)

    async def _play_step(self, step: FlowStep) -> Value | None:
        """Return the output of a step, after its memory is written; None if every attempt failed."""
        request = build_request(self._flow, step, self._agents[step.agent_version_id], self._start, self._channels)
        answer = await self._ask(step, request)
        if answer is None:
            self._outputs.note_failure(step.id)
            return None
        output = read_output(answer)
        self._outputs.add(step.id, output)
        await self._channels.write(step, output, place=f"{step.id}/{self._visits[step.id]}")
        return output

    async def _ask(self, step: FlowStep, request: RunModelRequest) -> Value | None:
        """Return the agent's answer, None after `maxAttempts` without one. What failed before a person had the run retried is forgiven."""
        base = f"{step.id}/{self._visits[step.id]}"
        failed = 0
        for number in count(1):
            node = f"{base}/{number}"
            answer = await self._ask_once(node, request)
            if answer is not None:
                return answer
            failed += not self._ctx.is_before_retry(node)
            if failed >= max(step.max_attempts, 1):
                return None
            await self._rest(node)
        raise AssertionError("count never ends")

    async def _ask_once(self, node: str, request: RunModelRequest) -> Value | None:
        """Return the agent's answer, None if there is none or it is empty (S002-X7)."""
        if self._ctx.count_failures(node):
            return None
        try:
            answer = await self._ctx.ask_model(node, request)
        except RunFailed as error:
            if error.code != NO_ANSWER:
                raise
            return None
        return answer if str(answer.data).strip() else None

    async def _rest(self, node: str) -> None:
        """Wait before the next attempt."""
        until = await self._ctx.memo(f"{node}/until", self._find_end_of_pause, origins=_AUTHOR)
        await self._ctx.sleep(f"{node}/pause", datetime.fromisoformat(until.data))

    async def _find_end_of_pause(self) -> str:
        return (self._ctx.now + PAUSE).isoformat()
