"""The waiting steps of one plan on one card, which stores nothing: each keeps its own decision and undo.

The strictest rule of any member holds for all.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.domain.actor import Actor, is_same_person
from orchestrator.domain.address import Address
from orchestrator.domain.card_view import BULK_VERB, CARD_ROOM, FORM, PLAN, PLAN_STEPS, Preview, PreviewPart, count_units, group_commands
from orchestrator.domain.outputs import Notice
from orchestrator.gate.approve import confirmations
from orchestrator.gate.approve.confirmations import Decision, calculate_second_nonce
from orchestrator.gate.approve.plan_slots import find_origin_slot, follow_back, index_replaced, list_plan_cards, parse_step, select_current
from orchestrator.gate.approve.run_approved import find_freeze_notice
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.ports import Ledger
from orchestrator.gate.preview.row_totals import drop_totals, fold_totals
from orchestrator.gate.undo.undo_policy import parse_undo_slot
from state.events.fold import list_open_confirmations
from state.model.card import Card, CardStatus
from state.model.session_state import SessionState

_SHOWN_STATUS: Final[tuple[CardStatus, ...]] = ("requested", "approved", "unknown", "executed", "refused", "denied", "expired")
"""A group has the first of these that one of its members has."""
_KEEPS_NONCE: Final = frozenset({"requested", "approved", "executed"})
"""A member goes through these when all goes well; any other status changes the group's nonce."""
_FEWEST: Final = 2
_HEAD: Final = 60
_BETWEEN: Final = 4
_OF_WHOLE: Final = (
    *("confirmation_id", "nonce", "status", "taps", "four_eyes", "lead", "told", "told_names", "expires_at", "why"),
    *("requested_by", "requested_by_name", "requested_by_user", "turn_id"),
)
_NOT_YOURS: Final = "not-your-card"
_NO_ACCESS: Final = "no-access"
"""The person lost access; their chat may still show the message."""


@dataclass(frozen=True, kw_only=True)
class CardGroup:
    """In the order of the plan's steps."""

    anchor: str
    """The plan's oldest card: an id that stays while cards are replaced."""
    members: Sequence[Card]

    @property
    def waiting(self) -> list[Card]:
        return [card for card in self.members if card.is_waiting]

    @property
    def nonce(self) -> str:
        """Proves that the person saw all members as they are: an old button does not go on behind a step that failed."""
        seen = "/".join(f"{card.confirmation_id}:{card.nonce}:{_find_turn_for_worse(card)}" for card in self.members)
        return hashlib.sha256(seen.encode()).hexdigest()[:8]

    def is_meant_by(self, decision: Decision) -> bool:
        """Whether it is about the whole group, by its nonce."""
        return decision.confirmation_id == self.anchor and decision.nonce in {self.nonce, calculate_second_nonce(self.nonce)}

    def tighten(self, card: Card) -> Card:
        """With the strictest rules of all waiting members."""
        strict = self.waiting
        return card.with_values(
            taps=max((one.taps for one in strict), default=1),
            four_eyes=any(one.four_eyes for one in strict),
            lead=any(one.lead for one in strict),
            told=list(dict.fromkeys(key for member in self.members for key in member.told)),
            told_names=list(dict.fromkeys(name for one in strict for name in one.told_names)),
        )

    def draw(self) -> list[Card]:
        """The members; those that change the products of one record say its sum once, as all that are not over leave it."""
        previews = [Preview.model_validate(card.preview or {}) for card in self.members]
        parts = [(card, part) for card, preview in zip(self.members, previews, strict=True) for part in (preview, *preview.items)]
        folded = iter(fold_totals([part for card, part in parts if card.status in _KEEPS_NONCE]))
        drawn = iter([next(folded) if card.status in _KEEPS_NONCE else drop_totals(part) for card, part in parts])
        whole = [
            preview.model_copy(update={"lines": next(drawn).lines, "items": [next(drawn) for _ in preview.items]}) for preview in previews
        ]
        pairs = zip(self.members, previews, whole, strict=True)
        return [card if preview == new else card.with_values(preview=new.to_json()) for card, preview, new in pairs]

    def merge(self) -> Card:
        """One card for all members: it asks for all that wait, with the group's nonce and the strictest rules."""
        waiting = self.waiting
        first = (waiting or self.members)[0]
        statuses = {card.status for card in self.members}
        reasons = [reason for card in waiting for reason in card.reasons]
        merged = first.with_values(
            confirmation_id=self.anchor,
            nonce=self.nonce,
            status=next((status for status in _SHOWN_STATUS if status in statuses), first.status),
            call_class="".join(dict.fromkeys("".join(card.call_class for card in waiting or self.members))),
            preview=_merge_previews(self.draw()).to_json(),
            reasons=[reason for number, reason in enumerate(reasons) if reason not in reasons[:number]],
            expires_at=min((card.expires_at for card in waiting), default=first.expires_at),
            why=_NO_ACCESS if any(card.why == _NO_ACCESS for card in self.members) else first.why,
        )
        return self.tighten(merged)


