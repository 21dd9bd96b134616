"""The gate as a whole, over the real store and wire: what is sent, what waits, what is refused, and that nothing comes twice."""

import asyncio
import dataclasses
from pathlib import Path
from typing import Any

import pytest
from spine_kit import ANNA, BORIS, CHAT, NOW, VERA, World, a_world, card, effect
from spine_portal import Held, lost, says, unreachable

from orchestrator.gate.confirmations import Decision
from orchestrator.gate.gate import Decided, effect_id_of
from orchestrator.messages import Actor, Outcome, Pending, Provenance
from orchestrator.session import Session
from state.clock import iso
from state.events import MessageReceived
from state.sql import commit as writing
from state.store import StoreUnwritable

Wish = tuple[str, dict[str, Any]]
SUM: Wish = ("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 1_200_000}})
TITLE: Wish = ("crm.deal.update", {"id": 481, "fields": {"TITLE": "Ромашка-2"}})
TASK: Wish = ("tasks.task.add", {"fields": {"TITLE": "Позвонить"}})


def yes(entry: dict[str, Any], actor: Actor = ANNA, **more: Any) -> Decision:
    return Decision(
        confirmation_id=entry["confirmation_id"], actor=actor, **{"approve": True, "nonce": entry["nonce"], "via": "button", **more}
    )


async def decide(world: World, session: Session, decision: Decision, mode: str = "full") -> Decided:
    return await world.gate.decide_card(decision, mode=mode, ledger=session)  # type: ignore[arg-type]


@pytest.mark.req("S004-10", "S004-13", "S004-33", "G1")
async def test_a_free_call_runs_after_its_intent_is_durable(world: World) -> None:
    """When the request reaches the wire, its effect is `started` in the database and CallStarted is the journal's last word."""
    session = await world.session()
    seen: list[tuple[str, str]] = []

    async def watch(method: str, params: Any) -> None:
        if method == "tasks.task.add":
            row = world.sql.effect(effect_id_of("t1/1/1"))
            seen.append((row.status if row else "absent", world.types()[-1]))

    world.portal.watch = watch
    result = await world.submit(session, effect(*TASK))
    assert isinstance(result, Outcome)
    assert result.status == "succeeded"
    assert seen == [("started", "CallStarted")]
    assert world.types() == ["CallStarted", "CallSucceeded"]
    assert world.portal.written("tasks.task.add")[0][1]["fields"]["RESPONSIBLE_ID"] == 7
    assert session.state["agent"]["objects"]["current_task_id"] == 9001


@pytest.mark.req("S004-9", "S004-29", "S004-31", "S004-53", "G4")
async def test_a_critical_change_waits_for_a_person(world: World) -> None:
    """A changed sum is stored as `requested`, with times in UTC; nothing is written until it is approved."""
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    assert world.portal.ledger == []
    assert entry["status"] == "requested"
    assert entry["requested_at"] == iso(NOW)
    assert entry["requested_at"].endswith("Z")
    assert entry["before"]["deal:481"]["OPPORTUNITY"] == "1000000.00"
    assert "ASSIGNED_BY_ID" in entry["before"]["deal:481"]
    assert "COMMENTS" not in entry["before"]["deal:481"]


@pytest.mark.req("S004-10", "S004-31", "S004-A2", "G2")
async def test_an_approval_runs_exactly_the_shown_call_once(world: World) -> None:
    """What is sent is what the card was made of; the second press finds it used."""
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    seen: list[str] = []

    async def watch(method: str, params: Any) -> None:
        if method == "crm.deal.update":
            row = world.sql.effect(entry["effect_id"])
            seen.append(row.status if row else "absent")

    world.portal.watch = watch
    first = await decide(world, session, yes(entry))
    again = await decide(world, session, yes(entry))
    assert first.outcome is not None
    assert first.outcome.status == "succeeded"
    assert again.outcome is None
    assert again.notice is not None
    assert again.notice.code == "card-already-executed"
    assert seen == ["started"]
    assert [params for _, params in world.portal.ledger] == [entry["params"]]
    assert card(session, entry["confirmation_id"])["status"] == "executed"


@pytest.mark.req("G2", "S004-A2")
async def test_of_two_presses_at_once_one_counts(world: World) -> None:
    """The compare-and-set lets one decision through; the other is told that it came late."""
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    found = await asyncio.gather(*(decide(world, session, yes(entry)) for _ in range(5)))
    assert len([item for item in found if item.outcome is not None]) == 1
    assert {item.notice.code for item in found if item.notice} <= {"card-outdated", "card-already-approved", "card-already-executed"}
    assert len(world.portal.written("crm.deal.update")) == 1


@pytest.mark.req("G2")
async def test_a_press_and_a_denial_at_once_do_not_both_count(world: World) -> None:
    """Either it ran and is executed, or it is denied and nothing was sent."""
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    await asyncio.gather(decide(world, session, yes(entry)), decide(world, session, yes(entry, approve=False)))
    status = card(session, entry["confirmation_id"])["status"]
    assert (status, len(world.portal.ledger)) in {("executed", 1), ("denied", 0)}


@pytest.mark.req("G2", "S004-A2")
async def test_two_processes_with_one_approval_send_once(world: World) -> None:
    """Two sessions on one database (the lease does not help: same owner) run the approved call once."""
    first, second = await world.session(), await world.session()
    entry = await world.asked(first, effect(*SUM))
    second = await world.session()
    found = await asyncio.gather(decide(world, first, yes(entry)), decide(world, second, yes(entry)), return_exceptions=True)
    outcomes = [item for item in found if isinstance(item, Decided) and item.outcome is not None]
    assert len(world.portal.written("crm.deal.update")) == 1
    assert len(outcomes) == 1


@pytest.mark.req("G1", "S004-A2")
async def test_the_same_slot_never_runs_twice(world: World) -> None:
    """A turn that runs again after a crash finds what its step came to and repeats nothing."""
    session = await world.session()
    first = await world.submit(session, effect(*TASK))
    again = await world.submit(session, effect(*TASK))
    assert isinstance(first, Outcome)
    assert isinstance(again, Outcome)
    assert (again.status, again.created, again.effect_id) == ("succeeded", first.created, first.effect_id)
    assert len(world.portal.ledger) == 1


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        ("requested", "", "pending"),
        ("approved", "", "pending"),
        ("started", "outcome-unknown", "unknown"),
        ("unknown", "outcome-unknown", "unknown"),
        ("denied", "card-already-denied", "refused"),
        ("expired", "card-already-expired", "refused"),
        ("superseded", "card-already-superseded", "refused"),
        ("refused", "card-already-refused", "refused"),
        ("succeeded", "", "succeeded"),
    ],
)
async def test_a_step_met_again_stands_as_it_is(world: World, status: str, code: str, said: str) -> None:
    """Whatever became of a slot before the restart is what its step is now, also what a look at the portal settled."""
    session = await world.session()
    await world.asked(session, effect(*SUM))
    with world.sql._database.write() as transaction:
        transaction._cursor.execute("update effects set status = ?", (status,))
    found = await world.submit(session, effect(*SUM))
    assert world.portal.ledger == []
    if isinstance(found, Pending):
        assert said == "pending"
    else:
        assert (found.status, found.reason.code if found.reason else "") == (said, code)


