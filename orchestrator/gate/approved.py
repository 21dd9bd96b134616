"""Runs a call that a person approved: once, and only if the world, the mode and the rules are still as its card said. Ring 2.

What changed meanwhile closes the card and asks again; what may not run any more is refused for good.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bitrix.errors import BitrixError
from orchestrator.gate import confirmations, executor, frozen
from orchestrator.gate.before import before_image
from orchestrator.gate.beginning import within_cap
from orchestrator.gate.came_back import came_back
from orchestrator.gate.confirmations import Asked
from orchestrator.gate.effects import Allow, Ask, Call, Facts, PlanOnly, Refuse
from orchestrator.gate.executor import Order
from orchestrator.gate.facts import look_up
from orchestrator.gate.judged import judged
from orchestrator.gate.means import Means
from orchestrator.gate.modes import effective
from orchestrator.gate.named import named
from orchestrator.gate.overtaken import overtaken
from orchestrator.gate.ports import Ledger
from orchestrator.gate.reasons import refuse
from orchestrator.gate.rejudged import Again, again, unless_held
from orchestrator.gate.settle import without_gone
from orchestrator.gate.steps import first_sums
from orchestrator.gate.stored_call import Unthawable, effect_id_of, thaw
from orchestrator.gate.undoing import undoes
from orchestrator.gate.unreadable import unreadable
from orchestrator.messages import Actor, Effect, Mode, Notice, Outcome, Provenance
from state.clock import parse_iso
from state.events import CallRefused, ConfirmationRequested
from state.events_freezing import ConfirmationReopened
from state.freezing import Standing
from state.store import EffectChange, EffectConflict, EffectRow, WriteStopped

OUTDATED = Notice(code="card-outdated")
_NO_CARD = Refuse(reason=OUTDATED, detail="its card is not known any more")
_NO_ACCESS = Refuse(reason=Notice(code="no-access-any-more"), detail="the person who asked has no access any more")
_TOO_OLD = Refuse(reason=Notice(code="approval-too-old"), detail="approved, but not run in time")
_SHADOW = Refuse(reason=Notice(code="shadow-now"), detail="the mode is shadow now: nothing was sent")


@dataclass(frozen=True, kw_only=True)
class Decided:
    """What came of a person's decision: an objection, a replacement card, or the outcome."""

    notice: Notice | None = None
    outcome: Outcome | None = None
    replaced_by: ConfirmationRequested | None = None
    reopened: bool = False
    """The approval came to nothing: `notice` says why, and the card waits as before."""


@dataclass(frozen=True, kw_only=True)
class _Judged:
    """An approved call as the world is now."""

    call: Call
    facts: Facts
    actor: Actor
    verdict: Allow | Ask
    fell: tuple[Notice, ...] = ()
    """What of it has nothing left to change: phones that somebody removed."""


async def run_approved(effect_id: str, means: Means, *, mode: Mode, ledger: Ledger) -> Decided:
    """Run an approved call once, unless the world, the mode or the policy changed since the card was shown.

    What came of it is noted: the caller commits it with what the person is told.
    """
    row = await ledger.effect(effect_id)
    if row is None or row.status != "approved":
        return Decided(notice=OUTDATED)
    entry = ledger.state["agent"]["confirmations"].get(row.call["confirmation_id"])
    if entry is None:
        return await _cannot_run(row, _NO_CARD, ledger)
    if parse_iso(entry["expires_at"]) <= ledger.now:  # approved in time, and then the program stood still: nobody expects it now
        return await _cannot_run(row, _TOO_OLD, ledger)
    standing = await _standing(row, means)
    if standing is not None:
        return await _reopened(row, standing, ledger)
    judged = await _judged(row, entry, means, mode, ledger)
    if isinstance(judged, Refuse):
        return await _cannot_run(row, judged, ledger)
    call, facts, actor = judged.call, judged.facts, judged.actor
    new = again(call, facts=facts, actor=actor, stored=row.call, entry=entry, verdict=judged.verdict, fell=judged.fell)
    late = await _overtaken(row, new, means) if new is not None else None
    if late is not None:
        return await _cannot_run(row, late, ledger)
    if new is not None:
        return await _drifted(row, entry, new, means, ledger)
    order = replace(order_of(row, call, approved_by=entry.get("approved_by", "")), policy=means.policy.digest)
    try:
        done = await within_cap(executor.act, order, means, actor, ledger)
    except EffectConflict:
        return Decided(notice=OUTDATED)
    except WriteStopped:  # frozen in this very moment
        return await _reopened(row, await means.switch.stopped(), ledger)
    return await _cannot_run(row, done, ledger) if isinstance(done, Refuse) else Decided(outcome=done)


async def held_up(entry: Mapping[str, Any], means: Means, ledger: Ledger) -> Notice | None:
    """Why a card cannot be approved now although nothing is wrong with it: writes are frozen, and it would write."""
    standing = await means.switch.standing()
    row = await ledger.effect(entry["effect_id"]) if standing is not None else None
    if standing is None or (row is not None and _goes_on(row)):
        return None
    return frozen.waits(standing)


async def _standing(row: EffectRow, means: Means) -> Standing | None:
    return None if _goes_on(row) else await means.switch.standing()


def _goes_on(row: EffectRow) -> bool:
    return frozen.goes_on(row.call["call"]["kind"], row.call["call"]["classes"])


