"""Puts the waiting steps of one plan on one card. Each step keeps its own hash, before-image, decision, outcome and undo.

A group is only a way to show cards and to decide several at once: it stores nothing. All its members are subject to the strictest rule that
applies to one of them. Members are the cards that one plan (one answer of the model) led to, and those that replaced them.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.domain.actor import is_same_person
from orchestrator.domain.card_view import CARD_COMMANDS, CARD_ROOM, FORM, Preview, PreviewPart
from orchestrator.domain.outputs import Notice
from orchestrator.gate.approve import confirmations
from orchestrator.gate.approve.confirmations import Decision, calculate_second_nonce
from orchestrator.gate.approve.run_approved import find_freeze_notice
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.ports import Ledger
from state.card import Card, CardStatus
from state.session_state import SessionState

VERB: Final = "plan"
"""The verb of the preview of a group."""
_STEP: Final = re.compile(r"(?P<plan>[^:/]+/[0-9]+)/(?P<number>[0-9]+)", re.ASCII)
_SHOWN_STATUS: Final[tuple[CardStatus, ...]] = ("requested", "approved", "unknown", "executed", "refused", "denied", "expired")
"""The status of a group is the first of these that one of its members has."""


@dataclass(frozen=True, kw_only=True)
class CardGroup:
    """The cards of one plan, in the order of its steps."""

    anchor: str
    """The id of the oldest card of the plan: the id of the group, which stays the same while cards are replaced."""
    members: Sequence[Card]

    @property
    def waiting(self) -> list[Card]:
        """The members that wait for a decision."""
        return [card for card in self.members if card.is_waiting]

    @property
    def nonce(self) -> str:
        """The nonce with which a decision about all waiting members proves that the person saw these members."""
        seen = "/".join(f"{card.confirmation_id}:{card.nonce}" for card in self.members)
        return hashlib.sha256(seen.encode()).hexdigest()[:8]

    def is_meant_by(self, decision: Decision) -> bool:
        """Return whether the decision is about the whole group, by its nonce."""
        return decision.nonce in {self.nonce, calculate_second_nonce(self.nonce)}

    def tighten(self, card: Card) -> Card:
        """Return a member with the strictest rules that apply to one of the waiting members."""
        strict = self.waiting
        told = dict(zip((key for one in strict for key in one.told), (name for one in strict for name in one.told_names), strict=False))
        return card.with_values(
            taps=max((one.taps for one in strict), default=1),
            four_eyes=any(one.four_eyes for one in strict),
            lead=any(one.lead for one in strict),
            told=list(told),
            told_names=list(told.values()),
        )

    def merge(self) -> Card:
        """Return one card that stands for all members: it asks for all that wait, under the group's nonce and the strictest rules."""
        waiting = self.waiting
        first = (waiting or self.members)[0]
        statuses = {card.status for card in self.members}
        reasons = [reason for card in waiting for reason in card.reasons]
        merged = first.with_values(
            confirmation_id=self.anchor,
            nonce=self.nonce,
            status=next((status for status in _SHOWN_STATUS if status in statuses), first.status),
            call_class="".join(dict.fromkeys("".join(card.call_class for card in waiting or self.members))),
            preview=_merge_previews(self.members).to_json(),
            reasons=[reason for number, reason in enumerate(reasons) if reason not in reasons[:number]],
            expires_at=min((card.expires_at for card in waiting), default=first.expires_at),
        )
        return self.tighten(merged) if waiting else merged


def find_group(card: Card, cards: Mapping[str, Card]) -> CardGroup | None:
    """Return the group of which the card is a member or was one; None if its plan led to one card only, or to more than a message holds.

    `cards` are all cards that the session knows.
    """
    plan = _find_place(card, cards)
    if plan is None:
        return None
    placed = [(place, one) for one in cards.values() if (place := _find_place(one, cards)) is not None and place[0] == plan[0]]
    placed.sort(key=lambda item: (item[0][1], item[1].requested_at))
    members = [one for _, one in placed if one.status != "superseded" and one.is_known]
    if len(members) < 2 or not _fits(members):  # noqa: PLR2004 - a group has several members
        return None
    anchor = min((one for _, one in placed), key=lambda one: one.requested_at)
    return CardGroup(anchor=anchor.confirmation_id, members=members)


def find_shown_card(confirmation_id: str, state: SessionState) -> Card | None:
    """Return the card as it is shown: that of its whole group if it belongs to one. The cards of a run are shown one by one."""
    card = state.cards.get(confirmation_id)
    group = find_group(card, state.cards) if card is not None and state.run is None else None
    return group.merge() if group is not None else card


def find_origin_slot(card: Card, cards: Mapping[str, Card]) -> str:
    """Return the place in a plan ("<turn>/<iteration>/<step>") of the step that led to the card, also if a person edited its values since.

    A card with edited values replaces the one that the plan led to.
    """
    seen = {card.confirmation_id}
    while (older := next((one for one in cards.values() if one.by == card.confirmation_id), None)) is not None:
        if older.confirmation_id in seen:
            break
        seen.add(older.confirmation_id)
        card = older
    return card.slot


async def find_group_objection(group: CardGroup, decision: Decision, deps: GateDeps, ledger: Ledger) -> Notice | None:
    """Return a message that says why the decision about all waiting members does not count, or None if it counts."""
    waiting = group.waiting
    if not waiting:
        return confirmations.find_objection(group.members[0], decision, ledger)
    for card in waiting:
        strict = group.tighten(card).with_values(nonce=group.nonce)
        own = is_same_person(decision.actor, card.requested_by, card.requested_by_user)
        decided = decision if own else replace(decision, actor=deps.approvers.apply_delegation(decision.actor))
        notice = confirmations.find_objection(strict, decided, ledger) or confirmations.check_entitlement(strict, decided, deps.catalogue)
        if decision.approve and (notice is None or notice.code == "card-second-tap"):
            notice = await find_freeze_notice(card, deps, ledger) or notice
        if notice is not None:
            return notice
    return None


def build_member_decision(card: Card, decision: Decision) -> Decision:
    """Return the decision about one member that follows from the decision about the group, which was checked already."""
    second = decision.approve and card.taps > 1
    nonce = calculate_second_nonce(card.nonce) if second else card.nonce
    return replace(decision, confirmation_id=card.confirmation_id, nonce=nonce, saw_all=True)


def _find_place(card: Card, cards: Mapping[str, Card]) -> tuple[str, int] | None:
    """Return (plan, number of the step) of a card, None for a card that no plan led to."""
    found = _STEP.fullmatch(find_origin_slot(card, cards))
    return (found["plan"], int(found["number"])) if found is not None else None


def _fits(members: Sequence[Card]) -> bool:
    previews = [Preview.model_validate(card.preview or {}) for card in members]
    return len(members) <= CARD_COMMANDS and sum(preview.measure_all() for preview in previews) <= CARD_ROOM


def _merge_previews(members: Sequence[Card]) -> Preview:
    items: list[PreviewPart] = []
    for card in members:
        shown = Preview.model_validate(card.preview or {})
        whole = PreviewPart.model_validate({**shown.to_json(), "key": card.confirmation_id, "method": card.method})
        items.extend(shown.items or [whole])
    return Preview(verb=VERB, items=items, count=len(items), mode=str((members[0].preview or {}).get("mode") or ""), form=FORM)
