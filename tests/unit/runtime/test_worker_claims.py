"""An input of a session that is held is claimed as it is stored: begun at once, counted once, and never lost or worked twice."""

import asyncio
import sqlite3
from typing import Any

import pytest

from orchestrator.runtime import worker
from state.journal.store import InboxRow, Lane
from tests.unit.spine_kit import BORIS, CHAT, World, message, press, raise_sum, reply, until


@pytest.fixture(autouse=True)
def _no_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop looks at the database when it is woken, and then not for an hour."""
    monkeypatch.setattr(worker, "POLL", 3600)


def attempts(world: World) -> list[tuple[str, int]]:
    """Of every input, in the order in which they came."""
    with world.sql._database.read() as transaction:
        transaction._cursor.execute("select status, attempts from inbox order by rowid")
        return [tuple(row) for row in transaction._cursor.fetchall()]


async def test_a_turn_in_a_held_session_asks_for_no_input(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Message and press are claimed by the transactions that store them; only the turn that goes on after its card is looked for."""
    asked: list[tuple[str, Lane]] = []
    following = world.store.take_inbox

    async def counted(key: str, lane: Lane) -> InboxRow | None:
        asked.append((key, lane))
        return await following(key, lane)

    monkeypatch.setattr(world.store, "take_inbox", counted)
    world.model.will(reply(), reply(raise_sum()))
    async with world.working():
        await world.orchestrator.receive([message("привет")])
        await world.idle()
        asked.clear()
        await world.orchestrator.receive([message("подними сумму сделки 481 до 1 200 000")])
        await world.idle()
        card = next(row.body for row in world.outbox() if row.kind == "card")
        await world.orchestrator.receive([press(card)])
        await world.idle()
    assert len(world.portal.written("crm.deal.update")) == 1
    assert asked == [(CHAT, "turn")] * 2
    assert attempts(world) == [("done", 1)] * 4


async def test_several_inputs_at_once_are_worked_in_order(world: World) -> None:
    """Only the oldest is claimed; the lane goes on with the others, also with those that come while it is at work."""
    world.model.will(*[reply(text=str(number)) for number in range(5)])
    async with world.working():
        await world.orchestrator.receive([message("0")])
        await world.idle()
        await world.orchestrator.receive([message("1"), message("2")])
        await world.orchestrator.receive([message("3")])
        await world.orchestrator.receive([message("4")])
        await until(lambda: world.types().count("TurnFinished") == 5)
    assert [row.body["parts"][0]["text"] for row in world.outbox()] == ["0", "1", "2", "3", "4"]
    assert attempts(world) == [("done", 1)] * 5


async def test_a_claim_of_a_session_that_was_given_up_is_given_back(world: World) -> None:
    """The state was left before the drain began: the row is asked for again under the session that was opened anew."""
    world.model.will(reply(text="раз"), reply(text="два"))
    async with world.working():
        await world.orchestrator.receive([message("первое")])
        await world.idle()
        await world.orchestrator.receive([message("второе")])
        world.orchestrator._drop_session(CHAT)
        await until(lambda: world.types().count("TurnFinished") == 2)
    assert attempts(world) == [("done", 1)] * 2


async def test_a_claim_that_a_stop_leaves_is_given_back(world: World) -> None:
    """The program stops before the model answers: no attempt is counted, the next start works the input."""
    world.model.will(reply(text="раз"), reply(text="-"), reply(text="два"))
    async with world.working():
        await world.orchestrator.receive([message("первое")])
        await world.idle()
        world.model.gate = asyncio.Event()
        await world.orchestrator.receive([message("второе")])
    assert attempts(world) == [("done", 1), ("new", 0)]
    world.model.gate = None
    await world.work()
    assert attempts(world) == [("done", 1)] * 2


async def test_an_input_that_cannot_be_stored_leaves_its_lane_free(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The claim ends with the call that failed; the next input is begun at once."""
    world.model.will(reply(text="раз"), reply(text="два"))
    async with world.working():
        await world.orchestrator.receive([message("первое")])
        await world.idle()
        with monkeypatch.context() as broken:
            broken.setattr(world.sql, "put_inbox", _full)
            with pytest.raises(sqlite3.OperationalError):
                await world.orchestrator.receive([message("второе")])
        await world.orchestrator.receive([message("второе")])
        await until(lambda: world.types().count("TurnFinished") == 2)


def _full(*_: Any) -> Any:
    raise sqlite3.OperationalError("disk full")


async def test_the_first_message_of_a_chat_does_not_wait_behind_a_known_one(world: World) -> None:
    """An arrival in a session that is held puts off no look for a session that is not."""
    world.model.will(reply(), reply(), reply())
    async with world.working():
        await world.orchestrator.receive([message("привет")])
        await world.idle()
        await world.orchestrator.receive([message("ещё")])
        await world.orchestrator.receive([message("привет", actor=BORIS, key="tg:1008")])
        await until(lambda: "TurnFinished" in world.types("tg:1008"))
        await until(lambda: world.types().count("TurnFinished") == 2)


async def test_the_trouble_of_one_session_keeps_no_other_from_being_closed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the end every lease is given up, whatever becomes of the one before."""
    world.model.will(reply(), reply())
    async with world.working():
        await world.orchestrator.receive([message("привет"), message("привет", actor=BORIS, key="tg:1008")])
        await world.idle()
        monkeypatch.setattr(world.orchestrator._sessions[CHAT], "close", _breaks)
        monkeypatch.setattr(world.orchestrator, "_sessions", dict(sorted(world.orchestrator._sessions.items())))
    assert world.sql.acquire("tg:1008", "other", world.clock.now(), world.clock.now() + worker.LEASE) is not None
    assert world.sql.acquire(CHAT, "other", world.clock.now(), world.clock.now() + worker.LEASE) is None


async def _breaks() -> None:
    raise RuntimeError("an error that nobody foresaw")
