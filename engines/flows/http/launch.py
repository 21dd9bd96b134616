"""Finds the flow to start, checks the start, and estimates its cost (S002-X3, S002-A12)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from pydantic import ValidationError

from bot.http_api.runs.run_inputs import RunInputs, check_start
from bot.http_api.runs.run_models import RunBody, value_use
from bot.http_api.server.endpoint_context import EndpointContext
from bot.http_api.server.errors import ApiError
from bot.http_api.server.tokens import Client
from engines.flows.core.checks import find_reached
from engines.flows.core.definition import AGENT, USUAL_LIMIT, USUAL_VERSIONS, Agent, Flow, FlowStep, MemoryRead, list_next
from engines.flows.core.kind import FLOW
from engines.flows.core.prompt import build_request
from engines.flows.core.tools import LONGEST_ANSWER, MOST_CALLS, MOST_ROUNDS
from engines.flows.http.run_models import (
    Estimate,
    FlowError,
    LaunchBody,
    LaunchParameterShown,
    LaunchPreview,
    PlannedStep,
    Started,
    to_problems,
)
from orchestrator.definitions.references import is_version_id
from orchestrator.domain.actor import Actor
from orchestrator.domain.budget import Budget, Tokens
from orchestrator.domain.models import CHARACTERS_PER_TOKEN, EXPECTED_ANSWER, ModelRequest
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import Definition, RunFailed, RunInfo
from orchestrator.engines.shared.launch import CONTEXT, PARAMETERS
from orchestrator.engines.shared.parameters import ParameterMistake, read_parameters
from orchestrator.runs.registry import Engines
from state.canonical import dumps, to_storable
from state.journal import definitions
from state.model.definitions import DefinitionVersion

_STAND_IN: Final = Agent(systemPrompt="-")
_NOT_FOUND: Final = "There is no such flow; GET /api/flows/definitions lists them."


@dataclass(frozen=True, kw_only=True)
class Startable:
    """`ordered` is the version that the caller named, 0 for whichever is in force."""

    definition: Definition
    flow: Flow
    ordered: int = 0


class FlowStarter:
    """Starts flows for callers of the API, or previews it. All methods raise ApiError and StoreError."""

    def __init__(self, desk: EndpointContext, inputs: RunInputs, engines: Engines) -> None:
        self._desk, self._inputs, self._engines = desk, inputs, engines

    async def start(self, client: Client, flow_name: str, body: LaunchBody, key: str | None) -> Started:
        """Start by key or version. What does not fit is refused before anything is stored."""
        body = _to_storable(body)  # what no journal holds would fail late, or here
        startable = await self._find_startable(client, flow_name)
        _, mistakes = read_parameters(startable.flow.launch_parameters, body.parameters)
        if mistakes:
            raise _refuse_parameters(mistakes)
        order = RunBody(
            engine=FLOW, definition=startable.definition.key, args={PARAMETERS: dict(body.parameters), CONTEXT: dict(body.shared_context)}
        )
        accepted = await self._inputs.start_run(client, order, key, version=startable.ordered)
        return Started(session_id=accepted.id, flow_id=startable.definition.key, version=startable.definition.version)

    async def _find_startable(self, client: Client, flow_name: str) -> Startable:
        version = await self._find_version(flow_name) if is_version_id(flow_name) else None
        key = version.key if version is not None else flow_name
        await check_start(self._engines, client, FLOW, key)
        try:
            definition = await self._engines.definitions.find(FLOW, key)
            flow = Flow.model_validate(definition.document) if definition is not None else None
        except (RunFailed, ValidationError):
            raise ApiError(409, "definition_damaged", "id: the stored flow cannot be read; publish it anew.") from None
        if definition is None or flow is None:
            raise ApiError(404, "definition_not_found", _NOT_FOUND)
        if version is not None and version.version != definition.version:
            state = "a draft" if version.status != "published" else "not active"
            sentence = f"id: version {version.version} of {key} is {state}; version {definition.version} is the one that is used."
            raise ApiError(409, "definition_inactive", sentence)
        return Startable(definition=definition, flow=flow, ordered=version.version if version is not None else 0)

    async def _find_version(self, version_id: str) -> DefinitionVersion | None:
        """None if there is none: the text of a UUID may be a flow's key as well."""
        definition_version = await self._desk.store.read(definitions.find_by_id, version_id.lower())
        return definition_version if definition_version is not None and definition_version.kind == FLOW else None

    async def preview(self, client: Client, version: DefinitionVersion, body: LaunchBody) -> LaunchPreview:
        """Preview any version, also a draft. Nothing is stored."""
        body = _to_storable(body)  # what no journal holds would fail late, or here
        try:
            flow = Flow.model_validate(version.document)
        except ValidationError:
            raise ApiError(409, "definition_damaged", "id: the stored flow cannot be read; save it anew.") from None
        read, mistakes = read_parameters(flow.launch_parameters, body.parameters)
        agents, titles = await self._find_agents(flow)
        objections = await self._list_objections(client, version, flow, agents)
        start_value = Value({"context": {**flow.defaults.context, **body.shared_context}, "parameters": read})
        run = _describe_run(client.actor, self._desk.clock.now())
        planned = [self._plan_step(flow, step, agents, titles, (start_value, run)) for step in flow.steps]
        return LaunchPreview(
            id=version.id,
            flow_id=version.key,
            version=version.version,
            can_start=not (mistakes or objections),
            objections=objections,
            launch_parameters=[
                LaunchParameterShown(**one.model_dump(include=set(type(one).model_fields)), value=read.get(one.name))
                for one in flow.launch_parameters
            ],
            problems=to_problems(mistakes),
            steps=planned,
            estimate=self._sum_up(flow, agents, planned),
        )

    async def _list_objections(
        self, client: Client, version: DefinitionVersion, flow: Flow, agents: Mapping[str, Agent]
    ) -> list[FlowError]:
        flow_errors: list[FlowError] = []
        try:
            await self._find_startable(client, version.id)
        except ApiError as error:
            flow_errors.append(FlowError(code=error.code, message=error.message))
        missing = [step.id for step in flow.steps if step.agent_version_id not in agents]
        if missing:
            sentence = f"The agents of these steps are not published, or switched off: {', '.join(missing)}."
            flow_errors.append(FlowError(code="agent_gone", message=sentence))
        return flow_errors

    async def _find_agents(self, flow: Flow) -> tuple[Mapping[str, Agent], Mapping[str, str]]:
        agents, titles = {}, {}
        for version_id in {step.agent_version_id for step in flow.steps}:
            agent = await self._find_agent(version_id)
            if agent is not None:
                agents[version_id] = Agent.model_validate(agent.document)
                titles[version_id] = agents[version_id].title or agent.key
        return agents, titles

    async def _find_agent(self, version_id: str) -> DefinitionVersion | None:
        definition_version = await self._desk.store.read(definitions.find_by_id, version_id)
        if definition_version is None or definition_version.kind != AGENT or definition_version.status != "published":
            return None
        head = await self._desk.store.read(definitions.find_key, AGENT, definition_version.key)
        return definition_version if head is not None and head.enabled else None

    def _plan_step(
        self, flow: Flow, step: FlowStep, agents: Mapping[str, Agent], titles: Mapping[str, str], start: tuple[Value, RunInfo]
    ) -> PlannedStep:
        request = build_request(flow, step, agents.get(step.agent_version_id) or _STAND_IN, start[0], (), start[1])
        read, completion_tokens = _estimate_attempt(flow, step, agents, request)
        model = self._desk.orchestrator.tools.model.find_model_name(request)
        attempts = max(step.max_attempts, 1)
        return PlannedStep(
            id=step.id,
            name=step.name or step.id,
            agent_version_id=step.agent_version_id,
            agent=titles.get(step.agent_version_id, ""),
            model=model,
            max_attempts=attempts,
            prompt_tokens=read,
            completion_tokens=completion_tokens,
            cost=value_use(self._find_budget(), {model: (read * attempts, completion_tokens * attempts)}).cost,
        )

    def _find_budget(self) -> Budget:
        return self._desk.orchestrator.tools.gate.deps.policies.now().budget

    def _sum_up(self, flow: Flow, agents: Mapping[str, Agent], planned: list[PlannedStep]) -> Estimate:
        costs = [planned_step.cost for planned_step in planned]
        limits = {step.id: _find_most_tokens(flow, step, agents.get(step.agent_version_id)) for step in flow.steps}
        return Estimate(
            prompt_tokens=sum(planned_step.prompt_tokens * planned_step.max_attempts for planned_step in planned),
            completion_tokens=sum(planned_step.completion_tokens * planned_step.max_attempts for planned_step in planned),
            cost=round(sum(cost for cost in costs if cost is not None), 6) if None not in costs else None,
            currency=self._find_budget().currency,
            unpriced=sorted({planned_step.model for planned_step in planned if planned_step.cost is None}),
            has_loops=_has_loops(flow),
            open_ended=[step for step, limit in limits.items() if limit is None],
        )


