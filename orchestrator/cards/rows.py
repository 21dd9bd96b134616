"""Rows for the outbox about cards: a card that is shown anew, the questions of an edit, a list of what waits. Ring 2, pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

from orchestrator import outgoing
from orchestrator.cards.reading import EditableField
from orchestrator.messages import Notice
from state.clock import generate_id
from state.events_editing import build_question_key
from state.store import OutboxRow

EDIT = "edit"
"""Kind of the questions: {what, confirmation_id, …}, see `bot/rendering/cards.py`."""
PENDING_LIST = "waiting"
"""Kind of the list of open cards in a group: {chat, cards: [{preview, method, who, until, ref}]}."""


def build_fresh_card_row(session: str, entry: Mapping[str, Any], now: datetime, *, leads: Literal["too", "not"] = "not") -> OutboxRow:
    """The card at the end of the chat: what stood for it before says where it went, and has no buttons any more.

    Where leads see it too, theirs moves only if it is said: a person who looks for their own cards must not ring at others.
    """
    shown = outgoing.build_card_row(session, entry, now)
    kept = {key: value for key, value in shown.body.items() if key != "told" or leads == "too"}
    return replace(shown, body={**kept, "anew": True})


def build_picker_row(session: str, confirmation_id: str, fields: Sequence[EditableField], now: datetime) -> OutboxRow:
    """Which of the fields is to be changed."""
    shown = [{"name": field.name, "value": field.value} for field in fields]
    body = {"what": "fields", "confirmation_id": confirmation_id, "fields": shown}
    return build_row(session, EDIT, body, now, key=f"edit:{confirmation_id}")


def build_picker_result_row(session: str, confirmation_id: str, code: str, now: datetime, **args: Any) -> OutboxRow:
    """What became of the edit, in the place of the fields; `code` is the sentence."""
    notice = Notice(code=code, args=args)
    body = {"what": "told", "confirmation_id": confirmation_id, "notice": notice.model_dump(mode="json")}
    return build_row(session, EDIT, body, now, key=f"edit:{confirmation_id}")


def build_question_row(
    session: str, confirmation_id: str, field: EditableField, now: datetime, *, ask: int, objection: Notice | None, options: Sequence[str]
) -> OutboxRow:
    """The value is asked for; `objection` is what was wrong with the last answer, `options` are what it may have meant."""
    body = {
        "what": "value",
        "confirmation_id": confirmation_id,
        "name": field.name,
        "value": field.value,
        "field_kind": field.kind,
        "objection": objection.model_dump(mode="json") if objection else None,
        "options": list(options),
        "ask": ask,
        "private": not is_group(session),
    }
    return build_row(session, EDIT, body, now, key=build_question_key(confirmation_id, ask))


def is_group(session: str) -> bool:
    """Whether several people read there."""
    chat = session.split(":")[1] if ":" in session else ""
    return session.startswith("tg:") and chat.startswith("-")


def build_row(session: str, kind: str, body: Mapping[str, Any], now: datetime, *, key: str = "") -> OutboxRow:
    """A row of one of these kinds."""
    channel = outgoing.parse_channel(session)
    return OutboxRow(id=generate_id(), session=session, channel=channel, kind=kind, body=body, key=key, created_at=now, due_at=now)
