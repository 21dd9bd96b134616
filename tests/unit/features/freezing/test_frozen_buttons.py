"""While writes are frozen no button, no reply and no timer leads to a write, whoever presses, whether or not this process knows of it."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.gate.approve import confirmations
from orchestrator.gate.approve.confirmations import Decision
from orchestrator.reports.log_rebuild.rebuild import rebuild_records
from orchestrator.reports.stats import count_journal
from orchestrator.sessions.session import Session
from state.clock import generate_id
from state.journal import freeze_switch
from state.journal.freeze_switch import SwitchOperator
from state.journal.journal import load_state
from state.journal.store import InboxRow
from state.model.card import Card
from tests.unit.spine_kit import ANNA, CHAT, NOW, VERA, World, _row, card, command, effect, message, press, reply, step

pytestmark = pytest.mark.req("S004-28")
HAND = SwitchOperator(key="cli:root", name="root", via="cli", at=NOW)
SUM = ("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 1_200_000}})
BATCH = ("batch", {"halt": 0, "cmd": {"a": "crm.deal.update?id=481&fields[TITLE]=A", "b": "crm.deal.get?id=482"}})
BIND = ("event.bind", {"event": "ONCRMDEALUPDATE", "handler": "https://portal.example/x"})


def pressing(*words: str) -> InboxRow:
    return _row("press", "express", {"words": list(words), "callback_id": generate_id(), "message_id": 5}, ANNA, CHAT)


async def executed(world: World) -> Card:
    """A card whose call has run, which can be taken back."""
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    await session.close()
    await world.work(press(entry))
    assert len(world.portal.ledger) == 1
    return entry


async def an_undo(world: World) -> list[InboxRow]:
    entry = await executed(world)
    return [pressing("undo", entry.effect_id)]


async def an_approved_undo(world: World) -> list[InboxRow]:
    entry = await executed(world)
    await world.work(pressing("undo", entry.effect_id))
    return await cards(world)


async def an_edit(world: World) -> list[InboxRow]:
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    await session.close()
    await world.work(pressing("edit", entry.confirmation_id))
    question = world.outbox()[-1].body
    body = {"confirmation_id": entry.confirmation_id, "ask": question["ask"], "text": "1 300 000"}
    return [_row("edit_value", "express", body, ANNA, CHAT)]


async def a_wish_again(world: World) -> list[InboxRow]:
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    await session.close()
    world.clock.advance(timedelta(days=2))
    await world.work()
    return [pressing("again", entry.confirmation_id)]


async def a_leads_press(world: World) -> list[InboxRow]:
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    await session.close()
    return [press(entry, actor=VERA)]


async def a_request(world: World) -> list[InboxRow]:
    comment = {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "звонил"}}
    world.model.will(reply(step("crm.timeline.comment.add", comment)), reply(text="Остановлено."))
    return [message("запиши в сделку 481: звонил")]


async def cards(world: World) -> list[InboxRow]:
    """A press on each card that waits."""
    state, _ = await world.store.read(load_state, f"session:{CHAT}")
    return [press(entry) for entry in state.agent.confirmations.values() if entry.status == "requested"]


WAYS: list[Callable[[World], Awaitable[list[InboxRow]]]] = [an_undo, an_approved_undo, an_edit, a_wish_again, a_leads_press, a_request]


@pytest.mark.parametrize("known", [True, False], ids=["known", "in this very moment"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: str(way.__name__))
async def test_no_way_leads_to_a_write(world: World, way: Callable[[World], Awaitable[list[InboxRow]]], *, known: bool) -> None:
    """Pressed, then every card that is there pressed too; the portal hears of nothing, and whoever pressed is answered."""
    rows = await way(world)
    world.outbox()
    before, begun = list(world.portal.ledger), len(world.events("CallStarted"))
    await world.gate.deps.switch.find_freeze()
    assert freeze_switch.freeze_writes(world.sql, HAND).changed
    if known:
        world.gate.deps.switch._free_at = None  # type: ignore[attr-defined]
    await world.work(*rows)
    assert world.outbox()
    await world.work(*(await cards(world)))
    world.clock.advance(timedelta(minutes=10))
    await world.work()
    assert world.portal.ledger == before
    assert len(world.events("CallStarted")) == begun


@pytest.mark.parametrize("wish", [SUM, BATCH, BIND], ids=["update", "batch", "event.bind"])
async def test_every_kind_of_write_is_refused(world: World, session: Session, wish: Any) -> None:
    """A batch that writes as well as reads, and what only sets the portal up, too."""
    freeze_switch.freeze_writes(world.sql, HAND)
    found = await world.submit(session, effect(*wish))
    assert found.reason is not None
    if wish is not BIND:  # refused for its own reason, before
        assert found.reason.code == "frozen"
    assert world.portal.ledger == []


async def left_behind(world: World, by: Actor) -> Card:
    """An approval that was stored, and then the program died."""
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    decision = Decision(confirmation_id=entry.confirmation_id, nonce=entry.nonce, approve=True, actor=by, via="button")
    await confirmations.approve(card(session, entry.confirmation_id), decision, session, ())
    await session.close()
    freeze_switch.freeze_writes(world.sql, HAND)
    world.gate.deps.switch._free_at = None  # type: ignore[attr-defined]  # as a process that has just begun
    return entry


async def test_what_waits_again_is_the_same_card_whatever_the_record_holds_by_now(world: World) -> None:
    """Whether it has changed is looked at when somebody approves it again: while nothing may be written no new card is made."""
    entry = await left_behind(world, ANNA)
    world.portal.records["deal", 481]["OPPORTUNITY"] = "5"
    await world.work(command("pending"))
    assert len(world.events("ConfirmationRequested")) == 1
    row = world.sql.find_effect(entry.effect_id)
    assert row.status == "requested"


async def test_a_process_that_knows_of_nothing_and_whose_approver_is_gone_reopens_nothing(world: World) -> None:
    """Approved and left behind by a crash, its approver without access by now: that ends it, frozen or not."""
    entry = await left_behind(world, VERA)
    deps = world.gate._deps
    world.gate._deps = replace(deps, present=lambda actor: None if actor.key == VERA.key else deps.present(actor))
    await world.work(command("pending"))
    row = world.sql.find_effect(entry.effect_id)
    assert row.status == "refused"
    assert world.portal.ledger == []


async def test_rebuilt_logs_tell_both_approvals(world: World, session: Session, entry: Card) -> None:
    """As the program's own: one that came to nothing, and the one whose call was made; the card counts as waiting in between."""
    await session.close()
    await world.gate.deps.switch.find_freeze()
    freeze_switch.freeze_writes(world.sql, HAND)
    await world.work(press(entry))
    assert list(count_journal(world.sql).open_cards) == [entry.confirmation_id]
    freeze_switch.release_writes(world.sql, HAND)
    await world.work(*(await cards(world)))
    records = [record for _, record in rebuild_records(world.sql, f"session:{CHAT}", {}) if record["type"] == "decision"]
    assert [record["user_message"] for record in records] == ["frozen-card", "succeeded"]
    own = [json.loads(line) for line in world.audit().splitlines()]
    assert [record["user_message"] for record in own if record.get("type") == "decision"] == ["frozen-card", "succeeded"]
