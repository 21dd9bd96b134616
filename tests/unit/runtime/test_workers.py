"""The loop: lanes, order, leases, poison, a store that gives out; nobody waits for somebody else's trouble."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from orchestrator.runtime import worker
from orchestrator.runtime.dispatch import MAX_ATTEMPTS
from state.clock import generate_id
from state.journal.store import Commit, InboxRow, Lane, StoreUnwritable, Timer
from tests.chain_kit import Verified, verify_stream
from tests.unit.spine_kit import ANNA, BORIS, CHAT, NOW, World, command, message, press, raise_sum, reply, step, until
from tests.unit.spine_portal import Held

TASK = step("tasks.task.add", {"fields": {"TITLE": "Позвонить"}})


pytestmark = pytest.mark.usefixtures("quick")


@pytest.mark.req("S004-57")
async def test_messages_of_one_chat_are_worked_in_their_order(world: World) -> None:
    """Whatever comes while a turn runs waits for its end; nothing is lost, nothing comes twice."""
    world.model.will(*[reply(text=f"ответ {number}") for number in range(5)])
    await world.work(*(message(f"вопрос {number}") for number in range(5)))
    assert [row.body["parts"][0]["text"] for row in world.outbox()] == [f"ответ {number}" for number in range(5)]
    assert [event.data["text"] for event in world.events("MessageReceived")] == [f"вопрос {number}" for number in range(5)]


async def test_the_same_update_is_worked_once(world: World) -> None:
    """Delivered twice by the door: the second is known."""
    world.model.will(reply())
    row = message("привет")
    async with world.working():
        assert await world.orchestrator.receive([row]) == [True]
        assert await world.orchestrator.receive([row]) == [False]
        await world.idle()
    assert world.types().count("TurnFinished") == 1


async def test_what_begins_during_a_look_is_no_rest(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow look for inputs that finds none, because work took the last one meanwhile, does not count as rest."""
    world.model.will(reply())
    looking = world.store.list_ready_sessions

    async def look_slowly(*given: Any) -> Any:
        if given:
            return await looking(*given)
        await world.orchestrator.receive([message("привет")])
        await until(lambda: not world.orchestrator._lanes and "TurnFinished" in world.types())
        return []

    async with world.working():
        monkeypatch.setattr(world.store, "list_ready_sessions", look_slowly)
        assert not await world.orchestrator.is_idle()
        monkeypatch.setattr(world.store, "list_ready_sessions", looking)
        assert await world.orchestrator.is_idle()


@pytest.mark.req("S004-31", "G2")
async def test_a_decision_overtakes_a_slow_turn(world: World) -> None:
    """While the model thinks about the next message, the press on a card runs its call and shows it."""
    world.model.will(reply(raise_sum()))
    await world.work(message("подними сумму сделки 481 до 1 200 000"))
    entry = next(row.body for row in world.outbox() if row.kind == "card")
    world.model.gate = asyncio.Event()
    world.model.will(reply(text="Вот."))
    async with world.working():
        await world.orchestrator.receive([message("а теперь покажи сделки")])
        await until(lambda: len(world.model.prompts) == 2)
        await world.orchestrator.receive([press(entry), command("status")])
        await until(lambda: bool(world.portal.written("crm.deal.update")))
        await until(lambda: world.types()[-1] == "CallSucceeded")
        await until(lambda: (CHAT, "express") not in world.sql.list_ready_sessions())
        assert world.types().count("TurnFinished") == 1
        world.model.gate.set()
        await world.idle()
    assert world.codes() == ["toast:toast-running", "card:executed", "status", "reply"]
    assert isinstance(verify_stream(world.sql, f"session:{CHAT}"), Verified)


async def test_one_chat_does_not_wait_for_another(world: World) -> None:
    """A turn that hangs holds up its own chat only."""
    held = Held()
    world.portal.will("tasks.task.add", held)
    world.model.will(reply(TASK), reply(text="Привет, Борис."), reply())
    async with world.working():
        await world.orchestrator.receive([message("создай задачу")])
        await held.arrived.wait()
        await world.orchestrator.receive([message("привет", actor=BORIS, key="tg:1008")])
        await until(lambda: "TurnFinished" in world.types("tg:1008"))
        held.release.set()
        await world.idle()
    assert world.types()[-1] == "TurnFinished"


