"""`sdelka flow run`: plays a flow in the terminal with its real engine. Models are really asked; nothing else of the outside is touched."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.cli.author.trying import load_mocks, open_model
from bot.cli.definition_desk import DefinitionDesk
from engines.flows.core.definition import FlowStep
from engines.flows.core.engine import FlowEngine
from engines.flows.core.kind import FLOW
from engines.flows.rehearsal.case import FlowCase
from engines.flows.terminal.loading import LoadedFlow
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import RunFailed, RunModelRequest, RunResult
from orchestrator.engines.shared.launch import PARAMETERS
from orchestrator.rehearsals.rehearsal import Happening, Place, Rehearsal, RehearsalStopped, TakeText
from orchestrator.rehearsals.script import AskModel, Script, ask_no_model
from state.clock import SystemClock
from state.stored import JsonObject


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a step that is being made."""

    step: FlowStep
    visit: int
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedFlow:
    """What came of a flow."""

    result: RunResult
    problem: str = ""
    """Why it could not be played to its end; "" if it was."""


class Watcher:
    """Is told of what happens while a flow is played. Each method does nothing of itself."""

    def begin(self, attempt: Attempt) -> None:
        """Take in that an agent is being asked."""

    def finish(self, attempt: Attempt, answer: str) -> None:
        """Take in an agent's answer."""

    def fail(self, attempt: Attempt, why: str) -> None:
        """Take in that an agent gave none."""

    def note(self, happening: Happening) -> None:
        """Take in anything else: an effect that is only planned, or the failure of the run."""


class FlowOutside(Script):
    """The outside of a flow that is tried: its agents are answered for, its effects are only planned, and a watcher is told."""

    def __init__(self, flow: LoadedFlow, answers: Mapping[str, Any], model: AskModel, watcher: Watcher) -> None:
        """Answer for agents by `answers`, in the form of tests of flows; `model` answers for those that have none."""
        super().__init__(FlowCase(name=flow.key, answers=dict(answers)), model=model)
        self._steps = {step.id: step for step in flow.flow.steps}
        self._watcher = watcher

    async def ask_model(self, place: Place, request: RunModelRequest, on_delta: TakeText | None = None) -> Any:
        """Return the answer of an agent, or the calls of tools that it asks for. Raises RunFailed and RehearsalStopped."""
        _, visit, number, *further = place.node.split("/")
        attempt = Attempt(self._steps[place.step], int(visit), int(number))
        if not further:
            self._watcher.begin(attempt)
        try:
            answer = await super().ask_model(place, request, on_delta)
        except RunFailed as error:
            self._watcher.fail(attempt, error.detail)
            raise
        if isinstance(answer, str):
            self._watcher.finish(attempt, answer)
        return answer

    def tell(self, happening: Happening) -> None:
        """Hand on what no method here has told already."""
        if happening.kind not in {"model", "wait"}:
            self._watcher.note(happening)


async def try_flow(flow: LoadedFlow, parameters: JsonObject, outside: FlowOutside) -> TriedFlow:
    """Return what comes of a flow with these launch parameters."""
    rehearsal = Rehearsal(
        {FLOW: FlowEngine(flow.find_agents)},
        lambda kind, key: flow.document if (kind, key) == (FLOW, flow.key) else None,
        outside,
        now=SystemClock().now(),
    )
    given = {PARAMETERS: Value(parameters, frozenset({"person"}))}
    try:
        return TriedFlow(result=await rehearsal.play(FLOW, flow.key, given))
    except RehearsalStopped as error:
        return TriedFlow(result=RunResult(status="cancelled"), problem=str(error))


def load_answers(path: Path, steps: list[str]) -> Mapping[str, Any]:
    """Return the answers of a file by step. Raises SettingsError, also for a step that there is not."""
    wanted = "the answers of agents by step are needed, such as draft: Good morning"
    return load_mocks(path, wanted, "step", steps, is_known=lambda name: name in steps)


def play_flow(
    flow: LoadedFlow, parameters: JsonObject, script: Mapping[str, Any] | None, watcher: Watcher, desk: DefinitionDesk | None
) -> TriedFlow:
    """Play a flow and return what came of it; agents of the store are read through `desk`. Raises SettingsError."""

    async def play() -> TriedFlow:
        if script is not None:
            return await try_flow(flow, parameters, FlowOutside(flow, script, ask_no_model, watcher))
        async with open_model() as model:
            return await try_flow(flow, parameters, FlowOutside(flow, {}, model, watcher))

    return desk.call(play()) if desk is not None else asyncio.run(play())
