"""A person's decision at the gate: it runs the shown call once, or says why not; nobody else's word and no changed world counts."""

import asyncio
import contextlib
import dataclasses
from pathlib import Path
from typing import Any

import pytest

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.domain.actor import Actor
from orchestrator.gate.approve.run_approved import DecisionResult
from orchestrator.gate.call.record_locks import RecordLocks
from orchestrator.sessions.session import Session
from state.journal.store import StoreUnwritable
from state.model.card import Card
from state.sql import commit as writing
from tests.unit.gate.submit_kit import SUM, decide, full_disk, yes
from tests.unit.spine_kit import ANNA, BORIS, CHAT, VERA, World, a_world, card, effect
from tests.unit.spine_portal import Held


@pytest.mark.req("S004-10", "S004-31", "S004-A2", "G2")
async def test_an_approval_runs_exactly_the_shown_call_once(world: World, session: Session, entry: Card) -> None:
    """What is sent is what the card was made of; the second press finds it used."""
    seen: list[str] = []

    async def watch(method: str, params: Any) -> None:
        if method == "crm.deal.update":
            row = world.sql.find_effect(entry.effect_id)
            seen.append(row.status if row else "absent")

    world.portal.watch = watch
    first = await decide(world, session, yes(entry))
    again = await decide(world, session, yes(entry))
    assert first.outcome.status == "succeeded"
    assert again.outcome is None
    assert again.notice.code == "card-already-executed"
    assert seen == ["started"]
    assert [params for _, params in world.portal.ledger] == [entry.params]
    assert card(session, entry.confirmation_id).status == "executed"


@pytest.mark.req("G2", "S004-A2")
async def test_of_two_presses_at_once_one_counts(world: World, session: Session, entry: Card) -> None:
    """The compare-and-set lets one decision through; the other is told that it came late."""
    found = await asyncio.gather(*(decide(world, session, yes(entry)) for _ in range(5)))
    assert len([item for item in found if item.outcome is not None]) == 1
    assert {item.notice.code for item in found if item.notice} <= {"card-outdated", "card-already-approved", "card-already-executed"}
    assert len(world.portal.written("crm.deal.update")) == 1


@pytest.mark.req("G2")
async def test_a_press_and_a_denial_at_once_do_not_both_count(world: World, session: Session, entry: Card) -> None:
    """Either it ran and is executed, or it is denied and nothing was sent."""
    await asyncio.gather(decide(world, session, yes(entry)), decide(world, session, yes(entry, approve=False)))
    status = card(session, entry.confirmation_id).status
    assert (status, len(world.portal.ledger)) in {("executed", 1), ("denied", 0)}


@pytest.mark.req("G2", "S004-A2")
async def test_two_processes_with_one_approval_send_once(world: World) -> None:
    """Two sessions on one database (the lease does not help: same owner) run the approved call once."""
    first, second = await world.session(), await world.session()
    entry = await world.asked(first, effect(*SUM))
    second = await world.session()
    found = await asyncio.gather(decide(world, first, yes(entry)), decide(world, second, yes(entry)), return_exceptions=True)
    outcomes = [item for item in found if isinstance(item, DecisionResult) and item.outcome is not None]
    assert len(world.portal.written("crm.deal.update")) == 1
    assert len(outcomes) == 1


