"""Posts one outbox row: texts in order, then files; or edits the message of an earlier row with its key. Nothing is retried."""

import asyncio
import contextlib
import logging
from typing import Any

from aiogram.exceptions import TelegramBadRequest
from aiogram.methods import AnswerCallbackQuery, DeleteMessage, EditMessageMedia, EditMessageText, SendDocument, SendMessage, SendPhoto
from aiogram.types import BufferedInputFile, InlineKeyboardMarkup, InputMediaPhoto

from bot.i18n.translate import Translator
from bot.rendering.pictures.worker_process import PictureWorker
from bot.telegram.intake.people import ChatPeople
from bot.telegram.outgoing.chats import build_admission_check, is_for_anyone
from bot.telegram.outgoing.delivery_state import DeliveryState, parse_chat
from bot.telegram.outgoing.progress import Progress
from bot.telegram.outgoing.rate_limiter import Rank
from bot.telegram.outgoing.sender import Sender
from bot.telegram.view.entities import trim_text
from bot.telegram.view.keyboards import Markup
from bot.telegram.view.message_builder import (
    Attachment,
    Piece,
    RenderedMessage,
    ReportPicture,
    build_fallback_message,
    build_message,
    build_sent_file,
)
from orchestrator.domain.card_view import CardView
from orchestrator.domain.outputs import Notice, Toast
from orchestrator.workers.worker_process import WorkerFailed
from state.canonical import dumps, hash_text
from state.journal.async_store import AsyncStore
from state.journal.store import OutboxRow

log = logging.getLogger(__name__)

_RANKS = {"toast": Rank.TOAST, "card": Rank.CARD}
_TOAST, _ALERT = 200, 60
"""UTF-16 units: Telegram's maximum, and the length above which an answer is an alert window."""
_ACCESS_LOST = Notice(code="no-access-any-more")
_TURN = "turn:"
_PICTURE = "report.png"
_REMEMBERED = 4096
"""So many messages' content is remembered, to skip edits that change nothing."""


class Poster:
    """Posts one row at a time in a session, several in different ones."""

    def __init__(
        self, outlet: Sender, store: AsyncStore, parts: DeliveryState, people: ChatPeople, progress: Progress, pictures: PictureWorker
    ) -> None:
        """`parts` are the sent messages of unfinished rows."""
        self.pictures = pictures
        self._outlet = outlet
        self._for_anyone = outlet.build_unrestricted()
        self._store = store
        self._parts = parts
        self.people = people
        self._progress = progress
        self._shown_content: dict[tuple[int, int], str] = {}

    async def post(self, row: OutboxRow, card: CardView | None) -> str:
        """Return a reference to the message for edits, "" if there is none.

        Raises errors of aiogram, sender and rendering, and StoreError.
        """
        tr = self.people.build_translator(row.session)
        if row.kind == "toast":
            return await self._reply_to_click(row, tr)
        if row.kind == "sent":
            letter = await self._render_sent_file(row, tr)
        elif row.kind == "details":  # thousands of records take a moment
            letter = await asyncio.to_thread(_render_row, row, card, tr)
        else:
            letter = _render_row(row, card, tr)
        chat = parse_chat(row.session)[0]
        outlet = self._for_anyone if is_for_anyone(row, card) else self._outlet
        known = _find_editable(row.sent_ref, chat, self._outlet.find_current_chat(chat))
        if row.body.get("anew") and known:
            await self._remove_old_buttons(row, known, tr)
            known = 0
        stands_in = await self._progress.finish(row.session, row.key.removeprefix(_TURN)) if _is_turn_answer(row) else 0
        ref = await _Posting(self, outlet, row, letter).run(known, stands_in)
        self._progress.refresh(row.session)
        return _format_ref(ref, chat, self._outlet.find_current_chat(chat)) if ref else row.sent_ref

    async def _render_sent_file(self, row: OutboxRow, tr: Translator) -> RenderedMessage:
        """Raises LookupError if the content is gone."""
        blob = await self._store.load_blob(str(row.body["digest"]))
        if blob is None:
            raise LookupError("the content of a file is gone")
        return build_sent_file(row, blob, tr)

    async def _remove_old_buttons(self, row: OutboxRow, known: int, tr: Translator) -> None:
        """Only one message of a card may have buttons."""
        chat = parse_chat(row.session)[0]
        edit = EditMessageText(text=tr.translate("card-moved"), chat_id=chat, message_id=known, entities=[], parse_mode=None)
        self.discard_shown(chat, known)
        with contextlib.suppress(TelegramBadRequest):  # the old message was deleted or is edited already
            await self._outlet.send(edit, chat, Rank.CARD)

    async def _reply_to_click(self, row: OutboxRow, tr: Translator) -> str:
        chat = parse_chat(row.session)[0]
        toast = Toast.model_validate(row.body)
        notice = toast.notice if build_admission_check(self.people.access)(chat) else _ACCESS_LOST
        text = trim_text(tr.translate_notice(notice), _TOAST)
        answer = AnswerCallbackQuery(callback_query_id=toast.callback_id, text=text, show_alert=len(text) > _ALERT)
        with contextlib.suppress(TelegramBadRequest):  # too late to answer the click; the card shows the outcome
            await self._for_anyone.send(answer, chat, Rank.TOAST)
        return ""

    async def load_arrived(self, row: OutboxRow) -> list[int]:
        return await self._parts.load_arrived(row.session, row.id)

    async def record_arrived(self, row: OutboxRow, refs: list[int]) -> None:
        await self._parts.record_arrived(row.session, row.id, refs)

    def has_content(self, chat: int, message_id: int, content: str) -> bool:
        """Telegram refuses edits that change nothing."""
        return self._shown_content.get((self._outlet.find_current_chat(chat), message_id)) == content

    def discard_shown(self, chat: int, message_id: int) -> None:
        """The outcome of an edit may remain unknown."""
        self._shown_content.pop((self._outlet.find_current_chat(chat), message_id), None)

    def clear_shown(self) -> None:
        """Another process may have edited messages."""
        self._shown_content.clear()

    def record_shown(self, chat: int, message_id: int, content: str) -> None:
        place = self._outlet.find_current_chat(chat)
        self.discard_shown(chat, message_id)
        self._shown_content[place, message_id] = content
        if len(self._shown_content) > _REMEMBERED:
            del self._shown_content[next(iter(self._shown_content))]