async def _reopened(row: EffectRow, standing: Standing, ledger: Ledger) -> Decided:
    """The card waits again till its own end, under a new nonce: the press that was used up, however late it is repeated, runs nothing."""
    confirmation_id = row.call["confirmation_id"]
    entry = ledger.state["agent"]["confirmations"][confirmation_id]
    nonce = confirmations.new_nonce()
    event = ConfirmationReopened(confirmation_id=confirmation_id, effect_id=row.effect_id, why=frozen.CODE, nonce=nonce)
    change = EffectChange(effect_id=row.effect_id, expect=("approved",), status="requested")
    await ledger.note(event, actor="system", effects=[change], timers=[confirmations.expiry(entry, ledger)])
    return Decided(notice=frozen.waits(standing), reopened=True)


async def resume_approved(effect_id: str, means: Means, *, mode: Mode, ledger: Ledger) -> Decided:
    """`run_approved` after a crash: whoever approved may have lost access meanwhile, or may have less run than before."""
    row = await ledger.effect(effect_id)
    entry = ledger.state["agent"]["confirmations"].get(row.call["confirmation_id"]) if row is not None else None
    if row is not None and row.status == "approved" and entry is not None:
        key = entry.get("approved_by", "")  # blank once that person was erased
        by = means.present(Actor(key=key, name=entry.get("approved_by_name", ""))) if key else None
        if by is None:
            return await _cannot_run(row, _TOO_OLD, ledger)
        mode = effective(mode, by)
    return await run_approved(effect_id, means, mode=mode, ledger=ledger)


async def _judged(row: EffectRow, entry: Mapping[str, Any], means: Means, mode: Mode, ledger: Ledger) -> _Judged | Refuse:
    """The stored call before the rules, the rights and the records of this moment."""
    actor = means.present(Actor.model_validate(row.call["actor"]))
    if actor is None:
        return _NO_ACCESS
    try:
        call = thaw(row.call["call"], means.catalogue)
        facts = await look_up(call, actor, means)  # no more than was read for the card, or the before-images could not be equal
        first = await first_sums(call, facts, means, ledger)
        facts = replace(facts, written=await means.written(call, actor, ledger), first_sums=first)
    except Unthawable:
        return refuse("gate-method-unknown", method=row.call["call"]["method"], hint="")
    except BitrixError as error:
        return unreadable(error)
    call, fell = without_gone(call, facts, row.call["before"])
    provenance = Provenance.model_validate(entry.get("provenance") or {})
    effect = Effect(kind=call.kind, method=call.method, params=call.params, provenance=provenance)
    call, verdict = judged(call, mode=mode, policy=means.policy, actor=actor, facts=facts, effect=effect)
    verdict = unless_held(verdict, call, facts)
    if isinstance(verdict, Refuse):
        return verdict
    if isinstance(verdict, PlanOnly):
        return _SHADOW
    return await came_back(row, call, means) or _Judged(call=call, facts=facts, actor=actor, verdict=verdict, fell=fell)


async def _overtaken(row: EffectRow, new: Again, means: Means) -> Refuse | None:
    """An undo puts back what stood there before one call of ours; what somebody else has written since is not for it to overwrite."""
    if not undoes(row.call["slot"]):
        return None
    return await overtaken(new.call, new.facts, row.call["before"], actor=new.actor, names=means.names)


async def _drifted(row: EffectRow, entry: Mapping[str, Any], new: Again, means: Means, ledger: Ledger) -> Decided:
    """The record or the rules changed since the card was shown: the old card closes, a new one shows how things are."""
    shown = await means.preview(new.call, new.facts, new.actor, now=ledger.now)
    order = replace(
        order_of(row, new.call, approved_by=""),
        effect_id=effect_id_of(f"{row.effect_id}/again"),
        before=before_image(new.call, new.facts),
        confirmation_id="",
        policy=means.policy.digest,
        named=named(new.call, shown),
    )
    provenance = Provenance.model_validate(entry.get("provenance") or {})
    asked = Asked(
        order=order,
        effect=Effect(method=new.call.method, comment=entry.get("comment", ""), provenance=provenance),
        ask=new.ask,
        preview=shown,
        actor=new.actor,
        told=means.told(order, new.ask, new.actor),
        replaces=entry["confirmation_id"],
    )
    old = confirmations.superseded(entry, why=new.reason.code, expect=("approved",))
    remind_after = means.policy.remind_lead_after
    event = await confirmations.request(asked, ledger, means.ttl, remind_after=remind_after, supersede=[old])
    return Decided(notice=new.reason, replaced_by=event)


async def _cannot_run(row: EffectRow, why: Refuse, ledger: Ledger) -> Decided:
    stored = row.call
    event = CallRefused(
        effect_id=row.effect_id,
        turn_id=stored["turn_id"],
        slot=stored["slot"],
        method=stored["call"]["method"],
        call_class="".join(stored["call"]["classes"]),
        code=why.reason.code,
        detail=why.detail,
        args=dict(why.reason.args),
        confirmation_id=stored["confirmation_id"],
    )
    change = EffectChange(effect_id=row.effect_id, expect=("approved",), status="refused")
    await ledger.note(event, actor="system", effects=[change])
    outcome = Outcome(
        status="refused",
        effect_id=row.effect_id,
        method=event.method,
        reason=why.reason,
        detail=why.detail,
        foreign_text=why.foreign_text,
    )
    return Decided(outcome=outcome)


def order_of(row: EffectRow, call: Call, *, approved_by: str) -> Order:
    """The order behind a stored effect, with `call` as it was thawed."""
    stored = row.call
    return Order(
        effect_id=row.effect_id,
        turn_id=stored["turn_id"],
        slot=stored["slot"],
        call=call,
        requested_by=stored["requested_by"],
        requested_by_user=(stored.get("actor") or {}).get("bitrix_user_id"),
        proposed_by=stored["proposed_by"],
        approved_by=approved_by,
        confirmation_id=stored["confirmation_id"],
        before=stored["before"],
        named=stored.get("named") or {},
    )
