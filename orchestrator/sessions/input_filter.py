"""Recognizes answers to questions of the bot, and requests cancelled by /stop."""

from dataclasses import replace
from datetime import datetime
from uuid import uuid5

from orchestrator.domain.inputs import SYSTEM, DenialReason, FieldValue, Input, TextMessage
from orchestrator.language.request_words import is_clear_request
from orchestrator.sessions.session import Session
from state.clock import UUID_NAMESPACE, generate_id, parse_iso
from state.events.cards import build_question_key, list_edits
from state.events.leads import find_awaited_denial
from state.events.talking import RequestDropped, find_stop_time
from state.journal.async_store import AsyncStore
from state.journal.store import InboxRow
from state.stored import JsonObject


async def recognize_answer(row: InboxRow, message: Input | None, session: Session, store: AsyncStore) -> InboxRow | None:
    """A value for the card that it replies to, or the reason of a denial; None for a request. Raises StoreError.

    A bare number stays a value when the card is closed: the person reads that it came too late.
    """
    if not isinstance(message, TextMessage) or message.origin not in {"typed", "voice"} or not message.text or message.pieces is not None:
        return None
    person, reply_to = row.actor_key, message.reply_to
    if reply_to and not is_clear_request(message.text):
        for confirmation_id, edit in list_edits(session.state).items():
            key = build_question_key(confirmation_id, edit.ask)
            may_answer = edit.by == person and (_is_card_open(confirmation_id, session) or not any(map(str.isalpha, message.text)))
            if may_answer and (await store.find_sent_ref(session.key, key)).partition("@")[0] == str(reply_to):
                fields = {
                    "text": message.text,
                    "message_id": message.message_id,
                    "quoted": message.quoted,
                    "at": message.at,
                    "origin": message.origin,
                }
                return _restate(row, FieldValue.model_validate({"confirmation_id": confirmation_id, "ask": edit.ask, **fields}))
    if find_awaited_denial(session.state, person, session.now) is not None:
        return _restate(row, DenialReason(text=message.text, message_id=message.message_id))
    return None


def _is_card_open(confirmation_id: str, session: Session) -> bool:
    card = session.state.cards.get(confirmation_id)
    return card is not None and card.status == "requested" and parse_iso(card.expires_at) > session.now


def build_request_row(row: InboxRow) -> InboxRow:
    """For a reply that is no value of a card's field."""
    field_value = FieldValue.model_validate(row.body)
    text = TextMessage(
        text=field_value.text, quoted=field_value.quoted, origin=field_value.origin, message_id=field_value.message_id, at=field_value.at
    )
    return replace(_restate(row, text), lane="turn")


def build_dropped_event(row: InboxRow, session: Session) -> RequestDropped | None:
    """None unless a /stop came before its turn began."""
    if not is_cancelled(row, session) or session.state.turn_id in {row.id, row.body.get("turn_id")}:
        return None
    at = find_stop_time(session.state, row.actor_key)
    return RequestDropped(by=row.actor_key, at=at, request={"kind": row.kind, "body": dict(row.body)})


def is_cancelled(row: InboxRow, session: Session) -> bool:
    """By a /stop after it arrived, or of its running turn."""
    turn = session.state.turn
    if turn is not None and turn.turn_id in {row.id, row.body.get("turn_id")} and turn.stopped:
        return True
    return int(row.received_at.timestamp() * 1000) < find_stop_time(session.state, row.actor_key)


def build_cross_session_row(kind: str, row: InboxRow, home: str, body: JsonObject, session: Session) -> InboxRow:
    """Stored once for the same `row`, `kind` and `home`."""
    return InboxRow(
        id=generate_id(),
        source=f"{kind}:{row.id}:{home}",
        session=home,
        lane="express",
        kind=kind,
        actor=row.actor,
        body=body,
        received_at=session.now,
    )


def _restate(row: InboxRow, new_input: Input) -> InboxRow:
    """The new id is always the same, so a crash makes no second row."""
    return new_input.to_row(
        row.session,
        source=f"{row.source}:{new_input.KIND}",
        actor=row.actor,
        now=row.received_at,
        row_id=uuid5(UUID_NAMESPACE, f"{row.id}/{new_input.KIND}").hex,
    )


def build_system_row(kind: str, session: str, source: str, now: datetime, *, body: JsonObject | None = None) -> InboxRow:
    """Stored once for each `source`, in the express lane."""
    return InboxRow(
        id=generate_id(),
        source=source,
        session=session,
        lane="express",
        kind=kind,
        actor=SYSTEM,
        body=body or {},
        received_at=now,
    )
