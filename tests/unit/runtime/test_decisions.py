"""Presses, typed answers and expiry as inputs: what goes out, in which order, and what a second one finds."""

import dataclasses
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.gate.approve.confirmations import calculate_second_nonce
from orchestrator.reports.cards import load_session_state
from state.events.fold import list_open_confirmations
from tests.unit.features.cards.cards_kit import asked
from tests.unit.spine_kit import ANNA, BORIS, CHAT, VERA, World, a_world, press, raise_sum, step
from tests.unit.spine_portal import Held, cut, lost


@pytest.fixture
async def entry(world: World) -> dict[str, Any]:
    """The card of a raised sum, as the chat shows it."""
    return await asked(world)


@pytest.mark.req("S004-10", "S004-31", "G2")
async def test_one_press_runs_it_and_edits_the_card(world: World, entry: dict[str, Any]) -> None:
    """The toast and the running card leave with the approval, before the call; the executed card afterwards."""
    seen: list[list[str]] = []

    async def watch(method: str, params: Any) -> None:
        if method == "crm.deal.update":
            seen.append([event.type for event in world.events()][-2:])
            seen.append([row.kind for row in world.sql.list_due_outbox("tg", world.clock.now())])

    world.portal.watch = watch
    await world.work(press(entry))
    assert seen == [["ConfirmationApproved", "CallStarted"], ["toast", "card"]]
    assert world.codes() == ["toast:toast-running", "card:executed"]
    assert len(world.portal.ledger) == 1


@pytest.mark.req("G2", "S004-A2")
async def test_five_quick_presses_and_one_after_a_restart_run_it_once(world: World, entry: dict[str, Any]) -> None:
    """Every press is answered once; one counts."""
    await world.work(*(press(entry) for _ in range(5)))
    await world.work(press(entry))
    codes = world.codes()
    assert len(world.portal.ledger) == 1
    assert codes.count("toast:toast-running") == 1
    assert codes.count("toast:card-already-executed") == 5


async def test_a_denial_closes_the_card_and_sends_nothing(world: World, entry: dict[str, Any]) -> None:
    """Toast and card in one commit; a press after it is told."""
    await world.work(press(entry, approve=False))
    assert world.codes() == ["toast:toast-denied", "card:denied"]
    await world.work(press(entry))
    assert world.codes() == ["toast:card-already-denied", "card:denied"]
    assert world.portal.ledger == []


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"actor": BORIS}, "not-your-card"),
        ({"nonce": "ffffffff"}, "card-outdated"),
        ({"nonce": "нонс"}, "card-outdated"),
        ({"confirmation_id": "nothing"}, "card-outdated"),
    ],
)
async def test_a_press_that_does_not_count_is_told_and_changes_nothing(
    world: World, entry: dict[str, Any], more: dict[str, Any], code: str
) -> None:
    """Foreign, forged or of another card: the person is told by the toast, the card still waits."""
    await world.work(press(entry, **more))
    assert world.codes()[0] == f"toast:{code}"
    assert world.portal.ledger == []
    await world.work(press(entry))
    assert len(world.portal.ledger) == 1


async def test_a_typed_answer_without_a_toast_is_answered_in_the_chat(world: World, entry: dict[str, Any]) -> None:
    """There is no callback to answer: the sentence goes as a message."""
    await world.work(press(entry, actor=BORIS, via="typed", callback_id=""))
    assert world.codes() == ["not-your-card", "card:requested"]
    await world.work(press(entry, via="typed", callback_id=""))
    assert world.codes() == ["card:executed"]
    assert world.events("ConfirmationApproved")[0].data["via"] == "typed"


async def test_the_second_tap_is_asked_for_on_the_card(tmp_path: Path) -> None:
    """The first tap turns the card to its second stage; the nonce of the second runs it."""
    async with a_world(tmp_path, policy={"open_methods": ["crm.deal.delete"]}) as world:
        entry = await asked(world, step("crm.deal.delete", {"id": 481}), text="удали сделку 481")
        await world.work(press(entry))
        rows = world.outbox()
        assert [(row.kind, row.body.get("stage")) for row in rows] == [("toast", None), ("card", 2)]
        assert world.portal.ledger == []
        await world.work(press(entry, nonce=calculate_second_nonce(entry["nonce"])))
        assert [method for method, _ in world.portal.ledger] == ["crm.deal.delete"]


async def test_a_changed_record_brings_a_new_card(world: World, entry: dict[str, Any]) -> None:
    """The old card says so, the new one asks; the same press on the old one does nothing more."""
    world.portal.records["deal", 481]["OPPORTUNITY"] = "1100000.00"
    await world.work(press(entry))
    rows = world.outbox()
    assert [row.body.get("status") for row in rows if row.kind == "card"] == ["superseded", "requested"]
    new = rows[-1].body
    await world.work(press(entry), press(new))
    # The press on the old card brings the new one once more: a crash may have kept it from being shown.
    assert world.codes() == ["toast:card-already-superseded", "card:superseded", "card:executed", "toast:toast-running"]
    assert len(world.portal.ledger) == 1