def _refuse_parameters(mistakes: list[ParameterMistake]) -> ApiError:
    sentences = "; ".join(
        f"{mistake.name}: {mistake.problem}{f' ({mistake.expected})' if mistake.expected else ''}" for mistake in mistakes
    )
    problems = [problem.model_dump(mode="json", by_alias=True) for problem in to_problems(mistakes)]
    return ApiError(422, "parameters_unfit", f"parameters: {sentences}."[:500], more={"parameters": problems})


def _find_most_tokens(flow: Flow, step: FlowStep, agent: Agent | None) -> int | None:
    """The last word on `maxTokens`; None if nobody says any."""
    own = agent.default_options.max_tokens if agent is not None else None
    return step.overrides.max_tokens or flow.defaults.overrides.options.max_tokens or own


def _estimate_attempt(flow: Flow, step: FlowStep, agents: Mapping[str, Agent], request: ModelRequest) -> Tokens:
    """At most (read, written): with full channels, and with all questions between tools."""
    read, answer_tokens = request.estimate_tokens()
    read += sum(_estimate_channel(flow, one, agents) for one in step.memory_reads)
    if not (agents.get(step.agent_version_id) or _STAND_IN).tools:
        return read, answer_tokens
    tool_tokens = MOST_CALLS * LONGEST_ANSWER // CHARACTERS_PER_TOKEN  # what each question reads more than the one before it
    return read * MOST_ROUNDS + (tool_tokens + answer_tokens) * MOST_ROUNDS * (MOST_ROUNDS - 1) // 2, answer_tokens * MOST_ROUNDS


