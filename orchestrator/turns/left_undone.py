"""Tells what stays undone when the last card of a turn expires: the steps that were to follow on cards approved before."""

from collections.abc import Iterator

from orchestrator.domain.card_view import Preview
from orchestrator.domain.outputs import Notice
from orchestrator.gate.approve.card_groups import find_origin_slots
from orchestrator.gate.call.serialization import build_effect_id
from orchestrator.sessions.session import Session
from state.clock import parse_iso
from state.model.card import OPEN_STATUSES, Card
from state.model.session_state import PausedTurn


async def list_left_undone(expired: Card, session: Session) -> list[Notice]:
    """Return a sentence for each step that will not be made because the card `expired` was the last one of its turn.

    An expired card lets no turn go on. So what stood under «Затем» on a card of the turn that was approved and ran is not submitted any
    more, although the person approved it with that card. Empty if the turn waits for another card, or was stopped. Raises StoreError.
    """
    cards = session.state.cards
    origins = find_origin_slots(cards)
    found: list[Notice] = []
    for turn, paused in (session.state.paused or {}).items():
        own = [card for card in cards.values() if _is_awaited(origins[card.confirmation_id], turn, paused)]
        is_over = not any(card.status in OPEN_STATUSES for card in own)
        if is_over and not paused.stopped and any(card.confirmation_id == expired.confirmation_id for card in own):
            found.extend([notice for card in own if await _is_ahead(card, paused, session) for notice in _name_steps(card)])
    return found


def _is_awaited(origin: str, turn: str, paused: PausedTurn) -> bool:
    return origin.startswith(f"{turn}/") or origin in paused.joined


async def _is_ahead(card: Card, paused: PausedTurn, session: Session) -> bool:
    """Return whether the call of the card ran since the turn began to wait, so that what follows on it was never begun."""
    if card.status != "executed" or not card.executed_at or parse_iso(card.executed_at) < parse_iso(paused.ts):
        return False
    return not any([await session.find_effect(build_effect_id(str(one["slot"]))) for one in card.covers])


def _name_steps(card: Card) -> Iterator[Notice]:
    after = Preview.model_validate(card.preview or {}).title
    for preview in map(Preview.model_validate, card.next_steps):
        values = "; ".join(f"{line.name}: {', '.join(line.after.split(chr(10)))}" for line in preview.lines)
        args = {"method": preview.method, "after": after or "none", "values": values or "none"}
        yield Notice(code="left-undone", args=args)
