"""Defines the result of parsing an update, and rejects updates that are older than the restore of the database from a backup.

After a restore Telegram may send updates again that were processed already, but are unknown to the restored database. They are not
processed, and their sender is told so. Decisions about cards (requests for confirmation) are still processed, because the gate, which
decides about every call, checks whether the card is open. So are answers to runs by a button, to which nothing else may give an answer.
"""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import orjson
from aiogram.types import Message, Update, User

from bot.telegram.intake.message_content import MessageContent, read_content
from orchestrator.domain.actor import Actor
from orchestrator.domain.inputs import AccessRequest, CardDecision, Command, DirectAnswer, FeatureClick, Input
from orchestrator.domain.outputs import Notice
from orchestrator.runs.questions import is_answer_click
from state.clock import parse_iso
from state.journal.async_store import AsyncStore
from state.journal.restored_rows import RESTORED
from state.journal.store import InboxRow, Lane


@dataclass(frozen=True, slots=True)
class IncomingUpdate:
    """An update, and the message that it brings, new or edited, with its content; both are None for other updates."""

    update: Update
    message: Message | None = None
    content: MessageContent | None = None


def read_update(update: Update, me: User) -> IncomingUpdate:
    """Return what the update says to the bot `me`."""
    message = update.message or update.edited_message
    return IncomingUpdate(update) if message is None else IncomingUpdate(update, message, read_content(message, me))


@dataclass(frozen=True, kw_only=True)
class ParsedUpdate:
    """The result of parsing an update in the chat `session`: an inbox row to store, or a short answer to a click, or both, or nothing.

    There is at most one row, whose source is the update's id, so that an update that arrives again changes and answers nothing.
    """

    session: str = ""
    rows: tuple[InboxRow, ...] = ()
    said: Input | None = field(default=None, compare=False)
    """The input that the row stores, so that nobody need parse the row's body again."""
    callback_id: str = ""
    """Id of a click that is to be answered at once, with `toast` as the text if there is one; "" for other updates."""
    toast: Notice | None = None


@dataclass(frozen=True, kw_only=True)
class RowBuilder:
    """Builds the inbox rows (stored inputs) of one update, which all have the same source, actor (sender) and time.

    `source` identifies the update, so that an update that arrives again is not stored a second time.
    """

    source: str
    session: str
    actor: Actor
    now: datetime

    def build(self, said: Input, lane: Lane, *, session: str = "") -> ParsedUpdate:
        """Return a parsed update with one inbox row for the input `said`.

        The row belongs to the conversation `session`, by default to the one in which the update was sent. With `lane` "turn" it waits until
        the running turn (processing of a message) ends; with "express" it does not.
        """
        row = said.to_row(session or self.session, source=self.source, actor=self.actor.model_dump(mode="json"), now=self.now, lane=lane)
        return ParsedUpdate(session=self.session, rows=(row,), said=said)

    def build_answer(self, notice: Notice) -> ParsedUpdate:
        """Return a parsed update that only sends `notice` to the chat, without a turn (processing of a message)."""
        return self.build(DirectAnswer(notice=notice), "express")


_UNAFFECTED = frozenset({CardDecision.KIND, DirectAnswer.KIND, AccessRequest.KIND})
"""Kinds of inbox rows that may be processed although they were sent before a restore.

The gate checks decisions, and the others change nothing in the portal.
"""
_NOTICE = Notice(code="restored-not-worked")
_READ_ONLY = frozenset({"start", "help", "pending", "today", "stop", "details", "check"})
"""Commands that change nothing, so that they may be processed again; the last two are buttons of cards."""


class RestoreGuard:
    """Rejects updates that were sent before this database was restored from a backup; without a restore it lets all pass."""

    def __init__(self, store: AsyncStore) -> None:
        """Create the guard. It reads the time of the last restore from `store` at the first update."""
        self._store = store
        self._known = False
        self._at: datetime | None = None

    async def filter_update(self, update: Update, routed: ParsedUpdate) -> ParsedUpdate:
        """Return `routed`, the result of parsing `update`, or a notice in its place if the update was sent before the restore.

        Decisions about cards, answers and commands that change nothing pass in any case. Raises StoreError if the time of the restore
        cannot be read.
        """
        at = await self._load_restore_time()
        if at is None or not routed.rows or all(row.kind in _UNAFFECTED for row in routed.rows):
            return routed
        row, said, written = routed.rows[0], routed.said, _find_written_time(update)
        if written is None or written > at or _changes_nothing(said):
            return routed
        pressed = update.callback_query
        answer = DirectAnswer(notice=_NOTICE)
        refused = replace(row, session=routed.session, lane="express", kind=answer.KIND, body=answer.to_json())
        return ParsedUpdate(session=routed.session, rows=(refused,), said=answer, callback_id=pressed.id if pressed is not None else "")

    async def _load_restore_time(self) -> datetime | None:
        if not self._known:
            text = await self._store.get_value(RESTORED)
            self._at = parse_iso(orjson.loads(text)["restored_at"]) if text else None
            self._known = True
        return self._at


def _changes_nothing(said: Input | None) -> bool:
    """Return whether the input changes nothing by itself. An answer to a run is one: the run is paused, and takes it when it goes on."""
    return (isinstance(said, Command) and said.name in _READ_ONLY) or (isinstance(said, FeatureClick) and is_answer_click(said.words))


def _find_written_time(update: Update) -> datetime | None:
    """Return when the message in the update was sent or last edited; None if that is unknown.

    For a click, which has no time of its own, this is when the message with the button was sent.
    """
    if update.callback_query is not None:
        message = update.callback_query.message
        return _to_utc(message.date) if message is not None else None
    if update.message is not None:
        return _to_utc(update.message.date)
    edited = update.edited_message
    return datetime.fromtimestamp(edited.edit_date or edited.date.timestamp(), UTC) if edited is not None else None


def _to_utc(moment: datetime | int) -> datetime:
    """Return `moment` in UTC; an integer is read as seconds since 1970.

    Telegram sends 0 as the date of a message that is no longer accessible. The result is then in 1970, before any restore.
    """
    return datetime.fromtimestamp(moment, UTC) if isinstance(moment, int) else moment.astimezone(UTC)
