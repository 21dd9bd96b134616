"""What is done at the start for effects that a dead process left behind. Nothing is repeated: it looks, names, and tells.

`started` without an outcome becomes `unknown`, durably, before anything else; then the portal is asked whether it happened. An
`approved` call that never started is proven not to have run and goes on, through the same checks as a fresh approval.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from bitrix.catalogue import Catalogue
from bitrix.errors import BitrixError
from orchestrator.gate.ports import FindsTraces, Ledger, Performer, Reconciled
from orchestrator.gate.stored_call import Unthawable, thaw
from state.clock import parse_iso
from state.events import CallOutcomeUnknown, OutcomeReconciled
from state.store import EffectChange, EffectRow, EffectStatus, OutboxRow, Timer

log = logging.getLogger(__name__)

TIMER = "reconcile"
SETTLED = timedelta(seconds=75)
"""The cloud cuts requests at 60 s; before that a "not done" may still become "done"."""
MARK = "started_mark"
"""Beside `started_at`: what tells how long a call may have been under way although a clock was set meanwhile."""
DETAIL = "the program stopped between sending and hearing the answer"


@dataclass(frozen=True, kw_only=True)
class Recovered:
    """One effect of unknown outcome and what the look at the portal showed."""

    row: EffectRow
    reconciled: Reconciled


Announce = Callable[[Recovered], Sequence[OutboxRow]]
"""What a person is told of it; goes out with the commit that settles it."""


def look_again(effect_id: str, ledger: Ledger, *, after: timedelta) -> Timer:
    """The timer that looks at the portal once it cannot be working on the call any more."""
    return Timer(id=f"{TIMER}:{effect_id}", due_at=ledger.now + after, session=ledger.key, kind=TIMER, body={"effect_id": effect_id})


def too_early(row: EffectRow, ledger: Ledger) -> timedelta:
    """For how long still the portal may be working on the call: until then, that nothing is seen of it proves nothing."""
    passed = ledger.since(row.call.get(MARK, ""))
    return SETTLED if passed is None else max(SETTLED - passed, timedelta())


async def recover_started(ledger: Ledger, catalogue: Catalogue, performers: Mapping[str, Performer], announce: Announce) -> list[Recovered]:
    """Name every call without an outcome `unknown`, then look at the portal for each; never sends a write."""
    found = []
    for row in await ledger.effects("started"):
        await _name_unknown(row, ledger)
        found.append(await reconcile(row, ledger, catalogue, performers, announce))
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
    change = EffectChange(effect_id=row.effect_id, expect=("started",), status="unknown", call=_countable(row, ledger))
    timer = look_again(row.effect_id, ledger, after=too_early(row, ledger))
    await ledger.commit(event, actor="system", effects=[change], timers=[timer])


def _countable(row: EffectRow, ledger: Ledger) -> dict[str, Any] | None:
    """What is stored of a call whose mark is of another machine or of an earlier start: it is counted from now on."""
    return {**row.call, MARK: ledger.mark()} if ledger.since(row.call.get(MARK, "")) is None else None


async def recount(row: EffectRow, ledger: Ledger) -> None:
    """Of an `unknown` call that nobody can tell the age of: count it from now on, and look again when it is settled."""
    if (call := _countable(row, ledger)) is not None:
        change = EffectChange(effect_id=row.effect_id, expect=("unknown",), status="unknown", call=call)
        await ledger.commit(actor="system", effects=[change], timers=[look_again(row.effect_id, ledger, after=SETTLED)])


async def reconcile(
    row: EffectRow, ledger: Ledger, catalogue: Catalogue, performers: Mapping[str, Performer], announce: Announce
) -> Recovered:
    """Ask the portal whether an `unknown` call happened and record the verdict; `unclear` leaves it unknown and tells nobody."""
    seen = await _look(row, catalogue, performers)
    if too_early(row, ledger):
        seen = _not_yet(seen)
    found = Recovered(row=row, reconciled=seen)
    if seen.verdict == "unclear":
        return found
    status: EffectStatus = "succeeded" if seen.verdict == "done" else "refused"
    event = OutcomeReconciled(
        effect_id=row.effect_id,
        verdict="done" if seen.verdict == "done" else "not_done",
        detail=seen.detail,
        changes=seen.changes,
        confirmation_id=row.call["confirmation_id"],
    )
    change = EffectChange(effect_id=row.effect_id, expect=("unknown",), status=status)
    await ledger.commit(event, actor="system", effects=[change], outbox=announce(found))
    return found


def _not_yet(seen: Reconciled) -> Reconciled:
    """What may be said while the portal may still be working on it: that something is not there yet proves nothing."""
    if seen.verdict == "not_done":
        return Reconciled(verdict="unclear", detail="too early to tell: the portal may still be working on it")
    commands = [one.model_copy(update={"status": "unknown"}) if one.status == "not_run" else one for one in seen.commands]
    return replace(seen, commands=tuple(commands))


async def _look(row: EffectRow, catalogue: Catalogue, performers: Mapping[str, Performer]) -> Reconciled:
    try:
        call = thaw(row.call["call"], catalogue)
        performer = performers[call.kind]
        seen = await performer.reconcile(call, row.call["before"])
        if seen.verdict != "unclear" or not isinstance(performer, FindsTraces):
            return seen
        found = await performer.trace(call, parse_iso(row.call["started_at"]))
        return replace(seen, detail=f"{found} ({seen.detail})") if found else seen
    except (BitrixError, Unthawable) as error:
        return Reconciled(verdict="unclear", detail=str(error))
    except Exception:  # an answer of the portal that nobody foresaw must not keep the session from opening
        log.exception("a call cannot be looked up", extra={"action": "reconcile_failed", "effect_id": row.effect_id})
        return Reconciled(verdict="unclear", detail="the portal's answer could not be read")
