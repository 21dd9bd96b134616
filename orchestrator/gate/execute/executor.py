"""Runs a decided call at most once: intent, call, outcome.

The intent is a compare-and-set of the effect's status: of two processes, clicks or restarts exactly one wins. The same transaction checks
the daily limit again.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final, assert_never

from orchestrator.domain.address import is_run
from orchestrator.domain.effect import SEEN, UNSTORED, Outcome
from orchestrator.domain.inputs import UNDO
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.effect import BeforeImage, Call
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.kept_files import FILE_GONE, KEY, KeepsFiles, KeptFiles
from orchestrator.gate.call.policy import count_call_changes
from orchestrator.gate.call.portal_errors import CLOSED, explain_portal_error
from orchestrator.gate.call.ports import DECLINED, CallResult, Ledger, Performer, ReadsBack, Rejected, Succeeded, Unknown
from orchestrator.gate.call.serialization import build_doubt_args, encode_call, get_essence, name_records
from orchestrator.gate.decide.refusals import may_run_while_frozen
from orchestrator.gate.execute.recovery import MARK, SETTLED, build_reconcile_timer
from orchestrator.gate.execute.unmet_words import describe_unmet
from orchestrator.gate.preview.format_values import Reader
from state.canonical import NotCanonical, dumps, to_storable_text
from state.clock import format_iso
from state.events.base import Event
from state.events.calls import CallOutcomeUnknown, CallRefused, CallStarted, CallSucceeded
from state.journal.daily_count import PastStart, StartCount
from state.journal.store import EffectChange, EffectStatus, Timer, Uncounted
from state.journal.thread_worker import run_to_end
from state.stored import JsonObject

log = logging.getLogger(__name__)

_NOT_SENT: Final = "effect-not-sent"
_NO_ANSWER: Final = "effect-no-answer"
_UNREAD: Final = "portal-unread"
_LONGEST_QUOTE: Final = 300
SEND_WITHIN = timedelta(seconds=5)
"""After a longer pause between intent and call it is not made: the lease may be lost."""


@dataclass(frozen=True, kw_only=True)
class Closing:
    """An event that closes a card, and the change of its effect; they are stored together."""

    event: Event
    change: EffectChange
    timers: Sequence[Timer] = ()


@dataclass(frozen=True, kw_only=True)
class Order:
    """A call that may run now, with everything that is recorded about it."""

    effect_id: str
    turn_id: str
    slot: str
    call: Call
    requested_by: str
    requested_by_user: int | None = None
    proposed_by: str
    approved_by: str = ""
    confirmation_id: str = ""
    covered_by: str = ""
    """The card that showed this call as a following step, if its approval covers it."""
    closings: Sequence[Closing] = ()
    """Of the card in whose place the call runs: from its start on, nobody can approve that."""
    before: BeforeImage
    policy: str = ""
    """`Policy.digest` under which the call was checked."""
    count: StartCount | None = None
    """What the start adds to the person's daily count."""
    list_known_changes: Callable[[], Awaitable[Sequence[PastStart]]] | None = None
    """The person's changes of the last day, for a database without a count of them."""
    named: JsonObject = field(default_factory=dict)
    is_computed: bool = False
    reader: Reader | None = None
    """For whom it is told what the portal made of the call; None tells it by codes."""

    @property
    def call_class(self) -> str:
        """The most critical letter last, such as "R" or "WM"."""
        return "".join(self.call.classes)


async def run_read(order: Order, performer: Performer, ledger: Ledger) -> Outcome:
    """Buffers the outcome; repeating a read is harmless, so no intent is stored."""
    await ledger.flush_plan()
    started = time.monotonic()
    answered = await performer.execute(order.call)
    performed = _keep_storable(answered)
    if isinstance(performed, Unknown):
        code = _UNREAD if performed.is_unreadable else _NO_ANSWER
        performed = Rejected(code=code, detail=performed.detail, foreign_text=performed.foreign_text)
    elif isinstance(performed, Succeeded) and performed is not answered:
        performed = Rejected(code=_NO_ANSWER, detail=performed.note)
    event = _build_outcome_event(order, performed, time.monotonic() - started, params=dict(order.call.params))
    outcome = _build_outcome(order, performed)
    if isinstance(event, CallSucceeded):
        event = event.model_copy(update={"seen": outcome.model_dump(mode="json", include={*SEEN})})
    await ledger.buffer(event, actor=order.requested_by)
    return outcome


async def run_write(order: Order, performer: Performer, ledger: Ledger) -> Outcome:
    """Stores the intent, makes the call once, stores its outcome; a cancellation takes effect only after that.

    Nothing is sent on EffectConflict (started elsewhere), WriteStopped (frozen), CapReached (daily limit `Order.count`) and
    StoreUnwritable. If storing the outcome fails, the effect stays `started`, and recovery makes it `unknown`.
    """
    return await run_to_end(_write(order, performer, ledger))


async def write_unflushed(order: Order, performer: Performer, ledger: Ledger) -> Outcome:
    """As `run_write`, but only buffers the outcome, which the caller commits with the message to the person."""
    return await run_to_end(_run_call(order, performer, ledger))