async def test_an_identical_proposal_shares_the_open_card(world: World) -> None:
    """Asked for twice, shown once: the second slot leads to the card that waits."""
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    again = await world.submit(session, effect(*SUM, slot="t2/1/1"), turn_id="t2")
    assert isinstance(again, Pending)
    assert again.confirmation_id == entry["confirmation_id"]
    assert len(world.events("ConfirmationRequested")) == 1


@pytest.mark.req("S004-11", "S004-A1", "S004-M2")
@pytest.mark.parametrize(
    "more", [{"confirmed": True}, {"confirmation_decision": "approve"}, {"confirmed": True, "confirmation_decision": "approve"}]
)
async def test_the_model_cannot_approve(world: World, more: dict[str, Any]) -> None:
    """`confirmed: true` and `approve` of the model lead to a card, with and without one that waits."""
    session = await world.session()
    assert isinstance(await world.submit(session, effect(*SUM, **more)), Pending)
    assert isinstance(await world.submit(session, effect(*SUM, slot="t1/1/2", **more)), Pending)
    assert world.portal.ledger == []


@pytest.mark.req("S004-12", "S004-32", "S004-A1")
async def test_the_model_may_withdraw_what_waits(world: World) -> None:
    """A deny of the model closes the card for good: a later press finds it denied."""
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    result = await world.submit(session, effect(*SUM, slot="t2/1/1", confirmation_decision="deny"), turn_id="t2")
    assert isinstance(result, Outcome)
    assert (result.status, result.reason.code if result.reason else "") == ("refused", "denied-by-model")
    pressed = await decide(world, session, yes(entry))
    assert pressed.notice is not None
    assert pressed.notice.code == "card-already-denied"
    assert world.portal.ledger == []
    assert world.events("ConfirmationDenied")[0].data["via"] == "model"


