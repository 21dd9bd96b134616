"""Intent first, act once, outcome after: in this order, also when everything around it fails or is cancelled."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from orchestrator.domain.effect import CommandReport
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.ports import CallResult, Reconciled, Rejected, Succeeded, Unknown
from orchestrator.gate.call.serialization import build_effect_id
from orchestrator.gate.execute import executor
from orchestrator.gate.execute.executor import Order
from orchestrator.gate.normalize.normalize import normalize
from orchestrator.sessions.session import Session
from state.events.calls import StateChanges
from state.journal.store import Commit, EffectConflict, StoreUnwritable
from tests.unit.spine_kit import ANNA, World, effect


class Act:
    """A performer whose answer is given, and which looks at the database while it acts."""

    portal = "portal.example"

    def __init__(self, world: World, answer: CallResult) -> None:
        self.world, self.answer, self.calls, self.seen = world, answer, 0, [""]
        self.go = asyncio.Event()
        self.go.set()
        self.begun = asyncio.Event()

    async def execute(self, call: Call) -> CallResult:
        self.calls += 1
        row = self.world.sql.find_effect(build_effect_id("t1/1/1"))
        self.seen.append(row.status if row else "absent")
        self.begun.set()
        await self.go.wait()
        return self.answer

    async def reconcile(self, call: Call, before: Mapping[str, Any]) -> Reconciled:
        raise NotImplementedError


def order(world: World, method: str = "tasks.task.add", params: Mapping[str, Any] | None = None, **more: Any) -> Order:
    what = effect(method, params or {"fields": {"TITLE": "Позвонить"}})
    call = normalize(what, catalogue=world.gate.deps.catalogue, portal="portal.example", actor=ANNA, effect_id="e1")
    assert isinstance(call, Call)
    given = {
        "effect_id": build_effect_id("t1/1/1"),
        "turn_id": "t1",
        "slot": "t1/1/1",
        "requested_by": ANNA.key,
        "proposed_by": "crm_agent",
        "before": {},
    }
    return Order(**{**given, "call": call, **more})


async def in_store(session: Session, world: World, **changed: Any) -> str:
    row = await session.find_effect(build_effect_id("t1/1/1"))
    return row.status if row else "absent"


@pytest.mark.req("G1", "S004-10", "S004-13")
@pytest.mark.parametrize(
    ("answer", "status", "event", "said"),
    [
        (Succeeded(result=5, total=1, changes=StateChanges(done="x"), entity="task", created="task:5"), "succeeded", "CallSucceeded", ""),
        (Rejected(code="ACCESS_DENIED", detail="no"), "refused", "CallRefused", "portal-refused"),
        (Rejected(code="not_sent", detail="no", sent=False), "refused", "CallRefused", "portal-not-reached"),
        (
            Rejected(code="OPERATION_TIME_LIMIT", detail="no", sent=False, free_at=datetime(2026, 11, 22, 12, tzinfo=UTC)),
            "refused",
            "CallRefused",
            "portal-wait",
        ),
        (Rejected(code="INVALID_CREDENTIALS", detail="no"), "refused", "CallRefused", "portal-no-access"),
        (Rejected(code="insufficient_scope", detail="no"), "refused", "CallRefused", "portal-no-scope"),
        (Unknown(detail="lost"), "unknown", "CallOutcomeUnknown", "outcome-unknown"),
    ],
)
async def test_every_answer_ends_in_its_status(world: World, answer: CallResult, status: str, event: str, said: str) -> None:
    """While it acts the effect is `started`; afterwards effect, event and what the engine hears agree."""
    session, act = await world.session(), Act(world, answer)
    outcome = await executor.run_write(order(world), act, session)
    assert act.seen == ["", "started"]
    assert (await in_store(session, world), world.types()) == (status, ["CallStarted", event])
    assert (outcome.status, outcome.reason.code if outcome.reason else "") == (status, said)
    row = await session.find_effect(build_effect_id("t1/1/1"))
    assert row.outcome is not None
    assert "result" not in row.outcome
    assert row.call["started_at"].endswith("Z")


async def test_what_another_party_said_is_kept_for_the_card(world: World, session: Session) -> None:
    """The words of its sentence stand in the event, from which the card is drawn; those of the portal are its detail."""
    refused = Rejected(code="http-refused", detail="the host answered 422: no", args={"status": 422, "text": "no"})
    call = replace(order(world).call, kind="http")
    outcome = await executor.run_write(order(world, call=call), Act(world, refused), session)
    assert outcome.reason == Notice(code="http-refused", args={"status": 422, "text": "no"})
    (event,) = world.events("CallRefused")
    assert (event.data["code"], event.data["args"]) == ("http-refused", {"status": 422, "text": "no"})


async def test_a_batch_keeps_the_word_of_each_command(world: World, session: Session) -> None:
    """Reports are in the event and in the outcome (S004-71)."""
    report = CommandReport(key="a", method="user.current", status="error", error="no")
    outcome = await executor.run_write(order(world), Act(world, Succeeded(result={}, commands=(report,))), session)
    assert outcome.commands == (report,)
    assert world.events("CallSucceeded")[0].data["commands"] == [report.model_dump()]


@pytest.mark.req("S004-A2")
async def test_a_second_start_of_one_effect_is_refused_before_it_acts(world: World) -> None:
    """Of two at once one acts; the other raises and has sent nothing."""
    session, act = await world.session(), Act(world, Succeeded(result=1))
    found = await asyncio.gather(*(executor.run_write(order(world), act, session) for _ in range(4)), return_exceptions=True)
    assert act.calls == 1
    assert sorted(type(item).__name__ for item in found) == ["EffectConflict", "EffectConflict", "EffectConflict", "Outcome"]


async def test_an_approved_order_starts_from_approved_only(world: World) -> None:
    """An order with a confirmation does not start an effect that nobody approved."""
    session, act = await world.session(), Act(world, Succeeded(result=1))
    with pytest.raises(EffectConflict):
        await executor.run_write(order(world, confirmation_id="c1"), act, session)
    assert (act.calls, world.types()) == (0, [])


@pytest.mark.req("G1")
async def test_no_intent_no_act(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The intent cannot be stored: nothing is sent."""
    session, act = await world.session(), Act(world, Succeeded(result=1))
    monkeypatch.setattr(world.sql, "commit", _fail_after(0, world.sql.commit))
    with pytest.raises(StoreUnwritable):
        await executor.run_write(order(world), act, session)
    assert act.calls == 0


