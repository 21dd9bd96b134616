"""Plays workflows with their real engine and sandbox, over a journal in memory and a world that says what a test wants."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from engines.workflows.core.engine import WorkflowEngine
from orchestrator.domain.effect import Outcome
from orchestrator.domain.run_inputs import RunAnswer
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import Ask, RunEffect, RunModelRequest, RunResult
from orchestrator.engines.shared.launch import PARAMETERS
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.rehearsals.rehearsal import Happening, Outside, Place, Rehearsal, TakeText
from tests.unit.engines.workflows.workflow_kit import TYPES

NOW = datetime(2026, 11, 27, 9, 0, tzinfo=UTC)


class QuietOutside(Outside):
    """Answers after pauses of random length, so that tuums end in another order each time; counts what is done."""

    def __init__(self, seed: int = 0, answer: Callable[[str], str] = str) -> None:
        """Pause as this seed says; `answer` is what the model says to the last message of a prompt."""
        self._dice = random.Random(seed)  # noqa: S311 - a plan is no secret
        self._answer = answer
        self.prompts: list[str] = []
        self.made: Counter[str] = Counter()
        self.effects: list[tuple[str, Any]] = []
        self.failures: list[Happening] = []

    async def _pause(self) -> None:
        for _ in range(self._dice.randint(0, 4)):
            await asyncio.sleep(0)

    async def ask_model(self, place: Place, request: RunModelRequest, on_delta: TakeText | None = None) -> Any:
        """The answer to the prompt, in one piece."""
        del on_delta
        self.made[place.node] += 1
        await self._pause()
        text = str(request.messages[-1]["content"])
        self.prompts.append(text)
        return self._answer(text)

    async def read_memo(self, place: Place, make: Callable[[], Awaitable[Any]]) -> Any:
        """What the run notes."""
        self.made[place.node] += 1
        await self._pause()
        return await make()

    async def perform(self, place: Place, effect: RunEffect, params: Any) -> Outcome:
        """Do nothing, and say that it is planned."""
        del place
        self.effects.append((effect.method, params))
        return Outcome(status="planned", effect_id="none", method=effect.method)

    async def answer(self, place: Place, ask: Ask) -> RunAnswer | None:
        """Nobody is asked."""
        raise AssertionError(f"{place.node} asks {ask.text}")

    async def ask_agent(self, place: Place, engine: str, args: Mapping[str, Any]) -> str:
        """Nobody is asked."""
        raise AssertionError(place.node, engine, args)

    async def run_elsewhere(self, place: Place, engine: str, args: Mapping[str, Any]) -> Any:
        """Nothing else runs."""
        raise AssertionError(place.node, engine, args)

    def tell(self, happening: Happening) -> None:
        """Remember how the run failed."""
        if happening.kind == "failure":
            self.failures.append(happening)


@dataclass(frozen=True, slots=True)
class Stage:
    """Where workflows are played."""

    engine: WorkflowEngine

    async def play(self, document: Mapping[str, Any], outside: QuietOutside, **parameters: Any) -> RunResult:
        """What a run of the workflow gives, started with these parameters."""
        rehearsal = Rehearsal({"workflow": self.engine}, lambda *_: document, outside, now=NOW)
        return await rehearsal.play("workflow", "dossier", {PARAMETERS: Value(parameters, frozenset({"person"}))})


@asynccontextmanager
async def a_stage() -> AsyncIterator[Stage]:
    """A stage with a sandbox of its own."""
    async with ScriptRunner() as scripts:
        yield Stage(WorkflowEngine(TYPES, scripts))


async def play_quietly(document: Mapping[str, Any], **parameters: Any) -> tuple[RunResult, QuietOutside]:
    """What a run of the workflow gives on a stage of its own, and what it did outside."""
    outside = QuietOutside()
    async with a_stage() as stage:
        return await stage.play(document, outside, **parameters), outside