@pytest.mark.parametrize(("fault", "made"), [(lost, 1), (cut, 0)])
async def test_a_lost_answer_is_shown_as_unknown_and_settled_later(world: World, entry: dict[str, Any], fault: Any, made: int) -> None:
    """Nobody knows: the card says so; when the portal cannot be working on it any more, a look settles it and tells."""
    world.portal.will("crm.deal.update", fault)
    await world.work(press(entry))
    assert world.codes() == ["toast:toast-running", "card:unknown"]
    assert len(world.portal.ledger) == made
    world.clock.advance(timedelta(seconds=80))
    await world.work()
    assert world.codes() == (["recovered-done", "card:executed"] if made else ["recovered-not-done", "card:refused"])
    assert len(world.portal.ledger) == made
    assert world.sql.list_due_timers(world.clock.now() + timedelta(days=9)) == []


@pytest.mark.req("S004-53", "S004-X3")
async def test_an_unanswered_card_expires(world: World, entry: dict[str, Any]) -> None:
    """Its timer closes it and edits the card; a late press is told."""
    world.clock.advance(timedelta(hours=24, seconds=1))
    await world.work()
    assert world.codes() == ["card:expired"]
    await world.work(press(entry))
    assert world.codes() == ["toast:card-already-expired", "card:expired"]
    assert world.portal.ledger == []
    assert world.events("ConfirmationExpired")[0].data["expired_at"].endswith("Z")


async def test_a_timer_that_comes_after_the_decision_changes_nothing(world: World, entry: dict[str, Any]) -> None:
    """Decided while its timer was already an input."""
    held = Held()
    world.portal.will("crm.deal.update", held)
    async with world.working():
        await world.orchestrator.receive([press(entry)])
        await held.arrived.wait()
        await world.put(timer_row(world, entry))
        held.release.set()
        await world.idle()
    assert world.codes() == ["toast:toast-running", "card:executed"]


def timer_row(world: World, entry: dict[str, Any]) -> Any:
    from orchestrator.runtime.dispatch import _build_row  # noqa: PLC0415 - as a due timer becomes an input
    from state.journal.store import Timer  # noqa: PLC0415

    body = {"confirmation_id": entry["confirmation_id"]}
    return _build_row(Timer(id="t", due_at=world.clock.now(), session=CHAT, kind="confirmation_expires", body=body), world.clock.now())


@pytest.mark.req("S004-45", "S004-46")
async def test_who_decided_and_what_came_of_it_is_on_the_audit_record(world: World, entry: dict[str, Any]) -> None:
    """Requester, decider, channel, exact call, outcome: one record, under the decider."""
    await world.work(press(entry, actor=VERA))
    records = [json.loads(line) for line in world.audit().splitlines()]
    decision = next(item for item in records if item["type"] == "decision")
    assert decision["decided_by"]["key"] == VERA.key
    assert decision["confirmation"]["requested_by"] == ANNA.key
    assert decision["confirmation"]["params"] == {"id": 481, "fields": {"OPPORTUNITY": 1200000}}
    assert decision["outcome"]["status"] == "succeeded"
    assert decision["via"] == "button"


@pytest.mark.parametrize(
    ("actor", "codes"), [(ANNA, ["toast:no-access-any-more", "no-access-any-more"]), (BORIS, ["toast:no-access-any-more"])]
)
async def test_a_press_of_somebody_without_access_any_more_decides_nothing(
    world: World, entry: dict[str, Any], actor: Actor, codes: list[str]
) -> None:
    """Removed from the access file after the card went out, or between the press and its working: the press is answered all the same.

    Where others read along, only the presser reads it.
    """
    world.orchestrator.tools = dataclasses.replace(world.tools, refresh_actor=lambda actor: None)
    await world.work(press(entry, actor=actor))
    assert world.codes() == codes
    assert world.portal.ledger == []
    assert world.events("ConfirmationApproved") == []


async def test_doors_read_what_waits(world: World) -> None:
    """The open cards of a session, oldest first; nothing for one that never was."""
    entry = await asked(world, raise_sum(1), raise_sum(2))
    waiting = list_open_confirmations(await load_session_state(world.store, CHAT))
    assert [item.params["fields"]["OPPORTUNITY"] for item in waiting] == [1, 2]
    assert [item.confirmation_id for item in waiting] == [one["confirmation_id"] for one in entry["members"]]
    assert waiting[0].confirmation_id == entry["confirmation_id"]  # the card of the plan has the id of its oldest card
    assert list_open_confirmations(await load_session_state(world.store, "tg:5")) == []
    assert (await load_session_state(world.store, "tg:5")).history == []
