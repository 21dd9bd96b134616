"""A play that looks at its queue while a retry is stored plays the woken run."""

from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest

from orchestrator.runs import runner
from orchestrator.runs.registry import Engines, StaticDefinitions


@pytest.mark.req("G1")
async def test_a_run_that_is_woken_while_its_queue_is_read_is_played(monkeypatch: pytest.MonkeyPatch) -> None:
    """The input that the waking brought is not finished as one of a run that is over."""
    over = SimpleNamespace(run=SimpleNamespace(is_over=True, status="failed"))
    session: Any = SimpleNamespace(state=over, catch_up=AsyncMock())
    woken = SimpleNamespace(is_over=False, status="running")
    played = []

    async def list_queued(*_: Any) -> list[str]:
        session.state.run = woken
        return ["older", "newer"]

    async def prepare(_: Any, run: Any, *__: Any) -> tuple[str, str]:
        return run, "engine"

    async def play(_: Any, engine: str, context: Any, queued: list[str]) -> None:
        played.append((engine, context, queued))

    monkeypatch.setattr(runner, "_list_queued", list_queued)
    monkeypatch.setattr(runner.Runner, "_prepare", prepare)
    monkeypatch.setattr(runner.Runner, "_play", play)
    given: Any = None
    await runner.Runner(Engines(runs={}, definitions=StaticDefinitions({}))).play(given, session, given)
    assert played == [("engine", woken, ["older", "newer"])]
