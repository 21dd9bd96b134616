"""Runs an approved call once, and only if records, mode and rules are still as the card said."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from bitrix.errors import BitrixError
from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.card_view import Preview
from orchestrator.domain.effect import COMPUTED_CHANGED, UNSTORED, Effect, Outcome, Provenance
from orchestrator.domain.outputs import Notice
from orchestrator.gate.approve import confirmations
from orchestrator.gate.approve.collect_facts import complete_facts
from orchestrator.gate.approve.confirmations import CardRequest
from orchestrator.gate.approve.drift import Drift, detect_drift, detect_redrawn_card
from orchestrator.gate.approve.missed_steps import find_missed_step
from orchestrator.gate.approve.plan_slots import find_origin_slot
from orchestrator.gate.approve.planned_steps import add_planned_rows, shows_other_totals
from orchestrator.gate.approve.restored_calls import DOUBTS, check_restored_card, find_forgotten_records
from orchestrator.gate.call import critical_fields
from orchestrator.gate.call.before_image import build_before_image
from orchestrator.gate.call.effect import Allow, Ask, BeforeImage, Call, Facts, PlanOnly, Refuse, Verdict
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.modes import resolve_mode
from orchestrator.gate.call.ports import Ledger
from orchestrator.gate.call.reasons import build_read_refusal, refuse
from orchestrator.gate.call.serialization import StoredOrder, UndecodableCall, build_effect_id, decode_call
from orchestrator.gate.decide import refusals
from orchestrator.gate.decide.decide import evaluate
from orchestrator.gate.decide.fetch_facts import fetch_facts
from orchestrator.gate.execute.executor import Order, write_unflushed
from orchestrator.gate.execute.limited import run_within_cap
from orchestrator.gate.normalize.merge_multifields import drop_removed_elements
from orchestrator.gate.preview.call_labels import build_call_label
from orchestrator.gate.preview.describe_drift import CHANGED, DRIFTED, build_drift_notice
from orchestrator.gate.preview.preview import preview_for
from orchestrator.gate.undo.undo_conflict import check_undo_conflict
from orchestrator.gate.undo.undo_policy import is_one_way, parse_undo_slot
from state.clock import parse_iso
from state.events.calls import CallRefused
from state.events.confirmations import ConfirmationRequested
from state.events.freezing import ConfirmationReopened
from state.journal.freeze_switch import FreezeState
from state.journal.store import EffectChange, EffectConflict, EffectRow, WriteStopped
from state.model.card import Card
from state.stored import JsonObject

STRICTER: Final = Notice(code="stricter-meanwhile")


@dataclass(frozen=True, kw_only=True)
class ReplacementCard:
    """The same call as on the approved card, checked against the present records and rules."""

    call: Call
    facts: Facts
    actor: Actor
    ask: Ask

    @property
    def reason(self) -> Notice:
        """Told to the person who approved the old card."""
        return self.ask.reasons[0]

    def with_reason(self, reason: Notice) -> "ReplacementCard":
        """In place of the first reason."""
        return replace(self, ask=replace(self.ask, reasons=(reason, *self.ask.reasons[1:])))


def revalidate(
    drift: Drift, *, facts: Facts, actor: Actor, entry: Card, verdict: Allow | Ask, fell: Sequence[Notice] = ()
) -> ReplacementCard | None:
    """None if `entry` still describes exactly what the call would do."""
    fresh = verdict if isinstance(verdict, Ask) else Ask(reasons=())
    if not drift.is_found and not _is_stricter(entry, fresh):
        return None
    why = CHANGED if drift.is_found else STRICTER
    return ReplacementCard(
        call=drift.call,
        facts=facts,
        actor=actor,
        ask=Ask(reasons=(why, *fell, *fresh.reasons), taps=fresh.taps, four_eyes=fresh.four_eyes, lead=fresh.lead),
    )


def _is_stricter(entry: Card, fresh: Ask) -> bool:
    known = {_build_reason_key(reason["code"], reason.get("args") or {}) for reason in entry.reasons}
    more_hands = fresh.taps > entry.taps or (fresh.four_eyes and not entry.four_eyes) or (fresh.lead and not entry.lead)
    return more_hands or not {_build_reason_key(reason.code, reason.args) for reason in fresh.reasons} <= known


def _build_reason_key(code: str, args: JsonObject) -> tuple[str, ...]:
    """What makes two reasons the same; amounts do not count."""
    return (code, *[str(args.get(name, "")) for name in ("reason", "key", "field", "entity", "id", "why")])


def refuse_unchanged(verdict: Verdict, call: Call, facts: Facts) -> Verdict:
    """Refuses an update (no batch) to values that the record has already, and to convert a lead once more."""
    if not isinstance(verdict, Allow | Ask) or call.kind != "bitrix":
        return verdict
    if (converted := _refuse_converted(call, facts)) is not None:
        return converted
    if call.spec.verb != "update":
        return verdict
    if isinstance(verdict, Ask) and any(reason.code == "same-call-unknown" for reason in verdict.reasons):
        return verdict  # the person must hear about the first call, whose outcome is unknown
    field_values = call.written_fields
    record = critical_fields.find_current_record(call, facts)
    is_unchanged = bool(field_values) and all(critical_fields.has_value(call, name, value, record) for name, value in field_values.items())
    return refuse("gate-already-so", method=call.method) if is_unchanged else verdict


def _refuse_converted(call: Call, facts: Facts) -> Refuse | None:
    """A batch that makes records of a lead: another person did so meanwhile, and they would be there twice."""
    if not any(leaf.spec.verb == "add" for leaf in call.commands):
        return None
    for leaf in call.commands:
        record = critical_fields.find_current_record(leaf, facts)
        for name, value in leaf.written_fields.items():
            if is_one_way(leaf, name, value) and critical_fields.has_value(leaf, name, value, record):
                args = {"entity": leaf.entity, "id": leaf.targets[0][1]}
                return Refuse(reason=Notice(code="lead-converted", args=args), detail=f"lead {args['id']} is converted already")
    return None


OUTDATED = Notice(code="card-outdated")
_NO_ACCESS = Refuse(reason=Notice(code="requester-gone"), detail="the person who asked has no access any more")
_APPROVER_GONE = Refuse(reason=Notice(code="approver-gone"), detail="the person who approved has no access any more")
_TOO_OLD = Refuse(reason=Notice(code="approval-too-old"), detail="approved, but not run in time")


@dataclass(frozen=True, kw_only=True)
class DecisionResult:
    """An objection, a replacement card, or the outcome of the call."""

    notice: Notice | None = None
    outcome: Outcome | None = None
    replaced_by: ConfirmationRequested | None = None
    reopened: bool = False
    """The approval had no effect: `notice` says why, and the card waits as before."""


@dataclass(frozen=True, kw_only=True)
class _EvaluatedCall:
    call: Call
    facts: Facts
    actor: Actor
    verdict: Allow | Ask
    dropped: tuple[Notice, ...] = ()
    """About parts with nothing left to change, such as phones removed meanwhile."""


async def run_approved(effect_id: str, deps: GateDeps, *, mode: Mode, ledger: Ledger) -> DecisionResult:
    """The outcome, or a refusal, a new card, or a card that stays open while writes are frozen.

    Buffered; the caller commits it with the message to the person.
    """
    row = await ledger.find_effect(effect_id)
    if row is None or row.status != "approved":
        return DecisionResult(notice=OUTDATED)
    stored = StoredOrder.from_data(row.call)
    entry = ledger.state.cards.get(stored.confirmation_id)
    if entry is None:
        return await _refuse_run(row, Refuse(reason=OUTDATED, detail="its card is not known any more"), ledger)
    if parse_iso(entry.expires_at) <= ledger.now:  # approved in time, and then the program stood still: nobody expects it now
        return await _refuse_run(row, _TOO_OLD, ledger)
    if not refusals.may_run_while_frozen(stored.call) and (standing := await deps.switch.find_freeze()) is not None:
        return await _reopen_card(row, entry, standing, ledger)
    async with deps.locks.hold(stored.call.targets):
        judged = await _evaluate_stored(row, stored, entry, deps, mode, ledger)
        if isinstance(judged, Refuse):
            return await _refuse_run(row, judged, ledger)
        before = build_before_image(judged.call, judged.facts)
        new = await _find_replacement(judged, before, stored, entry, deps, ledger)
        new = await _wait_for_missed_step(entry, judged, await _doubt_restored_card(row, judged, new, deps, ledger), ledger)
        if isinstance(new, Refuse):
            return await _refuse_run(row, new, ledger)
        if new is not None:
            return await _replace_card(row, entry, new, deps, ledger)
        order = build_order(effect_id, stored, judged.call, approved_by=entry.approved_by, before=before, policy=deps.policy.digest)
        try:
            done = await run_within_cap(write_unflushed, order, deps, judged.actor, ledger)
        except EffectConflict:
            return DecisionResult(notice=OUTDATED)
        except WriteStopped:  # the freeze was switched on just now
            return await _reopen_card(row, entry, await deps.switch.fetch_freeze(), ledger)
        return await _refuse_run(row, done, ledger) if isinstance(done, Refuse) else DecisionResult(outcome=done)


async def _find_replacement(
    judged: _EvaluatedCall, before: BeforeImage, stored: StoredOrder, entry: Card, deps: GateDeps, ledger: Ledger
) -> ReplacementCard | Refuse | None:
    """None means that the call can run; a refusal, that an undo or computed values would overwrite a change."""
    drift = await detect_drift(judged.call, before, stored, entry, deps.catalogue, ledger)
    new = revalidate(drift, facts=judged.facts, actor=judged.actor, entry=entry, verdict=judged.verdict, fell=judged.dropped)
    if new is None:
        redrawn = await _replace_redrawn_card(judged, entry, deps, ledger)
        return _refuse_computed(stored, redrawn) or redrawn
    conflict = _refuse_computed(stored, new) or await _check_undo_conflict(stored, new, deps)
    if conflict is not None or new.reason != CHANGED:
        return conflict or new
    return new.with_reason(await build_drift_notice(drift.list_changed_fields(), actor=judged.actor, names=deps.names))


async def _doubt_restored_card(
    row: EffectRow, judged: _EvaluatedCall, new: ReplacementCard | Refuse | None, deps: GateDeps, ledger: Ledger
) -> ReplacementCard | Refuse | None:
    if isinstance(new, Refuse):
        return new
    doubt = await find_forgotten_records(row, judged.call, deps, ledger)
    if doubt is None:
        return new
    if isinstance(doubt, Refuse):
        return doubt
    ask = judged.verdict if isinstance(judged.verdict, Ask) else Ask(reasons=())
    reasons = (doubt, *ask.reasons) if new is None else (*new.ask.reasons, doubt)
    known = new or ReplacementCard(call=judged.call, facts=judged.facts, actor=judged.actor, ask=ask)
    return replace(known, ask=replace(known.ask, reasons=reasons))


async def _wait_for_missed_step(
    entry: Card, judged: _EvaluatedCall, new: ReplacementCard | Refuse | None, ledger: Ledger
) -> ReplacementCard | Refuse | None:
    """What reaches people is asked about once more, with the step before it that did not run."""
    missed = None if isinstance(new, Refuse) else await find_missed_step(entry, ledger)
    if missed is None or isinstance(new, Refuse):
        return new
    ask = new.ask if new is not None else judged.verdict if isinstance(judged.verdict, Ask) else Ask(reasons=())
    known = new or ReplacementCard(call=judged.call, facts=judged.facts, actor=judged.actor, ask=ask)
    return replace(known, ask=replace(ask, reasons=(missed, *ask.reasons)))


def _refuse_computed(stored: StoredOrder, new: ReplacementCard | None) -> Refuse | None:
    if new is None or not stored.is_computed or new.reason != CHANGED:
        return None
    return Refuse(reason=Notice(code=COMPUTED_CHANGED), detail="a record from which the values were computed was changed")


async def _replace_redrawn_card(judged: _EvaluatedCall, entry: Card, deps: GateDeps, ledger: Ledger) -> ReplacementCard | None:
    why = await detect_redrawn_card(judged.call, judged.facts, entry, actor=judged.actor, names=deps.names, now=ledger.now)
    if why is None:
        return None
    ask = judged.verdict if isinstance(judged.verdict, Ask) else Ask(reasons=())
    reasons = (why, *judged.dropped, *ask.reasons)
    return ReplacementCard(call=judged.call, facts=judged.facts, actor=judged.actor, ask=replace(ask, reasons=reasons))


async def find_freeze_notice(entry: Card, deps: GateDeps, ledger: Ledger) -> Notice | None:
    """None if the card can be approved."""
    standing = await deps.switch.find_freeze()
    row = await ledger.find_effect(entry.effect_id) if standing is not None else None
    if standing is None or (row is not None and refusals.may_run_while_frozen(StoredOrder.from_data(row.call).call)):
        return None
    return refusals.build_card_notice(standing)


async def _reopen_card(row: EffectRow, entry: Card, standing: FreezeState, ledger: Ledger) -> DecisionResult:
    """It keeps its expiry time and gets a new nonce, so that another click on the old button runs nothing."""
    nonce = confirmations.generate_nonce()
    event = ConfirmationReopened(confirmation_id=entry.confirmation_id, effect_id=row.effect_id, why=refusals.FROZEN, nonce=nonce)
    change = EffectChange(effect_id=row.effect_id, expect=("approved",), status="requested")
    await ledger.buffer(event, actor="system", effects=[change], timers=[confirmations.build_expiry_timer(entry, ledger)])
    return DecisionResult(notice=refusals.build_card_notice(standing), reopened=True)


async def resume_approved(effect_id: str, deps: GateDeps, *, mode: Mode, ledger: Ledger) -> DecisionResult:
    """For an approval before a crash, in the safer of `mode` and the approver's present one; refused without access."""
    row = await ledger.find_effect(effect_id)
    entry = ledger.state.cards.get(StoredOrder.from_data(row.call).confirmation_id) if row is not None else None
    if row is not None and row.status == "approved" and entry is not None:
        key = entry.approved_by  # blank once that person was erased
        by = deps.present(Actor(key=key, name=entry.approved_by_name)) if key else None
        if by is None:
            return await _refuse_run(row, _APPROVER_GONE, ledger)
        mode = resolve_mode(mode, by)
    return await run_approved(effect_id, deps, mode=mode, ledger=ledger)