def narrow_group(group: CardGroup, lead: str, hidden: Mapping[str, Sequence[str]]) -> tuple[CardGroup, Card]:
    """Gives (the group without steps hidden from `lead`, the card for the lead's copy).

    `hidden`: for each card the leads who must not see it. The card has nonce, status and rules of the whole group.
    """
    seen = replace(group, members=[card for card in group.members if lead not in hidden.get(card.confirmation_id, ())])
    whole = group.merge()
    card = seen.merge() if seen.members else Card(confirmation_id=group.anchor).with_values(preview=_merge_previews(()).to_json())
    return seen, card.with_values(**{name: getattr(whole, name) for name in _OF_WHOLE})


def list_blind_leads(card: Card, cards: Mapping[str, Card], deps: GateDeps, present: Callable[[Actor], Actor | None]) -> list[str]:
    """They get a copy of the plan, but may not see all records of this card."""
    group = find_group(card, cards)
    lead_keys = dict.fromkeys(key for member in group.members for key in member.told) if group is not None else {}
    return [key for key in lead_keys if not _may_see(present(Actor(key=key, name="")), card, deps)]


def _may_see(lead: Actor | None, card: Card, deps: GateDeps) -> bool:
    if lead is None:
        return False
    acting = deps.approvers.apply_delegation(lead)
    return confirmations.can_see_all(acting, card.before or {}, deps.catalogue, asked_by=card.requested_by_user)


def is_merged(card: Card) -> bool:
    """`CardGroup.merge` made it."""
    return (card.preview or {}).get("verb") == PLAN


def find_group(card: Card, cards: Mapping[str, Card]) -> CardGroup | None:
    """None if its plan led to one card only, or to more than a message holds.

    What does not fit once is never a group again, so that no card is in two messages.
    """
    placed = _list_versions(card, cards)
    if len(placed) < _FEWEST:
        return None
    steps = [select_current(versions) for versions in placed.values()]
    members = [step for step in steps if step.is_known]
    if len(members) < _FEWEST or not _fits(list(placed.values())):
        return None
    return CardGroup(anchor=_find_anchor(placed).confirmation_id, members=members)


def is_only_card_of_plan(card: Card, cards: Mapping[str, Card]) -> bool:
    """The card can belong to no group."""
    return len(_list_versions(card, cards)) < _FEWEST


def list_loose_cards(card: Card, cards: Mapping[str, Card]) -> list[Card]:
    """For a plan that no message holds: the waiting cards, and the plan's oldest."""
    placed = _list_versions(card, cards)
    if len(placed) < _FEWEST or _fits(list(placed.values())):
        return []
    waiting = [current for versions in placed.values() if (current := select_current(versions)).is_waiting]
    return list({one.confirmation_id: one for one in (_find_anchor(placed), *waiting) if one.is_known}.values())


def find_shown_card(confirmation_id: str, state: SessionState, key: str) -> Card | None:
    """The card of its whole group, but in a run or a session whose client fetches its messages: these decide one by one."""
    card = state.cards.get(confirmation_id)
    one_by_one = card is None or state.run is not None or Address.parse(key).is_pulled
    group = find_group(card, state.cards) if card is not None and not one_by_one else None
    return group.merge() if group is not None else card


def list_shown_cards(state: SessionState, key: str) -> list[Card]:
    """Oldest first; one card for all waiting steps of a plan."""
    cards = (find_shown_card(card.confirmation_id, state, key) for card in list_open_confirmations(state))
    return list({card.confirmation_id: card for card in cards if card is not None}.values())


