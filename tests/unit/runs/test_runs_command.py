"""`sdelka runs` as operators use it, beside a bot that works with the same database and without one."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.cli.nouns.commands import build_runs
from orchestrator.runtime import worker
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.engines.scenarios.terminal import scenario_files
from tests.unit.runs.runs_kit import RUN, a_run_world, build_engines, index, start, steps
from tests.unit.spine_kit import World, until

pytestmark = pytest.mark.req("G1")

ID = RUN.removeprefix("run:")
DOCUMENTS = {
    "plan": steps({"say": "Начинаю"}, {"ask": "Как зовут клиента?"}),
    "broken": steps({"child": "nowhere"}),
    "short": steps({"say": "Готово: {deal}"}),
}
APP = build_runs(lambda: build_engines({("steps", key): document for key, document in DOCUMENTS.items()}))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Pauses of the loop are shortened, and the settings name the database of the test."""
    monkeypatch.setattr(worker, "POLL", 0.02)
    monkeypatch.setenv("STATE_DIR", str(tmp_path))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)


@asynccontextmanager
async def a_bot(folder: Path) -> AsyncIterator[World]:
    """A bot on a database in a file, with one run that waits for an answer."""
    async with a_run_world(folder, DOCUMENTS, store=open_store(build_sqlite_url(folder / "sdelka.db"))) as world:
        await world.work(start("plan"))
        yield world


def call(*arguments: str) -> tuple[int, str]:
    """Exit code and all that was shown."""
    return scenario_files.call(*arguments, app=APP)


async def type_in(*arguments: str) -> tuple[int, str]:
    return await asyncio.to_thread(call, *arguments)


async def test_runs_are_listed_and_shown_while_a_bot_works(tmp_path: Path) -> None:
    """As tables for people and as JSON for programs; a part of the id is enough."""
    async with a_bot(tmp_path):
        code, told = await type_in("list")
        assert (code, ID in told, "waiting" in told) == (0, True, True)
        assert json.loads((await type_in("list", "--status", "waiting", "--json"))[1])["id"] == ID
        assert await type_in("list", "--status", "done", "--json") == (0, "")
        code, told = await type_in("show", ID[-6:])
        assert (code, "plan" in told, "input" in told) == (0, True, True)
        shown = json.loads((await type_in("show", ID, "--json"))[1])
        assert (shown["id"], shown["status"], "actor" in shown) == (ID, "waiting", False)
        code, told = await type_in("events", ID)
        assert (code, "the run of plan version 1" in told, "node s1 waits for an answer" in told) == (0, True, True)
        assert [json.loads(line)["type"] for line in (await type_in("events", ID, "--json"))[1].splitlines()][:2] == [
            "RunStarted",
            "NodeDone",
        ]


async def test_orders_are_carried_out_by_the_bot(tmp_path: Path) -> None:
    """Pause, resume and cancel; an order that does not fit is refused with a sentence, before anything is stored."""
    async with a_bot(tmp_path) as world, world.working():
        for order, status in (("pause", "paused"), ("resume", "waiting"), ("cancel", "cancelled")):
            code, told = await type_in(order, ID)
            assert (code, told.split()[0]) == (0, f"{order}:")
            assert index(world).status == status
        code, told = await type_in("retry", ID)
        assert (code, told.strip()) == (1, "The run is cancelled; retry is for a run that is failed.")


async def test_a_run_is_started_for_a_person(tmp_path: Path) -> None:
    """It works with their rights and gets its values; an unknown definition is refused at once."""
    async with a_bot(tmp_path) as world, world.working():
        code, told = await type_in("start", "steps", "short", "--for", "tg:1007", "--arg", "deal=481", "--json")
        made = json.loads(told)
        assert code == 0
        await until(lambda: index(world, f"run:{made['id']}").status == "done")
        assert index(world, f"run:{made['id']}").home == "tg:1007"
        assert "Готово: 481" in [part["text"] for row in world.outbox() for part in row.body["parts"]]
        code, told = await type_in("start", "steps", "nowhere", "--for", "tg:1007")
        assert (code, "there is no 'nowhere'" in told) == (2, True)


async def test_without_a_bot_the_command_says_so(tmp_path: Path) -> None:
    """The order is stored, and the next bot carries it out."""
    async with a_bot(tmp_path) as world:
        code, told = await type_in("cancel", ID, "--wait", "0")
        assert (code, "no bot has taken it" in told) == (1, True)
        await world.work()
        assert index(world).status == "cancelled"


async def test_wrong_use_is_told_in_a_sentence(tmp_path: Path) -> None:
    """An unknown run, a status that does not exist, a person or a value in the wrong form: nothing is stored."""
    async with a_bot(tmp_path):
        for arguments, words in {
            ("show", "nobody"): "there is no run 'nobody'",
            ("list", "--status", "odd"): "is not one of",
            ("start", "steps", "plan", "--for", "Anna"): "--for",
            ("start", "steps", "plan", "--for", "tg:1007", "--arg", "deal"): "--arg 'deal'",
        }.items():
            code, told = await type_in(*arguments)
            assert (code, words in told) == (2, True), told
