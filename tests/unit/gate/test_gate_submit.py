"""The gate as a whole, over the real store and wire: what is sent, what waits, what is refused, and that nothing comes twice."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.effect import Outcome, Pending, Provenance
from orchestrator.gate.call.serialization import build_effect_id
from orchestrator.sessions.session import Session
from state.clock import format_iso
from state.journal.store import StoreUnwritable
from state.model.card import Card
from tests.unit.gate.submit_kit import SUM, TASK, TITLE, Wish, decide, yes
from tests.unit.spine_kit import NOW, World, a_world, card, effect
from tests.unit.spine_portal import lost


@pytest.mark.req("S004-10", "S004-13", "S004-33", "G1")
async def test_a_free_call_runs_after_its_intent_is_durable(world: World, session: Session) -> None:
    """When the request reaches the wire, its effect is `started` in the database and CallStarted is the journal's last word."""
    seen: list[tuple[str, str]] = []

    async def watch(method: str, params: Any) -> None:
        if method == "tasks.task.add":
            row = world.sql.find_effect(build_effect_id("t1/1/1"))
            seen.append((row.status if row else "absent", world.types()[-1]))

    world.portal.watch = watch
    result = await world.submit(session, effect(*TASK))
    assert result.status == "succeeded"
    assert seen == [("started", "CallStarted")]
    assert world.types() == ["CallStarted", "CallSucceeded"]
    assert world.portal.written("tasks.task.add")[0][1]["fields"]["RESPONSIBLE_ID"] == 7
    assert session.state.agent.objects["current_task_id"] == 9001


@pytest.mark.req("S004-9", "S004-29", "S004-31", "S004-53", "G4")
async def test_a_critical_change_waits_for_a_person(world: World, entry: Card) -> None:
    """A changed sum is stored as `requested`, with times in UTC; nothing is written until it is approved."""
    assert world.portal.ledger == []
    assert entry.status == "requested"
    assert entry.requested_at == format_iso(NOW)
    assert entry.requested_at.endswith("Z")
    assert entry.before["deal:481"]["OPPORTUNITY"] == "1000000.00"
    assert "ASSIGNED_BY_ID" in entry.before["deal:481"]
    assert "COMMENTS" not in entry.before["deal:481"]


@pytest.mark.req("G1", "S004-A2")
async def test_the_same_slot_never_runs_twice(world: World, session: Session) -> None:
    """A turn that runs again after a crash finds what its step came to and repeats nothing."""
    first = await world.submit(session, effect(*TASK))
    again = await world.submit(session, effect(*TASK))
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
async def test_a_step_met_again_stands_as_it_is(world: World, session: Session, status: str, code: str, said: str) -> None:
    """Whatever became of a slot before is what its step is now, also what a look at the portal settled; no restart is spoken of."""
    await world.asked(session, effect(*SUM))
    with world.sql._database.write() as transaction:
        transaction._cursor.execute("update effects set status = ?", (status,))
    session = await world.session()
    found = await world.submit(session, effect(*SUM))
    assert world.portal.ledger == []
    if isinstance(found, Pending):
        assert said == "pending"
    else:
        assert (found.status, found.reason.code if found.reason else "") == (said, code)
        assert (found.status == "succeeded") or ("restart" not in found.detail and f"stands as {status}" in found.detail)


@pytest.mark.req("S004-11", "S004-A1", "S004-M2")
@pytest.mark.parametrize(
    "more", [{"confirmed": True}, {"confirmation_decision": "approve"}, {"confirmed": True, "confirmation_decision": "approve"}]
)
async def test_the_model_cannot_approve(world: World, session: Session, more: dict[str, Any]) -> None:
    """`confirmed: true` and `approve` of the model lead to a card, with and without one that waits."""
    assert isinstance(await world.submit(session, effect(*SUM, **more)), Pending)
    assert isinstance(await world.submit(session, effect(*SUM, slot="t1/1/2", **more)), Pending)
    assert world.portal.ledger == []


