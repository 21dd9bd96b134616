"""Rows for the outbox: replies, cards, toasts. Pure; doors render them. A card keeps one key for life, so it is edited in place.

Channels that nothing is delivered to: what their sessions are told is kept in the journal, for whoever asks for it. Ring 2, pure.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from orchestrator.domain.address import Address
from orchestrator.domain.outputs import Notice, Reply
from state.clock import generate_id
from state.events.talking import AnswerGiven
from state.journal.store import OutboxRow


def build_reply_row(session: str, reply: Reply, now: datetime, *, key: str = "") -> OutboxRow:
    """A message to the chat."""
    return build_row(session, "reply", reply.model_dump(mode="json"), now, key)


def build_card_row(session: str, entry: Mapping[str, Any], now: datetime, *, stage: int = 1) -> OutboxRow:
    """The card of a confirmation as it stands now; `stage` 2 asks for the second tap."""
    left_out = ("params", "before", "provenance")
    body = {key: value for key, value in entry.items() if key not in left_out} | {"stage": stage}
    return build_row(session, "card", body, now, f"card:{entry['confirmation_id']}")


def build_details_row(session: str, entry: Mapping[str, Any], now: datetime) -> OutboxRow:
    """What the card of a confirmation is about, in words and in full."""
    left_out = ("params", "before", "provenance", "nonce")
    return build_row(session, "details", {key: value for key, value in entry.items() if key not in left_out}, now, "")


def build_code_row(session: str, text: str, now: datetime) -> OutboxRow:
    """Text shown exactly as it is."""
    return build_row(session, "code", {"text": text}, now, "")


def build_news_row(session: str, body: Mapping[str, Any], now: datetime) -> OutboxRow:
    """What changed in the portal without the person's doing; no part of their conversation. `quiet` in the body: without a sound."""
    return build_row(session, "news", body, now, "")


def build_file_row(session: str, body: Mapping[str, Any], now: datetime, *, key: str = "") -> OutboxRow:
    """A list as a file: {columns, rows} and if wanted {name, format: "xlsx" or "csv", links, caption: a notice}. Rows come from code."""
    return build_row(session, "file", body, now, key)


def build_toast_row(session: str, callback_id: str, notice: Notice, now: datetime) -> OutboxRow:
    """The answer to one press; it waits for no message of its chat, so it has an order of its own."""
    return build_row(f"{session}:toast", "toast", {"callback_id": callback_id, "notice": notice.model_dump(mode="json")}, now, "")


def build_row(session: str, kind: str, body: Mapping[str, Any], now: datetime, key: str = "") -> OutboxRow:
    """A row of that kind for the channel of `session`, due now; one with a `key` takes the place of the message that had it."""
    return OutboxRow(
        id=generate_id(), session=session, channel=Address.parse(session).channel, kind=kind, body=body, key=key, created_at=now, due_at=now
    )


RELAYED: Final = "retold"
"""Kind of the input by which a session takes in what another one wanted to tell it: {kind, key, body}."""


def split_pulled_rows(rows: Sequence[OutboxRow], session: str, cause: str) -> tuple[list[AnswerGiven], Sequence[OutboxRow]]:
    """Of what a step of `session` says: what becomes part of its journal, and what is delivered."""
    if not Address.parse(session).is_pulled:
        return [], rows
    own = {session, f"{session}:toast"}
    kept = [AnswerGiven(cause=cause, kind=row.kind, outbox_key=row.key, body=dict(row.body)) for row in rows if row.session in own]
    return kept, [row for row in rows if row.session not in own]
