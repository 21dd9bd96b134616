"""The result of parsing an update. Updates from before a restore of the database are rejected: they may be processed already."""

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
from state.journal.store import RESTORED, InboxRow, Lane


@dataclass(frozen=True, slots=True)
class IncomingUpdate:
    update: Update
    message: Message | None = None
    content: MessageContent | None = None


def read_update(update: Update, me: User) -> IncomingUpdate:
    message = update.message or update.edited_message
    return IncomingUpdate(update) if message is None else IncomingUpdate(update, message, read_content(message, me))


@dataclass(frozen=True, kw_only=True)
class ParsedUpdate:
    """An inbox row, a short answer to a click, both or nothing.

    The row's source is the update's id, so a repeated update changes nothing.
    """

    session: str = ""
    rows: tuple[InboxRow, ...] = ()
    said: Input | None = field(default=None, compare=False)
    callback_id: str = ""
    """A click to answer at once with `toast`; "" for other updates."""
    toast: Notice | None = None


@dataclass(frozen=True, kw_only=True)
class RowBuilder:
    source: str
    session: str
    actor: Actor
    now: datetime

    def build(self, stored_input: Input, lane: Lane, *, session: str = "") -> ParsedUpdate:
        """In the lane "express" the row does not wait for the running turn."""
        row = stored_input.to_row(
            session or self.session, source=self.source, actor=self.actor.model_dump(mode="json"), now=self.now, lane=lane
        )
        return ParsedUpdate(session=self.session, rows=(row,), said=stored_input)

    def build_answer(self, notice: Notice) -> ParsedUpdate:
        """Only sends `notice`, without a turn."""
        return self.build(DirectAnswer(notice=notice), "express")


_UNAFFECTED = frozenset({CardDecision.KIND, DirectAnswer.KIND, AccessRequest.KIND})
"""May come from before a restore: the gate checks decisions, the others change nothing."""
_NOTICE = Notice(code="restored-not-worked")
_READ_ONLY = frozenset({"start", "help", "pending", "today", "stop", "details", "check"})
"""The last two are buttons of cards."""


class RestoreGuard:
    def __init__(self, store: AsyncStore) -> None:
        """Reads the time of the restore at the first update."""
        self._store = store
        self._known = False
        self._at: datetime | None = None

    async def filter_update(self, update: Update, routed: ParsedUpdate) -> ParsedUpdate:
        """Decisions, answers and harmless commands pass. Raises StoreError."""
        at = await self._load_restore_time()
        if at is None or not routed.rows or all(row.kind in _UNAFFECTED for row in routed.rows):
            return routed
        row, stored_input, written_at = routed.rows[0], routed.said, _find_written_time(update)
        if written_at is None or written_at > at or _changes_nothing(stored_input):
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


def _changes_nothing(stored_input: Input | None) -> bool:
    """A paused run takes an answer when it goes on."""
    return (isinstance(stored_input, Command) and stored_input.name in _READ_ONLY) or (
        isinstance(stored_input, FeatureClick) and is_answer_click(stored_input.words)
    )


def _find_written_time(update: Update) -> datetime | None:
    """Of a click, the message with the button. None if unknown."""
    if update.callback_query is not None:
        message = update.callback_query.message
        return _to_utc(message.date) if message is not None else None
    if update.message is not None:
        return _to_utc(update.message.date)
    edited = update.edited_message
    return datetime.fromtimestamp(edited.edit_date or edited.date.timestamp(), UTC) if edited is not None else None


def _to_utc(moment: datetime | int) -> datetime:
    """Telegram sends 0 for a message that is no longer accessible."""
    return datetime.fromtimestamp(moment, UTC) if isinstance(moment, int) else moment.astimezone(UTC)