async def _evaluate_stored(
    row: EffectRow, stored: StoredOrder, entry: Card, deps: GateDeps, mode: Mode, ledger: Ledger
) -> _EvaluatedCall | Refuse:
    actor = deps.present(Actor.model_validate(stored.actor))
    if actor is None:
        return _NO_ACCESS
    try:
        call = decode_call(stored.call, deps.catalogue)
        if (ran := await check_restored_card(row, call, deps)) is not None:  # before the rest, which would only find nothing left to do
            return ran
        facts = await fetch_facts(call, actor, deps)  # exactly what was read for the card, or the before-images could never be equal
        place = find_origin_slot(entry, ledger.state.cards)
        facts = await complete_facts(facts, call, actor, slot=stored.slot, place=place, deps=deps, ledger=ledger)
    except UndecodableCall:
        return refuse("gate-method-unknown", method=stored.call.method, hint="")
    except BitrixError as error:
        return build_read_refusal(error)
    call, fell = drop_removed_elements(call, facts, stored.before)
    provenance = Provenance.model_validate({"message": None, **(entry.provenance or {})})  # cards of earlier versions know nothing of it
    effect = Effect(kind=call.kind, method=call.method, params=call.params, provenance=provenance, proposed_by=stored.proposed_by)
    call, verdict = evaluate(call, mode=mode, policy=deps.policy, actor=actor, facts=facts, effect=effect)
    verdict = refuse_unchanged(verdict, call, facts)
    if isinstance(verdict, Refuse):
        return verdict
    if (missing := deps.find_missing_performer(call)) is not None:
        return missing
    if isinstance(verdict, PlanOnly):
        return Refuse(reason=Notice(code="shadow-now"), detail="the mode is shadow now: nothing was sent")
    return _EvaluatedCall(call=call, facts=facts, actor=actor, verdict=verdict, dropped=fell)


