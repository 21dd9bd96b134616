"""Shows the cards of one plan as one message."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from bitrix.masking import mask_value
from orchestrator.domain.address import Address
from orchestrator.domain.card_view import PLAN
from orchestrator.gate.approve.card_groups import (
    CardGroup,
    find_group,
    is_merged,
    is_only_card_of_plan,
    list_loose_cards,
    narrow_group,
)
from orchestrator.sessions import outbox
from state.canonical import dumps
from state.journal.store import OutboxRow
from state.model.card import Card

DescribeCard = Callable[[Card, Mapping[str, Card]], Card]
"""Adds until when the card's call can be undone."""
_HIDDEN: Final = ("params", "before", "provenance", "covers")
_MARKS: Final = ("at", "anew")


def keep_card(card: Card, _cards: Mapping[str, Card]) -> Card:
    return card


def group_card_rows(rows: Sequence[OutboxRow], key: str, cards: Mapping[str, Card], describe: DescribeCard) -> Sequence[OutboxRow]:
    """`cards` are those before the step. Too long plans, and clients that fetch messages, get single cards."""
    own = [row for row in rows if _is_own_card(row, key)]
    if not own or Address.parse(key).is_pulled or not _may_be_grouped(own, cards):
        return rows
    row_cards = [Card.from_stored(row.body) for row in own]
    changed = {card.confirmation_id: _overlay(cards.get(card.confirmation_id), card) for card in row_cards if not is_merged(card)}
    known = {**cards, **changed}
    drawn: dict[str, OutboxRow] = {}
    outbox_rows: list[OutboxRow] = []
    for row in rows:
        card = known.get(row.body["confirmation_id"]) if _is_own_card(row, key) else None
        group = find_group(card, known) if card is not None else None
        if card is None or group is None:
            outbox_rows.append(row)
            continue
        before = drawn.get(group.anchor)
        drawn[group.anchor] = _build_group_row(row, group, before, describe, known)
        outbox_rows = [outbox_row for outbox_row in outbox_rows if outbox_row is not before] + [drawn[group.anchor]]
    loose = {loose_card.confirmation_id: loose_card for card in changed.values() for loose_card in list_loose_cards(card, known)}
    missing = [describe(one, known) for number, one in loose.items() if number not in changed]
    return [*outbox_rows, *(outbox.build_card_row(key, one, rows[0].created_at) for one in missing)]


def build_plan_details_rows(chat: str, card: Card, cards: Mapping[str, Card], now: datetime, *, with_calls: bool) -> list[OutboxRow]:
    """Empty if the plan has no common card."""
    group = find_group(card, cards)
    if group is None:
        return []
    rows = [outbox.build_details_row(chat, group.merge(), now, members=group.draw())]
    if with_calls:
        calls = "\n\n".join(f"{member.method}\n{dumps(mask_value(member.params))}" for member in group.members)
        rows.append(outbox.build_code_row(chat, calls, now))
    return rows


def _is_own_card(row: OutboxRow, key: str) -> bool:
    return row.kind == "card" and row.session == key and "home" not in row.body and "members" not in row.body


def _may_be_grouped(rows: Sequence[OutboxRow], cards: Mapping[str, Card]) -> bool:
    new = [Card.from_stored(row.body) for row in rows if row.body["confirmation_id"] not in cards]
    known = {**cards, **{card.confirmation_id: card for card in new}} if new else cards
    return not all(is_only_card_of_plan(known[row.body["confirmation_id"]], known) for row in rows)


def _overlay(old: Card | None, new: Card) -> Card:
    return new if old is None else old.with_values(**new.select(new.stored_keys))


def _build_group_row(
    row: OutboxRow, group: CardGroup, before: OutboxRow | None, describe: DescribeCard, known: Mapping[str, Card]
) -> OutboxRow:
    """Only a merged row asks for a second tap. `before` is another card's row."""
    earlier: Mapping[str, Any] = before.body if before is not None else {}
    marks = {name: one[name] for one in (row.body, earlier) for name in _MARKS if one.get(name)}
    taps = [int(one.get("stage") or 1) for one in (row.body, earlier) if (one.get("preview") or {}).get("verb") == PLAN]
    merged = group.merge()
    copies = not marks.get("anew") or "told" in row.body or "told" in earlier
    hidden = _HIDDEN if copies else (*_HIDDEN, "told")
    drawn = [_describe_member(card, describe, known) for card in group.draw()]
    members = [card.without(*_HIDDEN, "told", "hidden_from").to_stored() for card in drawn]
    body = {**merged.without(*hidden).to_stored(), "stage": max(taps, default=1), **marks, "members": members}
    if narrowed := _build_narrowed_copies(group, {card.confirmation_id: card.hidden_from for card in drawn}, members):
        body["copies"] = narrowed
    return replace(row, key=f"card:{group.anchor}", body=body)


def _describe_member(card: Card, describe: DescribeCard, known: Mapping[str, Card]) -> Card:
    drawn = describe(card, known)
    return card.with_values(hidden_from=drawn.hidden_from) if card.undone_at else drawn


def _build_narrowed_copies(
    group: CardGroup, hidden: Mapping[str, Sequence[str]], members: Sequence[Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """By lead, without steps they may not see."""
    copies: dict[str, dict[str, Any]] = {}
    for lead in dict.fromkeys(key for keys in hidden.values() for key in keys):
        seen, card = narrow_group(group, lead, hidden)
        numbers = [number for number, member in enumerate(group.members, start=1) if member in seen.members]
        copies[lead] = {
            **card.without(*_HIDDEN).to_stored(),
            "members": [members[number - 1] for number in numbers],
            "numbers": numbers,
            "steps_hidden": len(members) - len(numbers),
            "hidden_waits": any(member.is_waiting for member in group.members if member not in seen.members),
        }
    return copies
