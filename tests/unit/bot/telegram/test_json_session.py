"""Calls to the Bot API over a real connection: what a call says is the same as in aiogram's own form."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiogram import Bot
from aiogram.client.default import DefaultBotProperties
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.methods import AnswerCallbackQuery, EditMessageText, SendDocument, SendMessage, SendMessageDraft, TelegramMethod
from aiogram.types import BufferedInputFile, InlineKeyboardButton, InlineKeyboardMarkup, MessageEntity, ReplyParameters
from aiohttp import web

from bot.telegram.door import build_bot
from bot.telegram.json_session import JsonSession
from tests.unit.bot.telegram.door_kit import TOKEN, raw_message

_KEYS = InlineKeyboardMarkup(inline_keyboard=[[InlineKeyboardButton(text="Да", callback_data="c1:x")]])
_BOLD = MessageEntity(type="bold", offset=0, length=2)
_CALLS: dict[str, TelegramMethod[Any]] = {
    "message": SendMessage(chat_id=7, text="Да & «нет» 😀 + 1", entities=[_BOLD], parse_mode=None, reply_markup=_KEYS, disable_notification=True),
    "loud": SendMessage(chat_id=-7, text="x", message_thread_id=0, disable_notification=False, entities=[]),
    "reply": SendMessage(chat_id=7, text="x", reply_parameters=ReplyParameters(message_id=5, allow_sending_without_reply=True)),
    "edit": EditMessageText(chat_id=7, message_id=5, text="x", entities=[], parse_mode=None),
    "draft": SendMessageDraft(chat_id=7, draft_id=9, text="", can_stop=True),
    "click": AnswerCallbackQuery(callback_query_id="cb1", text=None, show_alert=False),
    "file": SendDocument(chat_id=7, document=BufferedInputFile(b"\x00\xff", filename="a.bin"), caption="Файл"),
    "quote": SendMessage(chat_id=7, text="x", reply_markup=_KEYS, reply_parameters=ReplyParameters(message_id=1, quote="y")),
}  # fmt: skip


@asynccontextmanager
async def _server() -> AsyncIterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    """A Bot API that notes (content type, fields) of each call; fields of JSON text and of plain JSON read the same."""
    seen: list[tuple[str, dict[str, Any]]] = []

    async def take(request: web.Request) -> web.Response:
        if request.content_type == "application/json":
            given = await request.json()
        else:
            given = {name: _readable(value) for name, value in (await request.post()).items()}
        seen.append((request.content_type, given))
        made = raw_message("да", sender=None, chat=7) if "Message" in request.path or "Document" in request.path else True
        return web.json_response({"ok": True, "result": True if "Draft" in request.path else made})

    app = web.Application()
    app.router.add_post("/{rest:.*}", take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", seen
    finally:
        await runner.cleanup()


def _readable(value: Any) -> Any:
    if isinstance(value, web.FileField):
        return (value.filename, value.file.read())
    try:
        return json.loads(value)
    except ValueError:
        return value


@pytest.mark.parametrize("name", _CALLS)
async def test_a_call_says_the_same_as_a_form(name: str) -> None:
    """Fields that are not set are left out, the bot's settings stand where a call says nothing, a file goes as a file."""
    async with _server() as (address, seen):
        ours = build_bot(TOKEN, address)
        form = AiohttpSession(api=TelegramAPIServer.from_base(address))
        theirs = Bot(TOKEN, session=form, default=DefaultBotProperties(link_preview_is_disabled=True))
        try:
            await ours(_CALLS[name])
            await theirs(_CALLS[name])
        finally:
            await ours.session.close()
            await theirs.session.close()
    (kind, mine), (_, plain) = seen
    files = {key: value for key, value in plain.items() if isinstance(value, tuple)}
    assert [value for value in mine.values() if isinstance(value, tuple)] == list(files.values())
    settled = {key: value for key, value in mine.items() if not isinstance(value, tuple) and key != "document"}
    assert settled == {key: value for key, value in plain.items() if key not in files and key != "document"}
    assert (kind == "application/json") == (name not in {"file", "reply", "quote"}), "settings inside of a value are left to aiogram"


async def test_text_that_is_no_unicode_is_refused_before_it_is_sent() -> None:
    """Half of a character reaches nobody; aiogram's form says so, too."""
    async with _server() as (address, seen):
        bot = Bot(TOKEN, session=JsonSession(TelegramAPIServer.from_base(address)))
        with pytest.raises(UnicodeEncodeError):
            await bot(SendMessage(chat_id=7, text="\ud83d"))
        await bot.session.close()
    assert seen == []
