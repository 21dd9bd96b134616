"""A process that is killed between the question to the model and its answer: the question counts, and operators see it."""

import asyncio
import json
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli.limits import budgets
from bot.cli.nouns.commands import runs
from orchestrator.reports.open_model_calls import list_open_model_calls
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.runs.killed_model_child import DOCUMENTS
from tests.unit.runs.runs_kit import RUN, a_run_world
from tests.unit.spine_kit import ANNA

ID = RUN.removeprefix("run:")
PERSON = f"employee:{ANNA.bitrix_user_id}" if ANNA.bitrix_user_id else ANNA.key
HERE = Path(__file__).resolve().parents[3]


def show_run(*more: str) -> str:
    return CliRunner().invoke(runs, ["show", ID, *more], catch_exceptions=False).output


@pytest.mark.slow
async def test_a_question_that_a_killed_process_asked_counts_and_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the run goes on it is under way or lost; after it was asked again it is lost, and both count in the budget."""
    monkeypatch.setenv("STATE_DIR", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("DATABASE_URL", raising=False)
    program = (sys.executable, "-m", "tests.unit.runs.killed_model_child", str(tmp_path))
    child = await asyncio.create_subprocess_exec(*program, stdout=asyncio.subprocess.PIPE, cwd=HERE)
    assert child.stdout is not None
    assert await child.stdout.readline() == b"asked\n"
    child.kill()
    await child.wait()
    monkeypatch.chdir(tmp_path)

    told = await asyncio.to_thread(show_run)
    assert all(one in told for one in ("model calls without answer", "s1", "gpt-5-thinking"))
    (lost,) = json.loads(await asyncio.to_thread(show_run, "--json"))["model_calls_without_answer"]
    assert (lost["place"], lost["tokens"] > 1000, lost["asked_again"]) == ("s1", True, False)
    (row,) = map(json.loads, CliRunner().invoke(budgets, ["--month", "2026-11", "--json"], catch_exceptions=False).output.splitlines())
    assert (row["person"], row["tokens"], row["estimated"]) == (PERSON, lost["tokens"], lost["tokens"])

    async with a_run_world(tmp_path, DOCUMENTS, store=open_store(build_sqlite_url(tmp_path / "sdelka.db"))) as world:
        world.clock.advance(timedelta(minutes=5))
        world.model.will("готово")
        await world.work()
        (still,) = list_open_model_calls(world.store._store, RUN)  # type: ignore[attr-defined]  # the store under the asynchronous one
    assert (still.place, still.asked_again) == ("s1", True)
    assert json.loads(await asyncio.to_thread(show_run, "--json"))["model_calls_without_answer"][0]["is_lost"]
    (row,) = map(json.loads, CliRunner().invoke(budgets, ["--month", "2026-11", "--json"], catch_exceptions=False).output.splitlines())
    assert (row["tokens"] - row["estimated"], row["estimated"]) == (15, lost["tokens"])
