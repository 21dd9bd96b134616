"""Finds the outcomes of calls that a dead process left, by reading; never repeats a call."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from bitrix.catalogue.catalogue import Catalogue
from bitrix.errors import BitrixError
from orchestrator.domain.bulk import BULK_ENGINE
from orchestrator.domain.effect import UNSTORED, Outcome
from orchestrator.gate.call.ports import FindsTraces, Ledger, Performer, Reconciled
from orchestrator.gate.call.serialization import StoredOrder, UndecodableCall, decode_call
from state.clock import parse_iso
from state.events.calls import CallOutcomeUnknown, OutcomeReconciled
from state.journal.store import EffectChange, EffectRow, EffectStatus, OutboxRow, Timer

log = logging.getLogger(__name__)

TIMER = "reconcile"
SETTLED = timedelta(seconds=75)
"""A call can still take effect for so long: the cloud aborts requests after 60 s. Until then "not done" proves nothing."""
MARK = "started_mark"
"""Beside `started_at`: tells how long ago the call began even if a clock was changed."""
DETAIL = "the program stopped between sending and hearing the answer"


@dataclass(frozen=True, kw_only=True)
class RecoveredEffect:
    """`row` had an unknown outcome."""

    row: EffectRow
    reconciled: Reconciled


Announce = Callable[[RecoveredEffect], Sequence[OutboxRow]]
"""Its messages are sent with the commit of the verdict."""


def build_reconcile_timer(effect_id: str, ledger: Ledger, *, after: timedelta) -> Timer:
    return Timer(id=f"{TIMER}:{effect_id}", due_at=ledger.now + after, session=ledger.key, kind=TIMER, body={"effect_id": effect_id})


def calculate_wait(row: EffectRow, ledger: Ledger) -> timedelta:
    """For so long the portal may still be at work, and a missing result proves nothing."""
    passed = ledger.measure_since(row.call.get(MARK, ""))
    return SETTLED if passed is None else max(SETTLED - passed, timedelta())


async def recover_started(
    ledger: Ledger, catalogue: Catalogue, performers: Mapping[str, Performer], announce: Announce
) -> list[RecoveredEffect]:
    """Marks started calls as `unknown`, then looks each up in the portal. Never sends a write."""
    recovered = []
    for row in await ledger.list_effects("started"):
        await _mark_unknown(row, ledger)
        recovered.append(await reconcile(row, ledger, catalogue, performers, announce))
    return recovered


async def _mark_unknown(row: EffectRow, ledger: Ledger) -> None:
    stored = StoredOrder.from_data(row.call)
    event = CallOutcomeUnknown(
        effect_id=row.effect_id,
        turn_id=stored.turn_id,
        slot=stored.slot,
        method=stored.call.method,
        call_class=stored.call_class,
        detail=DETAIL,
        confirmation_id=stored.confirmation_id,
    )
    change = EffectChange(effect_id=row.effect_id, expect=("started",), status="unknown", call=_reset_start_mark(row, ledger))
    timer = build_reconcile_timer(row.effect_id, ledger, after=calculate_wait(row, ledger))
    await ledger.commit(event, actor="system", effects=[change], timers=[timer])


def _reset_start_mark(row: EffectRow, ledger: Ledger) -> dict[str, object] | None:
    """None if the old mark, of this machine and boot, is usable."""
    return {**row.call, MARK: ledger.mark()} if ledger.measure_since(row.call.get(MARK, "")) is None else None


async def reset_wait(row: EffectRow, ledger: Ledger) -> None:
    """Counts the age of an `unknown` call from now if it cannot be known."""
    if (call := _reset_start_mark(row, ledger)) is not None:
        change = EffectChange(effect_id=row.effect_id, expect=("unknown",), status="unknown", call=call, since=row.updated_at)
        await ledger.commit(actor="system", effects=[change], timers=[build_reconcile_timer(row.effect_id, ledger, after=SETTLED)])


async def reconcile(
    row: EffectRow, ledger: Ledger, catalogue: Catalogue, performers: Mapping[str, Performer], announce: Announce
) -> RecoveredEffect:
    """Stores and announces whether the call happened; an `unclear` verdict leaves it unknown."""
    seen = await _probe_portal(row, catalogue, performers)
    if calculate_wait(row, ledger):
        seen = _weaken_verdict(seen)
    elif seen.verdict == "unclear" and seen.commands and row.call.get("proposed_by") == BULK_ENGINE:
        return await _settle_part(row, seen, ledger, announce)
    recovered_effect = RecoveredEffect(row=row, reconciled=seen)
    if seen.verdict == "unclear":
        return recovered_effect
    status: EffectStatus = "succeeded" if seen.verdict == "done" else "refused"
    event = OutcomeReconciled(
        effect_id=row.effect_id,
        verdict="done" if seen.verdict == "done" else "not_done",
        detail=seen.detail,
        changes=seen.changes,
        confirmation_id=StoredOrder.from_data(row.call).confirmation_id,
    )
    change = EffectChange(effect_id=row.effect_id, expect=("unknown",), status=status)
    await ledger.commit(event, actor="system", effects=[change], outbox=announce(recovered_effect))
    return recovered_effect


async def _settle_part(row: EffectRow, seen: Reconciled, ledger: Ledger, announce: Announce) -> RecoveredEffect:
    """Of a change of many records: what became of each is known or will never be, and its run goes on and tells them apart."""
    recovered_effect = RecoveredEffect(row=row, reconciled=replace(seen, verdict="done"))
    commands = tuple(seen.commands)
    outcome = Outcome(status="succeeded", effect_id=row.effect_id, method=StoredOrder.from_data(row.call).call.method, commands=commands)
    event = OutcomeReconciled(effect_id=row.effect_id, verdict="done", detail=seen.detail, changes=seen.changes)
    stored = outcome.model_dump(mode="json", exclude={*UNSTORED})
    change = EffectChange(effect_id=row.effect_id, expect=("unknown",), status="succeeded", outcome=stored)
    await ledger.commit(event, actor="system", effects=[change], outbox=announce(recovered_effect))
    return recovered_effect


def _weaken_verdict(seen: Reconciled) -> Reconciled:
    """Without "did not happen": the portal may still be at work."""
    if seen.verdict == "not_done":
        return Reconciled(verdict="unclear", detail="too early to tell: the portal may still be working on it")
    commands = [command.model_copy(update={"status": "unknown"}) if command.status == "not_run" else command for command in seen.commands]
    return replace(seen, commands=tuple(commands))


async def _probe_portal(row: EffectRow, catalogue: Catalogue, performers: Mapping[str, Performer]) -> Reconciled:
    try:
        stored = StoredOrder.from_data(row.call)
        call = decode_call(stored.call, catalogue)
        performer = performers[call.kind]
        seen = await performer.reconcile(call, stored.before)
        if seen.verdict != "unclear" or not isinstance(performer, FindsTraces):
            return seen
        traces = await performer.find_traces(call, parse_iso(stored.started_at))
        return replace(seen, detail=f"{traces} ({seen.detail})") if traces else seen
    except (BitrixError, UndecodableCall) as error:
        return Reconciled(verdict="unclear", detail=str(error))
    except Exception:  # an unforeseen answer of the portal must not prevent the session from opening
        log.exception("a call cannot be looked up", extra={"action": "reconcile_failed", "effect_id": row.effect_id})
        return Reconciled(verdict="unclear", detail="the portal's answer could not be read")