@pytest.mark.req("S004-12", "S004-32", "S004-A1")
async def test_the_model_may_withdraw_what_waits(world: World, session: Session, entry: Card) -> None:
    """A deny of the model closes the card for good: a later press finds it denied."""
    result = await world.submit(session, effect(*SUM, slot="t2/1/1", confirmation_decision="deny"), turn_id="t2")
    assert (result.status, result.reason.code if result.reason else "") == ("refused", "denied-by-model")
    pressed = await decide(world, session, yes(entry))
    assert pressed.notice.code == "card-already-denied"
    assert world.portal.ledger == []
    assert world.events("ConfirmationDenied")[0].data["via"] == "model"


@pytest.mark.req("S004-A10", "S004-12")
async def test_a_denial_of_something_never_requested_is_recorded(world: World, session: Session) -> None:
    """It is in the state as denied and the person is told; a card for the same call says so."""
    result = await world.submit(session, effect(*SUM, confirmation_decision="deny"))
    assert result.reason.code == "denied-by-model"
    entries = list(session.state.agent.confirmations.values())
    assert [item.status for item in entries] == ["denied"]
    later = await world.submit(session, effect(*SUM, slot="t9/1/1"), turn_id="t9")
    assert "gate-denied-before" in [reason.code for reason in later.reasons]


async def test_a_withdrawal_that_meets_an_approval_is_told_as_too_late(world: World, session: Session, entry: Card) -> None:
    """The model denies in the moment in which the person approves: the approval holds, nothing fails."""
    with world.sql._database.write() as transaction:
        transaction._cursor.execute("update effects set status = 'approved'")
    session = await world.session()
    result = await world.submit(session, effect(*SUM, slot="t2/1/1", confirmation_decision="deny"), turn_id="t2")
    assert result.reason.code == "card-not-waiting"
    assert card(session, entry.confirmation_id).status == "requested"


@pytest.mark.req("S004-A11", "S004-X3")
async def test_a_denied_call_is_refused_in_its_turn_and_asked_anew_later(world: World, session: Session, entry: Card) -> None:
    """Denied while the turn runs: refused there; in a later turn a new card says when it was denied."""
    await decide(world, session, yes(entry, approve=False))
    same = await world.submit(session, effect(*SUM, slot="t1/2/1"))
    assert same.reason.code == "gate-denied-now"
    later = await world.submit(session, effect(*SUM, slot="t2/1/1"), turn_id="t2")
    assert "gate-denied-before" in [reason.code for reason in later.reasons]
    assert world.portal.ledger == []


@pytest.mark.req("S004-38", "S004-39", "S004-79")
async def test_in_shadow_nothing_of_a_plan_is_sent(tmp_path: Path) -> None:
    """A write and a read are planned with what the person would have seen; the wire stays silent but for looking."""
    async with a_world(tmp_path, mode="shadow") as world:
        session = await world.session()
        plan: list[Wish] = [SUM, TASK, ("crm.deal.list", {})]
        for number, (method, params) in enumerate(plan, start=1):
            result = await world.submit(session, effect(method, params, slot=f"t1/1/{number}"), mode="shadow")
            assert result.status == "planned"
        assert world.portal.ledger == []
        assert world.types() == []


@pytest.mark.req("S004-8", "S004-28")
async def test_canary_refuses_a_change_with_its_reason(world: World, session: Session) -> None:
    """An update in canary is refused and recorded; nothing is sent."""
    result = await world.submit(session, effect(*TITLE), mode="canary")
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
async def test_params_that_cannot_be_stored_are_refused_and_recorded(
    world: World, session: Session, params: dict[str, Any], code: str
) -> None:
    """A refusal is written down even when its params cannot be: the turn goes on."""
    result = await world.submit(session, effect("crm.deal.add", params))
    assert result.reason.code == code
    assert world.events("StepRefused")[0].data["code"] == code


MANY = effect("update_many", {"collection": "deals", "query": {"a": 1}, "update": {"$set": {"a": 2}}}, kind="mongo")


