"""Turns that do not get to their own end: stopped, interrupted, or without a model half-way; what was done is said."""

import asyncio

from tests.unit.spine_kit import CHAT, World, command, message, press, raise_sum, reply, step, until
from tests.unit.spine_portal import Held, lost

TASK = step("tasks.task.add", {"fields": {"TITLE": "Позвонить"}})
LIST = step("crm.deal.list", {"filter": {"CLOSED": "N"}})


async def test_a_stop_after_a_lost_answer_says_that_too(world: World) -> None:
    """An outcome nobody knows is said even when the turn is broken off in its next step."""
    held = Held()
    world.portal.will("tasks.task.add", lost)
    world.portal.will("crm.deal.list", held)
    world.model.will(reply(TASK, LIST))
    async with world.working():
        await world.orchestrator.receive([message("создай задачу и покажи сделки")])
        await held.arrived.wait()
        await world.orchestrator.receive([command("stop")])
        await until(lambda: (CHAT, "express") not in world.sql.list_ready_sessions())
        held.release.set()
        await world.idle()
    last = next(row for row in world.outbox() if row.body.get("turn_id"))
    assert [notice["code"] for notice in last.body["notices"]] == ["stopped", "outcome-unknown"]


async def test_stop_ends_the_turn_and_tells_what_was_done(world: World) -> None:
    """A call on its way is heard to its end and named in the answer; /stop twice changes nothing."""
    held = Held()
    world.portal.will("tasks.task.add", held)
    world.model.will(reply(TASK, step("tasks.task.add", {"fields": {"TITLE": "Вторая"}})))
    async with world.working():
        await world.orchestrator.receive([message("создай задачу и создай вторую")])
        await held.arrived.wait()
        await world.orchestrator.receive([command("stop"), command("stop")])
        await until(lambda: (CHAT, "express") not in world.sql.list_ready_sessions())
        held.release.set()
        await world.idle()
    assert [params["fields"]["TITLE"] for _, params in world.portal.ledger] == ["Позвонить"]
    assert [name for name in world.types() if name != "StopAsked"][-3:] == ["CallStarted", "CallSucceeded", "TurnFinished"]
    rows = world.outbox()
    last = next(row for row in rows if row.body.get("turn_id"))
    assert [notice["code"] for notice in last.body["notices"]] == ["stopped", "made", "done-already", "not-made"]
    assert {notice["code"] for row in rows for notice in row.body["notices"]} >= {"stopping"}


async def test_a_stop_ends_one_turn_and_not_the_next(world: World) -> None:
    """What /stop cancels is the turn at work: the request after it, which the same task handles, comes to its own end."""
    held = Held()
    world.portal.will("crm.deal.list", held)
    world.model.will(reply(LIST), reply(text="Готово."))
    async with world.working():
        await world.orchestrator.receive([message("покажи сделки")])
        await held.arrived.wait()
        await world.orchestrator.receive([command("stop"), command("stop")])
        await until(lambda: (CHAT, "express") not in world.sql.list_ready_sessions())
        await world.orchestrator.receive([message("спасибо")])
        held.release.set()
        await world.idle()
    assert [one.data["reason"] for one in world.events("TurnFinished")] == ["stopped", "answered"]


async def test_a_stopped_turn_shows_the_cards_it_made(world: World) -> None:
    """A card that was stored goes out, or its button would be nowhere."""
    held = Held()
    world.portal.will("tasks.task.add", held)
    world.model.will(reply(raise_sum(), TASK))
    async with world.working():
        await world.orchestrator.receive([message("подними сумму 481 до 1 200 000 и поставь задачу")])
        await held.arrived.wait()
        await world.orchestrator.receive([command("stop")])
        await until(lambda: (CHAT, "express") not in world.sql.list_ready_sessions())
        held.release.set()
        await world.idle()
    assert "card:requested" in world.codes()


async def test_the_end_of_the_program_leaves_the_turn_for_the_next_start(world: World) -> None:
    """SIGTERM while the model thinks: no answer, the row waits, and the next start works it."""
    world.model.gate = asyncio.Event()
    world.model.will(reply(text="Вот."), reply(text="Вот."))
    async with world.working():
        await world.orchestrator.receive([message("покажи сделки")])
        await until(lambda: bool(world.model.prompts))
    assert world.outbox() == []
    world.model.gate.set()
    async with world.working():
        await world.idle()
    assert world.codes() == ["reply"]
    assert world.types().count("MessageReceived") == 1


async def test_the_end_of_the_program_hears_an_approved_call_to_its_end(world: World) -> None:
    """SIGTERM while the call of a pressed card is on its way: its outcome is stored before the program ends."""
    world.model.will(reply(raise_sum()))
    await world.work(message("подними сумму сделки 481 до 1 200 000"))
    entry = world.outbox()[-1].body
    held = Held()
    world.portal.will("crm.deal.update", held)
    async with world.working():
        await world.orchestrator.receive([press(entry)])
        await held.arrived.wait()
        asyncio.get_running_loop().call_later(0.05, held.release.set)
    assert world.types()[-1] == "CallSucceeded"