class _Posting:
    def __init__(self, poster: Poster, outlet: Sender, row: OutboxRow, letter: RenderedMessage) -> None:
        self._poster = poster
        self._outlet = outlet
        self._row = row
        self._letter = letter
        self._chat, self._thread = parse_chat(row.session)
        self._rank = _RANKS.get(row.kind, Rank.FINAL)
        self._silent = True if row.body.get("quiet") else None

    async def run(self, known: int, stands_in: int) -> int:
        """Return the message with the buttons.

        `known` is that of an earlier row, `stands_in` the placeholder; 0 if none.
        """
        pieces, files = self._letter.pieces, self._letter.files
        if self._letter.picture is not None:
            return await self._post_report(self._letter.picture, known, stands_in)
        if not pieces and not files:
            await self._delete_placeholder(stands_in)
            return known
        if len(pieces) + len(files) == 1 and pieces:
            ref = known or stands_in
            return ref if ref and await self._edit_in_place(ref, pieces[0]) else await self._send_piece(pieces[0])
        if known and pieces and await self._edit_in_place(known, pieces[-1]):
            return known  # this message holds the last part of a long text, and its files are there already
        return await self._send_all(stands_in)

    async def _send_all(self, stands_in: int) -> int:
        """Skips what arrived before. Returns the last text part, or the last file."""
        pieces, files = self._letter.pieces, self._letter.files
        refs = await self._poster.load_arrived(self._row)
        for number in range(len(refs), len(pieces) + len(files)):
            if number >= len(pieces):
                ref = await self._send_file(files[number - len(pieces)])
            elif number == 0 and stands_in and await self._edit_in_place(stands_in, pieces[0]):
                ref = stands_in
            else:
                ref = await self._send_piece(pieces[number])
            refs.append(ref)
            if len(refs) < len(pieces) + len(files):
                await self._poster.record_arrived(self._row, refs)
        return refs[len(pieces) - 1] if pieces else refs[-1]

    async def _post_report(self, picture: ReportPicture, known: int, stands_in: int) -> int:
        """One message with its buttons, which the next version of the report replaces; the words before it are sent once."""
        svg = await asyncio.to_thread(picture.draw, self._poster.people.find_theme(self._row.session))
        content = _hash_content(picture.caption, self._letter.markup, svg)
        if known and self._poster.has_content(self._chat, known, content):
            return known
        png = await self._render_png(svg)
        if known:
            if png is not None and await self._replace_picture(known, png, picture.caption, content):
                return known
            await self._delete_placeholder(known)  # an old picture would contradict the new message
        else:
            await self._delete_placeholder(stands_in)
            refs = await self._poster.load_arrived(self._row)
            for piece in self._letter.pieces[len(refs) :]:
                refs.append(await self._send_text(piece, None))
                await self._poster.record_arrived(self._row, refs)
        ref = await self._send_picture(png, picture.caption) if png is not None else 0
        if ref:
            self._poster.record_shown(self._chat, ref, content)
            return ref
        for piece in picture.instead:
            ref = await self._send_text(piece, self._letter.markup if piece is picture.instead[-1] else None)
        return ref

    async def _render_png(self, svg: str) -> bytes | None:
        try:
            return await asyncio.to_thread(self._poster.pictures.render_png, svg)
        except WorkerFailed:
            log.warning("a report is sent without its picture", exc_info=True, extra={"action": "picture_failed", "row": self._row.id})
            return None

    async def _replace_picture(self, message_id: int, png: bytes, caption: Piece, content: str) -> bool:
        """False if edits are no longer allowed."""
        text, entities = caption
        media = InputMediaPhoto(media=BufferedInputFile(png, _PICTURE), caption=text, caption_entities=entities, parse_mode=None)
        self._poster.discard_shown(self._chat, message_id)
        edit = EditMessageMedia(chat_id=self._chat, message_id=message_id, media=media, reply_markup=self._inline_markup)
        try:
            await self._outlet.send(edit, self._chat, self._rank)
        except TelegramBadRequest as error:
            if "not modified" not in error.message:
                return False
        self._poster.record_shown(self._chat, message_id, content)
        return True

    async def _send_picture(self, png: bytes, caption: Piece) -> int:
        """0 if Telegram refuses it."""
        text, entities = caption
        photo = SendPhoto(
            photo=BufferedInputFile(png, _PICTURE),
            caption=text,
            caption_entities=entities,
            parse_mode=None,
            chat_id=self._chat,
            message_thread_id=self._thread,
            reply_markup=self._letter.markup,
            disable_notification=self._silent,
        )
        try:
            return (await self._outlet.send(photo, self._chat, self._rank)).message_id
        except TelegramBadRequest as error:
            log.warning("a picture is refused: %s", error.message, extra={"action": "picture_refused", "row": self._row.id})
            return 0

    @property
    def _inline_markup(self) -> InlineKeyboardMarkup | None:
        """An existing message accepts no other kind."""
        return self._letter.markup if isinstance(self._letter.markup, InlineKeyboardMarkup) else None

    def _select_markup(self, piece: Piece) -> Markup | None:
        return self._letter.markup if piece is self._letter.pieces[-1] else None

    async def _send_piece(self, piece: Piece) -> int:
        return await self._send_text(piece, self._select_markup(piece))

    async def _send_text(self, piece: Piece, markup: Markup | None) -> int:
        text, entities = piece
        message = SendMessage(
            chat_id=self._chat,
            text=text,
            entities=entities,
            parse_mode=None,
            message_thread_id=self._thread,
            reply_markup=markup,
            disable_notification=self._silent,
        )
        message_id = (await self._outlet.send(message, self._chat, self._rank)).message_id
        self._poster.record_shown(self._chat, message_id, _hash_content(piece, markup))
        return message_id

    async def _send_file(self, attachment: Attachment) -> int:
        content = BufferedInputFile(await asyncio.to_thread(attachment.build), filename=attachment.name)
        common: dict[str, Any] = {
            "chat_id": self._chat,
            "caption": attachment.caption or None,
            "parse_mode": None,
            "message_thread_id": self._thread,
            "disable_notification": self._silent,
        }
        if attachment.is_photo:
            with contextlib.suppress(TelegramBadRequest):  # what Telegram takes for no picture goes as a document
                return (await self._outlet.send(SendPhoto(photo=content, **common), self._chat, self._rank)).message_id
        return (await self._outlet.send(SendDocument(document=content, **common), self._chat, self._rank)).message_id

    async def _edit_in_place(self, message_id: int, piece: Piece) -> bool:
        """False if edits are no longer allowed."""
        text, entities = piece
        content = _hash_content(piece, self._select_markup(piece))
        if self._poster.has_content(self._chat, message_id, content):
            return True
        self._poster.discard_shown(self._chat, message_id)  # until Telegram confirms: an edit of unknown outcome may have been made
        edit = EditMessageText(
            text=text,
            chat_id=self._chat,
            message_id=message_id,
            entities=entities,
            parse_mode=None,
            reply_markup=self._inline_markup if piece is self._letter.pieces[-1] else None,
        )
        try:
            await self._outlet.send(edit, self._chat, self._rank)
        except TelegramBadRequest as error:
            if "not modified" not in error.message:
                return False
        self._poster.record_shown(self._chat, message_id, content)
        return True

    async def _delete_placeholder(self, message_id: int) -> None:
        """An empty answer cannot replace it."""
        if message_id:
            with contextlib.suppress(TelegramBadRequest):
                await self._outlet.send(DeleteMessage(chat_id=self._chat, message_id=message_id), self._chat, Rank.FINAL)