async def _check_undo_conflict(stored: StoredOrder, new: ReplacementCard, deps: GateDeps) -> Refuse | None:
    if not parse_undo_slot(stored.slot):
        return None
    return await check_undo_conflict(new.call, new.facts, stored.before, actor=new.actor, names=deps.names)


async def _draw_replacement(entry: Card, new: ReplacementCard, deps: GateDeps, ledger: Ledger) -> Preview:
    """With the steps before it that still wait, unless the person has approved it before these."""
    slot = find_origin_slot(entry, ledger.state.cards)
    facts = await add_planned_rows(new.call, new.facts, slot, by=entry.requested_by, deps=deps, ledger=ledger)
    preview = await preview_for(new.actor, new.call, facts, deps.names, now=ledger.now)
    if not facts.planned or shows_other_totals(entry, preview):
        return preview
    return await preview_for(new.actor, new.call, new.facts, deps.names, now=ledger.now)


async def _replace_card(row: EffectRow, entry: Card, new: ReplacementCard, deps: GateDeps, ledger: Ledger) -> DecisionResult:
    preview = await _draw_replacement(entry, new, deps, ledger)
    next_order = build_order(
        build_effect_id(f"{row.effect_id}/again"),
        StoredOrder.from_data(row.call),
        new.call,
        approved_by="",
        before=build_before_image(new.call, new.facts),
        policy=deps.policy.digest,
    )
    order = replace(next_order, confirmation_id="", named=build_call_label(new.call, preview))
    doubts = [Notice.model_validate(reason) for reason in entry.reasons if reason["code"] in DOUBTS]
    told_before = {reason.code for reason in new.ask.reasons}
    ask = replace(new.ask, reasons=(*new.ask.reasons, *(doubt for doubt in doubts if doubt.code not in told_before)))
    card_request = CardRequest(
        order=order,
        effect=Effect(method=new.call.method, comment=entry.comment, provenance=Provenance.model_validate(entry.provenance or {})),
        ask=ask,
        preview=preview,
        actor=new.actor,
        notified_leads=confirmations.find_notified_leads(order, new.ask, new.actor, deps),
        replaces=entry.confirmation_id,
        following=entry.next_steps,
        covers=entry.covers,
    )
    notice = CHANGED if new.reason.code == DRIFTED else new.reason  # the values are in the new card's reason
    old = confirmations.build_superseded_closing(entry, why=notice.code, expect=("approved",))
    event = await confirmations.request(card_request, ledger, deps.ttl, remind_after=deps.policy.remind_lead_after, supersede=[old])
    return DecisionResult(notice=notice, replaced_by=event)


