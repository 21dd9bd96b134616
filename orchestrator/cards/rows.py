"""Rows for the outbox about cards: a card that is shown anew, the questions of an edit, a list of what waits. Ring 2, pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

from orchestrator import outgoing
from orchestrator.cards.reading import Editable
from orchestrator.messages import Notice
from state.clock import new_id
from state.events_editing import question_key
from state.store import OutboxRow

EDIT = "edit"
"""Kind of the questions: {what, confirmation_id, …}, see `bot/rendering/cards.py`."""
WAITING = "waiting"
"""Kind of the list of open cards in a group: {chat, cards: [{preview, method, who, until, ref}]}."""


def anew(session: str, entry: Mapping[str, Any], now: datetime, *, leads: Literal["too", "not"] = "not") -> OutboxRow:
    """The card at the end of the chat: what stood for it before says where it went, and has no buttons any more.

    Where leads see it too, theirs moves only if it is said: a person who looks for their own cards must not ring at others.
    """
    shown = outgoing.card_row(session, entry, now)
    kept = {key: value for key, value in shown.body.items() if key != "told" or leads == "too"}
    return replace(shown, body={**kept, "anew": True})


def picker(session: str, confirmation_id: str, fields: Sequence[Editable], now: datetime) -> OutboxRow:
    """Which of the fields is to be changed."""
    shown = [{"name": field.name, "value": field.value} for field in fields]
    body = {"what": "fields", "confirmation_id": confirmation_id, "fields": shown}
    return row(session, EDIT, body, now, key=f"edit:{confirmation_id}")


def picked(session: str, confirmation_id: str, code: str, now: datetime, **args: Any) -> OutboxRow:
    """What became of the edit, in the place of the fields; `code` is the sentence."""
    notice = Notice(code=code, args=args)
    body = {"what": "told", "confirmation_id": confirmation_id, "notice": notice.model_dump(mode="json")}
    return row(session, EDIT, body, now, key=f"edit:{confirmation_id}")


def question(
    session: str, confirmation_id: str, field: Editable, now: datetime, *, ask: int, objection: Notice | None, options: Sequence[str]
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
        "private": not in_group(session),
    }
    return row(session, EDIT, body, now, key=question_key(confirmation_id, ask))


def in_group(session: str) -> bool:
    """Whether several people read there."""
    chat = session.split(":")[1] if ":" in session else ""
    return session.startswith("tg:") and chat.startswith("-")


def row(session: str, kind: str, body: Mapping[str, Any], now: datetime, *, key: str = "") -> OutboxRow:
    """A row of one of these kinds."""
    channel = outgoing.channel_of(session)
    return OutboxRow(id=new_id(), session=session, channel=channel, kind=kind, body=body, key=key, created_at=now, due_at=now)
