"""The daily cap where several conversations of one person begin a write at the same moment: exactly so many run as may."""

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Outcome, Pending
from orchestrator.features.budgets.change_counter import JournalChangeCounter
from orchestrator.sessions.session import Session
from tests.unit.spine_kit import ANNA, CHAT, World, a_world, effect, press

PHONE = ANNA.model_copy(update={"key": "tg:2007"})
SITE = ANNA.model_copy(update={"key": "http:site"})
PLACES = ((CHAT, ANNA), ("tg:-100", ANNA), ("tg:2007", PHONE), ("http:site:1", SITE), ("http:site:2", SITE))


def new_process(world: World) -> None:
    """Nothing is left of what a process remembers."""
    world.gate._deps = replace(world.gate._deps, change_counter=JournalChangeCounter(world.store))


def lose_counts(world: World) -> None:
    """As a database has it that was rebuilt from its journal, or comes from an older version."""
    with world.sql._database.write() as transaction:
        transaction._cursor.execute("DELETE FROM \"values\" WHERE key LIKE 'begun:%'")


def tasks(name: str, many: int) -> tuple[str, dict[str, Any]]:
    """So many new tasks, more than one as a batch."""
    if many == 1:
        return "tasks.task.add", {"fields": {"TITLE": name}}
    return "batch", {"cmd": {f"c{number}": f"tasks.task.add?fields[TITLE]={name}-{number}" for number in range(many)}}


async def opened(world: World) -> list[Session]:
    return [await world.session(key, f"process-{number}") for number, (key, _) in enumerate(PLACES)]


async def at_once(world: World, sessions: list[Session], wishes: list[int], *, turn: str = "t1") -> list[Outcome]:
    """Each conversation asks at the same moment; what became of each."""

    async def one(number: int, many: int) -> Outcome | Pending:
        what = effect(*tasks(f"{turn}-{number}", many), slot=f"{turn}/1/{number}")
        return await world.submit(sessions[number], what, actor=PLACES[number][1])

    done = await asyncio.gather(*(one(number, many) for number, many in enumerate(wishes)))
    assert all(isinstance(item, Outcome) for item in done)
    return done  # type: ignore[return-value]


def code(outcome: Outcome) -> str:
    return outcome.reason.code if outcome.reason else outcome.status


def begun(world: World) -> int:
    """How many changes the journal says were begun."""
    return sum(int(event.data["writes"]) for event in world.sql.scan(("CallStarted",)))


@pytest.mark.parametrize("lost", [False, True], ids=["counted", "rebuilt"])
async def test_of_five_conversations_at_once_three_write(tmp_path: Path, *, lost: bool) -> None:
    """Two chats, another account, and two conversations of a token: the ones too many read the plain sentence, nothing of them is sent."""
    async with a_world(tmp_path, policy={"caps": {"writes_per_day": 5}}) as world:
        new_process(world)
        sessions = await opened(world)
        assert [code(item) for item in await at_once(world, sessions, [1, 1])] == ["succeeded"] * 2
        if lost:
            lose_counts(world)
            new_process(world)
        done = await at_once(world, sessions, [1] * 5, turn="t2")
        assert Counter(map(code, done)) == {"succeeded": 3, "gate-cap-day": 2}
        refused = [item.reason for item in done if item.reason]
        assert [(item.args["count"], item.args["made"], item.args["limit"]) for item in refused] == [(1, 5, 5)] * 2
        assert begun(world) == len(world.portal.ledger) == 5
        assert sum(len(world.events("StepRefused", key=key)) for key, _ in PLACES) == 2
        world.clock.advance(timedelta(hours=24, seconds=1))
        done = await at_once(world, sessions, [1] * 5, turn="t3")
        assert Counter(map(code, done)) == {"succeeded": 5}


async def test_of_two_cards_approved_at_once_one_runs(tmp_path: Path) -> None:
    """In two conversations; the other one closes with the sentence, and no press runs it any more."""
    async with a_world(tmp_path, policy={"caps": {"writes_per_day": 1}}) as world:
        new_process(world)
        entries: list[tuple[dict[str, Any], str, Actor]] = []
        for number, (key, actor) in enumerate(PLACES[:2]):
            session = await world.session(key)
            wish = effect("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 1_100_000 + number}}, slot=f"t1/1/{number}")
            entries.append((await world.asked(session, wish, actor=actor), key, actor))
            await session.close()
        await world.work(*(press(entry, key=key, actor=actor) for entry, key, actor in entries))
        await world.work(*(press(entry, key=key, actor=actor) for entry, key, actor in entries))
        rows = [world.sql.find_effect(entry.effect_id) for entry, _, _ in entries]
        assert sorted(row.status for row in rows if row) == ["refused", "succeeded"]
        codes = [event.data["code"] for key, _ in PLACES[:2] for event in world.events("CallRefused", key=key)]
        assert codes == ["gate-cap-day"]
        assert begun(world) == len(world.portal.ledger) == 1


@pytest.mark.long
@given(st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=len(PLACES)), min_size=1, max_size=4), st.integers(0, 12))
@settings(max_examples=15, deadline=None)
def test_no_interleaving_passes_the_cap(rounds: list[list[int]], cap: int) -> None:
    """Whatever the sizes and whoever comes first: never more than the cap, and none is refused that would fit when all are through."""

    async def play(folder: Path) -> None:
        async with a_world(folder, policy={"caps": {"writes_per_day": cap}}) as world:
            new_process(world)
            sessions = await opened(world)
            for number, wishes in enumerate(rounds):
                done = await at_once(world, sessions, wishes, turn=f"t{number}")
                assert begun(world) <= cap
                left = cap - begun(world)
                assert all(many > left for many, item in zip(wishes, done, strict=True) if item.status == "refused")

    with TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder)))