@pytest.mark.req("S004-A10", "S004-12")
async def test_a_denial_of_something_never_requested_is_recorded(world: World) -> None:
    """It is in the state as denied and the person is told; a card for the same call says so."""
    session = await world.session()
    result = await world.submit(session, effect(*SUM, confirmation_decision="deny"))
    assert isinstance(result, Outcome)
    assert result.reason is not None
    assert result.reason.code == "denied-by-model"
    entries = list(session.state["agent"]["confirmations"].values())
    assert [item["status"] for item in entries] == ["denied"]
    later = await world.submit(session, effect(*SUM, slot="t9/1/1"), turn_id="t9")
    assert isinstance(later, Pending)
    assert "gate-denied-before" in [reason.code for reason in later.reasons]


async def test_a_withdrawal_that_meets_an_approval_is_told_as_too_late(world: World) -> None:
    """The model denies in the moment in which the person approves: the approval holds, nothing fails."""
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    with world.sql._database.write() as transaction:
        transaction._cursor.execute("update effects set status = 'approved'")
    result = await world.submit(session, effect(*SUM, slot="t2/1/1", confirmation_decision="deny"), turn_id="t2")
    assert isinstance(result, Outcome)
    assert result.reason is not None
    assert result.reason.code == "card-outdated"
    assert card(session, entry["confirmation_id"])["status"] == "requested"


@pytest.mark.req("S004-A11", "S004-X3")
async def test_a_denied_call_is_refused_in_its_turn_and_asked_anew_later(world: World) -> None:
    """Denied while the turn runs: refused there; in a later turn a new card says when it was denied."""
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    await session.commit(_received("t1"), actor="x")
    await decide(world, session, yes(entry, approve=False))
    same = await world.submit(session, effect(*SUM, slot="t1/2/1"))
    assert isinstance(same, Outcome)
    assert same.reason is not None
    assert same.reason.code == "gate-denied-now"
    later = await world.submit(session, effect(*SUM, slot="t2/1/1"), turn_id="t2")
    assert isinstance(later, Pending)
    assert "gate-denied-before" in [reason.code for reason in later.reasons]
    assert world.portal.ledger == []


def _received(turn_id: str) -> Any:
    return MessageReceived(turn_id=turn_id, text="подними")


@pytest.mark.req("S004-38", "S004-39", "S004-79")
async def test_in_shadow_nothing_of_a_plan_is_sent(tmp_path: Path) -> None:
    """A write and a read are planned with what the person would have seen; the wire stays silent but for looking."""
    async with a_world(tmp_path, mode="shadow") as world:
        session = await world.session()
        plan: list[Wish] = [SUM, TASK, ("crm.deal.list", {})]
        for number, (method, params) in enumerate(plan, start=1):
            result = await world.submit(session, effect(method, params, slot=f"t1/1/{number}"), mode="shadow")
            assert isinstance(result, Outcome)
            assert result.status == "planned"
        assert world.portal.ledger == []
        assert world.types() == []


