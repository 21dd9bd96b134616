"""Recognizes messages that are not new requests: answers to a question of the bot, and requests cancelled by /stop."""

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


async def recognize_answer(row: InboxRow, said: Input | None, session: Session, store: AsyncStore) -> InboxRow | None:
    """Return an input that holds a message as the answer to a question of the bot; None if the message is no such answer.

    `said` is the parsed body of `row`. The message was typed, or it is the transcription of a voice message. It is a new value for a field
    of a card if it replies to the very message that asked for the value, while the card waits, and is not clearly a request. A bare number
    stays a value when the card no longer waits, so that the person reads why it came too late. The message is the reason for a denial if it
    is the next message of the lead (head of sales) in the chat in which they were asked. Raises StoreError.
    """
    if not isinstance(said, TextMessage) or said.origin not in {"typed", "voice"} or not said.text or said.pieces is not None:
        return None
    person, reply_to = row.actor_key, said.reply_to
    if reply_to and not is_clear_request(said.text):
        for confirmation_id, edit in list_edits(session.state).items():
            key = build_question_key(confirmation_id, edit.ask)
            asked = edit.by == person and (_is_card_open(confirmation_id, session) or not any(map(str.isalpha, said.text)))
            if asked and (await store.find_sent_ref(session.key, key)).partition("@")[0] == str(reply_to):
                given = {"text": said.text, "message_id": said.message_id, "quoted": said.quoted, "at": said.at, "origin": said.origin}
                return _restate(row, FieldValue.model_validate({"confirmation_id": confirmation_id, "ask": edit.ask, **given}))
    if find_awaited_denial(session.state, person, session.now) is not None:
        return _restate(row, DenialReason(text=said.text, message_id=said.message_id))
    return None


def _is_card_open(confirmation_id: str, session: Session) -> bool:
    card = session.state.cards.get(confirmation_id)
    return card is not None and card.status == "requested" and parse_iso(card.expires_at) > session.now


def build_request_row(row: InboxRow) -> InboxRow:
    """Return the request to handle in place of the reply `row`, which was taken for a new value of a card's field but is none.

    It goes into the lane "turn", like every request.
    """
    said = FieldValue.model_validate(row.body)
    text = TextMessage(text=said.text, quoted=said.quoted, origin=said.origin, message_id=said.message_id, at=said.at)
    return replace(_restate(row, text), lane="turn")


def build_dropped_event(row: InboxRow, session: Session) -> RequestDropped | None:
    """Return the event that drops the request in `row`; None if the request is to be handled.

    A request is dropped if the person who made it sent /stop after it arrived and before its turn began.
    """
    if not is_cancelled(row, session) or session.state.turn_id in {row.id, row.body.get("turn_id")}:
        return None
    at = find_stop_time(session.state, row.actor_key)
    return RequestDropped(by=row.actor_key, at=at, request={"kind": row.kind, "body": dict(row.body)})


def is_cancelled(row: InboxRow, session: Session) -> bool:
    """Return whether the request in `row` was cancelled.

    It was cancelled if the person who made it sent /stop after it arrived, or if its turn was running and was stopped.
    """
    turn = session.state.turn
    if turn is not None and turn.turn_id in {row.id, row.body.get("turn_id")} and turn.stopped:
        return True
    return int(row.received_at.timestamp() * 1000) < find_stop_time(session.state, row.actor_key)


def build_cross_session_row(kind: str, row: InboxRow, home: str, body: JsonObject, session: Session) -> InboxRow:
    """Return an inbox row of `kind` with which the input `row` of one session causes work in another session, `home`.

    It is stored only once for the same `row`, `kind` and `home`.
    """
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


def _restate(row: InboxRow, said: Input) -> InboxRow:
    """Return an inbox row for the same message, with the input `said` in place of the original one.

    The new id is computed from the original id, so building the row again after a crash gives the same row.
    """
    return said.to_row(
        row.session,
        source=f"{row.source}:{said.KIND}",
        actor=row.actor,
        now=row.received_at,
        row_id=uuid5(UUID_NAMESPACE, f"{row.id}/{said.KIND}").hex,
    )


def build_system_row(kind: str, session: str, source: str, now: datetime, *, body: JsonObject | None = None) -> InboxRow:
    """Return an inbox row for `session` that no person sent. It is stored only once for each `source`.

    It goes into the express lane (a second queue of the session), so it does not wait for the requests of people.
    """
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
