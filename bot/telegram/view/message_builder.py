"""Builds the messages for an outbox row: text parts, buttons and files. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from aiogram.types import MessageEntity

from bot.i18n.translate import Translator
from bot.rendering.batches import build_batch_sheet
from bot.rendering.defang_links import disable_message_links
from bot.rendering.files import build_sheet, render_xlsx
from bot.rendering.kinds import render_message
from bot.rendering.pictures.drawing import draw_svg, has_picture
from bot.rendering.pictures.palette import ThemeName
from bot.rendering.replies import render_reply
from bot.rendering.report_caption import build_caption, render_report_text
from bot.rendering.report_file import render_report_xlsx
from bot.rendering.sheet_file import render_sheet_xlsx
from bot.rendering.spans import Spans, to_plain_text
from bot.rendering.tables import MAX_ROWS
from bot.telegram.outgoing.delivery_state import parse_chat
from bot.telegram.view.entities import LIMIT, is_blank, render_entities, split_entities, trim_text
from bot.telegram.view.keyboards import Markup, build_card_keyboard, build_keyboard, build_reply_keyboard, build_report_keyboard
from orchestrator.domain.card_view import BULK_VERB, CardView, count_units
from orchestrator.domain.outputs import FIRST_ROWS, Notice, Reply, ReportPart, SentFile, SheetPart, Table, build_reply
from state.journal.blobs import unpack_file
from state.journal.store import OutboxRow

MOST_PIECES = 3
"""Of a longer text the beginning is sent, and all of it as a file."""
CAPTION = 1024
"""UTF-16 units."""

Piece = tuple[str, list[MessageEntity]]


@dataclass(frozen=True, kw_only=True)
class Attachment:
    """Call `build` in a thread: it takes some time."""

    name: str
    caption: str
    build: Callable[[], bytes]
    is_photo: bool = False


@dataclass(frozen=True, kw_only=True)
class ReportPicture:
    """Call `draw` in a thread. `instead` is sent where there can be no picture."""

    draw: Callable[[ThemeName], str]
    caption: Piece
    instead: tuple[Piece, ...]


@dataclass(frozen=True, kw_only=True)
class RenderedMessage:
    """The buttons are under the picture, without one under the last text part."""

    pieces: tuple[Piece, ...]
    markup: Markup | None = None
    files: tuple[Attachment, ...] = ()
    picture: ReportPicture | None = None


def build_message(row: OutboxRow, tr: Translator, *, card: CardView | None = None) -> RenderedMessage:
    """Raises ValidationError if the body does not fit the kind."""
    safe = disable_message_links(row.kind, row.body, locale=tr.locale)  # for the text only: buttons and files keep the original values
    match row.kind:
        case "card":
            pieces = _split_text(render_message(row.kind, safe, tr))
            view = card or CardView.from_body(row.body)
            view = replace(view, topic=topic) if (topic := _find_topic(row)) else view
            comes_later = view.opened or view.preview.verb == BULK_VERB  # a card of many records holds some of them
            return RenderedMessage(
                pieces=pieces, markup=build_card_keyboard(view, tr), files=() if comes_later else _attach_batch_sheet(view, tr)
            )
        case "reply":
            reply = Reply.model_validate(row.body)
            letter = _build_reply(reply, reply if safe == row.body else Reply.model_validate(safe), tr)
            has_content = reply.parts or reply.sections or reply.notices
            is_blank_letter = not letter.pieces and not letter.files and letter.picture is None
            return build_fallback_message(row, tr) if has_content and is_blank_letter else letter
        case kind:
            files = _attach_records(row, tr) if kind == "details" else ()
            return _build_trimmed(render_message(kind, safe, tr), build_keyboard(kind, row.body, tr), files, tr)


def build_sent_file(row: OutboxRow, blob: str, tr: Translator) -> RenderedMessage:
    """`blob` holds the content."""
    file = SentFile.model_validate(row.body)
    safe = SentFile.model_validate(disable_message_links(row.kind, row.body, locale=tr.locale))
    caption = trim_text(safe.caption, CAPTION)
    sent = Attachment(name=file.name, caption=caption, build=lambda: unpack_file(blob), is_photo=file.kind == "photo")
    return RenderedMessage(pieces=(), files=(sent,))


def build_fallback_message(row: OutboxRow, tr: Translator) -> RenderedMessage:
    """The person must get some answer: the request may have changed data."""
    reply = build_reply(Notice(code="answer-unshown", args={"id": row.id[-8:]}))
    return RenderedMessage(pieces=_split_text(render_reply(reply, tr)))


def _find_topic(row: OutboxRow) -> str:
    """A card outside its closed topic must still name its session."""
    chat, thread = parse_chat(row.session)
    return row.session if thread and chat < 0 else ""


def _attach_records(row: OutboxRow, tr: Translator) -> tuple[Attachment, ...]:
    """Every record of a change of many: the file is what its card stands for."""
    view = CardView.from_body(row.body)
    return _attach_batch_sheet(view, tr) if view.preview.verb == BULK_VERB else ()


def _attach_batch_sheet(view: CardView, tr: Translator) -> tuple[Attachment, ...]:
    """Empty if the card lists the commands."""
    sheet = build_batch_sheet(view, tr)
    if sheet is None:
        return ()
    name = tr.translate("card-file")
    return (
        Attachment(
            name=f"{_build_file_name(name)}.xlsx", caption=tr.translate("card-file-caption"), build=lambda: render_xlsx(sheet, name=name)
        ),
    )


def _build_reply(reply: Reply, safe: Reply, tr: Translator) -> RenderedMessage:
    """`safe` has links of others disabled; buttons, files and pictures come from `reply`."""
    if len(reports := [part for part in reply.parts if isinstance(part, ReportPart)]) == 1:
        return _build_report(reports[0], reply, safe, tr)
    if sheet := next((part for part in reply.parts if isinstance(part, SheetPart)), None):
        return RenderedMessage(pieces=(), files=(_attach_sheet(sheet, tr),))
    tables = [(tr.translate("file-list"), part) for part in reply.parts if isinstance(part, Table)]
    tables += [(tr.translate_notice(title), table) for title, table in reply.sections]
    files = tuple(_attach_table(title, table, tr) for title, table in tables if len(table.rows) > MAX_ROWS)
    return _build_trimmed(render_reply(safe, tr, first=FIRST_ROWS), build_reply_keyboard(reply, tr), files, tr)


def _build_report(part: ReportPart, reply: Reply, safe: Reply, tr: Translator) -> RenderedMessage:
    """The words of the reply stand over the caption if they have room there, or before the picture."""
    if part.is_file:
        name = f"{_build_file_name(part.answer.title)}.xlsx"
        sheet = Attachment(name=name, caption=part.answer.as_of[:CAPTION], build=lambda: render_report_xlsx(part.answer, tr))
        return RenderedMessage(pieces=(), files=(sheet,))
    markup = build_report_keyboard(part, reply, tr)
    safe_answer = next(other.answer for other in safe.parts if isinstance(other, ReportPart))
    if part.is_text or not has_picture(part.answer):
        return _build_trimmed(render_reply(safe, tr, first=FIRST_ROWS), markup, (), tr)
    words = render_reply(safe.model_copy(update={"parts": tuple(other for other in safe.parts if not isinstance(other, ReportPart))}), tr)
    pieces: tuple[Piece, ...] = ()
    try:
        caption = build_caption(safe_answer, tr, before=words)
    except ValueError:
        caption, pieces = build_caption(safe_answer, tr), _split_text(words)
    instead = _split_text(render_report_text(safe_answer, tr))
    picture = ReportPicture(draw=lambda theme: draw_svg(part.answer, tr, theme=theme), caption=render_entities(caption), instead=instead)
    return RenderedMessage(pieces=pieces, markup=markup, picture=picture)


def _build_trimmed(text: Spans, markup: Markup | None, files: Sequence[Attachment], tr: Translator) -> RenderedMessage:
    pieces = _split_text(text)
    if len(pieces) <= MOST_PIECES:
        return RenderedMessage(pieces=pieces, markup=markup, files=tuple(files))
    words = to_plain_text(text)
    whole = Attachment(name=f"{tr.translate('file-text')}.txt", caption="", build=lambda: words.encode("utf-8-sig"))
    return RenderedMessage(pieces=(_build_beginning(text, tr.translate("text-in-file")),), markup=markup, files=(whole, *files))


def _build_beginning(text: Spans, closing: str) -> Piece:
    head, marks = split_entities(*render_entities(text), limit=LIMIT - count_units(closing) - 1)[0]
    message_entity = MessageEntity(type="bold", offset=count_units(head) + 1, length=count_units(closing))
    return f"{head}\n{closing}", [*marks, message_entity]


def _split_text(text: Spans) -> tuple[Piece, ...]:
    """Telegram refuses blank messages."""
    return tuple(piece for piece in split_entities(*render_entities(text)) if not is_blank(piece[0]))


def _attach_table(title: str, table: Table, tr: Translator) -> Attachment:
    rows = len(table.rows)
    caption = (
        tr.translate("file-has-all", rows=rows) if rows >= table.total else tr.translate("file-has-part", rows=rows, total=table.total)
    )
    sheet = build_sheet(table, heading=tr.translate("file-record"))
    return Attachment(name=f"{_build_file_name(title)}.xlsx", caption=caption, build=lambda: render_xlsx(sheet, name=title))


def _attach_sheet(sheet: SheetPart, tr: Translator) -> Attachment:
    rows = len(sheet.rows)
    caption = "" if rows >= sheet.total else tr.translate("file-has-part", rows=rows, total=sheet.total)
    name = f"{_build_file_name(tr.translate('file-list'))}.xlsx"
    return Attachment(name=name, caption=caption, build=lambda: render_sheet_xlsx(sheet, tr))


def _build_file_name(words: str) -> str:
    """60 safe characters, "list" if nothing is left."""
    safe = "".join(mark if mark.isalnum() or mark in " -_.,№«»" else " " for mark in words)
    return " ".join(safe.split())[:60].strip(". ") or "list"
