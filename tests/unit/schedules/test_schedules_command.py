"""`sdelka schedules` as operators use it, beside a bot that works with the same database and without one."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.cli.nouns.commands import build_group
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.engines.scenarios.terminal import scenario_files
from tests.unit.runs.runs_kit import build_engines
from tests.unit.schedules.schedules_kit import ID, QUIET, Bench, a_bench, add
from tests.unit.spine_kit import BORIS, CHAT

pytestmark = pytest.mark.req("G1")

APP = build_group("schedules", lambda: build_engines({("steps", "plan"): QUIET["plan"]}))
ADD = ("add", "steps", "plan", "--for", CHAT)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The settings name the database of the test."""
    monkeypatch.setenv("STATE_DIR", str(tmp_path))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)


@asynccontextmanager
async def a_bot(folder: Path) -> AsyncIterator[Bench]:
    """A bot on a database in a file, with one schedule."""
    async with a_bench(folder, QUIET, store=open_store(build_sqlite_url(folder / "sdelka.db"))) as bench:
        args = {"deal": {"data": 481, "origins": ["person"]}}
        await bench.world.work(add(cron="0 9 * * 1-5", args=args, note="для Ромашки"))
        yield bench


def call(*arguments: str) -> tuple[int, str]:
    """Exit code and all that was shown."""
    return scenario_files.call(*arguments, app=APP)


async def type_in(*arguments: str) -> tuple[int, str]:
    return await asyncio.to_thread(call, *arguments)


async def test_schedules_are_listed_and_shown_while_a_bot_works(tmp_path: Path) -> None:
    async with a_bot(tmp_path):
        code, told = await type_in("list")
        assert code == 0
        for part in (ID, "waiting", "2026-11-23 06:00:00Z", "on weekdays at 9:00", CHAT):
            assert part in told
        assert json.loads((await type_in("list", "--json", "--status", "waiting", "--owner", CHAT))[1])["id"] == ID
        assert await type_in("list", "--json", "--status", "paused") == await type_in("list", "--json", "--owner", BORIS.key) == (0, "")
        code, told = await type_in("show", ID[-6:])
        assert code == 0
        for part in ("plan", "2026-11-24 06:00:00Z", "2026-11-25 06:00:00Z", "для Ромашки", "deal: 481", "0 9 * * 1-5"):
            assert part in told
        shown = json.loads((await type_in("show", ID, "--json"))[1])
        assert (shown["owner"]["id"], "actor" in shown) == (CHAT, False)


async def test_orders_are_carried_out_by_the_bot(tmp_path: Path) -> None:
    async with a_bot(tmp_path) as bench, bench.world.working():
        for order, status in (("pause", "paused"), ("resume", "waiting")):
            assert (await type_in(order, ID))[0] == 0
            assert bench.entry().status == status
        assert (await type_in("resume", ID))[1].strip() == "The schedule is waiting; resume is for a schedule that is paused."
        assert (await type_in("cancel", ID))[0] == 0
        assert bench.state() == {}


async def test_a_schedule_is_made_for_a_person_in_their_zone(tmp_path: Path) -> None:
    async with a_bot(tmp_path) as bench, bench.world.working():
        bench.people.actors[CHAT] = bench.people.actors[CHAT].model_copy(update={"time_zone": "Asia/Omsk"})
        code, told = await type_in(*ADD, "--cron", "0 9 * * *", "--arg", "deal=481", "--json")
        made = json.loads(told)
        assert code == 0
        entry = bench.entry(schedule=made["id"])
        assert (entry.zone, entry.owner, entry.args["deal"], entry.by.partition(":")[0]) == (
            "Asia/Omsk", CHAT, {"data": 481, "origins": ["person"]}, "cli",
        )  # fmt: skip
        assert (await type_in("add", "steps", "none", "--for", CHAT, "--cron", "0 9 * * *"))[0] == 2


async def test_a_made_schedule_is_told_in_the_language_of_who_makes_it(tmp_path: Path) -> None:
    """Not in that of its owner, who may read another; in its zone, which is named where the reader's differs."""
    async with a_bot(tmp_path) as bench, bench.world.working():
        bench.people.actors[CHAT] = bench.people.actors[CHAT].model_copy(update={"locale": "ru", "time_zone": "Asia/Omsk"})
        for language, when in (("en", "every day at 9:00"), ("ru", "каждый день в 9:00")):
            code, told = await type_in(*ADD, "--cron", "0 9 * * *", "--language", language, "--json")
            made = json.loads(told)["when"]
            assert (code, made.startswith(when), "Omsk" in made) == (0, True, True), made


@pytest.mark.parametrize(("arguments", "said"), [
    ((*ADD,), "give one moment"),
    ((*ADD, "--at", "2099-01-01T00:00Z"), "within the next five years"),
    ((*ADD, "--at", "2020-01-01T00:00Z"), "this moment is over"),
    ((*ADD, "--at", "2026-12-01T09:00"), "without its offset"),
    ((*ADD, "--cron", "0 9 * * *", "--zone", "../etc/passwd"), "time zone"),
    ((*ADD, "--cron", "*/0 * * * *"), "the field minute cannot be '*/0'"),
    ((*ADD, "--cron", "\x1b[31m 9 * * *"), "\\x1b"),
    ((*ADD, "--cron", "0 9 * * *", "--home", "tg:1008\x1b"), "home"),
    (("add", "steps", "plan", "--for", "x", "--cron", "0 9 * * *"), "a person or token"),
    ((*ADD, "--cron", "0 9 * * *", "--arg", "a b"), "a value such as deal=481"),
    (("show", "nope"), "there is no schedule"),
    (("show", ""), "there is no schedule"),
    (("cancel", "0190"), "give more of it"),
    (("list", "--status", "over"), "is not one of"),
])  # fmt: skip
async def test_wrong_use_ends_with_a_sentence(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    async with a_bot(tmp_path) as bench:
        await bench.world.work(add(cron="0 9 * * *", schedule=ID.replace("aa", "ab")))
        code, told = await type_in(*arguments)
        assert (code, said in told) == (2, True), told


async def test_without_a_bot_it_is_stored_and_said(tmp_path: Path) -> None:
    async with a_bot(tmp_path) as bench:
        code, told = await type_in("pause", ID, "--wait", "0")
        assert (code, "no bot has taken it" in told) == (1, True)
        await bench.world.work()
        assert bench.entry().status == "paused"
