"""Cards in the small world of the spine: with the handlers of their buttons."""

from collections.abc import Mapping
from typing import Any

from bot.i18n.translate import Translator
from bot.rendering.kinds import render_message
from bot.rendering.spans import to_plain_text
from orchestrator.domain.actor import Actor
from state.clock import generate_id
from state.journal.store import InboxRow, OutboxRow
from state.model.card import Card
from tests.unit.spine_kit import ANNA, CHAT, World, _row, message, raise_sum, reply

RU = Translator("ru")


async def asked(world: World, *steps: Any, text: str = "подними сумму сделки 481 до 1 200 000", actor: Actor = ANNA) -> dict[str, Any]:
    """The card as the chat shows it."""
    world.model.will(reply(*(steps or (raise_sum(),))))
    await world.work(message(text, actor=actor))
    return dict(world.outbox()[-1].body)


async def opened(world: World, shown_card: Card | Mapping[str, Any]) -> OutboxRow:
    """The question for the new value of a card with one field."""
    entry = shown_card if isinstance(shown_card, Card) else Card.from_stored(shown_card)
    await world.work(pressing("edit", entry.confirmation_id))
    row = world.outbox()[-1]
    assert row.body["what"] == "value"
    return row


def pressing(*words: str, actor: Actor = ANNA, key: str = CHAT) -> InboxRow:
    """A press of a feature's button."""
    return _row("press", "express", {"words": list(words), "callback_id": generate_id(), "message_id": 5}, actor, key)


def answer(question: OutboxRow, text: str, *, actor: Actor = ANNA) -> InboxRow:
    """A reply to a question, as the door routes it."""
    body = {"confirmation_id": question.body["confirmation_id"], "ask": question.body["ask"], "text": text}
    return _row("edit_value", "express", body, actor, question.session)


def cards_of(rows: list[OutboxRow]) -> list[dict[str, Any]]:
    """The cards that went out."""
    return [dict(row.body) for row in rows if row.kind == "card"]


def shown(row: OutboxRow) -> str:
    """The row as a person reads it."""
    return to_plain_text(render_message(row.kind, row.body, RU))
