"""Whether a card's approval also covers a step that stood on it under «Затем».

Text of others makes every later write ask; this one the person has read and approved. Any other reason, value, record or place asks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.domain.actor import Actor, Mode, is_same_person
from orchestrator.domain.card_view import CARD_ROOM, Preview
from orchestrator.domain.effect import STAND_IN, Effect, FollowingStep
from orchestrator.gate.approve.confirmations import Decision, check_entitlement
from orchestrator.gate.approve.duplicates import decode_row
from orchestrator.gate.call import critical_fields
from orchestrator.gate.call.before_image import build_before_image
from orchestrator.gate.call.effect import Ask, Call, Facts, Refuse
from orchestrator.gate.call.fields import to_field_key
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.modes import resolve_mode
from orchestrator.gate.call.ports import Ledger
from orchestrator.gate.call.serialization import build_effect_id
from orchestrator.gate.decide.consent import BESIDE, CONSENT_REASONS
from orchestrator.gate.normalize.normalize import normalize
from orchestrator.gate.preview.following_steps import put_numbers
from state.clock import parse_iso
from state.journal.store import EffectRow
from state.model.card import Card
from state.stored import JsonObject

_COVERED: Final = CONSENT_REASONS | {BESIDE}
_CLASSES: Final = frozenset({"R", "W"})
"""What deletes, moves money, reaches people outside or configures the portal asks for itself."""
_SHOWS_STEPS: Final = frozenset({"button", "typed", "console"})
_HEADING: Final = 80


@dataclass(frozen=True, kw_only=True)
class ProposedStep:
    effect: Effect
    effect_id: str
    turn_id: str
    call: Call
    facts: Facts
    actor: Actor
    mode: Mode


def list_covered(preview: Preview, drawn: Sequence[tuple[FollowingStep, Preview]]) -> list[JsonObject]:
    """As the card stores them; none if its message cannot show all."""
    if not drawn:
        return []
    room = preview.measure_all() + sum(preview.measure_all() + _HEADING for _, preview in drawn)
    if room > CARD_ROOM or preview.exceeds_card:
        return []
    return [step.model_dump(mode="json") for step, preview in drawn if preview.verb and preview.lines and not preview.items and step.slot]


async def find_covering_card(step: ProposedStep, verdict: Ask, deps: GateDeps, ledger: Ledger) -> Card | None:
    """None if the step must ask: the card must show exactly this call in this place of the plan, and its approver still be entitled."""
    if not {reason.code for reason in verdict.reasons} <= _COVERED or not _is_coverable(step.call):
        return None
    coverage = next(((card, covered) for card in ledger.state.cards.values() if (covered := _find_covered(card, step, ledger))), None)
    if coverage is None:
        return None
    card, covered = coverage
    makers = await _list_makers(card, covered, ledger)
    if makers is None:
        return None
    expected = _build_expected(
        step, covered, {stand_in: int(created.rpartition(":")[2]) for stand_in, (_, created) in makers.items()}, deps
    )
    if isinstance(expected, Refuse) or expected.fingerprint != step.call.fingerprint:
        return None
    if not _is_approved_for(card, step, verdict, deps):
        return None
    return card if all(_is_unchanged(row, created, step, deps) for row, created in makers.values()) else None


def _is_coverable(call: Call) -> bool:
    return call.spec.verb == "add" and not call.commands and set(call.classes) <= _CLASSES


def _find_covered(card: Card, step: ProposedStep, ledger: Ledger) -> FollowingStep | None:
    covered = next((cover for cover in card.covers if cover["slot"] == step.effect.slot), None)
    if covered is None or card.status != "executed" or parse_iso(card.expires_at) <= ledger.now:
        return None
    is_own = card.turn_id == step.turn_id and card.requested_by == step.actor.key
    return FollowingStep.model_validate(covered) if is_own and card.via in _SHOWS_STEPS else None


async def _list_makers(card: Card, covered: FollowingStep, ledger: Ledger) -> Mapping[int, tuple[EffectRow, str]] | None:
    """The calls that made the records that the step needs, and these, by stand-in; None if one was not made as the card shows it."""
    needed = {STAND_IN: (card.effect_id, covered.made)}
    needed |= {record.stand_in: (build_effect_id(record.slot), record.kind) for record in covered.beside}
    makers: dict[int, tuple[EffectRow, str]] = {}
    for stand_in, (effect_id, made) in needed.items():
        row = await ledger.find_effect(effect_id)
        created = str((row.outcome or {}).get("created") or "") if row is not None and row.status == "succeeded" else ""
        kind, _, number = created.rpartition(":")
        if row is None or kind != made or not number.isdecimal():
            return None
        makers[stand_in] = row, created
    return makers


def _build_expected(step: ProposedStep, covered: FollowingStep, numbers: Mapping[int, int], deps: GateDeps) -> Call | Refuse:
    params = put_numbers(covered.params, numbers)
    effect = Effect(kind=step.effect.kind, method=covered.method, params=params, slot=step.effect.slot)
    return normalize(effect, catalogue=deps.catalogue, portal=step.call.portal, actor=step.actor, effect_id=step.effect_id)


def _is_approved_for(card: Card, step: ProposedStep, verdict: Ask, deps: GateDeps) -> bool:
    if verdict.taps > card.taps or (verdict.four_eyes and not card.four_eyes) or (verdict.lead and not card.lead):
        return False
    approver = deps.present(Actor(key=card.approved_by, name=card.approved_by_name)) if card.approved_by else None
    if approver is None or resolve_mode(step.mode, approver) != step.mode:
        return False
    if not is_same_person(approver, card.requested_by, card.requested_by_user):
        approver = deps.approvers.apply_delegation(approver)
    step_card = card.with_values(before=build_before_image(step.call, step.facts))
    decision = Decision(confirmation_id=card.confirmation_id, nonce="", approve=True, actor=approver, via=card.via)
    return check_entitlement(step_card, decision, deps.catalogue) is None


def _is_unchanged(row: EffectRow, created: str, step: ProposedStep, deps: GateDeps) -> bool:
    """The new record, if it was read, still has the title and owner that its call gave it."""
    maker = decode_row(row, deps.catalogue)
    if maker is None:
        return False
    kind, _, number = created.rpartition(":")
    record, entity = step.facts.records.get((kind, int(number))), maker.entities.get(kind)
    if record is None or entity is None:
        return True
    watched = {to_field_key(name, kind) for name in (entity.title_field, entity.owner_field) if name}
    maker_fields = maker.written_fields
    return all(
        critical_fields.has_value(maker, name, value, record) for name, value in maker_fields.items() if to_field_key(name, kind) in watched
    )