def _estimate_channel(flow: Flow, read_by_step: MemoryRead, agents: Mapping[str, Agent]) -> int:
    """At most: all entries that the step asks for, each as long as the longest."""
    sizes = [0]
    for step in flow.steps:
        for write in step.memory_writes:
            if write.channel == read_by_step.channel:
                answer = _find_most_tokens(flow, step, agents.get(step.agent_version_id)) or EXPECTED_ANSWER
                sizes.append(answer if write.mode == "AGENT_OUTPUT" else len(dumps(write.payload)) // CHARACTERS_PER_TOKEN + 1)
    most_entries = next(
        (write.retention_versions for write in flow.memory.shared_channels if write.id == read_by_step.channel), USUAL_VERSIONS
    )
    return max(sizes) * min(read_by_step.limit if read_by_step.limit > 0 else USUAL_LIMIT, most_entries)


def _has_loops(flow: Flow) -> bool:
    places = {step.id: place for place, step in enumerate(flow.steps)}
    ways = [[places[name] for name in list_next(step) if name in places] for step in flow.steps]
    return any(place in find_reached(ways, after) for place, after in enumerate(ways))


def _describe_run(actor: Actor, now: datetime) -> RunInfo:
    return RunInfo(
        run_id="",
        definition=Definition(key=""),
        owner=actor.key,
        home="",
        owner_name=actor.name,
        employee=actor.bitrix_user_id,
        time_zone=actor.time_zone,
        today=now.astimezone(ZoneInfo(actor.time_zone)).date().isoformat(),
    )


def _to_storable(body: LaunchBody) -> LaunchBody:
    """As a journal holds it: texts replace numbers that are too large."""
    storable = {"parameters": to_storable(dict(body.parameters)), "shared_context": to_storable(dict(body.shared_context))}
    return body.model_copy(update=storable)