async def _write(order: Order, performer: Performer, ledger: Ledger) -> Outcome:
    outcome = await _run_call(order, performer, ledger)
    await ledger.flush()
    return outcome


async def _run_call(order: Order, performer: Performer, ledger: Ledger) -> Outcome:
    kept = KeptFiles()
    if isinstance(performer, KeepsFiles) and order.proposed_by != UNDO:  # before the intent: a slow read delays nothing that has begun
        kept = await performer.read_former_files(order.call, order.before, ledger.key)
    intended, mark = ledger.now, ledger.mark()
    await _store_intent(order, ledger)
    started = time.monotonic()
    passed = ledger.measure_since(mark)  # a clock set back meanwhile says nothing about a pause
    if max(ledger.now - intended, passed or timedelta()) > SEND_WITHIN:
        performed: CallResult = Rejected(code=_NOT_SENT, detail="the program was held up before the call, so it was not made", sent=False)
    else:
        performed = _keep_storable(await _read_back(order, await _execute_call(order, performer), performer))
    return await _store_outcome(order, performed, ledger, seconds=time.monotonic() - started, kept=kept)


async def _execute_call(order: Order, performer: Performer) -> CallResult:
    try:
        return await performer.execute(order.call)
    except Exception:  # after the intent no call may stay without an outcome, and only a person may say that it did not happen
        log.exception("a call ended in a fault of ours", extra={"action": "perform_failed", "effect_id": order.effect_id})
        return Unknown(detail="the program could not make sense of what came of it")


def _keep_storable(performed: CallResult) -> CallResult:
    """What happened must be recorded, whatever an answer holds."""
    if not isinstance(performed, Succeeded):
        return replace(performed, detail=to_storable_text(performed.detail))
    try:
        dumps([[[performed.result]]])  # as deep as it stands in an event
    except (NotCanonical, RecursionError):
        return replace(performed, result=None, note="the answer cannot be stored")
    return performed


async def _read_back(order: Order, performed: CallResult, performer: Performer) -> CallResult:
    """A reported success proves nothing, so the written fields are read again."""
    if not isinstance(performed, Succeeded) or not isinstance(performer, ReadsBack):
        return performed
    try:
        seen = await performer.read_back(order.call, order.before, performed)
        words = await describe_unmet(seen.unmet, order.reader)
    except Exception:  # the portal reported success, and that holds whatever the second read failed at
        log.exception("a call cannot be looked at again", extra={"action": "read_back_failed", "effect_id": order.effect_id})
        return replace(performed, note="it could not be looked at once more")
    return replace(
        performed,
        unchanged=tuple(field.code for field in seen.unmet),
        now=words.now,
        unmet_notice=words.notice,
        note=seen.note,
        foreign_text=performed.foreign_text or seen.foreign_text,
        file_ids=seen.file_ids,
    )


async def _store_intent(order: Order, ledger: Ledger) -> None:
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
        essence=get_essence(order.call),
        policy=order.policy,
        writes=count_call_changes(order.call),
        before=dict(order.before),
        covered_by=order.covered_by,
    )
    change = EffectChange(
        effect_id=order.effect_id,
        expect=("approved",) if order.confirmation_id else ("absent",),
        status="started",
        fingerprint=order.call.fingerprint,
        call=build_stored_call(order) | {"started_at": format_iso(ledger.now), MARK: ledger.mark()},
        though_frozen=may_run_while_frozen(order.call),
        count=order.count,
    )
    events = [*(closing.event for closing in order.closings), event]
    effects = [closing.change for closing in order.closings]
    timers = [timer for closing in order.closings for timer in closing.timers]
    try:
        await ledger.commit(*events, actor=order.requested_by, effects=[*effects, change], timers=timers)
    except Uncounted:  # the retry is here and not in a caller, so that it never repeats the call itself
        if order.count is None or order.list_known_changes is None:
            raise
        start_count = replace(order.count, known=await order.list_known_changes())
        await ledger.commit(*events, actor=order.requested_by, effects=[*effects, replace(change, count=start_count)], timers=timers)


async def _store_outcome(order: Order, performed: CallResult, ledger: Ledger, *, seconds: float, kept: KeptFiles) -> Outcome:
    event = _build_outcome_event(order, performed, seconds, params={})
    files, blobs = kept.join(performed.file_ids) if isinstance(performed, Succeeded) else ({}, {})
    event = event.model_copy(update={KEY: files}) if files else event
    outcome = _build_outcome(order, performed)
    # A run that is played again after the card goes on with what its write gave: an id, the number of a message, the answer of a site.
    is_of_run = order.call.kind != "bitrix" or is_run(order.turn_id)
    outcome_data = outcome.model_dump(mode="json", exclude={*UNSTORED} | (set() if is_of_run else {"result"}))
    outcome_data |= {KEY: files} if files else {}
    change = EffectChange(effect_id=order.effect_id, expect=("started",), status=_STATUSES[type(performed)], outcome=outcome_data)
    timers = [build_reconcile_timer(order.effect_id, ledger, after=SETTLED)] if isinstance(performed, Unknown) else []
    await ledger.buffer(event, actor=order.requested_by, effects=[change], timers=timers, blobs=blobs)
    return outcome


