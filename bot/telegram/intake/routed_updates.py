"""Inbox rows of one update, and what else it may come to. Ring 3, pure.

What comes from Telegram a second time after a backup was restored: the database has forgotten that it took it. Ring 3.

Whatever was written, or stands under a message, from before the restore is not worked; its person is told. Cards go on: they are checked.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson
from aiogram.types import Update

from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from state.clock import generate_id, parse_iso
from state.journal.async_store import AsyncStore
from state.journal.store import RESTORED, InboxRow, Lane


@dataclass(frozen=True, kw_only=True)
class ParsedUpdate:
    """An update as the product understands it: inputs to store, or an answer to give at once."""

    session: str = ""
    rows: tuple[InboxRow, ...] = ()
    say: Notice | None = None
    callback_id: str = ""
    """A press that is answered at once, with `toast` if there is something to say."""
    toast: Notice | None = None


@dataclass(frozen=True, kw_only=True)
class RowBuilder:
    """Builds the inbox rows of one update: of whom, from where, when."""

    source: str
    session: str
    actor: Actor
    now: datetime

    def build(self, kind: str, lane: Lane, body: Mapping[str, Any], *, session: str = "") -> ParsedUpdate:
        """One input, of this conversation or of another one."""
        row = InboxRow(
            id=generate_id(),
            source=self.source,
            session=session or self.session,
            lane=lane,
            kind=kind,
            actor=self.actor.model_dump(mode="json"),
            body=body,
            received_at=self.now,
        )
        return ParsedUpdate(session=self.session, rows=(row,))


_NOTICE = Notice(code="restored-not-worked")
_READ_ONLY = frozenset({"start", "help", "pending", "today", "stop"})
"""Commands that change nothing, however often they come."""


class RestoreGuard:
    """Knows when this database was restored, if it was."""

    def __init__(self, store: AsyncStore) -> None:
        """Read when the first update comes."""
        self._store = store
        self._known = False
        self._at: datetime | None = None

    async def filter_update(self, update: Update, routed: ParsedUpdate) -> ParsedUpdate:
        """`routed`, or a sentence in its place; raises StoreError where it cannot be known yet."""
        at = await self._load_restore_time()
        if at is None or not routed.rows or all(row.kind == "decision" for row in routed.rows):
            return routed
        row, written = routed.rows[0], _find_written_time(update)
        if written is None or written > at or (row.kind == "command" and row.body.get("name") in _READ_ONLY):
            return routed
        pressed = update.callback_query
        return ParsedUpdate(session=routed.session, callback_id=pressed.id if pressed is not None else "", say=_NOTICE)

    async def _load_restore_time(self) -> datetime | None:
        if not self._known:
            text = await self._store.get_value(RESTORED)
            self._at = parse_iso(orjson.loads(text)["restored_at"]) if text else None
            self._known = True
        return self._at


def _find_written_time(update: Update) -> datetime | None:
    """When the person wrote it, or of a press when the message with the button was; None where nobody can tell."""
    if update.callback_query is not None:
        message = update.callback_query.message
        return _to_utc(message.date) if message is not None else None
    if update.message is not None:
        return _to_utc(update.message.date)
    edited = update.edited_message
    return datetime.fromtimestamp(edited.edit_date or edited.date.timestamp(), UTC) if edited is not None else None


def _to_utc(moment: datetime | int) -> datetime:
    """Of a message that Telegram does not show any more the moment is 0: long ago."""
    return datetime.fromtimestamp(moment, UTC) if isinstance(moment, int) else moment.astimezone(UTC)