async def test_an_approval_that_cannot_be_stored_sends_nothing(
    world: World, session: Session, entry: Card, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The card still waits in the session that the worker opens next."""
    with monkeypatch.context() as broken:
        broken.setattr(world.sql, "commit", full_disk)
        with pytest.raises(StoreUnwritable):
            await decide(world, session, yes(entry))
    assert world.portal.ledger == []
    session = await world.session()
    assert (await decide(world, session, yes(entry))).outcome is not None


@pytest.mark.req("S004-A2")
async def test_a_changed_record_gets_a_new_card(world: World, session: Session, entry: Card) -> None:
    """Somebody changed the sum: the old card is superseded, the new one shows the new value, and only it can run, once."""
    world.portal.records["deal", 481]["OPPORTUNITY"] = "1100000.00"
    decided = await decide(world, session, yes(entry))
    assert decided.replaced_by is not None
    assert world.portal.ledger == []
    assert card(session, entry.confirmation_id).status == "superseded"
    new = card(session, decided.replaced_by.confirmation_id)
    assert new.before["deal:481"]["OPPORTUNITY"] == "1100000.00"
    assert new.preview["lines"][0]["before"].startswith("1")
    assert new.requested_by == ANNA.key
    done = await decide(world, session, yes(new))
    assert done.outcome.status == "succeeded"
    assert len(world.portal.ledger) == 1
    assert world.sql.list_due_timers(world.clock.now().replace(year=2030)) == []


async def test_a_batch_with_reads_costs_one_card(world: World, session: Session) -> None:
    """What is compared at the press is what was read for the card, for a person who sees everything too."""
    cmd = {"a": "crm.deal.get?id=481", "b": "crm.deal.update?id=482&fields[OPPORTUNITY]=7"}
    entry = await world.asked(session, effect("batch", {"cmd": cmd}), actor=VERA)
    decided = await decide(world, session, yes(entry, VERA))
    assert decided.replaced_by is None
    assert decided.outcome.status == "succeeded"


@pytest.mark.parametrize(("mode", "code"), [("shadow", "shadow-now"), ("canary", "gate-mode")])
async def test_a_mode_lowered_after_the_card_holds_at_the_press(world: World, session: Session, entry: Card, mode: str, code: str) -> None:
    """Approved but no longer allowed: refused for good, with the reason; nothing is sent."""
    decided = await decide(world, session, yes(entry), mode)
    assert decided.outcome.reason.code == code
    assert world.portal.ledger == []
    assert card(session, entry.confirmation_id).status == "refused"
    assert card(session, entry.confirmation_id).code == code


async def test_a_policy_closed_after_the_card_holds_at_the_press(tmp_path: Path, world: World, session: Session, entry: Card) -> None:
    """The same database under a stricter policy refuses the approved call."""
    async with a_world(tmp_path, policy={"refuse_methods": ["crm.deal.update"]}) as stricter:
        decided = await stricter.gate.decide_card(yes(entry), mode="full", ledger=session)
    assert decided.outcome.reason.code == "gate-policy-refuses"
    assert world.portal.ledger == []


async def test_a_method_that_left_the_catalogue_is_not_run(
    world: World, session: Session, entry: Card, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stored call of an unlisted method is refused at the press."""
    monkeypatch.setattr(Catalogue, "find", lambda *_: None)
    decided = await decide(world, session, yes(entry))
    assert decided.outcome.reason.code == "gate-method-unknown"
    assert world.portal.ledger == []


@pytest.mark.parametrize("status", ["requested", "started", "succeeded", "denied"])
async def test_only_an_approved_effect_is_run(world: World, session: Session, entry: Card, status: str) -> None:
    """`run_approved` is no way around the approval, nor a way to run twice."""
    with world.sql._database.write() as transaction:
        transaction._cursor.execute("update effects set status = ?", (status,))
    decided = await world.gate.run_approved(entry.effect_id, mode="full", ledger=session)
    assert decided.notice.code == "card-outdated"
    assert (await world.gate.run_approved("none", mode="full", ledger=session)).notice == decided.notice
    assert world.portal.ledger == []


async def test_an_approved_call_started_elsewhere_meanwhile_is_left_alone(world: World, session: Session, entry: Card) -> None:
    """Between the look and the intent somebody else began: the compare-and-set says no."""
    held = Held()
    world.portal.will("crm.deal.get", held)
    pressing = asyncio.ensure_future(decide(world, session, yes(entry)))
    await held.arrived.wait()
    with world.sql._database.write() as transaction:
        transaction._cursor.execute("update effects set status = 'started'")
    held.release.set()
    decided = await pressing
    assert decided.notice.code == "card-outdated"
    assert world.portal.ledger == []


@pytest.mark.parametrize(
    ("actor", "code"),
    [
        (BORIS, "not-your-card"),
        (VERA, ""),
        (Actor(key="tg:1", name="Глеб", role="lead", bitrix_user_id=4, sees=(8,)), "not-your-card"),
        (Actor(key="tg:2", name="Дина", role="lead", bitrix_user_id=4, sees=(7,)), ""),
        (Actor(key="tg:1007", name="Анна", bitrix_user_id=7, may_approve=False), "may-not-approve"),
        (Actor(key="http:ci", name="ci", role="admin", sees="all", may_approve=False), "may-not-approve"),
    ],
)
async def test_who_may_decide(world: World, session: Session, entry: Card, actor: Actor, code: str) -> None:
    """The requester, or a lead who may see the record; nobody else, and no token without that right."""
    decided = await decide(world, session, yes(entry, actor))
    assert (decided.notice.code if decided.notice else "") == code
    assert len(world.portal.ledger) == (0 if code else 1)


async def test_the_rights_of_the_requester_hold_at_the_press(world: World, session: Session, entry: Card) -> None:
    """A lead's yes does not lend the manager the lead's eyes: the deal has changed hands, so it is refused."""
    world.portal.records["deal", 481]["ASSIGNED_BY_ID"] = "8"
    decided = await decide(world, session, yes(entry, VERA))
    assert decided.outcome.reason.code == "gate-not-yours"
    assert world.portal.ledger == []


@pytest.mark.req("S004-57")
async def test_sessions_are_kept_apart(world: World) -> None:
    """A card of one session is unknown in another."""
    session, other = await world.session(), await world.session("tg:1008")
    entry = await world.asked(session, effect(*SUM))
    decided = await decide(world, other, yes(entry))
    assert decided.notice.code == "card-outdated"
    assert other.state.agent.confirmations == {}
    assert other.key != CHAT


async def test_a_requester_who_lost_access_runs_nothing(world: World, session: Session, entry: Card) -> None:
    """Approved by a lead, but the person who asked is no longer in the access file: refused for good, with the reason."""
    world.gate._deps = dataclasses.replace(world.gate._deps, present=lambda actor: None)
    decided = await decide(world, session, yes(entry, VERA))
    assert decided.outcome.reason.code == "requester-gone"
    assert world.portal.ledger == []


async def test_the_lower_mode_of_who_approves_holds(world: World, session: Session, entry: Card) -> None:
    """A lead who may only look on cannot let a change through."""
    decided = await decide(world, session, yes(entry, VERA.model_copy(update={"max_mode": "shadow"})))
    assert decided.outcome.reason.code == "shadow-now"
    assert world.portal.ledger == []


async def test_a_card_that_is_no_longer_known_runs_nothing(world: World, session: Session, entry: Card) -> None:
    """Approved before a restart, forgotten by the state: refused, not run on trust."""
    with world.sql._database.write() as transaction:
        transaction._cursor.execute("update effects set status = 'approved'")
    session = await world.session()
    session._state.agent.confirmations.clear()
    decided = await world.gate.run_approved(entry.effect_id, mode="full", ledger=session)
    assert decided.outcome.reason.code == "card-outdated"
    assert world.portal.ledger == []


async def test_above_the_limit_another_person_must_approve(tmp_path: Path) -> None:
    """The requester cannot, a manager cannot, another lead can; anybody entitled may deny."""
    async with a_world(tmp_path, policy={"four_eyes_above": 1_000}) as world:
        session = await world.session()
        entry = await world.asked(session, effect(*SUM), actor=VERA)
        own = await decide(world, session, yes(entry, VERA))
        assert own.notice.code == "four-eyes"
        other = Actor(key="tg:1009", name="Глеб", role="lead", sees="all", bitrix_user_id=4)
        manager = await decide(world, session, yes(entry, ANNA))
        assert manager.notice.code == "four-eyes"
        assert world.portal.ledger == []
        done = await decide(world, session, yes(entry, other))
        assert done.outcome.status == "succeeded"
        second = await world.asked(
            session, effect("crm.deal.update", {"id": 482, "fields": {"OPPORTUNITY": 9_000}}, slot="t1/1/2"), actor=VERA
        )
        denied = await decide(world, session, yes(second, VERA, approve=False))
        assert denied.notice.code == "card-denied"


@pytest.mark.req("G2")
async def test_these_tests_would_see_a_missing_compare_and_set(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the compare-and-set taken out of the store, two processes with one approval do send twice."""

    def unconditional(transaction: Any, statements: Any, commit: Any, change: Any) -> None:
        known = transaction.fetch_row(statements.effect, {"at_effect_id": change.effect_id})
        expect = ("absent",) if known is None else (known[2],)
        honest(transaction, statements, commit, dataclasses.replace(change, expect=expect))

    honest = writing._change_effect
    first = await world.session()
    entry = await world.asked(first, effect(*SUM))
    second = await world.session()
    monkeypatch.setattr(writing, "_change_effect", unconditional)
    monkeypatch.setattr(RecordLocks, "hold", lambda *_: contextlib.nullcontext())  # two processes share none
    for session in (first, second):  # nor does either look where the stream ends
        monkeypatch.setattr(session, "_stored", None)
    held = Held()
    world.portal.will("crm.deal.get", held)
    slow = asyncio.ensure_future(decide(world, first, yes(entry)))
    await held.arrived.wait()
    await decide(world, second, yes(entry))
    world.portal.records["deal", 481]["OPPORTUNITY"] = "1000000.00"
    held.release.set()
    await slow
    assert len(world.portal.written("crm.deal.update")) == 2
