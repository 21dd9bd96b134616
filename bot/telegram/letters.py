"""An outbox row as what Telegram is to show: pieces of text, buttons, files. Ring 3, pure; the same renderer for first showing and edit."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aiogram.types import MessageEntity

from bot.i18n.translate import Translator, as_notice
from bot.rendering.batches import batch_sheet
from bot.rendering.files import Sheet, csv_text, sheet_of, xlsx
from bot.rendering.kinds import text_of
from bot.rendering.replies import MAX_ROWS, reply_text
from bot.rendering.spans import Spans, plain
from bot.rendering.untappable import untappable
from bot.telegram.entities import render
from bot.telegram.keyboards import Markup, keyboard_of, reply_keyboard
from bot.telegram.parts import chat_of
from bot.telegram.splitting import LIMIT, cut, is_blank, split, units
from orchestrator.messages import Notice, Reply, Table, say
from state.store import OutboxRow

MOST_PIECES = 3
"""A text that needs more messages goes as its beginning and a file."""
FIRST = 10
"""Rows that are shown of a list that is too long for a message and comes as a file."""

CAPTION = 1024
"""UTF-16 units that Telegram takes under a file."""

Piece = tuple[str, list[MessageEntity]]


@dataclass(frozen=True, kw_only=True)
class Attachment:
    """A file; `made` builds it, which takes its time and belongs into a thread."""

    name: str
    caption: str
    made: Callable[[], bytes]


@dataclass(frozen=True, kw_only=True)
class Letter:
    """What one row shows, in this order; the buttons stand under the last piece of text."""

    pieces: tuple[Piece, ...]
    markup: Markup | None = None
    files: tuple[Attachment, ...] = ()


def letter_of(row: OutboxRow, tr: Translator) -> Letter:
    """The row in the words of its reader; raises where its body is not what its kind says."""
    safe = untappable(row.kind, row.body, locale=tr.locale)  # for the words only: buttons and files carry what is
    match row.kind:
        case "card":
            pieces = _pieces(text_of(row.kind, safe, tr))
            return Letter(pieces=pieces, markup=keyboard_of(row.kind, _placed(row), tr), files=_of_batch(row, tr))
        case "file":
            return Letter(pieces=(), files=(_file(row, tr),))
        case "reply":
            reply = Reply.model_validate(row.body)
            letter = _reply(reply, Reply.model_validate(safe), tr)
            said = reply.parts or reply.sections or reply.notices
            return excuse(row, tr) if said and not letter.pieces and not letter.files else letter
        case kind:
            return _shortened(text_of(kind, safe, tr), keyboard_of(kind, row.body, tr), (), tr)


def excuse(row: OutboxRow, tr: Translator) -> Letter:
    """What is said in place of an answer that cannot be shown: a turn never ends in silence. It may have changed something all the same."""
    said = say(Notice(code="answer-unshown", args={"id": row.id[-8:]}))
    return Letter(pieces=_pieces(reply_text(said, tr)))


def _placed(row: OutboxRow) -> Mapping[str, Any]:
    """With the topic it belongs to: when that is closed the card stands outside of it, and its buttons must still find their way."""
    chat, thread = chat_of(row.session)
    return {**row.body, "topic": row.session} if thread and chat < 0 else row.body


def _of_batch(row: OutboxRow, tr: Translator) -> tuple[Attachment, ...]:
    """Everything that a batch of many commands will write, as a list."""
    sheet = batch_sheet(row.body, tr)
    if sheet is None:
        return ()
    name = tr.say("card-file")
    return (Attachment(name=f"{_file_name(name)}.xlsx", caption=tr.say("card-file-caption"), made=lambda: xlsx(sheet, name=name)),)


def _reply(reply: Reply, safe: Reply, tr: Translator) -> Letter:
    """`safe` is the reply as its words are drawn."""
    tables = [(tr.say("file-list"), part) for part in reply.parts if isinstance(part, Table)]
    tables += [(tr.notice(title), table) for title, table in reply.sections]
    files = tuple(_listed(title, table, tr) for title, table in tables if len(table.rows) > MAX_ROWS)
    return _shortened(reply_text(safe, tr, first=FIRST), reply_keyboard(reply, tr), files, tr)


def _shortened(text: Spans, markup: Markup | None, files: Sequence[Attachment], tr: Translator) -> Letter:
    """As many messages as people read; of a longer text the beginning, and all of it as a file."""
    pieces = _pieces(text)
    if len(pieces) <= MOST_PIECES:
        return Letter(pieces=pieces, markup=markup, files=tuple(files))
    words = plain(text)
    whole = Attachment(name=f"{tr.say('file-text')}.txt", caption="", made=lambda: words.encode("utf-8-sig"))
    return Letter(pieces=(_beginning(text, tr.say("text-in-file")),), markup=markup, files=(whole, *files))


def _beginning(text: Spans, closing: str) -> Piece:
    """One message: as much of the text as there is room for, and a line that says where the rest is."""
    head, marks = split(*render(text), limit=LIMIT - units(closing) - 1)[0]
    said = MessageEntity(type="bold", offset=units(head) + 1, length=units(closing))
    return f"{head}\n{closing}", [*marks, said]


def _pieces(text: Spans) -> tuple[Piece, ...]:
    """None of them blank: Telegram refuses a message without a visible character."""
    return tuple(piece for piece in split(*render(text)) if not is_blank(piece[0]))


def _listed(title: str, table: Table, tr: Translator) -> Attachment:
    rows = len(table.rows)
    caption = tr.say("file-has-all", rows=rows) if rows >= table.total else tr.say("file-has-part", rows=rows, total=table.total)
    sheet = sheet_of(table, heading=tr.say("file-record"))
    return Attachment(name=f"{_file_name(title)}.xlsx", caption=caption, made=lambda: xlsx(sheet, name=title))


def _file(row: OutboxRow, tr: Translator) -> Attachment:
    """A row of kind "file": {name, format, columns, rows, links, caption}."""
    body = row.body
    links = tuple(str(link) for link in body.get("links") or ())
    sheet = Sheet(columns=tuple(body["columns"]), rows=tuple(tuple(cells) for cells in body["rows"]), links=links)
    name = str(body.get("name") or tr.say("file-list"))
    caption = cut(tr.notice(as_notice(body["caption"])), CAPTION) if body.get("caption") else ""
    if body.get("format") == "csv":
        return Attachment(name=f"{_file_name(name)}.csv", caption=caption, made=lambda: csv_text(sheet))
    return Attachment(name=f"{_file_name(name)}.xlsx", caption=caption, made=lambda: xlsx(sheet, name=name))


def _file_name(words: str) -> str:
    """Without what a file system keeps for itself."""
    kept = "".join(mark if mark.isalnum() or mark in " -_.,№«»" else " " for mark in words)
    return " ".join(kept.split())[:60].strip(". ") or "list"
