"""Shows the cards of one plan as one message: replaces the rows of such cards by one row for all of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from orchestrator.gate.approve.card_groups import CardGroup, find_group
from state.card import Card
from state.journal.store import OutboxRow

DescribeCard = Callable[[Card, Mapping[str, Card]], Card]
"""A function that completes a card for showing: it adds until when its call can be undone. It also gets all cards of the session."""
_HIDDEN: Final = ("params", "before", "provenance")
_MARKS: Final = ("at", "anew")


def keep_card(card: Card, _cards: Mapping[str, Card]) -> Card:
    """Return the card as it is: the `DescribeCard` of a session in which nothing is known about undoing."""
    return card


def group_card_rows(rows: Sequence[OutboxRow], key: str, cards: Mapping[str, Card], describe: DescribeCard) -> Sequence[OutboxRow]:
    """Return the messages of a step of the session `key` with one row for all cards of a plan, in place of the rows of single cards.

    `cards` are the session's cards before the step; the rows hold those that the step changes as they will be.
    """
    shown = [row for row in rows if _is_own_card(row, key)]
    if not shown:
        return rows
    changed = {card.confirmation_id: card for card in (Card.from_stored(row.body) for row in shown)}
    known = {**cards, **{number: _overlay(cards.get(number), card) for number, card in changed.items()}}
    found = {number: find_group(known[number], known) for number in changed}
    drawn: dict[str, OutboxRow] = {}
    kept: list[OutboxRow] = []
    for row in rows:
        group = found.get(row.body["confirmation_id"]) if _is_own_card(row, key) else None
        if group is None:
            kept.append(row)
            continue
        before = drawn.get(group.anchor)
        drawn[group.anchor] = _build_group_row(row, group, before, describe, known)
        kept = [one for one in kept if one is not before] + [drawn[group.anchor]]
    return kept


def _is_own_card(row: OutboxRow, key: str) -> bool:
    return row.kind == "card" and row.session == key and "home" not in row.body


def _overlay(old: Card | None, new: Card) -> Card:
    """Return the card as the row shows it, with the fields that rows leave out."""
    return new if old is None else old.with_values(**new.select(new.stored_keys))


def _build_group_row(
    row: OutboxRow,
    group: CardGroup,
    before: OutboxRow | None,
    describe: DescribeCard,
    known: Mapping[str, Card],
) -> OutboxRow:
    """Return the row of the whole group: the merged card, and its members in the order of the plan's steps.

    `before` is the row that another card of the same step has given already; its marks are kept.
    """
    marks = {name: row.body[name] for name in _MARKS if row.body.get(name)}
    earlier = before.body if before is not None else {}
    marks |= {name: earlier[name] for name in _MARKS if earlier.get(name)}
    stage = max(int(row.body.get("stage") or 1), int(earlier.get("stage") or 1))
    hidden = (*_HIDDEN, *(("told",) if marks.get("anew") else ()))
    members = [describe(card, known) for card in group.members]
    told = [one.without(*hidden).to_stored() for one in members]
    body = {**group.merge().without(*hidden).to_stored(), "stage": stage, **marks, "members": told}
    return replace(row, key=f"card:{group.anchor}", body=body)