async def test_what_comes_just_as_its_lane_ends_does_not_wait_for_the_next_look(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stored after the lane's last look and seen by the loop before its end: it is worked although the loop looks once an hour."""
    monkeypatch.setattr(worker, "POLL", 3600)
    late = message("второе")
    following = world.store.take_inbox

    async def at_the_last_moment(key: str, lane: Lane) -> InboxRow | None:
        row = await following(key, lane)
        if row is None and await world.orchestrator.receive([late]) == [True]:
            await until(lambda: bool(world.orchestrator._passed_over))
        return row

    monkeypatch.setattr(world.store, "take_inbox", at_the_last_moment)
    world.model.will(reply(text="раз"), reply(text="два"))
    async with world.working():
        await world.orchestrator.receive([message("первое")])
        await until(lambda: world.types().count("TurnFinished") == 2)
    assert [row.body["parts"][0]["text"] for row in world.outbox()] == ["раз", "два"]


async def test_a_poison_row_is_given_up_and_told(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """Three attempts, then quarantine with a code for the person; the next row is worked."""
    poison = InboxRow(
        id=generate_id(), source="x", session=CHAT, lane="turn", kind="message", actor={"nonsense": 1}, body={"text": "a"}, received_at=NOW
    )
    world.model.will(reply(text="дальше"))
    await world.work(poison, message("привет"))
    assert caplog.text.count("input failed") == MAX_ATTEMPTS
    rows = world.outbox()
    assert [notice["code"] for notice in rows[0].body["notices"]] == ["failed"]
    assert rows[0].body["notices"][0]["args"]["id"] == poison.id[-8:]
    assert rows[1].body["parts"][0]["text"] == "дальше"
    assert "quarantined" in world.stored_text()
    assert "gave up after 3 attempts" in world.stored_text()


async def test_a_turn_that_is_given_up_is_over(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It died three times in the middle: /status does not call it running for ever."""

    async def broken(*args: Any, **kwargs: Any) -> None:
        msg = "broken audit"
        raise RuntimeError(msg)

    monkeypatch.setattr(world.tools.audit, "record_failure", broken)
    world.model.will(*[RuntimeError("broken model")] * MAX_ATTEMPTS)
    await world.work(message("привет"))
    assert world.events("TurnFinished")[0].data["reason"] == "failed"
    await world.work(command("status"))
    assert world.outbox()[-1].body["notices"][0]["args"]["running"] == "no"


async def test_a_crash_while_giving_up_tells_again_rather_than_never(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence is stored before the row is closed, under one key."""
    poison = InboxRow(id=generate_id(), source="x", session=CHAT, lane="turn", kind="message", actor={}, body={}, received_at=NOW)
    finish = world.sql.finish_inbox

    def dying(*args: Any) -> None:
        raise StoreUnwritable("killed")

    monkeypatch.setattr(world.sql, "finish_inbox", dying)
    async with world.working():
        await world.orchestrator.receive([poison])
        await until(lambda: bool(world.troubles))
        monkeypatch.setattr(world.sql, "finish_inbox", finish)
        await world.idle()
    rows = world.outbox()
    assert {row.key for row in rows} == {f"gave-up:{poison.id}"}


async def test_an_input_of_an_unknown_kind_is_put_aside(world: World) -> None:
    """A newer program stored it: it holds nobody up."""
    row = InboxRow(id=generate_id(), source="x", session=CHAT, lane="turn", kind="of the future", actor={}, body={}, received_at=NOW)
    world.model.will(reply())
    await world.work(row, message("привет"))
    assert "unknown kind of the future" in world.stored_text()
    assert world.codes() == ["reply"]


@pytest.mark.req("S004-36", "G1")
async def test_a_full_disk_is_told_once_and_nothing_is_sent(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The person hears of it once, not every second; with room again the request is worked as if nothing had been."""
    world.model.will(reply(TASK), reply())
    commit, tries = world.sql.commit, [0]

    def full(what: Commit) -> Any:
        tries[0] += 1
        world.model.script.appendleft(reply(TASK))  # its answer was lost
        raise StoreUnwritable("no space left")

    monkeypatch.setattr(world.sql, "commit", full)
    async with world.working():
        await world.orchestrator.receive([message("создай задачу")])
        await until(lambda: tries[0] >= 3)
        assert world.portal.ledger == []
        assert [(key, notice.code) for key, notice in world.troubles] == [(CHAT, "store-trouble")]
        with world.sql._database.write() as transaction:
            transaction._cursor.execute("update inbox set attempts = 0")
        monkeypatch.setattr(world.sql, "commit", commit)
        await world.idle()
    assert len(world.portal.ledger) == 1
    assert world.codes() == ["made"]


async def test_a_store_that_cannot_be_read_does_not_end_the_loop(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Looked at again until it can."""
    ready, tries = world.sql.list_ready_sessions, [0]

    def broken(*args: Any) -> Any:
        tries[0] += 1
        raise StoreUnwritable("gone")

    world.model.will(reply())
    monkeypatch.setattr(world.sql, "list_ready_sessions", broken)
    async with world.working():
        await world.orchestrator.receive([message("привет")])
        await until(lambda: tries[0] >= 2)
        monkeypatch.setattr(world.sql, "list_ready_sessions", ready)
        await world.idle()
    assert world.codes() == ["reply"]
    assert "cannot be read" in caplog.text


async def test_a_session_that_cannot_be_opened_does_not_stop_the_others(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever recovery of one chat raises, the other chats are answered."""

    async def broken(session: Any, tools: Any) -> None:
        if session.key == CHAT:
            msg = "nobody foresaw this"
            raise RuntimeError(msg)

    monkeypatch.setattr(worker, "recover", broken)
    world.model.will(reply(text="Привет."))
    async with world.working():
        await world.orchestrator.receive([message("привет"), message("привет", actor=BORIS, key="tg:1008")])
        await until(lambda: "TurnFinished" in world.types("tg:1008"))
    assert world.types() == []


async def test_listeners_hear_of_every_row(world: World) -> None:
    """Doors deliver without waiting for their next look."""
    heard: list[int] = []
    world.orchestrator.listeners.append(lambda: heard.append(1))
    world.model.will(reply())
    await world.work(message("привет"), command("mode"))
    assert len(heard) == 2


async def test_due_timers_are_worked_while_nobody_writes(world: World) -> None:
    """The loop itself looks for them."""
    session = await world.session()
    await session.commit(
        actor="a",
        timers=[
            Timer(
                id="confirmation:c",
                due_at=NOW + timedelta(hours=1),
                session=CHAT,
                kind="confirmation_expires",
                body={"confirmation_id": "c"},
            )
        ],
    )
    await session.close()
    async with world.working():
        await until(world.orchestrator.is_idle)
        world.clock.advance(timedelta(hours=2))
        await until(lambda: not world.sql.list_due_timers(world.clock.now()))
    assert ANNA.key == CHAT
