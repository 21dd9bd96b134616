"""`sdelka flow run`: plays a flow in the terminal with its real engine. Models are really asked; nothing else of the outside is touched."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.cli.definition_desk import DefinitionDesk, write_findings
from bot.cli.definition_files import read_file
from bot.cli.flow.loading import LoadedFlow
from bot.cli.ops import escape_text, open_models
from orchestrator.domain.errors import ModelClientError, SettingsError
from orchestrator.domain.outcome import Outcome
from orchestrator.domain.run_inputs import RunAnswer
from orchestrator.domain.suggestions import suggest_name
from orchestrator.domain.taint import Value
from orchestrator.engines.flows.definition import FlowStep
from orchestrator.engines.flows.engine import FlowEngine
from orchestrator.engines.flows.kind import FLOW
from orchestrator.engines.flows.launch import PARAMETERS
from orchestrator.engines.runs import Ask, RunEffect, RunFailed, RunModelRequest, RunResult
from orchestrator.rehearsals.dialogue import EACH, FAILED
from orchestrator.rehearsals.rehearsal import Happening, Place, Rehearsal, RehearsalStopped
from state.canonical import dumps
from state.clock import SystemClock
from state.stored import JsonObject

Answer = Callable[[Place, RunModelRequest], Awaitable[Any]]
"""Returns the answer of an agent. Raises RunFailed if there is none, RehearsalStopped if nothing is known of it."""


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


class FlowOutside:
    """The outside of a flow that is tried: agents are answered for, effects are only planned."""

    def __init__(self, flow: LoadedFlow, answer: Answer, watcher: Watcher) -> None:
        """Let `answer` answer for agents."""
        self._steps = {step.id: step for step in flow.flow.steps}
        self._answer, self._watcher = answer, watcher

    async def ask_model(self, place: Place, request: RunModelRequest) -> Any:
        """Return the answer of an agent, or the calls of tools that it asks for. Raises RunFailed and RehearsalStopped."""
        step, visit, number, *further = place.node.split("/")
        attempt = Attempt(self._steps[step], int(visit), int(number))
        if not further:
            self._watcher.begin(attempt)
        try:
            answer = await self._answer(place, request)
        except RunFailed as error:
            self._watcher.fail(attempt, error.detail)
            raise
        if isinstance(answer, str):
            self._watcher.finish(attempt, answer)
        return answer

    async def perform(self, place: Place, effect: RunEffect, params: Any) -> Outcome:
        """Plan the effect; nothing is sent."""
        del params
        return Outcome(status="planned", effect_id=f"rehearsal:{place.definition}/{place.node}", method=effect.method)

    async def read_memo(self, place: Place, make: Callable[[], Awaitable[Any]]) -> Any:
        """Return what the run notes by itself, or what a tool reads."""
        del place
        return await make()

    async def find_file_problem(self, place: Place) -> str:
        """Return "": steps of flows fetch no files."""
        del place
        return ""

    async def answer(self, place: Place, ask: Ask) -> RunAnswer | None:
        """Raise RehearsalStopped: a flow that has its parameters asks nobody."""
        raise RehearsalStopped(f'{place.node} asks "{ask.text}", which nobody answers in the terminal')

    async def ask_agent(self, place: Place, engine: str, args: Mapping[str, Any]) -> str:
        """Raise RehearsalStopped: agents of flows are asked as models."""
        del args
        raise RehearsalStopped(f"{place.node} asks {engine}, which the terminal does not have")

    async def run_elsewhere(self, place: Place, engine: str, args: Mapping[str, Any]) -> Any:
        """Raise RehearsalStopped: a flow starts no other runs."""
        del args
        raise RehearsalStopped(f"{place.node} runs a {engine}, which the terminal does not have")

    def tell(self, happening: Happening) -> None:
        """Hand on what no method here has told already."""
        if happening.kind not in {"model", "wait"}:
            self._watcher.note(happening)


async def try_flow(flow: LoadedFlow, parameters: JsonObject, answer: Answer, watcher: Watcher) -> TriedFlow:
    """Return what comes of a flow with these launch parameters."""
    rehearsal = Rehearsal(
        {FLOW: FlowEngine(flow.find_agents)},
        lambda kind, key: flow.document if (kind, key) == (FLOW, flow.key) else None,
        FlowOutside(flow, answer, watcher),
        now=SystemClock().now(),
    )
    given = {PARAMETERS: Value(parameters, frozenset({"person"}))}
    try:
        return TriedFlow(result=await rehearsal.play(FLOW, flow.key, given))
    except RehearsalStopped as error:
        return TriedFlow(result=RunResult(status="cancelled"), problem=str(error))


@contextlib.asynccontextmanager
async def open_answers(script: Mapping[str, Any] | None) -> AsyncIterator[Answer]:
    """Yield what answers for agents: the script by step, without one the models of the settings. Raises SettingsError."""
    if script is not None:
        yield ScriptedAnswers(script).answer
        return
    async with open_models() as router:

        async def ask(_place: Place, request: RunModelRequest) -> Any:
            try:
                answer = await router.chat(request)
            except ModelClientError as error:
                raise RunFailed("degraded", error.reason) from None
            calls = [{"name": one.name, "arguments": dict(one.arguments)} for one in answer.calls]
            return {"text": answer.text, "calls": calls} if calls else answer.text

        yield ask


class ScriptedAnswers:
    """Answers for agents by step: a text, JSON, {failed: why}, or {each: [one for each question]}."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        """Answer with these."""
        self._answers = answers
        self._used: Counter[str] = Counter()

    async def answer(self, place: Place, _request: RunModelRequest) -> str:
        """Return the next answer of a step. Raises RunFailed and RehearsalStopped."""
        if place.step not in self._answers:
            raise RehearsalStopped(f"step {place.step} has no answer")
        found = self._answers[place.step]
        if isinstance(found, Mapping) and set(found) == {EACH} and isinstance(found[EACH], list):
            number = self._used[place.step]
            self._used[place.step] += 1
            if number >= len(found[EACH]):
                raise RehearsalStopped(f"step {place.step} asks a further time, and {place.step}.{EACH} has no more")
            found = found[EACH][number]
        if isinstance(found, Mapping) and set(found) == {FAILED}:
            raise RunFailed("degraded", str(found[FAILED]))
        return found if isinstance(found, str) else dumps(found)


def load_answers(path: Path, steps: list[str]) -> Mapping[str, Any]:
    """Return the answers of a file by step. Raises SettingsError, also for a step that there is not."""
    reading = read_file(path)
    if reading.document is None or not isinstance(reading.document.data, dict):
        write_findings(reading.findings)
        raise SettingsError(escape_text(f"{path}: the answers of agents by step are needed, such as draft: Good morning"))
    for name in reading.document.data:
        if name not in steps:
            meant = suggest_name(name, steps)
            raise SettingsError(escape_text(f"{path}: there is no step {name}{f', perhaps {meant}' if meant else ''}"))
    return reading.document.data


def play_flow(
    flow: LoadedFlow, parameters: JsonObject, script: Mapping[str, Any] | None, watcher: Watcher, desk: DefinitionDesk | None
) -> TriedFlow:
    """Play a flow and return what came of it; agents of the store are read through `desk`. Raises SettingsError."""

    async def play() -> TriedFlow:
        async with open_answers(script) as answer:
            return await try_flow(flow, parameters, answer, watcher)

    return desk.call(play()) if desk is not None else asyncio.run(play())