def _list_versions(card: Card, cards: Mapping[str, Card]) -> dict[int, list[Card]]:
    """Cards of the plan by the number of their step; empty for a card that no plan led to."""
    slot = find_origin_slot(card, cards)
    plan, _ = parse_step(slot)
    placed = list_plan_cards(plan, cards) if plan else _list_undo_cards(card, cards) if parse_undo_slot(slot) else ()
    versions: dict[int, list[Card]] = {}
    for number, version in placed:
        versions.setdefault(number, []).append(version)
    return dict(sorted(versions.items()))


def _list_undo_cards(card: Card, cards: Mapping[str, Card]) -> Sequence[tuple[int, Card]]:
    """Of one «верни как было»: what the last step of a plan did comes first."""
    replaced = index_replaced(cards)
    origins = {key: follow_back(one, replaced) for key, one in cards.items()}
    asked_by = origins[card.confirmation_id].turn_id
    steps = {one.effect_id: parse_step(origins[key].slot) for key, one in cards.items()}
    undone = {one.effect_id: parse_undo_slot(one.slot) for one in origins.values() if one.turn_id == asked_by}
    ranked = sorted((effect for effect in undone if undone[effect]), key=lambda one: (steps.get(undone[one], ("", 0)), one), reverse=True)
    places = {effect: place for place, effect in enumerate(ranked, start=1)}
    return [(place, cards[key]) for key, origin in origins.items() if (place := places.get(origin.effect_id)) is not None]


def _find_anchor(placed: Mapping[int, Sequence[Card]]) -> Card:
    ranked = [(card.requested_at, number, card.status != "superseded", card) for number, versions in placed.items() for card in versions]
    return min(ranked, key=lambda item: item[:3])[3]


def _find_turn_for_worse(card: Card) -> str:
    return "" if card.status in _KEEPS_NONCE else card.status


async def find_group_objection(group: CardGroup, decision: Decision, deps: GateDeps, ledger: Ledger) -> Notice | None:
    """Why the decision about all waiting members does not count; None if it does."""
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
            may_see_some = notice.code == _NOT_YOURS and decision.actor.key in group.tighten(card).told
            return Notice(code="plan-not-yours") if may_see_some else notice
    return None


def build_member_decision(card: Card, decision: Decision) -> Decision:
    """The decision about the group was checked already."""
    second = decision.approve and card.taps > 1
    nonce = calculate_second_nonce(card.nonce) if second else card.nonce
    return replace(decision, confirmation_id=card.confirmation_id, nonce=nonce, saw_all=True)


def _fits(steps: Sequence[Sequence[Card]]) -> bool:
    if any(_must_stand_alone(version) for versions in steps for version in versions):
        return False
    sizes = [[_measure(version) for version in versions] for versions in steps]
    lines = [max(count for count, _ in step) for step in sizes]
    return sum(lines) <= PLAN_STEPS and sum(max(room for _, room in step) for step in sizes) <= CARD_ROOM


def _must_stand_alone(card: Card) -> bool:
    """A change of more records than a card names is opened before it is approved, which a plan's card never asks for."""
    preview = Preview.model_validate(card.preview or {})
    return preview.verb == BULK_VERB and preview.exceeds_card


def _measure(card: Card) -> tuple[int, int]:
    """Gives (lines, room in a message), with the following steps."""
    previews = [Preview.model_validate(one or {}) for one in (card.preview, *card.next_steps)]
    lines = [group_commands(one.items) for one in previews]
    room = sum(_HEAD + one.measure() for one in previews) + sum(_measure_line(line) for one in lines for line in one)
    return max(1, len(lines[0])) + len(previews) - 1, room


def _measure_line(line: Sequence[PreviewPart]) -> int:
    return _HEAD + line[0].measure() + sum(_BETWEEN + count_units(item.title or str(item.id)) for item in line[1:])


def _merge_previews(members: Sequence[Card]) -> Preview:
    items: list[PreviewPart] = []
    for card in members:
        preview = Preview.model_validate(card.preview or {})
        whole = PreviewPart.model_validate({**preview.to_json(), "key": card.confirmation_id, "method": card.method})
        items.extend(preview.items or [whole])
    mode = str((members[0].preview or {}).get("mode") or "") if members else ""
    return Preview(verb=PLAN, items=items, count=len(items), mode=mode, form=FORM)
