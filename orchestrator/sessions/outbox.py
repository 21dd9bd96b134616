"""Builds rows of the outbox (messages to people): replies, cards, toasts. It only builds values; `bot` renders and sends the messages.

All messages about one card have the same key, so the card is edited in place. For channels to which nothing is sent, such as the HTTP API,
messages become journal events, which clients fetch.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from orchestrator.domain.address import Address
from orchestrator.domain.card_view import is_shown_in_part
from orchestrator.domain.outputs import Notice, Reply, SentFile
from state.clock import generate_id
from state.events.talking import AnswerGiven
from state.journal.store import OutboxRow
from state.model.card import Card


def build_reply_row(session: str, reply: Reply, now: datetime, *, key: str = "") -> OutboxRow:
    """Return the outbox row of a reply in the chat. With a `key`, it replaces the earlier message that has this key."""
    return build_row(session, "reply", reply.model_dump(mode="json"), now, key)


def build_card_row(session: str, entry: Card, now: datetime, *, stage: int = 1, anew: bool = False) -> OutboxRow:
    """Return the outbox row of a card in its present state.

    Some cards are approved with two taps (clicks); with `stage` 2, the card asks for the second one. The row edits the card's message. With
    `anew` it shows the card again at the end of this chat, and the copies in the chats of leads (heads of sales) stay where they are.
    """
    hidden = ("params", "before", "provenance", "covers", *(("told",) if anew else ()))
    marks = {"is_cut": is_shown_in_part(entry), "opened_here": _is_opened_in(session, entry), "anew": anew}
    body = entry.to_stored_without(*hidden) | {"stage": stage} | {name: True for name, is_set in marks.items() if is_set}
    return build_row(session, "card", body, now, f"card:{entry.confirmation_id}")


def _is_opened_in(session: str, entry: Card) -> bool:
    """Return whether the reader of the chat has opened the rest of a long card; in a group, whether anybody has."""
    return session in entry.opened or (Address.parse(session).is_group and bool(entry.opened))


def build_details_row(session: str, entry: Card, now: datetime, *, members: Sequence[Card] = ()) -> OutboxRow:
    """Return the outbox row of a message that describes the call of a card completely and in words.

    For the card of a plan, `members` are the cards of its steps.
    """
    body, *steps = (card.to_stored_without("params", "before", "provenance", "covers", "nonce") for card in (entry, *members))
    return build_row(session, "details", body | {"members": steps} if steps else body, now, "")


def build_code_row(session: str, text: str, now: datetime) -> OutboxRow:
    """Return the outbox row of a message whose text is shown unchanged, in the format for code."""
    return build_row(session, "code", {"text": text}, now, "")


def build_news_row(session: str, body: Mapping[str, Any], now: datetime) -> OutboxRow:
    """Return the outbox row of news: a message about a change in the portal that the person did not make.

    News is not part of the person's conversation with the bot. If `body` contains `quiet`, the message arrives without a sound.
    """
    return build_row(session, "news", body, now, "")


def build_file_row(session: str, body: Mapping[str, Any], now: datetime, *, key: str = "") -> OutboxRow:
    """Return the outbox row of a message with a list as a file. The rows of the list come from the program, not from the model.

    `body` is {columns, rows} and optionally {name, format: "xlsx" or "csv", links, caption: a notice}.
    """
    return build_row(session, "file", body, now, key)


def build_sent_file_row(session: str, file: SentFile, now: datetime, *, key: str) -> OutboxRow:
    """Return the outbox row of a photo or document that a run sends to its chat."""
    return build_row(session, "sent", file.model_dump(mode="json"), now, key)


def build_toast_row(session: str, callback_id: str, notice: Notice, now: datetime) -> OutboxRow:
    """Return the outbox row of a toast: the short answer to the button click with the id `callback_id`.

    A toast is ordered apart from the other messages of the chat, so it does not wait for them.
    """
    return build_row(f"{session}:toast", "toast", {"callback_id": callback_id, "notice": notice.model_dump(mode="json")}, now, "")


def build_row(session: str, kind: str, body: Mapping[str, Any], now: datetime, key: str = "") -> OutboxRow:
    """Return an outbox row of `kind` for the channel of `session`, to be delivered at once.

    With a `key` it replaces the earlier message with that key.
    """
    return OutboxRow(
        id=generate_id(), session=session, channel=Address.parse(session).channel, kind=kind, body=body, key=key, created_at=now, due_at=now
    )


def split_pulled_rows(rows: Sequence[OutboxRow], session: str, cause: str) -> tuple[list[AnswerGiven], Sequence[OutboxRow]]:
    """Split the outbox rows of a commit into (journal events, rows to deliver).

    If clients fetch the answers of this session, as over the HTTP API, the messages to it become AnswerGiven events. `cause` is the id of
    the input that is answered. All other messages are delivered.
    """
    if not Address.parse(session).is_pulled:
        return [], rows
    own = {session, f"{session}:toast"}
    kept = [AnswerGiven(cause=cause, kind=row.kind, outbox_key=row.key, body=dict(row.body)) for row in rows if row.session in own]
    return kept, [row for row in rows if row.session not in own]