@pytest.mark.req("S004-8", "S004-28")
async def test_canary_refuses_a_change_with_its_reason(world: World) -> None:
    """An update in canary is refused and recorded; nothing is sent."""
    session = await world.session()
    result = await world.submit(session, effect(*TITLE), mode="canary")
    assert isinstance(result, Outcome)
    assert result.reason is not None
    assert result.reason.code == "gate-mode"
    assert world.events("StepRefused")[0].data["code"] == "gate-mode"


@pytest.mark.req("S004-36")
@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"fields": {"TITLE": "x" * 3, "A": float("nan")}}, "gate-params"),
        ({"fields": {"TITLE": 2**60}}, "gate-params"),
        ({"x": 1}, "gate-param-unknown"),
    ],
)
async def test_params_that_cannot_be_stored_are_refused_and_recorded(world: World, params: dict[str, Any], code: str) -> None:
    """A refusal is written down even when its params cannot be: the turn goes on."""
    session = await world.session()
    result = await world.submit(session, effect("crm.deal.add", params))
    assert isinstance(result, Outcome)
    assert result.reason is not None
    assert result.reason.code == code
    assert world.events("StepRefused")[0].data["code"] == code


async def test_an_unreadable_record_refuses_the_step(world: World) -> None:
    """The portal does not let the record be read: nothing is sent, the reason is told."""
    session = await world.session()
    world.portal.will("crm.deal.get", says(403, {"error": "ACCESS_DENIED", "error_description": "no"}))
    result = await world.submit(session, effect(*SUM))
    assert isinstance(result, Outcome)
    assert result.reason is not None
    assert result.reason.code == "portal-unreadable"
    assert world.portal.ledger == []


async def test_a_record_that_is_gone_refuses_the_step(world: World) -> None:
    """A deal that does not exist cannot be changed."""
    session = await world.session()
    result = await world.submit(session, effect("crm.deal.update", {"id": 5, "fields": {"TITLE": "x"}}))
    assert isinstance(result, Outcome)
    assert result.reason is not None
    assert result.reason.code == "gate-not-found"


async def test_kinds_without_a_performer_are_refused(world: World) -> None:
    """A telegram effect is closed by the shipped policy."""
    session = await world.session()
    result = await world.submit(session, effect("send_message", {"chat_id": 5, "text": "x"}, kind="telegram"))
    assert isinstance(result, Outcome)
    assert result.reason is not None
    assert result.reason.code == "gate-kind"