async def _refuse_run(row: EffectRow, why: Refuse, ledger: Ledger) -> DecisionResult:
    stored = StoredOrder.from_data(row.call)
    event = CallRefused(
        effect_id=row.effect_id,
        turn_id=stored.turn_id,
        slot=stored.slot,
        method=stored.call.method,
        call_class=stored.call_class,
        code=why.reason.code,
        detail=why.detail,
        args=dict(why.reason.args),
        confirmation_id=stored.confirmation_id,
    )
    outcome = Outcome(
        status="refused",
        effect_id=row.effect_id,
        method=event.method,
        call_class=stored.call_class,
        reason=why.reason,
        detail=why.detail,
        foreign_text=why.foreign_text,
    )
    outcome_data = outcome.model_dump(mode="json", exclude={*UNSTORED, "result"})
    change = EffectChange(effect_id=row.effect_id, expect=("approved",), status="refused", outcome=outcome_data)
    await ledger.buffer(event, actor="system", effects=[change])
    return DecisionResult(outcome=outcome)


def build_order(effect_id: str, stored: StoredOrder, call: Call, *, approved_by: str, before: BeforeImage, policy: str = "") -> Order:
    return Order(
        effect_id=effect_id,
        turn_id=stored.turn_id,
        slot=stored.slot,
        call=call,
        requested_by=stored.requested_by,
        requested_by_user=stored.actor.get("bitrix_user_id"),
        proposed_by=stored.proposed_by,
        approved_by=approved_by,
        confirmation_id=stored.confirmation_id,
        before=before,
        policy=policy,
        named=stored.named,
        is_computed=stored.is_computed,
    )
