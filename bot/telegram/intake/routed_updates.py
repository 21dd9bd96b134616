"""The result of parsing an update, and the guard against updates from before a backup was restored.

After a restore Telegram may send updates again that the bot had processed and that the restored database does not know. They are not
processed, and their sender is told so. Decisions about cards are processed, because the gate checks them itself.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

import orjson
from aiogram.types import Update

from orchestrator.domain.actor import Actor
from orchestrator.domain.inputs import Command, Input, parse_input
from orchestrator.domain.outputs import Notice
from state.clock import generate_id, parse_iso
from state.journal.async_store import AsyncStore
from state.journal.store import RESTORED, InboxRow, Lane


@dataclass(frozen=True, kw_only=True)
class ParsedUpdate:
    """A parsed update: inbox rows to store, an answer to give at once (`say`, or `toast` for a click), or nothing."""

    session: str = ""
    rows: tuple[InboxRow, ...] = ()
    say: Notice | None = None
    callback_id: str = ""
    """Id of a click that is to be answered at once, with `toast` as the text if there is one; "" for other updates."""
    toast: Notice | None = None


@dataclass(frozen=True, kw_only=True)
class RowBuilder:
    """Builds the inbox rows of one update, which have the same source, actor and time."""

    source: str
    session: str
    actor: Actor
    now: datetime

    def build(self, said: Input, lane: Lane, *, session: str = "") -> ParsedUpdate:
        """Return a parsed update with one inbox row, of this conversation or, if given, of `session`."""
        row = InboxRow(
            id=generate_id(),
            source=self.source,
            session=session or self.session,
            lane=lane,
            kind=said.KIND,
            actor=self.actor.model_dump(mode="json"),
            body=said.to_json(),
            received_at=self.now,
        )
        return ParsedUpdate(session=self.session, rows=(row,))


_NOTICE = Notice(code="restored-not-worked")
_READ_ONLY = frozenset({"start", "help", "pending", "today", "stop"})
"""Commands that change nothing, so that they may be processed again."""


class RestoreGuard:
    """Stops updates that were written before this database was restored from a backup, if it ever was."""

    def __init__(self, store: AsyncStore) -> None:
        """Create the guard; the time of the restore is read from `store` at the first update."""
        self._store = store
        self._known = False
        self._at: datetime | None = None

    async def filter_update(self, update: Update, routed: ParsedUpdate) -> ParsedUpdate:
        """Return `routed`, or a notice in its place if the update is from before the restore.

        Raises StoreError if the time of the restore cannot be read.
        """
        at = await self._load_restore_time()
        if at is None or not routed.rows or all(row.kind == "decision" for row in routed.rows):
            return routed
        row, written = routed.rows[0], _find_written_time(update)
        said = parse_input(row)
        if written is None or written > at or (isinstance(said, Command) and said.name in _READ_ONLY):
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
    """Return when the update's message was written or edited, for a click when the message with the button was; None if unknown."""
    if update.callback_query is not None:
        message = update.callback_query.message
        return _to_utc(message.date) if message is not None else None
    if update.message is not None:
        return _to_utc(update.message.date)
    edited = update.edited_message
    return datetime.fromtimestamp(edited.edit_date or edited.date.timestamp(), UTC) if edited is not None else None


def _to_utc(moment: datetime | int) -> datetime:
    """Return `moment` in UTC. Telegram sends 0 for a message it no longer shows; it becomes 1970, which is before any restore."""
    return datetime.fromtimestamp(moment, UTC) if isinstance(moment, int) else moment.astimezone(UTC)