@pytest.mark.req("G1", "S004-A2")
@pytest.mark.parametrize("what", [TASK, SUM])
async def test_without_a_stored_intent_nothing_is_sent(world: World, what: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full: neither the free call nor the card goes out, and the caller hears of it."""
    session = await world.session()

    def full(commit: Any) -> Any:
        raise StoreUnwritable("no space left")

    monkeypatch.setattr(world.sql, "commit", full)
    with pytest.raises(StoreUnwritable):
        await world.submit(session, effect(*what))
    assert world.portal.ledger == []


async def test_an_approval_that_cannot_be_stored_sends_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The card still waits afterwards."""
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    with monkeypatch.context() as broken:
        broken.setattr(world.sql, "commit", _full)
        with pytest.raises(StoreUnwritable):
            await decide(world, session, yes(entry))
    assert world.portal.ledger == []
    assert (await decide(world, session, yes(entry))).outcome is not None


def _full(commit: Any) -> Any:
    raise StoreUnwritable("no space left")


@pytest.mark.req("S004-A2")
async def test_a_changed_record_gets_a_new_card(world: World) -> None:
    """Somebody changed the sum: the old card is superseded, the new one shows the new value, and only it can run, once."""
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    world.portal.records["deal", 481]["OPPORTUNITY"] = "1100000.00"
    decided = await decide(world, session, yes(entry))
    assert decided.replaced_by is not None
    assert world.portal.ledger == []
    assert card(session, entry["confirmation_id"])["status"] == "superseded"
    new = card(session, decided.replaced_by.confirmation_id)
    assert new["before"]["deal:481"]["OPPORTUNITY"] == "1100000.00"
    assert new["preview"]["lines"][0]["before"].startswith("1")
    assert new["requested_by"] == ANNA.key
    done = await decide(world, session, yes(new))
    assert done.outcome is not None
    assert done.outcome.status == "succeeded"
    assert len(world.portal.ledger) == 1
    assert world.sql.due_timers(world.clock.now().replace(year=2030)) == []


@pytest.mark.parametrize("method", ["crm.item.update", "tasks.task.update"])
async def test_drift_is_seen_in_either_family_of_fields(world: World, method: str) -> None:
    """The universal method and tasks spell their fields otherwise than the record does: a change still shows."""
    session = await world.session()
    if method == "crm.item.update":
        what = effect(method, {"entityTypeId": 2, "id": 481, "fields": {"opportunity": 5}})
        place = world.portal.records["deal", 481], "OPPORTUNITY", "7.00"
    else:
        what = effect(method, {"taskId": 8017, "fields": {"DEADLINE": "2026-12-05T10:00:00+03:00"}})
        place = world.portal.records["task", 8017], "deadline", "2026-12-02T10:00:00+03:00"
    entry = await world.asked(session, what)
    record, name, value = place
    record[name] = value
    assert (await decide(world, session, yes(entry))).replaced_by is not None
    assert world.portal.ledger == []


async def test_an_unrelated_edit_costs_no_second_card(world: World) -> None:
    """Only what the call touches is compared."""
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    world.portal.records["deal", 481]["COMMENTS"] = "новый комментарий"
    assert (await decide(world, session, yes(entry))).outcome is not None


async def test_a_batch_with_reads_costs_one_card(world: World) -> None:
    """What is compared at the press is what was read for the card, for a person who sees everything too."""
    session = await world.session()
    cmd = {"a": "crm.deal.get?id=481", "b": "crm.deal.update?id=482&fields[OPPORTUNITY]=7"}
    entry = await world.asked(session, effect("batch", {"cmd": cmd}), actor=VERA)
    decided = await decide(world, session, yes(entry, VERA))
    assert decided.replaced_by is None
    assert decided.outcome is not None
    assert decided.outcome.status == "succeeded"


async def test_records_of_smart_processes_can_be_changed(world: World) -> None:
    """A universal item is read with its kind, so that rights and the before-image hold."""
    session = await world.session()
    what = effect("crm.item.update", {"entityTypeId": 177, "id": 5, "fields": {"opportunity": 200}})
    entry = await world.asked(session, what)
    assert entry["before"]["item:177:5"]["opportunity"] == 100
    done = await decide(world, session, yes(entry))
    assert done.outcome is not None
    assert done.outcome.status == "succeeded"
    assert world.portal.records["item:177", 5]["opportunity"] == 200


@pytest.mark.parametrize(("mode", "code"), [("shadow", "shadow-now"), ("canary", "gate-mode")])
async def test_a_mode_lowered_after_the_card_holds_at_the_press(world: World, mode: str, code: str) -> None:
    """Approved but no longer allowed: refused for good, with the reason; nothing is sent."""
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    decided = await decide(world, session, yes(entry), mode)
    assert decided.outcome is not None
    assert decided.outcome.reason is not None
    assert decided.outcome.reason.code == code
    assert world.portal.ledger == []
    assert card(session, entry["confirmation_id"])["status"] == "refused"
    assert card(session, entry["confirmation_id"])["code"] == code


async def test_a_policy_closed_after_the_card_holds_at_the_press(tmp_path: Path, world: World) -> None:
    """The same database under a stricter policy refuses the approved call."""
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    async with a_world(tmp_path, policy={"refuse_methods": ["crm.deal.update"]}) as stricter:
        decided = await stricter.gate.decide_card(yes(entry), mode="full", ledger=session)
    assert decided.outcome is not None
    assert decided.outcome.reason is not None
    assert decided.outcome.reason.code == "gate-policy-refuses"
    assert world.portal.ledger == []


async def test_an_unreadable_portal_at_the_press_refuses(world: World) -> None:
    """What cannot be compared is not sent."""
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    world.portal.will("crm.deal.get", *[unreachable] * 9)
    decided = await decide(world, session, yes(entry))
    assert decided.outcome is not None
    assert decided.outcome.reason is not None
    assert decided.outcome.reason.code == "portal-unreadable"
    assert world.portal.ledger == []


async def test_a_method_that_left_the_catalogue_is_not_run(world: World) -> None:
    """A stored call of an unlisted method is refused at the press."""
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    with world.sql._database.write() as transaction:
        transaction._cursor.execute('update effects set call = replace(call, \'"method":"crm.deal.update"\', \'"method":"crm.deal.gone"\')')
    decided = await decide(world, session, yes(entry))
    assert decided.outcome is not None
    assert decided.outcome.reason is not None
    assert decided.outcome.reason.code == "portal-unreadable"
    assert world.portal.ledger == []


@pytest.mark.parametrize("status", ["requested", "started", "succeeded", "denied"])
async def test_only_an_approved_effect_is_run(world: World, status: str) -> None:
    """`run_approved` is no way around the approval, nor a way to run twice."""
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    with world.sql._database.write() as transaction:
        transaction._cursor.execute("update effects set status = ?", (status,))
    decided = await world.gate.run_approved(entry["effect_id"], mode="full", ledger=session)
    assert decided.notice is not None
    assert decided.notice.code == "card-outdated"
    assert (await world.gate.run_approved("none", mode="full", ledger=session)).notice == decided.notice
    assert world.portal.ledger == []


async def test_an_approved_call_started_elsewhere_meanwhile_is_left_alone(world: World) -> None:
    """Between the look and the intent somebody else began: the compare-and-set says no."""
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    held = Held()
    world.portal.will("crm.deal.get", held)
    pressing = asyncio.ensure_future(decide(world, session, yes(entry)))
    await held.arrived.wait()
    with world.sql._database.write() as transaction:
        transaction._cursor.execute("update effects set status = 'started'")
    held.release.set()
    decided = await pressing
    assert decided.notice is not None
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
async def test_who_may_decide(world: World, actor: Actor, code: str) -> None:
    """The requester, or a lead who may see the record; nobody else, and no token without that right."""
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    decided = await decide(world, session, yes(entry, actor))
    assert (decided.notice.code if decided.notice else "") == code
    assert len(world.portal.ledger) == (0 if code else 1)


async def test_the_rights_of_the_requester_hold_at_the_press(world: World) -> None:
    """A lead's yes does not lend the manager the lead's eyes: the deal has changed hands, so it is refused."""
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    world.portal.records["deal", 481]["ASSIGNED_BY_ID"] = "8"
    decided = await decide(world, session, yes(entry, VERA))
    assert decided.outcome is not None
    assert decided.outcome.reason is not None
    assert decided.outcome.reason.code == "gate-not-yours"
    assert world.portal.ledger == []


@pytest.mark.req("S004-36")
async def test_an_outcome_nobody_knows_is_told_and_not_repeated(world: World) -> None:
    """The answer was lost: unknown, once in the ledger, and a timer will look again."""
    session = await world.session()
    world.portal.will("tasks.task.add", lost)
    result = await world.submit(session, effect(*TASK))
    assert isinstance(result, Outcome)
    assert result.status == "unknown"
    assert len(world.portal.ledger) == 1
    again = await world.submit(session, effect(*TASK))
    assert isinstance(again, Outcome)
    assert again.status == "unknown"
    assert len(world.portal.ledger) == 1
    timers = world.sql.due_timers(world.clock.now().replace(year=2030))
    assert [timer.kind for timer in timers] == ["reconcile"]


@pytest.mark.req("S004-26", "S004-70", "S004-71", "S004-72", "S004-A9")
async def test_a_batch_is_reported_command_by_command(world: World) -> None:
    """Each command has its status, the state one summary with keys and methods."""
    session = await world.session()
    cmd = {"a": "tasks.task.add?fields[TITLE]=A", "b": "tasks.task.add?fields[TITLE]=B", "c": "crm.deal.get?id=481"}
    result = await world.submit(session, effect("batch", {"cmd": cmd}))
    assert isinstance(result, Outcome)
    assert [(item.key, item.method, item.status) for item in result.commands] == [
        ("a", "tasks.task.add", "success"),
        ("b", "tasks.task.add", "success"),
        ("c", "crm.deal.get", "success"),
    ]
    done = session.state["agent"]["done"]
    assert len(done) == 1
    assert done[0]["description"] == "batch: a tasks.task.add, b tasks.task.add, c crm.deal.get"
    assert len(world.events("CallSucceeded")) == 1


@pytest.mark.req("S004-30", "S004-76")
async def test_one_critical_command_makes_the_whole_batch_wait(world: World) -> None:
    """Nothing of the batch runs before the press, all of it in one call after it."""
    session = await world.session()
    cmd = {"a": "tasks.task.add?fields[TITLE]=A", "b": "crm.deal.update?id=481&fields[OPPORTUNITY]=7"}
    entry = await world.asked(session, effect("batch", {"cmd": cmd}))
    assert world.portal.ledger == []
    done = await decide(world, session, yes(entry))
    assert done.outcome is not None
    assert [item.status for item in done.outcome.commands] == ["success", "success"]
    assert [method for method, _ in world.portal.ledger] == ["tasks.task.add", "crm.deal.update"]


async def test_prose_read_before_makes_a_harmless_write_ask(world: World) -> None:
    """After free text of others every write of the turn needs a person."""
    session = await world.session()
    tainted = Provenance(prose=True, targets=frozenset({"deal:481"}), person_text="сделка 481")
    assert isinstance(await world.submit(session, effect(*TASK, provenance=tainted)), Pending)
    assert isinstance(await world.submit(session, effect("tasks.task.add", {"fields": {"TITLE": "Другое"}}, slot="t1/1/2")), Outcome)


@pytest.mark.req("S004-57")
async def test_sessions_are_kept_apart(world: World) -> None:
    """A card of one session is unknown in another."""
    session, other = await world.session(), await world.session("tg:1008")
    entry = await world.asked(session, effect(*SUM))
    decided = await decide(world, other, yes(entry))
    assert decided.notice is not None
    assert decided.notice.code == "card-outdated"
    assert other.state["agent"]["confirmations"] == {}
    assert other.key != CHAT


async def test_the_gate_tells_the_policy_of_plans(tmp_path: Path, world: World) -> None:
    """Whether a plan stops at its first blocked step is the policy's word."""
    assert world.gate.halt_on_block is False
    async with a_world(tmp_path, policy={"halt_on_block": True}) as strict:
        assert strict.gate.halt_on_block is True


async def test_a_requester_who_lost_access_runs_nothing(world: World) -> None:
    """Approved by a lead, but the person who asked is no longer in the access file: refused for good, with the reason."""
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    world.gate._present = lambda actor: None
    decided = await decide(world, session, yes(entry, VERA))
    assert decided.outcome is not None
    assert decided.outcome.reason is not None
    assert decided.outcome.reason.code == "no-access-any-more"
    assert world.portal.ledger == []


async def test_the_lower_mode_of_who_approves_holds(world: World) -> None:
    """A lead who may only look on cannot let a change through."""
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    decided = await decide(world, session, yes(entry, VERA.model_copy(update={"max_mode": "shadow"})))
    assert decided.outcome is not None
    assert decided.outcome.reason is not None
    assert decided.outcome.reason.code == "shadow-now"
    assert world.portal.ledger == []


async def test_a_card_that_is_no_longer_known_runs_nothing(world: World) -> None:
    """Approved before a restart, forgotten by the state: refused, not run on trust."""
    session = await world.session()
    entry = await world.asked(session, effect(*SUM))
    with world.sql._database.write() as transaction:
        transaction._cursor.execute("update effects set status = 'approved'")
    session._state["agent"]["confirmations"].clear()
    decided = await world.gate.run_approved(entry["effect_id"], mode="full", ledger=session)
    assert decided.outcome is not None
    assert decided.outcome.reason is not None
    assert decided.outcome.reason.code == "card-outdated"
    assert world.portal.ledger == []


async def test_above_the_limit_another_person_must_approve(tmp_path: Path) -> None:
    """The requester cannot, a manager cannot, another lead can; anybody entitled may deny."""
    async with a_world(tmp_path, policy={"four_eyes_above": 1_000}) as world:
        session = await world.session()
        entry = await world.asked(session, effect(*SUM), actor=VERA)
        own = await decide(world, session, yes(entry, VERA))
        assert own.notice is not None
        assert own.notice.code == "four-eyes"
        other = Actor(key="tg:1009", name="Глеб", role="lead", sees="all", bitrix_user_id=4)
        manager = await decide(world, session, yes(entry, ANNA))
        assert manager.notice is not None
        assert manager.notice.code == "four-eyes"
        assert world.portal.ledger == []
        done = await decide(world, session, yes(entry, other))
        assert done.outcome is not None
        assert done.outcome.status == "succeeded"
        second = await world.asked(
            session, effect("crm.deal.update", {"id": 482, "fields": {"OPPORTUNITY": 9_000}}, slot="t1/1/2"), actor=VERA
        )
        denied = await decide(world, session, yes(second, VERA, approve=False))
        assert denied.notice is not None
        assert denied.notice.code == "card-denied"


@pytest.mark.req("S004-A2")
@pytest.mark.parametrize("what", [TASK, TITLE])
async def test_a_wish_whose_first_outcome_is_unknown_asks(world: World, what: Any) -> None:
    """Asked for again while nobody knows whether it happened: the card says so instead of doing it a second time."""
    session = await world.session()
    world.portal.will(what[0], lost)
    assert (await world.submit(session, effect(*what))).status == "unknown"  # type: ignore[union-attr]
    again = await world.submit(session, effect(*what, slot="t2/1/1"), turn_id="t2")
    assert isinstance(again, Pending)
    assert "same-call-unknown" in [reason.code for reason in again.reasons]
    assert len(world.portal.ledger) == 1


@pytest.mark.req("G2")
async def test_these_tests_would_see_a_missing_compare_and_set(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the compare-and-set taken out of the store, two processes with one approval do send twice."""

    def unconditional(transaction: Any, statements: Any, commit: Any, change: Any) -> None:
        known = transaction.row(statements.effect, {"at_effect_id": change.effect_id})
        expect = ("absent",) if known is None else (known[2],)
        honest(transaction, statements, commit, dataclasses.replace(change, expect=expect))

    honest = writing._change_effect
    first = await world.session()
    entry = await world.asked(first, effect(*SUM))
    second = await world.session()
    monkeypatch.setattr(writing, "_change_effect", unconditional)
    held = Held()
    world.portal.will("crm.deal.get", held)
    slow = asyncio.ensure_future(decide(world, first, yes(entry)))
    await held.arrived.wait()
    await decide(world, second, yes(entry))
    world.portal.records["deal", 481]["OPPORTUNITY"] = "1000000.00"
    held.release.set()
    await slow
    assert len(world.portal.written("crm.deal.update")) == 2
