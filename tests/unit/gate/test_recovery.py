"""After a crash: what was started is named unknown, the portal is looked at, nothing is sent again by itself."""

import dataclasses
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.domain.effect import Effect, Pending
from orchestrator.gate.approve.confirmations import Decision
from orchestrator.gate.execute.recovery import SETTLED, RecoveredEffect
from orchestrator.reports.consistency import EffectChecker
from orchestrator.runtime import dispatch, recovery
from orchestrator.sessions.session import Session
from state.events.calls import CallOutcomeUnknown, CallRefused, CallSucceeded
from state.journal.store import Commit, EffectRow, OutboxRow, StoreUnwritable
from state.model.card import Card
from tests.unit.spine_kit import ANNA, VERA, World, a_world, card, effect
from tests.unit.spine_portal import Fault, cut, html, lost, says, unreachable

OUTCOMES = (CallSucceeded, CallRefused, CallOutcomeUnknown)
UPDATE = ("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 1_200_000}})
ITEM_OF_DEAL = ("crm.item.update", {"entityTypeId": 2, "id": 481, "fields": {"opportunity": 1_200_000}})
SMART = ("crm.item.update", {"entityTypeId": 177, "id": 5, "fields": {"opportunity": 200}})
TASK_UPDATE = ("tasks.task.update", {"taskId": 8017, "fields": {"DEADLINE": "2026-12-05T10:00:00+03:00"}})
DEAL_ADD = ("crm.deal.add", {"fields": {"TITLE": "Новая"}})
ITEM_ADD = ("crm.item.add", {"entityTypeId": 2, "fields": {"title": "Новая"}})
TASK_ADD = ("tasks.task.add", {"fields": {"TITLE": "Позвонить"}})
DELETE = ("crm.deal.delete", {"id": 481})
BATCH = ("batch", {"cmd": {"a": "crm.deal.update?id=481&fields[OPPORTUNITY]=7", "b": "crm.deal.update?id=482&fields[OPPORTUNITY]=8"}})
PART = ("crm.deal.contact.items.delete", {"id": 481})
POLICY = {"open_methods": ["crm.deal.delete", "crm.deal.contact.items.delete"]}


async def died(world: World, what: tuple[str, dict[str, Any]], *, fault: Fault | None = None, monkeypatch: pytest.MonkeyPatch) -> EffectRow:
    """A process that sent the call and never stored its outcome; the call happened unless `fault` says otherwise."""
    session = await world.session()
    if fault is not None:
        world.portal.will(what[0], fault, holding=".update" if what[0] == "batch" else "")
    with monkeypatch.context() as dying:
        dying.setattr(world.sql, "commit", _no_outcomes(world.sql.commit))
        with pytest.raises(StoreUnwritable):
            await carried_out(world, session, effect(*what))
    vars(session).update(vars(await world.session()))  # what the dead process knew is gone
    rows = await session.list_effects("started")
    assert len(rows) == 1
    world.clock.advance(timedelta(seconds=61))
    return rows[0]


async def carried_out(world: World, session: Session, what: Effect) -> None:
    result = await world.submit(session, what, actor=VERA)
    if isinstance(result, Pending):
        entry = card(session, result.confirmation_id)
        given = Decision(confirmation_id=entry.confirmation_id, nonce=_last(entry), approve=True, actor=VERA, via="button")
        await world.gate.decide_card(given, mode="full", ledger=session)
        await session.flush()


def _last(entry: Card) -> str:
    from orchestrator.gate.approve.confirmations import calculate_second_nonce  # noqa: PLC0415 - only for dangerous cards

    return calculate_second_nonce(entry.nonce) if entry.taps > 1 else str(entry.nonce)


def _no_outcomes(commit: Any) -> Any:
    def failing(what: Commit) -> Any:
        if any(isinstance(event, OUTCOMES) for event in what.events):
            raise StoreUnwritable("no space left")
        return commit(what)

    return failing


def silent(found: RecoveredEffect) -> Sequence[OutboxRow]:
    return ()


async def recovered(world: World, *, later: timedelta = timedelta()) -> tuple[Session, list[RecoveredEffect]]:
    """Another process opens the session."""
    world.clock.advance(later)
    session = await world.session(owner="two")
    return session, await world.gate.recover(session, announce=silent)


@pytest.fixture
async def open_world(tmp_path: Path) -> Any:
    async with a_world(tmp_path, policy=POLICY) as made:
        yield made


@pytest.mark.req("S004-A2", "G2")
@pytest.mark.parametrize("what", [UPDATE, ITEM_OF_DEAL, SMART, TASK_UPDATE, DEAL_ADD, ITEM_ADD, DELETE, BATCH], ids=lambda what: what[0])
@pytest.mark.parametrize(("fault", "verdict", "status"), [(None, "done", "succeeded"), (cut, "not_done", "refused")])
async def test_the_portal_shows_what_became_of_it(
    open_world: World, what: Any, fault: Any, verdict: str, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Marked adds are found by their mark, changes by their values, deletions by the gap; none is sent again."""
    row = await died(open_world, what, fault=fault, monkeypatch=monkeypatch)
    before = len(open_world.portal.ledger)
    session, found = await recovered(open_world, later=SETTLED)
    assert [item.reconciled.verdict for item in found] == [verdict]
    after = await session.find_effect(row.effect_id)
    assert after.status == status
    assert len(open_world.portal.ledger) == before
    assert open_world.types()[-2:] == ["CallOutcomeUnknown", "OutcomeReconciled"]
    assert session.state.unknown == {}
    assert await session.list_effects("started") == []


@pytest.mark.req("S004-A2")
async def test_too_early_to_say_no(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the portal may still be working on it, "not found" proves nothing: unknown, and a timer looks again."""
    row = await died(world, UPDATE, fault=cut, monkeypatch=monkeypatch)
    session, found = await recovered(world)
    assert [item.reconciled.verdict for item in found] == ["unclear"]
    assert (await session.find_effect(row.effect_id)).status == "unknown"  # type: ignore[union-attr]
    timers = [timer for timer in world.sql.list_due_timers(world.clock.now() + timedelta(days=2)) if timer.kind == "reconcile"]
    assert [timer.body for timer in timers] == [{"effect_id": row.effect_id}]
    world.clock.advance(SETTLED)
    await recovery.reconcile_now(row.effect_id, session, world.tools)
    assert (await session.find_effect(row.effect_id)).status == "refused"  # type: ignore[union-attr]


@pytest.mark.req("S004-A2", "S004-14")
async def test_a_clock_that_is_set_does_not_make_it_late(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A day forward on the clock is no day for the portal: still unknown, and the timer that is due by that clock is put off, once told."""
    row = await died(world, UPDATE, fault=cut, monkeypatch=monkeypatch)
    world.clock.set_by(timedelta(days=1))
    session, found = await recovered(world)
    assert [item.reconciled.verdict for item in found] == ["unclear"]
    world.clock.set_by(timedelta(days=1))
    due = (await dispatch.collect_due_rows(world.store, world.clock.now()))[-1:]
    await dispatch.run_timer(due[0], session, world.tools)
    assert (await session.find_effect(row.effect_id)).status == "unknown"  # type: ignore[union-attr]
    assert [item for item in world.sql.list_due_timers(world.clock.now()) if item.kind == "reconcile"] == []
    world.clock.advance(SETTLED)
    assert [item.body for item in world.sql.list_due_timers(world.clock.now()) if item.kind == "reconcile"] == [
        {"effect_id": row.effect_id}
    ]
    await recovery.reconcile_now(row.effect_id, session, world.tools)
    assert (await session.find_effect(row.effect_id)).status == "refused"  # type: ignore[union-attr]


@pytest.mark.req("S004-A2")
async def test_the_age_of_a_call_of_another_machine_is_counted_anew(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever takes over cannot compare its clock with the dead one's: 75 seconds of its own must pass."""
    row = await died(world, UPDATE, fault=cut, monkeypatch=monkeypatch)
    monkeypatch.setattr(world.clock, "mark", lambda: f"other {world.clock.now().timestamp()}")
    monkeypatch.setattr(
        world.clock,
        "measure_since",
        lambda mark: timedelta(seconds=world.clock.now().timestamp() - float(mark[6:])) if mark[:6] == "other " else None,
    )
    session, found = await recovered(world, later=timedelta(days=1))
    assert [item.reconciled.verdict for item in found] == ["unclear"]
    world.clock.advance(SETTLED)
    await recovery.reconcile_now(row.effect_id, session, world.tools)
    assert (await session.find_effect(row.effect_id)).status == "refused"  # type: ignore[union-attr]


async def test_to_wait_anew_is_no_change_of_the_effect(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A third machine that can tell no age counts anew and changes nothing else: the journal still agrees with the effect's row."""
    row = await died(world, UPDATE, fault=cut, monkeypatch=monkeypatch)
    session, _ = await recovered(world)
    unknown_since = (await session.find_effect(row.effect_id)).updated_at  # type: ignore[union-attr]
    monkeypatch.setattr(world.clock, "measure_since", lambda _: None)
    world.clock.advance(timedelta(hours=1))
    await recovery.reconcile_now(row.effect_id, session, world.tools)
    rows = await session.list_effects("unknown")
    assert [item.updated_at for item in rows] == [unknown_since]
    checker = EffectChecker(session.stream)
    for event in world.sql.read_events(session.stream):
        checker.add_event(event)
    assert [found.why for found in checker.list_findings(world.sql.list_effects(session.stream, "unknown"))] == []


def _changed(world: World) -> None:
    world.portal.records["deal", 481]["OPPORTUNITY"] = "777.00"


def _gone(world: World) -> None:
    del world.portal.records["deal", 481]


def _hidden(world: World) -> None:
    del world.portal.records["deal", 481]["OPPORTUNITY"]


@pytest.mark.parametrize("meanwhile", [_changed, _gone, _hidden])
async def test_neither_the_old_nor_the_new_value_is_unclear(world: World, meanwhile: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else was there, or the record cannot say: a person must look."""
    row = await died(world, UPDATE, fault=cut, monkeypatch=monkeypatch)
    meanwhile(world)
    session, found = await recovered(world, later=SETTLED)
    assert [item.reconciled.verdict for item in found] == ["unclear"]
    assert (await session.find_effect(row.effect_id)).status == "unknown"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("what", "fault"),
    [
        (TASK_ADD, None),
        (TASK_ADD, cut),
        (PART, cut),
        (("crm.deal.update", {"id": 481, "fields": {"UF_CRM_X": "1"}}), cut),
        (("task.checklistitem.update", {"TASKID": 8017, "ITEMID": 1, "FIELDS": {"TITLE": "Счёт-2"}}), cut),
    ],
)
async def test_what_leaves_no_mark_is_left_to_a_person(open_world: World, what: Any, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task without a mark, a part of a record, a value that the record does not show: never guessed, never called undone."""
    await died(open_world, what, fault=fault, monkeypatch=monkeypatch)
    _, found = await recovered(open_world, later=SETTLED)
    assert [item.reconciled.verdict for item in found] == ["unclear"]


async def test_half_a_batch_is_unclear_and_told_key_by_key(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """One command has happened, the other has not."""
    await died(world, BATCH, fault=cut, monkeypatch=monkeypatch)
    world.portal.records["deal", 481]["OPPORTUNITY"] = "7"
    _, found = await recovered(world, later=SETTLED)
    assert found[0].reconciled.verdict == "unclear"
    assert found[0].reconciled.detail == "a crm.deal.update: done; b crm.deal.update: not_done"


@pytest.mark.parametrize(
    "fault",
    [
        unreachable,
        html,
        says(403, {"error": "ACCESS_DENIED"}),
        says(200, {"result": "?"}),
        says(200, {"result": {"items": 5}}),
        says(200, []),
    ],
)
@pytest.mark.parametrize(
    ("what", "reads"), [(UPDATE, "crm.deal.get"), (DEAL_ADD, "crm.deal.list"), (ITEM_ADD, "crm.item.list"), (SMART, "crm.item.get")]
)
async def test_an_odd_answer_to_the_look_is_unclear(
    world: World, what: Any, reads: str, fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the portal says, the session opens and the call stays unknown."""
    row = await died(world, what, fault=cut, monkeypatch=monkeypatch)
    world.portal.will(reads, *[fault] * 3)
    session, found = await recovered(world, later=SETTLED)
    assert [item.reconciled.verdict for item in found] == ["unclear"]
    assert (await session.find_effect(row.effect_id)).status == "unknown"  # type: ignore[union-attr]


async def test_a_method_that_left_the_catalogue_is_unclear(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A newer catalogue without the row must not keep the session closed."""
    await died(world, UPDATE, monkeypatch=monkeypatch)
    monkeypatch.setattr(Catalogue, "find", lambda *_: None)
    _, found = await recovered(world)
    assert [item.reconciled.verdict for item in found] == ["unclear"]


async def test_a_second_recovery_finds_nothing_to_do(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Named once, told once; a change that is there is there, however early the look."""
    await died(world, UPDATE, monkeypatch=monkeypatch)
    _, first = await recovered(world)
    _, second = await recovered(world)
    assert ([item.reconciled.verdict for item in first], second) == (["done"], [])


@pytest.mark.req("S004-A2")
async def test_an_approved_call_that_never_started_goes_on_once(world: World, session: Session, entry: Card) -> None:
    """Killed between approval and intent: proven not sent, so it goes on, through the same checks; a second start adds nothing."""
    await _approve_only(session, entry)
    world.clock.advance(timedelta(minutes=2))
    for owner in ("two", "two", "three"):
        opened = await world.session(owner=owner)
        await recovery.recover(opened, world.tools)
        world.clock.advance(timedelta(minutes=2))
    assert len(world.portal.written("crm.deal.update")) == 1
    assert world.codes() == ["card:executed"]


async def test_an_approved_call_whose_record_changed_becomes_a_new_card(world: World, session: Session, entry: Card) -> None:
    """The checks of a fresh approval hold after a restart too."""
    await _approve_only(session, entry)
    _changed(world)
    world.clock.advance(timedelta(minutes=2))
    opened = await world.session(owner="two")
    await recovery.recover(opened, world.tools)
    assert world.portal.ledger == []
    assert world.codes() == ["card:superseded", "card:requested"]


async def _approve_only(session: Session, entry: Card) -> None:
    from orchestrator.gate.approve import confirmations  # noqa: PLC0415 - plays a process killed right after the approval

    given = Decision(confirmation_id=entry.confirmation_id, nonce=entry.nonce, approve=True, actor=ANNA, via="button")
    await confirmations.approve(entry, given, session, ())
    await session.flush()


@pytest.mark.req("S004-36")
@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (None, ["recovered-done", "card:executed"]),
        (cut, ["recovered-not-done", "card:refused"]),
        (lost, ["recovered-done", "card:executed"]),
    ],
)
async def test_the_person_is_told_in_the_commit_that_settles_it(
    world: World, fault: Any, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence and the card as it stands; killed before that commit, the next start tells it."""
    row = await died(world, UPDATE, fault=fault, monkeypatch=monkeypatch)
    world.outbox()
    world.clock.advance(SETTLED)
    session = await world.session(owner="two")
    await recovery.recover(session, world.tools)
    assert world.codes() == told
    await recovery.reconcile_now(row.effect_id, session, world.tools)
    await recovery.reconcile_now("nothing", session, world.tools)
    assert world.codes() == []


async def test_what_is_unclear_is_told_too(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The card keeps its button to look again, and each look says what it found."""
    row = await died(world, UPDATE, fault=cut, monkeypatch=monkeypatch)
    _changed(world)
    world.clock.advance(SETTLED)
    session = await world.session(owner="two")
    await recovery.recover(session, world.tools)
    assert world.codes() == ["recovered-unclear", "card:unknown"]
    await recovery.reconcile_now(row.effect_id, session, world.tools)
    assert world.codes() == ["recovered-unclear", "card:unknown"]


@pytest.mark.parametrize(("later", "second"), [(timedelta(), "unknown"), (SETTLED, "not_run")], ids=["too early", "settled"])
async def test_of_a_batch_is_told_what_became_of_each_command(
    world: World, later: timedelta, second: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One ran and one did not: the card says so of each; before the portal is done with it, that one is not there proves nothing."""
    await died(world, BATCH, monkeypatch=monkeypatch)
    world.portal.records["deal", 482]["OPPORTUNITY"] = "50000.00"
    world.clock.advance(later)
    session = await world.session(owner="two")
    world.outbox()
    await recovery.recover(session, world.tools)
    rows = world.outbox()
    shown = next(row.body for row in rows if row.kind == "card")
    assert (shown["status"], [report["status"] for report in shown["commands"]]) == ("unknown", ["success", second])
    told = next(row.body["notices"][0] for row in rows if row.kind == "reply")
    assert told["code"] == "recovered-partly"
    assert (told["args"]["done"], told["args"]["commands"], told["args"]["unknown"]) == (1, 2, int(second == "unknown"))


async def test_a_call_without_a_card_is_told_by_a_sentence(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A free create has no card to edit."""
    await died(world, DEAL_ADD, monkeypatch=monkeypatch)
    session = await world.session(owner="two")
    await recovery.recover(session, world.tools)
    assert world.codes() == ["recovered-done"]
    assert session.state.agent.objects["current_deal_id"] == 9001


async def test_a_call_whose_approver_lost_access_meanwhile_is_refused_with_that_reason(world: World, session: Session) -> None:
    """The person reads who lost access, not that the bot stood still."""
    entry = await world.asked(session, effect("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 5}}))
    await _approve_only(session, entry)
    world.gate._deps = dataclasses.replace(world.gate._deps, present=lambda actor: None)
    decided = await world.gate.resume_approved(entry.effect_id, mode="full", ledger=session)
    assert decided.outcome.reason.code == "approver-gone"
    assert world.portal.ledger == []


@pytest.mark.parametrize("store", [False, True])
async def test_one_call_that_cannot_be_gone_on_with_does_not_close_the_session(
    world: World, session: Session, monkeypatch: pytest.MonkeyPatch, *, store: bool
) -> None:
    """Whatever goes wrong with one approved call, the others go on; only a store that gives out is passed up."""
    entries = [
        await world.asked(session, effect("crm.deal.update", {"id": number, "fields": {"OPPORTUNITY": 5}}, slot=f"t/{number}"))
        for number in (481, 482)
    ]
    for entry in entries:
        await _approve_only(session, entry)
    go_on, broken = world.gate.resume_approved, StoreUnwritable("full") if store else RuntimeError("nobody foresaw this")

    async def first_fails(effect_id: str, **more: Any) -> Any:
        if effect_id == entries[0].effect_id:
            raise broken
        return await go_on(effect_id, **more)

    monkeypatch.setattr(world.gate, "resume_approved", first_fails)
    world.clock.advance(timedelta(minutes=2))
    opened = await world.session(owner="two")
    if store:
        with pytest.raises(StoreUnwritable):
            await recovery.recover(opened, world.tools)
        return
    await recovery.recover(opened, world.tools)
    assert [params["id"] for _, params in world.portal.ledger] == [482]