@pytest.mark.parametrize(
    ("opened", "code"), [({}, "gate-kind"), ({"open_kinds": ["mongo"], "mongo_collections": ["deals"]}, "gate-kind-missing")]
)
async def test_a_kind_that_is_closed_or_not_set_up_is_refused_before_anybody_is_asked(
    opened: dict[str, Any], code: str, tmp_path: Path
) -> None:
    """Nothing on this installation could perform it, so no card is shown."""
    async with a_world(tmp_path, policy=opened) as world:
        session = await world.session()
        result = await world.submit(session, MANY)
        assert (result.reason.code, dict(session.state.cards)) == (code, {})


@pytest.mark.req("G1", "S004-A2")
@pytest.mark.parametrize("what", [TASK, SUM])
async def test_without_a_stored_intent_nothing_is_sent(world: World, session: Session, what: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full: neither the free call nor the card goes out, and the caller hears of it."""

    def full(commit: Any) -> Any:
        raise StoreUnwritable("no space left")

    monkeypatch.setattr(world.sql, "commit", full)
    with pytest.raises(StoreUnwritable):
        await world.submit(session, effect(*what))
    assert world.portal.ledger == []


@pytest.mark.req("S004-26", "S004-70", "S004-71", "S004-72", "S004-A9")
async def test_a_batch_is_reported_command_by_command(world: World, session: Session) -> None:
    """Each command has its status, the state one summary with keys and methods."""
    cmd = {"a": "tasks.task.add?fields[TITLE]=A", "b": "tasks.task.add?fields[TITLE]=B", "c": "crm.deal.get?id=481"}
    result = await world.submit(session, effect("batch", {"cmd": cmd}))
    assert [(item.key, item.method, item.status) for item in result.commands] == [
        ("a", "tasks.task.add", "success"),
        ("b", "tasks.task.add", "success"),
        ("c", "crm.deal.get", "success"),
    ]
    done = session.state.agent.done
    assert len(done) == 1
    assert done[0]["description"] == "batch: a tasks.task.add, b tasks.task.add, c crm.deal.get"
    assert len(world.events("CallSucceeded")) == 1


@pytest.mark.req("S004-30", "S004-76")
async def test_one_critical_command_makes_the_whole_batch_wait(world: World, session: Session) -> None:
    """Nothing of the batch runs before the press, all of it in one call after it."""
    cmd = {"a": "tasks.task.add?fields[TITLE]=A", "b": "crm.deal.update?id=481&fields[OPPORTUNITY]=7"}
    entry = await world.asked(session, effect("batch", {"cmd": cmd}))
    assert world.portal.ledger == []
    done = await decide(world, session, yes(entry))
    assert [item.status for item in done.outcome.commands] == ["success", "success"]
    assert [method for method, _ in world.portal.ledger] == ["tasks.task.add", "crm.deal.update"]


async def test_prose_read_before_makes_a_harmless_write_ask(world: World, session: Session) -> None:
    """After free text of others every write of the turn needs a person."""
    tainted = Provenance(message=None, prose=True, targets=frozenset({"deal:481"}), person_text="сделка 481")
    assert isinstance(await world.submit(session, effect(*TASK, provenance=tainted)), Pending)
    assert isinstance(await world.submit(session, effect("tasks.task.add", {"fields": {"TITLE": "Другое"}}, slot="t1/1/2")), Outcome)


@pytest.mark.req("S004-A2")
@pytest.mark.parametrize("what", [TASK, TITLE])
async def test_a_wish_whose_first_outcome_is_unknown_asks(world: World, session: Session, what: Any) -> None:
    """Asked for again while nobody knows whether it happened: the card says so instead of doing it a second time."""
    world.portal.will(what[0], lost)
    assert (await world.submit(session, effect(*what))).status == "unknown"  # type: ignore[union-attr]
    again = await world.submit(session, effect(*what, slot="t2/1/1"), turn_id="t2")
    assert "same-call-unknown" in [reason.code for reason in again.reasons]
    assert len(world.portal.ledger) == 1