def _format_ref(message_id: int, chat: int, place: int) -> str:
    """ "57", or "57@<place>" in a group that became a supergroup: message ids begin anew there."""
    return str(message_id) if place == chat else f"{message_id}@{place}"


def _find_editable(ref: str, chat: int, place: int) -> int:
    """0 if it can no longer be edited."""
    number, _, where = ref.partition("@")
    return int(number) if number.isdecimal() and (where or str(chat)) == str(place) else 0


def _hash_content(piece: Piece, markup: Markup | None, svg: str = "") -> str:
    entities = [[entity.type, entity.offset, entity.length, entity.url] for entity in piece[1]]
    return hash_text(dumps([piece[0], entities, markup.model_dump_json(exclude_none=True) if markup else "", *([svg] if svg else [])]))


def _is_turn_answer(row: OutboxRow) -> bool:
    return row.kind == "reply" and row.key.startswith(_TURN)


def _render_row(row: OutboxRow, card: CardView | None, tr: Translator) -> RenderedMessage:
    """An answer that cannot be rendered becomes a notice; other rows raise."""
    try:
        return build_message(row, tr, card=card)
    except Exception:
        if row.kind != "reply":
            raise
        log.exception("an answer cannot be shown", extra={"action": "delivery_failed", "row": row.id})
        return build_fallback_message(row, tr)
