"""/stop at every moment of a request: while it waits for its pieces, for its place among many, and after a restart; voice has no lane of its own."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.runtime.commands import run_command
from orchestrator.sessions import merge_inputs
from orchestrator.sessions.session import Session
from state.journal.store import InboxRow
from tests.unit.features.talking.talking_kit import Wire, pressed, said_of, voice
from tests.unit.spine_kit import BORIS, CHAT, NOW, VERA, World, command, message, raise_sum, reply, step, until

TASK = step("tasks.task.add", {"fields": {"TITLE": "Позвонить"}})
OTHER = "tg:1008"


class Died(BaseException):
    """The process is gone."""


def _stop() -> InboxRow:
    asked: InboxRow = command("stop")
    return replace(asked, received_at=NOW + timedelta(seconds=1))


def _one_at_a_time(world: World) -> None:
    world.orchestrator.tools = replace(world.orchestrator.tools, turns=asyncio.Semaphore(1))


async def _busy(world: World) -> None:
    """Boris has the only place, and his model does not answer."""
    _one_at_a_time(world)
    world.model.gate = asyncio.Event()
    await world.orchestrator.receive([message("покажи сделки", actor=BORIS, key=OTHER)])
    await until(lambda: len(world.model.prompts) == 1)


def _notices(world: World, key: str = CHAT) -> list[str]:
    return sorted(notice["code"] for row in world.outbox() if row.session == key for notice in row.body.get("notices", ()))


@pytest.mark.parametrize(
    "said", [lambda: message("подними сумму сделки 481"), lambda: voice(heard="подними сумму сделки 481")], ids=["typed", "spoken"]
)
async def test_a_request_waits_for_its_place_however_it_was_said(world: World, wire: Wire, said: Any) -> None:
    """Turns of voice messages ran beside the others without a limit."""
    del wire
    world.model.will(reply(text="Вот."), reply(raise_sum()))
    async with world.working():
        await _busy(world)
        await world.orchestrator.receive([said()])
        await until(lambda: bool(world.orchestrator.tools.turns._waiters))
        assert len(world.model.prompts) == 1
        world.model.gate.set()
        await world.idle()
    assert len(world.model.prompts) == 2


@pytest.mark.parametrize(
    "said", [lambda: message("подними сумму сделки 481"), lambda: voice(heard="подними сумму сделки 481")], ids=["typed", "spoken"]
)
async def test_stop_reaches_a_request_that_waits_for_its_place(world: World, wire: Wire, said: Any) -> None:
    """It said "nothing to stop" and then did it."""
    del wire
    world.model.will(reply(text="Вот."))
    async with world.working():
        await _busy(world)
        await world.orchestrator.receive([said()])
        await until(lambda: bool(world.orchestrator.tools.turns._waiters))
        await world.orchestrator.receive([_stop()])
        await until(lambda: (CHAT, "express") not in world.sql.list_ready_sessions())
        world.model.gate.set()
        await world.idle()
    assert (said_of(world), len(world.model.prompts)) == ([], 1)
    assert _notices(world) == ["stop-queue"]


async def test_stop_reaches_a_paste_that_waits_for_its_next_piece(world: World, wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it is worked, and one press brings it back."""
    del wire
    monkeypatch.setattr(merge_inputs, "CUT_PAUSE", 0.2)
    async with world.working():
        await world.orchestrator.receive([message("Заведи сделку по письму:\n" + "ж" * 4050)])
        await until(lambda: (CHAT, "turn") in world.orchestrator._lanes)
        await world.orchestrator.receive([_stop()])
        await world.idle()
    assert said_of(world) == []
    told = next(row for row in world.outbox() if row.kind == "reply" and row.body["actions"])
    assert [(notice["code"], notice["args"]) for notice in told.body["notices"]] == [("stop-queue", {"count": 1})]
    world.model.will(reply())
    world.clock.advance(timedelta(seconds=5))
    monkeypatch.setattr(merge_inputs, "CUT_PAUSE", 0.02)
    await world.work(pressed(*told.body["actions"][0]["words"]))
    assert len(said_of(world)) == 1


async def _died(world: World, *steps: dict[str, Any]) -> None:
    """A process that was killed in the middle of a turn: what it had done and asked stands, its second question to the model does not."""
    session: Session = await world.session()

    def dies(payload: Any) -> str:
        raise Died(str(payload)[:0])

    world.model.will(reply(*steps), dies)
    with pytest.raises(Died):
        await world.turn(session, message("заведи задачу и подними сумму"))
    world.sql.expire_leases()
    world.orchestrator.tools.running.clear()
    world.outbox()


async def test_a_stop_sent_while_the_bot_was_down_holds_for_the_turn_it_goes_on_with(world: World) -> None:
    """What was done before is named, nothing more is asked of the model, the card that was made goes out."""
    await _died(world, TASK)
    await world.put(_stop())
    await world.work()
    assert len(world.model.prompts) == 2
    assert [params["fields"]["TITLE"] for _, params in world.portal.ledger] == ["Позвонить"]
    last = next(row for row in world.outbox() if row.body.get("turn_id"))
    assert [notice["code"] for notice in last.body["notices"]] == ["stopped", "made", "done-already"]
    assert world.events("TurnFinished")[-1].data["reason"] == "stopped"


async def test_a_stop_that_is_worked_before_the_turn_is_gone_on_with_is_not_forgotten(world: World) -> None:
    """The express lane may come first: the stop is in the journal, where whoever resumes the turn finds it."""
    await _died(world, TASK)
    session = await world.session(owner="two")
    await world.put(_stop())
    taken = await world.store.take_inbox(CHAT, "express")
    assert taken is not None
    await run_command(taken, session, world.tools)
    await session.close()
    await world.work()
    assert len(world.model.prompts) == 2
    assert world.events("TurnFinished")[-1].data["reason"] == "stopped"


@pytest.mark.parametrize(("actor", "code", "asked"), [(BORIS, "stop-not-yours", 3), (VERA, "stopping", 2)])
async def test_a_turn_that_a_crash_cut_short_is_not_stopped_by_others_either(world: World, actor: Actor, code: str, asked: int) -> None:
    """A lead may; whoever goes on with it finds the stop."""
    await _died(world, TASK)
    world.model.will(*[reply(text="Готово.")] * (asked - 2))
    session = await world.session(owner="two")
    await world.put(replace(_stop(), actor=actor.model_dump(mode="json")))
    taken = await world.store.take_inbox(CHAT, "express")
    assert taken is not None
    await run_command(taken, session, world.tools)
    await session.close()
    await world.work()
    assert code in _notices(world)
    assert len(world.model.prompts) == asked
