"""Builds rows for the outbox: replies, cards, toasts. Pure; `bot` renders them.

A card keeps one key, so it is edited in place. For channels without delivery, such as the HTTP API, the messages become journal events,
which clients fetch.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from orchestrator.domain.address import Address
from orchestrator.domain.outputs import Notice, Reply
from state.card import Card
from state.clock import generate_id
from state.events.talking import AnswerGiven
from state.journal.store import OutboxRow


def build_reply_row(session: str, reply: Reply, now: datetime, *, key: str = "") -> OutboxRow:
    """Return the outbox row of a reply in the chat; with a `key` it replaces the earlier message with that key."""
    return build_row(session, "reply", reply.model_dump(mode="json"), now, key)


def build_card_row(session: str, entry: Card, now: datetime, *, stage: int = 1) -> OutboxRow:
    """Return the outbox row of a card in its present state; `stage` 2 asks for the second tap."""
    body = entry.without("params", "before", "provenance").to_stored() | {"stage": stage}
    return build_row(session, "card", body, now, f"card:{entry.confirmation_id}")


def build_details_row(session: str, entry: Card, now: datetime) -> OutboxRow:
    """Return the outbox row that describes the call of a card in full, in words."""
    return build_row(session, "details", entry.without("params", "before", "provenance", "nonce").to_stored(), now, "")


def build_code_row(session: str, text: str, now: datetime) -> OutboxRow:
    """Return the outbox row of a message whose text is shown unchanged, as code."""
    return build_row(session, "code", {"text": text}, now, "")


def build_news_row(session: str, body: Mapping[str, Any], now: datetime) -> OutboxRow:
    """Return the outbox row of news: a change in the portal that the person did not make. It is not part of their conversation.

    With `quiet` in the body it arrives without a sound.
    """
    return build_row(session, "news", body, now, "")


def build_file_row(session: str, body: Mapping[str, Any], now: datetime, *, key: str = "") -> OutboxRow:
    """Return the outbox row of a list sent as a file, whose rows were computed by code.

    The body is {columns, rows} and optionally {name, format: "xlsx" or "csv", links, caption: a notice}.
    """
    return build_row(session, "file", body, now, key)


def build_toast_row(session: str, callback_id: str, notice: Notice, now: datetime) -> OutboxRow:
    """Return the outbox row of the short answer (toast) to one button click.

    It has its own ordering key, so it does not wait for other messages of the chat.
    """
    return build_row(f"{session}:toast", "toast", {"callback_id": callback_id, "notice": notice.model_dump(mode="json")}, now, "")


def build_row(session: str, kind: str, body: Mapping[str, Any], now: datetime, key: str = "") -> OutboxRow:
    """Return an outbox row of `kind` for the channel of `session`, to be delivered at once.

    With a `key` it replaces the earlier message with that key.
    """
    return OutboxRow(
        id=generate_id(), session=session, channel=Address.parse(session).channel, kind=kind, body=body, key=key, created_at=now, due_at=now
    )


RELAYED: Final = "retold"
"""The kind of the input by which a session receives a message from another session: {kind, key, body}."""


def split_pulled_rows(rows: Sequence[OutboxRow], session: str, cause: str) -> tuple[list[AnswerGiven], Sequence[OutboxRow]]:
    """Split the outbox rows of a commit into journal events and rows to deliver.

    The messages to a session that fetches its answers become events; all others are delivered.
    """
    if not Address.parse(session).is_pulled:
        return [], rows
    own = {session, f"{session}:toast"}
    kept = [AnswerGiven(cause=cause, kind=row.kind, outbox_key=row.key, body=dict(row.body)) for row in rows if row.session in own]
    return kept, [row for row in rows if row.session not in own]
