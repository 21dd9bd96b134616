"""Runs one decided call: durable intent first, then the act, then the outcome. At most once (DESIGN, first sentence).

The intent is a compare-and-set of the effect's status in the same transaction as CallStarted: of two processes, two presses or
two restarts exactly one wins. Nothing here retries.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, assert_never

from orchestrator.gate import criticals
from orchestrator.gate.effects import Call
from orchestrator.gate.frozen import call_goes_on
from orchestrator.gate.limits import changes
from orchestrator.gate.named import doubt
from orchestrator.gate.ports import SAID_NO, Ledger, Performed, Performer, ReadsBack, Rejected, Succeeded, Unknown
from orchestrator.gate.recovery import MARK, SETTLED, look_again
from orchestrator.gate.stored_call import essence, freeze
from orchestrator.messages import Notice, Outcome
from state.clock import iso
from state.counting import Begun, Count
from state.events import CallOutcomeUnknown, CallRefused, CallStarted, CallSucceeded, Event
from state.store import EffectChange, Uncounted
from state.worker import to_its_end

log = logging.getLogger(__name__)

SEND_WITHIN = timedelta(seconds=5)
"""A process that slept longer between intent and call may have lost its session, and a verdict on this call may be out already."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """A call that may run now, with all that its record needs."""

    effect_id: str
    turn_id: str
    slot: str
    call: Call
    requested_by: str
    requested_by_user: int | None = None
    proposed_by: str
    approved_by: str = ""
    confirmation_id: str = ""
    before: Mapping[str, Any]
    policy: str = ""
    """The digest of the rules that it was judged by."""
    count: Count | None = None
    """What its start counts for its person."""
    begun: Callable[[], Awaitable[Sequence[Begun]]] | None = None
    """What the journal knows of the last day, for a person whom the database has not counted yet."""
    named: Mapping[str, Any] = field(default_factory=dict)
    """How a sentence for people names the call."""

    @property
    def call_class(self) -> str:
        """The classes as one word, worst last: "R", "W", "WM"."""
        return "".join(self.call.classes)


async def read(order: Order, performer: Performer, ledger: Ledger) -> Outcome:
    """Run a call that changes nothing. It needs no intent: repeating it does no harm. The plan it is part of is stored first."""
    await ledger.flush_plan()
    started = time.monotonic()
    performed = await performer.perform(order.call)
    if isinstance(performed, Unknown):
        performed = Rejected(code="no_answer", detail=performed.detail, foreign_text=performed.foreign_text)
    event = _outcome_event(order, performed, time.monotonic() - started, params=dict(order.call.params))
    await ledger.note(event, actor=order.requested_by)
    return _outcome(order, performed)


async def write(order: Order, performer: Performer, ledger: Ledger) -> Outcome:
    """Store the intent, act once, store the outcome; who cancels this waits until the outcome is stored.

    Raises EffectConflict when somebody else started this effect, WriteStopped when writes are frozen, CapReached where
    `Order.count` is too much, StoreUnwritable when the intent cannot be stored: nothing was sent then. A failure to store the outcome
    leaves the effect `started`, which recovery turns into `unknown`.
    """
    return await to_its_end(_write(order, performer, ledger))


async def act(order: Order, performer: Performer, ledger: Ledger) -> Outcome:
    """As `write`, but the outcome is only noted: the caller commits it at once, together with what the person is told of it."""
    return await to_its_end(_act(order, performer, ledger))


async def _write(order: Order, performer: Performer, ledger: Ledger) -> Outcome:
    outcome = await _act(order, performer, ledger)
    await ledger.flush()
    return outcome


async def _act(order: Order, performer: Performer, ledger: Ledger) -> Outcome:
    intended, mark = ledger.now, ledger.mark()
    await _intend(order, ledger)
    started = time.monotonic()
    passed = ledger.since(mark)  # a clock that was set back meanwhile tells nothing of a pause
    if max(ledger.now - intended, passed or timedelta()) > SEND_WITHIN:
        performed: Performed = Rejected(code="not_sent", detail="the program was held up before the call, so it was not made", sent=False)
    else:
        performed = await _checked(order, await _performed(order, performer), performer)
    return await _settle(order, performed, ledger, seconds=time.monotonic() - started)


async def _performed(order: Order, performer: Performer) -> Performed:
    try:
        return await performer.perform(order.call)
    except Exception:  # after the intent nothing may be left without an outcome, and only a person may say that it did not happen
        log.exception("a call ended in a fault of ours", extra={"action": "perform_failed", "effect_id": order.effect_id})
        return Unknown(detail="the program could not make sense of what came of it")


async def _checked(order: Order, performed: Performed, performer: Performer) -> Performed:
    """A successful answer is no proof: the written fields are looked at once more where the performer can (DESIGN §3 "Read back")."""
    if not isinstance(performed, Succeeded) or not isinstance(performer, ReadsBack):
        return performed
    try:
        seen = await performer.read_back(order.call, order.before, performed)
    except Exception:  # the portal said yes: that stands, whatever the second look stumbled over
        log.exception("a call cannot be looked at again", extra={"action": "read_back_failed", "effect_id": order.effect_id})
        return replace(performed, note="it could not be looked at once more")
    return replace(performed, unchanged=seen.unchanged, note=seen.note, foreign_text=performed.foreign_text or seen.foreign_text)


async def _intend(order: Order, ledger: Ledger) -> None:
    event = CallStarted(
        effect_id=order.effect_id,
        turn_id=order.turn_id,
        slot=order.slot,
        kind=order.call.kind,
        method=order.call.method,
        call_class=order.call_class,
        params=dict(order.call.params),
        fingerprint=order.call.fingerprint,
        requested_by=order.requested_by,
        requested_by_user=order.requested_by_user,
        approved_by=order.approved_by,
        confirmation_id=order.confirmation_id,
        proposed_by=order.proposed_by,
        essence=essence(order.call),
        policy=order.policy,
        writes=changes(order.call),
        before=dict(order.before),
    )
    change = EffectChange(
        effect_id=order.effect_id,
        expect=("approved",) if order.confirmation_id else ("absent",),
        status="started",
        fingerprint=order.call.fingerprint,
        call=stored_call(order) | {"started_at": iso(ledger.now), MARK: ledger.mark()},
        though_frozen=call_goes_on(order.call),
        count=order.count,
    )
    try:
        await ledger.commit(event, actor=order.requested_by, effects=[change])
    except Uncounted:  # here and nowhere further out: whatever is tried again, a call is made once
        if order.count is None or order.begun is None:
            raise
        told = replace(order.count, known=await order.begun())
        await ledger.commit(event, actor=order.requested_by, effects=[replace(change, count=told)])


async def _settle(order: Order, performed: Performed, ledger: Ledger, *, seconds: float) -> Outcome:
    event = _outcome_event(order, performed, seconds, params={})
    outcome = _outcome(order, performed)
    told = outcome.model_dump(mode="json", exclude={"result", "call"})
    change = EffectChange(effect_id=order.effect_id, expect=("started",), status=_status(performed), outcome=told)
    timers = [look_again(order.effect_id, ledger, after=SETTLED)] if isinstance(performed, Unknown) else []
    await ledger.note(event, actor=order.requested_by, effects=[change], timers=timers)
    return outcome


def stored_call(order: Order) -> dict[str, Any]:
    """What the effects table keeps of an order: enough to run or reconcile it after a restart."""
    return {
        "call": freeze(order.call),
        "turn_id": order.turn_id,
        "slot": order.slot,
        "requested_by": order.requested_by,
        "approved_by": order.approved_by,
        "confirmation_id": order.confirmation_id,
        "proposed_by": order.proposed_by,
        "before": dict(order.before),
        "named": dict(order.named),
    }


def _outcome_event(order: Order, performed: Performed, seconds: float, *, params: dict[str, Any]) -> Event:
    common: dict[str, Any] = {
        "effect_id": order.effect_id,
        "turn_id": order.turn_id,
        "slot": order.slot,
        "method": order.call.method,
        "call_class": order.call_class,
        "confirmation_id": order.confirmation_id,
    }
    match performed:
        case Succeeded():
            commands = [report.model_dump() for report in performed.commands]
            return CallSucceeded(
                **common,
                params=params,
                result=performed.result,
                total=performed.total,
                sums=dict(performed.sums or {}),
                seconds=round(seconds, 4),
                changes=performed.changes,
                commands=commands,
                unchanged=list(performed.unchanged),
                created=performed.created,
            )
        case Rejected():
            return CallRefused(**common, params=params, code=performed.code, detail=performed.detail, seconds=round(seconds, 4))
        case Unknown():
            return CallOutcomeUnknown(**common, detail=performed.detail)
        case _:
            assert_never(performed)


def _status(performed: Performed) -> Any:
    match performed:
        case Succeeded():
            return "succeeded"
        case Rejected():
            return "refused"
        case Unknown():
            return "unknown"
        case _:
            assert_never(performed)


def _outcome(order: Order, performed: Performed) -> Outcome:
    common: dict[str, Any] = {
        "effect_id": order.effect_id,
        "method": order.call.method,
        "call_class": order.call_class,
        "call": dict(order.call.params),
    }
    match performed:
        case Succeeded():
            return Outcome(
                status="succeeded",
                result=performed.result,
                total=performed.total,
                sums=performed.sums,
                commands=performed.commands,
                entity=performed.entity,
                created=performed.created,
                unchanged=performed.unchanged,
                reason=_no_op(order.call, performed.unchanged) or _no_sum(performed),
                detail=_told(performed),
                foreign_text=performed.foreign_text,
                **common,
            )
        case Rejected():
            words = {"detail": performed.detail, "foreign_text": performed.foreign_text}
            return Outcome(status="refused", reason=_refusal(performed, order.call), **words, **common)
        case Unknown():
            reason = Notice(code="outcome-unknown", args=doubt(order.effect_id, stored_call(order)))
            words = {"detail": performed.detail, "foreign_text": performed.foreign_text}
            return Outcome(status="unknown", reason=reason, **words, **common)
        case _:
            assert_never(performed)


def _no_op(call: Call, unchanged: Sequence[str]) -> Notice | None:
    """What a person is told when the portal said yes and left something out."""
    if not unchanged:
        return None
    key, _, name = unchanged[0].rpartition(": ")
    leaf = next((leaf for leaf in call.leaves if leaf.key == key), call)
    code = "not-taken" if leaf.spec.verb == "add" else "not-changed"
    return Notice(code=code, args={"field": criticals.code_of(leaf, name), "more": len(unchanged) - 1})


def _no_sum(performed: Succeeded) -> Notice | None:
    """A person who sees a number without its sum is told that there is one."""
    return Notice(code="sum-left-out") if performed.sums is not None and not performed.sums else None


_NO_ACCESS = frozenset({"INVALID_CREDENTIALS", "NO_AUTH_FOUND", "expired_token", "invalid_grant", "invalid_client", "PAYMENT_REQUIRED"})


def _refusal(performed: Rejected, call: Call) -> Notice:
    """Our own sentence for what a person can do something about, else the portal's words."""
    if performed.code == SAID_NO:
        return Notice(code=SAID_NO)
    if performed.free_at is not None:
        return Notice(code="portal-wait", args={"at": iso(performed.free_at)})
    if performed.code in _NO_ACCESS:
        return Notice(code="portal-no-access", args={"code": performed.code})
    if performed.code == "insufficient_scope":
        return Notice(code="portal-no-scope", args={"scope": call.spec.scope})
    if call.kind == "schedule":
        return Notice(code=performed.code)
    if not performed.sent:
        return Notice(code="portal-not-reached")
    return Notice(code="portal-refused", args={"text": performed.detail, "code": performed.code})


def _told(performed: Succeeded) -> str:
    silent = (
        f"the portal said yes, but these fields do not hold what was sent: {', '.join(performed.unchanged)}" if performed.unchanged else ""
    )
    return "; ".join(part for part in (silent, performed.note) if part)
