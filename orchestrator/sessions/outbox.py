"""Builds messages to people. Those about one card have one key, so the card is edited in place."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from orchestrator.domain.address import Address
from orchestrator.domain.card_view import is_shown_in_part
from orchestrator.domain.outputs import Notice, Reply, SentFile
from orchestrator.gate.call.ports import BulkFiles
from orchestrator.gate.preview.whole_file import add_records
from state.clock import generate_id
from state.events.talking import AnswerGiven
from state.journal.store import OutboxRow
from state.model.card import Card


def build_reply_row(session: str, reply: Reply, now: datetime, *, key: str = "") -> OutboxRow:
    """Replaces the earlier message with `key`."""
    return build_row(session, "reply", reply.model_dump(mode="json"), now, key)


def build_card_row(session: str, entry: Card, now: datetime, *, stage: int = 1, anew: bool = False) -> OutboxRow:
    """`stage` 2 asks for a second tap; `anew` shows the card again in this chat."""
    hidden = ("params", "before", "provenance", "covers", *(("told",) if anew else ()))
    marks = {"is_cut": is_shown_in_part(entry), "opened_here": _is_opened_in(session, entry), "anew": anew}
    body = entry.to_stored_without(*hidden) | {"stage": stage} | {name: True for name, is_set in marks.items() if is_set}
    return build_row(session, "card", body, now, f"card:{entry.confirmation_id}")


def _is_opened_in(session: str, entry: Card) -> bool:
    return session in entry.opened or (Address.parse(session).is_group and bool(entry.opened))


def build_details_row(session: str, entry: Card, now: datetime, *, members: Sequence[Card] = ()) -> OutboxRow:
    """`members` are the cards of a plan's steps."""
    body, *steps = (card.to_stored_without("params", "before", "provenance", "covers", "nonce") for card in (entry, *members))
    return build_row(session, "details", body | {"members": steps} if steps else body, now, "")


async def build_opened_row(session: str, entry: Card, now: datetime, files: BulkFiles) -> OutboxRow:
    """The whole call; of a change of many records with all that its file has."""
    return build_details_row(session, await add_records(entry, files), now)


def build_code_row(session: str, text: str, now: datetime) -> OutboxRow:
    return build_row(session, "code", {"text": text}, now, "")


def build_news_row(session: str, body: Mapping[str, Any], now: datetime) -> OutboxRow:
    """A change that the person did not make. `quiet` in `body` makes no sound."""
    return build_row(session, "news", body, now, "")


def build_sent_file_row(session: str, file: SentFile, now: datetime, *, key: str) -> OutboxRow:
    return build_row(session, "sent", file.model_dump(mode="json"), now, key)


def build_toast_row(session: str, callback_id: str, notice: Notice, now: datetime) -> OutboxRow:
    """The answer to a click, delivered apart from other messages."""
    return build_row(f"{session}:toast", "toast", {"callback_id": callback_id, "notice": notice.model_dump(mode="json")}, now, "")


def build_row(session: str, kind: str, body: Mapping[str, Any], now: datetime, key: str = "") -> OutboxRow:
    """Replaces the earlier message with `key`."""
    return OutboxRow(
        id=generate_id(), session=session, channel=Address.parse(session).channel, kind=kind, body=body, key=key, created_at=now, due_at=now
    )


def split_pulled_rows(rows: Sequence[OutboxRow], session: str, cause: str) -> tuple[list[AnswerGiven], Sequence[OutboxRow]]:
    """Return (journal events for clients that fetch answers, rows to deliver)."""
    if not Address.parse(session).is_pulled:
        return [], rows
    own = {session, f"{session}:toast"}
    answers = [AnswerGiven(cause=cause, kind=row.kind, outbox_key=row.key, body=dict(row.body)) for row in rows if row.session in own]
    return answers, [row for row in rows if row.session not in own]