def build_stored_call(order: Order) -> dict[str, object]:
    """Enough to run the order, or to find its outcome, after a restart."""
    return {
        "call": encode_call(order.call),
        "turn_id": order.turn_id,
        "slot": order.slot,
        "requested_by": order.requested_by,
        "approved_by": order.approved_by,
        "confirmation_id": order.confirmation_id,
        "proposed_by": order.proposed_by,
        "before": dict(order.before),
        "named": dict(order.named),
        **({"is_computed": True} if order.is_computed else {}),
    }


def _build_outcome_event(order: Order, performed: CallResult, seconds: float, *, params: dict[str, object]) -> Event:
    common: dict[str, object] = {
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
                now=dict(performed.now),
                created=performed.created,
            )
        case Rejected():
            refusal_notice = _build_refusal_notice(performed, order)
            args = dict(refusal_notice.args) if refusal_notice.code == performed.code else {}
            return CallRefused(
                **common,
                params=params,
                code=performed.code,
                detail=performed.detail,
                args=args,
                seconds=round(seconds, 4),
                commands=[report.model_dump() for report in performed.commands],
            )
        case Unknown():
            return CallOutcomeUnknown(**common, detail=performed.detail)
        case _:
            assert_never(performed)


_STATUSES: Final[dict[type[CallResult], EffectStatus]] = {Succeeded: "succeeded", Rejected: "refused", Unknown: "unknown"}


def _build_outcome(order: Order, performed: CallResult) -> Outcome:
    common: dict[str, object] = {
        "effect_id": order.effect_id,
        "method": order.call.method,
        "call_class": order.call_class,
        "call": dict(order.call.params),
        **({} if order.call.reads_only else name_records((target for leaf in order.call.leaves for target in leaf.targets), order.named)),
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
                # sums {}: there is a total, but it could not be computed, and the person would see a count without it
                reason=performed.unmet_notice or (Notice(code="sum-left-out") if performed.sums == {} else None),
                detail=_format_detail(performed),
                foreign_text=performed.foreign_text,
                **common,
            )
        case Rejected():
            return Outcome(
                status="refused",
                reason=_build_refusal_notice(performed, order),
                detail=performed.detail,
                commands=performed.commands,
                foreign_text=performed.foreign_text,
                **common,
            )
        case Unknown():
            reason = Notice(code="outcome-unknown", args=build_doubt_args(order.effect_id, build_stored_call(order)))
            return Outcome(status="unknown", reason=reason, detail=performed.detail, foreign_text=performed.foreign_text, **common)
        case _:
            assert_never(performed)


_REFERENCE: Final = 8
"""Characters of an effect's id by which an administrator finds it."""
_NO_ACCESS = frozenset({"INVALID_CREDENTIALS", "NO_AUTH_FOUND", "expired_token", "invalid_grant", "invalid_client"})


def _build_refusal_notice(performed: Rejected, order: Order) -> Notice:
    if performed.code == DECLINED:
        return Notice(code=DECLINED)
    if order.call.kind != "bitrix":
        at = {"at": format_iso(performed.free_at)} if performed.free_at is not None else {}
        text = escape_text(str(performed.args.get("text", performed.detail)), limit=_LONGEST_QUOTE)
        return Notice(code=performed.code, args={**performed.args, "text": text, **at})
    return _build_portal_notice(performed, order)


def _build_portal_notice(performed: Rejected, order: Order) -> Notice:
    if performed.code == FILE_GONE:
        return Notice(code=FILE_GONE)
    if performed.free_at is not None:
        return Notice(code="portal-wait", args={"at": format_iso(performed.free_at)})
    why = explain_portal_error(performed.detail, code=performed.code, method=order.call.method, reference=order.effect_id[:_REFERENCE])
    refused = Notice(code="portal-refused", args={"text": why.model_dump(mode="json"), "code": performed.code})
    if why.code.removeprefix("portal-error-") in CLOSED:
        return refused
    if performed.code == _NO_ANSWER and why.code == "portal-error-other":
        return Notice(code="portal-no-answer")
    if performed.code in _NO_ACCESS:
        return Notice(code="portal-no-access", args={"code": performed.code})
    if performed.code == "insufficient_scope":
        return Notice(code="portal-no-scope", args={"scope": order.call.spec.scope})
    if not performed.sent:
        return Notice(code="portal-not-reached")
    if performed.commands:
        return Notice(code="batch-failed", args={"count": len(performed.commands)})
    if performed.args or performed.code == _UNREAD:
        return Notice(code=performed.code, args=dict(performed.args))
    return refused


def _format_detail(performed: Succeeded) -> str:
    fields = ", ".join(performed.unchanged)
    silent = f"the portal said yes, but these fields do not hold what was sent: {fields}" if fields else ""
    return "; ".join(part for part in (silent, performed.note) if part)
