"""Inputs are given up for what they do, never for what the store or a stop does; what a failure leaves half done is not left there."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from orchestrator.gate.approve import run_approved
from orchestrator.runtime.worker import Orchestrator
from state.clock import generate_id
from state.journal.store import InboxRow, StoreUnwritable, Timer
from tests.unit.spine_kit import CHAT, NOW, World, message, press, raise_sum, reply, until

pytestmark = pytest.mark.usefixtures("quick")


@asynccontextmanager
async def another_process(world: World) -> AsyncIterator[Orchestrator]:
    """A program started on the database of the one before, which is gone."""
    world.sql.expire_leases()
    made = Orchestrator(world.tools, world.clock, trouble=world.orchestrator._trouble)
    task = asyncio.ensure_future(made.run())
    yield made
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def unwritable(world: World, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """No commit is taken any more; how many were tried."""
    tries = [0]

    def full(what: Any) -> Any:
        del what
        tries[0] += 1
        raise StoreUnwritable("no space left")

    monkeypatch.setattr(world.sql, "commit", full)
    return tries


async def test_an_outage_of_the_store_is_not_the_inputs_fault(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five commits fail, then the program is started again: the message gets its answer."""
    commit, tries = world.sql.commit, unwritable(world, monkeypatch)
    world.model.will(*[reply(text="Привет!")] * 8)
    async with world.working():
        await world.orchestrator.receive([message("привет")])
        await until(lambda: tries[0] >= 5)
    monkeypatch.setattr(world.sql, "commit", commit)
    async with another_process(world) as successor:
        await until(successor.is_idle)
    world.model.script.clear()
    assert [row.body["parts"][0]["text"] for row in world.outbox()] == ["Привет!"]


async def test_a_stop_is_not_the_inputs_fault(world: World) -> None:
    """The program is stopped four times while the model thinks: the fifth one answers."""
    world.model.gate = asyncio.Event()
    world.model.will(*[reply(text="Привет!")] * 5)
    await world.put(message("привет"))
    for number in range(1, 5):
        async with another_process(world):
            await until(lambda asked=number: len(world.model.prompts) == asked)
    world.model.gate.set()
    async with another_process(world) as last:
        await until(last.is_idle)
    assert [row.body["parts"][0]["text"] for row in world.outbox()] == ["Привет!"]


async def test_the_lease_of_a_session_given_up_is_released_at_the_stop(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else its successor would be silent for a minute."""
    unwritable(world, monkeypatch)
    world.model.will(*[reply()] * 8)
    async with world.working():
        await world.orchestrator.receive([message("привет")])
        await until(lambda: bool(world.troubles))
    world.model.script.clear()
    now = world.clock.now()
    assert world.sql.acquire(CHAT, "successor", now, now + timedelta(minutes=1)) is not None


async def test_a_timer_whose_input_is_given_up_is_gone(world: World) -> None:
    """It would stay due for ever, and a hundred of them would keep all others from being seen."""
    session = await world.session(owner="x")
    broken = Timer(id="broken", due_at=NOW - timedelta(hours=1), session=CHAT, kind="confirmation_expires", body={"nonsense": 1})
    await session.commit(actor="system", timers=[broken])
    await session.close()
    async with world.working():
        await until(lambda: "gave up" in world.stored_text())
        await until(world.orchestrator.is_idle)
    assert world.sql.list_due_timers(NOW, 10) == []


@pytest.mark.req("G2")
@pytest.mark.parametrize(("away", "writes", "last"), [(timedelta(minutes=1), 1, "card:executed"), (timedelta(hours=30), 0, "card:refused")])
async def test_a_stumble_between_approval_and_call_is_recovered_from(
    away: timedelta, writes: int, last: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program stumbles and is stopped: started soon it does what was approved, started after the card's time it does not, and says so."""
    world.model.will(reply(raise_sum()))
    look_up = run_approved.fetch_facts

    async def stumbling(*_: Any, **__: Any) -> Any:
        raise KeyError("an answer nobody foresaw")

    async with world.working():
        await world.orchestrator.receive([message("подними сумму сделки 481 до 1 200 000")])
        await world.idle()
        [entry] = world.orchestrator._sessions[CHAT].state.agent.confirmations.values()
        monkeypatch.setattr(run_approved, "fetch_facts", stumbling)
        await world.orchestrator.receive([press(entry)])
        await until(lambda: bool(world.sql.list_effects(f"session:{CHAT}", "approved")))
    monkeypatch.setattr(run_approved, "fetch_facts", look_up)
    world.clock.advance(away)
    world.outbox()
    world.model.will(reply(text="Привет!"))
    async with another_process(world) as successor:
        await successor.receive([message("привет")])
        await until(successor.is_idle)
    assert len(world.portal.ledger) == writes
    assert last in world.codes()
    assert world.sql.list_effects(f"session:{CHAT}", "approved") == []


def find_status(world: World, row: InboxRow) -> str:
    """What became of the input."""
    found = world.sql.find_inbox(row.source)
    return found.status


@pytest.mark.parametrize(
    ("kind", "body", "became"),
    [
        ("press", {"words": ["history", "deal.481"], "callback_id": None}, "done"),
        ("press", {"words": 5}, "quarantined"),
        ("decision", {"confirmation_id": None, "callback_id": 7}, "quarantined"),
        ("command", {"name": None, "callback_id": []}, "quarantined"),
    ],
)
async def test_an_input_that_cannot_be_read_is_put_aside_and_those_behind_it_are_handled(
    world: World, kind: str, body: Any, became: str
) -> None:
    """A row written by another version must not hold up the decisions that wait behind it in its lane."""
    world.model.will(reply(raise_sum()))
    await world.work(message("подними сумму"))
    [entry] = (await world.session()).state.cards.values()
    odd = replace(press(entry), id=generate_id(), source=f"odd:{generate_id()}", kind=kind, body=body)
    async with another_process(world) as successor:
        await successor.receive([odd])
        await successor.receive([press(entry)])
        await until(successor.is_idle)
    assert [line[0] for line in world.portal.ledger] == ["crm.deal.update"]
    assert find_status(world, odd) == became


@pytest.mark.parametrize("body", [{"text": None, "origin": "typed"}, {"text": "b", "origin": "typed", "message_id": "x"}])
async def test_a_message_that_cannot_be_read_does_not_take_its_neighbour_along(world: World, body: Any) -> None:
    """Looking whether the next message belongs to this one, a malformed one is none of it."""
    world.model.will(reply(text="Вот они."))
    good, bad = message("покажи сделки"), message("x")
    world.clock.advance(timedelta(seconds=5))
    await world.put(good, replace(bad, body=body))
    async with world.working():
        await until(world.orchestrator.is_idle)
    assert "Вот они." in str([row.body for row in world.outbox()])
    assert (find_status(world, good), find_status(world, bad)) == ("done", "quarantined")
