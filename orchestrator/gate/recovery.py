"""What is done at the start for effects that a dead process left behind. Nothing is repeated: it looks, names, and tells.

`started` without an outcome becomes `unknown`, durably, before anything else; then the portal is asked whether it happened. An
`approved` call that never started is proven not to have run and goes on, through the same checks as a fresh approval.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from bitrix.catalogue import Catalogue
from bitrix.errors import BitrixError
from orchestrator.gate.freeze import Unthawable, thaw
from orchestrator.gate.ports import Ledger, Performer, Reconciled
from state.clock import parse_iso
from state.events import CallOutcomeUnknown, OutcomeReconciled
from state.store import EffectChange, EffectRow, EffectStatus

SETTLED = timedelta(seconds=75)
"""The cloud cuts requests at 60 s; before that a "not done" may still become "done"."""
DETAIL = "the program stopped between sending and hearing the answer"


@dataclass(frozen=True, kw_only=True)
class Recovered:
    """One effect of unknown outcome and what the look at the portal showed."""

    row: EffectRow
    reconciled: Reconciled
    settle_at: datetime | None = None
    """When to look again, if it is too early to tell."""


async def recover_started(ledger: Ledger, catalogue: Catalogue, performers: Mapping[str, Performer]) -> list[Recovered]:
    """Name every call without an outcome `unknown`, then look at the portal for each; never sends a write."""
    found = []
    for row in await ledger.effects("started"):
        await _name_unknown(row, ledger)
        found.append(await reconcile(row, ledger, catalogue, performers))
    return found


async def _name_unknown(row: EffectRow, ledger: Ledger) -> None:
    stored = row.call
    event = CallOutcomeUnknown(
        effect_id=row.effect_id,
        turn_id=stored["turn_id"],
        slot=stored["slot"],
        method=stored["call"]["method"],
        call_class="".join(stored["call"]["classes"]),
        detail=DETAIL,
        confirmation_id=stored["confirmation_id"],
    )
    change = EffectChange(effect_id=row.effect_id, expect=("started",), status="unknown")
    await ledger.commit(event, actor="system", effects=[change])


async def reconcile(row: EffectRow, ledger: Ledger, catalogue: Catalogue, performers: Mapping[str, Performer]) -> Recovered:
    """Ask the portal whether an `unknown` call happened and record the verdict; `unclear` leaves it unknown."""
    try:
        call = thaw(row.call["call"], catalogue)
        seen = await performers[call.kind].reconcile(call, row.call["before"])
    except (BitrixError, Unthawable, KeyError) as error:
        return Recovered(row=row, reconciled=Reconciled(verdict="unclear", detail=str(error)))
    settled = parse_iso(row.call["started_at"]) + SETTLED
    if seen.verdict == "not_done" and ledger.now < settled:
        seen = Reconciled(verdict="unclear", detail="too early to tell: the portal may still be working on it")
        return Recovered(row=row, reconciled=seen, settle_at=settled)
    if seen.verdict == "unclear":
        return Recovered(row=row, reconciled=seen)
    status: EffectStatus = "succeeded" if seen.verdict == "done" else "refused"
    event = OutcomeReconciled(
        effect_id=row.effect_id,
        verdict="done" if seen.verdict == "done" else "not_done",
        detail=seen.detail,
        changes=seen.changes,
        confirmation_id=row.call["confirmation_id"],
    )
    change = EffectChange(effect_id=row.effect_id, expect=("unknown",), status=status)
    await ledger.commit(event, actor="system", effects=[change])
    return Recovered(row=row, reconciled=seen)