def _fail_after(good: int, commit: Any) -> Any:
    left = [good]

    def failing(what: Commit) -> Any:
        if left[0] == 0:
            raise StoreUnwritable("no space left")
        left[0] -= 1
        return commit(what)

    return failing


async def test_whoever_cancels_waits_for_the_outcome(world: World) -> None:
    """However often it is cancelled, a call on its way is heard to its end and its outcome stored."""
    session, act = await world.session(), Act(world, Succeeded(result=1))
    act.go.clear()
    writing = asyncio.ensure_future(executor.run_write(order(world), act, session))
    await act.begun.wait()
    for _ in range(3):
        writing.cancel()
        await asyncio.sleep(0)
    assert not writing.done()
    act.go.set()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert await in_store(session, world) == "succeeded"


@pytest.mark.parametrize(
    ("answer", "event", "status"),
    [
        (Succeeded(result=[{"ID": "1"}], total=1), "CallSucceeded", "succeeded"),
        (Rejected(code="NOT_FOUND", detail="gone"), "CallRefused", "refused"),
        (Unknown(detail="slow", foreign_text=True), "CallRefused", "refused"),
    ],
)
async def test_a_read_needs_no_intent_and_is_never_unknown(world: World, answer: CallResult, event: str, status: str) -> None:
    """It is journalled with its params; repeating it does no harm, so a lost answer is simply no answer."""
    session, act = await world.session(), Act(world, answer)
    outcome = await executor.run_read(order(world, "crm.deal.list", {"filter": {"ID": 5}}), act, session)
    await session.flush()
    assert act.seen == ["", "absent"]
    assert world.types() == [event]
    assert (outcome.status, outcome.foreign_text) == (status, answer.foreign_text)
    assert world.events()[0].data["params"]["filter"]["ID"] == 5
    assert order(world).call_class == "W"


@pytest.mark.parametrize("set_by", [timedelta(), timedelta(seconds=-6), timedelta(days=-1)], ids=["right", "back", "a day back"])
async def test_a_program_held_up_after_its_intent_does_not_act(world: World, monkeypatch: pytest.MonkeyPatch, set_by: timedelta) -> None:
    """Paused between intent and act, the clock set meanwhile or not: the world it was judged in has moved on, so nothing is sent."""
    session, act = await world.session(), Act(world, Succeeded(result=1))
    commit = world.sql.commit

    def paused(what: Commit) -> Any:
        found = commit(what)
        world.clock.advance(timedelta(seconds=6))
        world.clock.set_by(set_by)
        return found

    monkeypatch.setattr(world.sql, "commit", paused)
    outcome = await executor.run_write(order(world), act, session)
    assert (outcome.status, act.calls, await in_store(session, world)) == ("refused", 0, "refused")


@pytest.mark.req("G2", "S004-A2")
async def test_a_fault_of_ours_after_the_call_leaves_its_outcome_unknown(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the performer stumbles over once the intent is stored: the effect is unknown, is looked up later, and the person is told."""
    session, act = await world.session(), Act(world, Succeeded(result=1))

    async def stumbling(call: Call) -> CallResult:
        del call
        raise KeyError("an answer nobody foresaw")

    monkeypatch.setattr(act, "execute", stumbling)
    outcome = await executor.run_write(order(world), act, session)
    assert (outcome.status, await in_store(session, world)) == ("unknown", "unknown")
    assert world.types() == ["CallStarted", "CallOutcomeUnknown"]
    assert [timer.kind for timer in world.sql.list_due_timers(world.clock.now() + timedelta(hours=1))] == ["reconcile"]


def nest(depth: int) -> Any:
    """Lists within lists, deeper than the journal stores."""
    data: Any = 1
    for _ in range(depth):
        data = [data]
    return data


@pytest.mark.req("S004-A2")
@pytest.mark.parametrize("result", [nest(300), nest(5000), float("nan"), "\0", {"a": object()}, 2**60], ids=lambda one: type(one).__name__)
async def test_a_result_that_cannot_be_stored_is_left_out_and_what_happened_is_recorded(
    world: World, session: Session, result: Any
) -> None:
    """A write is done; a read has no answer, which an engine must not take for an empty one."""
    outcome = await executor.run_write(order(world), Act(world, Succeeded(result=result)), session)
    read = await executor.run_read(order(world, "crm.deal.get", {"id": 481}, slot="t1/1/2"), Act(world, Succeeded(result=result)), session)
    await session.flush()
    assert (outcome.status, outcome.result, outcome.detail) == ("succeeded", None, "the answer cannot be stored")
    assert (read.status, read.detail) == ("refused", "the answer cannot be stored")
    assert world.types() == ["CallStarted", "CallSucceeded", "CallRefused"]
