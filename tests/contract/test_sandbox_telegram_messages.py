"""The Telegram sandbox keeps the rules of chats: what may be sent, edited, pressed and answered, and what is refused how."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiogram.exceptions import TelegramBadRequest
from aiogram.methods import SendMessageDraft
from aiogram.types import BotCommand, BufferedInputFile, ForceReply, InputMediaPhoto, Message, ReactionTypeEmoji, ReplyParameters
from aiogram.utils.formatting import Bold, Text

from sandbox.telegram.images import draw_thumbnail
from tests.contract.sandbox_telegram_kit import BORIS, VERA, Kit, keyboard, opened

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)

_TEXT: dict[str, Any] = {"chat_id": BORIS, "text": "карточка"}
_SMALLEST_PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x07\x00\x00\x00\x05\x08\x06\x00\x00\x00"


def _buttons(**button: Any) -> dict[str, Any]:
    return {**_TEXT, "reply_markup": {"inline_keyboard": [[{"text": "Да", **button}]]}}


REFUSALS: list[tuple[str, dict[str, Any], str]] = [
    ("sendMessage", {"chat_id": 5, "text": "x"}, "chat not found"),
    ("sendMessage", {"text": "x"}, "chat_id is empty"),
    ("sendMessage", {"chat_id": BORIS, "text": "  \n "}, "message text is empty"),
    ("sendMessage", {"chat_id": BORIS, "text": "😀" * 2049}, "message is too long"),
    ("sendMessage", {**_TEXT, "text": "<b>x", "parse_mode": "HTML"}, 'corresponding to start tag "b"'),
    ("sendMessage", {**_TEXT, "text": "<div>x</div>", "parse_mode": "HTML"}, 'Unsupported start tag "div"'),
    ("sendMessage", {**_TEXT, "text": "*x*", "parse_mode": "MarkdownV2"}, "unsupported parse_mode"),
    ("sendMessage", {**_TEXT, "text": "😀", "entities": [{"type": "bold", "offset": 1, "length": 1}]}, "UTF-16 symbol"),
    ("sendMessage", {**_TEXT, "entities": [{"type": "bold", "offset": 3, "length": 9}]},
     "offset 3 ends after the end of the text at UTF-16 offset 12"),
    ("sendMessage", {**_TEXT, "entities": [{"type": "bold", "offset": 99, "length": 1}]},
     "begins after the end of the text at UTF-16 offset 99"),
    ("sendMessage", {**_TEXT, "reply_parameters": {"message_id": 99}}, "message to be replied not found"),
    ("sendMessage", _buttons(callback_data="я" * 33), "BUTTON_DATA_INVALID"),
    ("sendMessage", _buttons(callback_data=""), "BUTTON_DATA_INVALID"),
    ("sendMessage", _buttons(callback_data="1", style="loud"), "invalid button style"),
    ("sendMessage", _buttons(), "text buttons are unallowed"),
    ("sendMessage", {**_TEXT, "reply_markup": "{"}, "can't parse reply_markup JSON object"),
    ("editMessageText", {**_TEXT, "message_id": 99}, "message to edit not found"),
    ("deleteMessage", {**_TEXT, "message_id": 99}, "message to delete not found"),
    ("sendChatAction", {**_TEXT, "action": "sleeping"}, "wrong parameter action"),
    ("sendMessageDraft", {**_TEXT, "draft_id": 0}, "RANDOM_ID_INVALID"),
    ("setMyCommands", {"commands": [{"command": "Нет", "description": "x"}]}, "BOT_COMMAND_INVALID"),
    ("answerCallbackQuery", {"callback_query_id": "1"}, "query is too old and response timeout expired"),
    ("getFile", {"file_id": "x"}, "wrong file_id"),
    ("sendPhoto", {"chat_id": BORIS, "photo": "x"}, "wrong file identifier"),
]  # fmt: skip


async def test_what_telegram_refuses_is_refused_in_its_words(kit: Kit) -> None:
    """Each call of the table is a 400 with the Bot API's sentence, in JSON and as a form alike, and sends nothing."""
    for method, params, sentence in REFUSALS:
        answer = await kit.call(method, **params)
        assert (answer["ok"], answer["error_code"]) == (False, 400), (method, params)
        assert answer["description"].startswith("Bad Request: "), answer
        assert sentence in answer["description"], answer
    form = await kit.http.post("/bot1:sandbox/sendMessage", data={"chat_id": BORIS, "text": "x", "reply_markup": "["})
    assert form.status_code == 400
    assert await kit.seen() == []


async def test_a_message_is_sent_edited_and_deleted(tmp_path: Path) -> None:
    """Entities count in UTF-16, an identical edit is refused, an edit without buttons drops them, a deleted one is gone."""
    async with opened(tmp_path, lambda: NOW) as kit:
        asked = await kit.say("подними сумму")
        card = await kit.bot.send_message(
            BORIS,
            **Text("😀 ", Bold("Сделка")).as_kwargs(),
            reply_markup=keyboard([("✅ Выполнить", "1:a"), ("✖ Отклонить", "1:d")]),
            reply_parameters=ReplyParameters(message_id=asked["message_id"]),
        )
        with pytest.raises(TelegramBadRequest, match="message is not modified"):
            await card.edit_text(**Text("😀 ", Bold("Сделка")).as_kwargs(), reply_markup=card.reply_markup)
        shown = (await kit.seen())[-1]
        await kit.later(5)
        edited = await card.edit_text("готово")
        after = (await kit.seen())[-1]
        with pytest.raises(TelegramBadRequest, match="message can't be edited"):
            await kit.bot.edit_message_text("чужое", chat_id=BORIS, message_id=asked["message_id"])
        await card.delete()
        deleted = (await kit.seen())[-1]
        await kit.later(49 * 60 * 60)
        with pytest.raises(TelegramBadRequest, match="can't be deleted"):
            await kit.bot.delete_message(BORIS, asked["message_id"])

    assert (shown["entities"], shown["reply_to"]) == ([{"type": "bold", "offset": 3, "length": 6}], asked["message_id"])
    assert [[button["data"] for button in row] for row in shown["buttons"]] == [["1:a", "1:d"]]
    assert getattr(edited, "edit_date", None) is not None
    assert (after["text"], after["buttons"], after["edit_date"] - after["date"]) == ("готово", [], 5)
    assert (deleted["message_id"], deleted["deleted"]) == (card.message_id, True)


async def test_html_becomes_text_and_entities(kit: Kit) -> None:
    """Tags become entities, references become characters, and links and commands in plain text are found."""
    source = 'Сумма &lt; <b>5 <i>млн</i></b> <a href="https://e.ru/1">карта</a> <code>/x</code> /pending'
    sent = await kit.bot.send_message(BORIS, source, parse_mode="HTML")

    assert sent.text == "Сумма < 5 млн карта /x /pending"
    found = [(item.type, item.extract_from(sent.text or "")) for item in sent.entities or []]
    assert found == [("bold", "5 млн"), ("italic", "млн"), ("text_link", "карта"), ("code", "/x"), ("bot_command", "/pending")]


async def test_a_press_is_answered_once_and_in_time(kit: Kit) -> None:
    """The first answer counts, a second or a late one is "too old", 201 characters are too many."""
    card = await kit.bot.send_message(BORIS, "?", reply_markup=keyboard([("✅ Выполнить", "go")]))
    press = f"/sandbox/users/{BORIS}/press"
    first = (await kit.control(press, {"message_id": card.message_id, "text": "Выполнить"}))["callback_id"]
    late = (await kit.control(press, {"message_id": card.message_id, "data": "go"}))["callback_id"]
    query = (await kit.bot.get_updates())[0].callback_query
    with pytest.raises(TelegramBadRequest, match="MESSAGE_TOO_LONG"):
        await kit.bot.answer_callback_query(first, text="x" * 201)
    await kit.bot.answer_callback_query(first, text="Выполняю…", show_alert=True)
    with pytest.raises(TelegramBadRequest, match="query is too old"):
        await kit.bot.answer_callback_query(first)
    await kit.later(16)
    with pytest.raises(TelegramBadRequest, match="query is too old"):
        await kit.bot.answer_callback_query(late)
    answered = await kit.control(f"/sandbox/callbacks/{first}")
    unanswered = await kit.control(f"/sandbox/callbacks/{late}")

    assert query is not None
    assert query.message is not None
    assert (query.id, query.data, query.from_user.id, query.message.message_id) == (first, "go", BORIS, card.message_id)
    assert (answered["answer"]["text"], answered["answer"]["show_alert"]) == ("Выполняю…", True)
    assert (unanswered["answered"], unanswered["answer"]) == (False, None)


async def test_a_button_that_is_not_there_can_only_be_forged(kit: Kit) -> None:
    """A press of an absent button is a 400 with a sentence; `force` sends the forged data, even after a deletion."""
    card = await kit.bot.send_message(BORIS, "?", reply_markup=keyboard([("Да", "yes")]))
    absent = {"message_id": card.message_id, "data": "no"}
    refused = await kit.http.post(f"/sandbox/users/{BORIS}/press", json=absent)
    stranger = await kit.http.post(f"/sandbox/users/{VERA}/press", json={**absent, "chat_id": BORIS})
    await kit.control(f"/sandbox/users/{BORIS}/press", {**absent, "force": True})
    await card.delete()
    await kit.control(f"/sandbox/users/{BORIS}/press", {"message_id": card.message_id, "data": "yes", "force": True})
    forged = [update.callback_query for update in await kit.bot.get_updates()]

    assert (refused.status_code, "it has «Да»" in refused.json()["detail"]) == (400, True)
    assert (stranger.status_code, stranger.json()["detail"]) == (400, f"person {VERA} is not in chat {BORIS}")
    assert [query.data for query in forged if query] == ["no", "yes"]
    assert type(forged[1].message if forged[1] else None).__name__ == "InaccessibleMessage"


async def test_a_draft_lives_until_the_message_or_30_seconds(kit: Kit) -> None:
    """Drafts are for private chats, can be stopped if allowed, and vanish with the bot's next message or in time."""
    group = (await kit.control("/sandbox/chats", {"title": "Отдел", "members": [BORIS, VERA]}))["chat_id"]
    with pytest.raises(TelegramBadRequest, match="TEXTDRAFT_PEER_INVALID"):
        await kit.bot(SendMessageDraft(chat_id=group, draft_id=1, text="x"))
    await kit.bot(SendMessageDraft(chat_id=BORIS, draft_id=7, text="Ищу", can_stop=True))
    drafted = (await kit.seen())[-1]
    await kit.control(f"/sandbox/users/{BORIS}/stop", {})
    stopped = (await kit.bot.get_updates())[-1].stopped_message_generation
    await kit.bot.send_message(BORIS, "Нашёл")
    sent = await kit.seen()
    await kit.bot(SendMessageDraft(chat_id=BORIS, draft_id=8, text="Ещё"))
    await kit.later(31)
    faded = await kit.seen()

    assert (drafted["text"], drafted["draft"]) == ("Ищу", {"draft_id": 7, "can_stop": True})
    assert stopped is not None
    assert (stopped.draft_id, stopped.chat.id) == (7, BORIS)
    assert [message["text"] for message in sent] == [message["text"] for message in faded] == ["Нашёл"]


async def test_files_reactions_commands_and_force_reply(kit: Kit) -> None:
    """A document can be fetched back, a photo has its size, one reaction sits under a message, the menu is per language."""
    asked = (await kit.say("пришли отчёт"))["message_id"]
    sent = await kit.bot.send_document(BORIS, BufferedInputFile(b"a;b\n", "отчёт.csv"), caption="Готово")
    assert sent.document is not None
    file = await kit.bot.get_file(sent.document.file_id)
    content = await kit.bot.download_file(file.file_path or "")
    photo = await kit.bot.send_photo(BORIS, BufferedInputFile(_SMALLEST_PNG, "p.png"))
    with pytest.raises(TelegramBadRequest, match="IMAGE_PROCESS_FAILED"):
        await kit.bot.send_photo(BORIS, BufferedInputFile(b"not a picture", "p.png"))
    await kit.bot.set_message_reaction(BORIS, asked, [ReactionTypeEmoji(emoji="👀")])
    with pytest.raises(TelegramBadRequest, match="REACTION_INVALID"):
        await kit.bot.set_message_reaction(BORIS, asked, [ReactionTypeEmoji(emoji="✅")])
    await kit.bot.set_my_commands([BotCommand(command="today", description="Today")])
    await kit.bot.set_my_commands([BotCommand(command="today", description="Сегодня")], language_code="ru")
    menu = await kit.control(f"/sandbox/chats/{BORIS}/commands")
    english = await kit.bot.get_my_commands()
    await kit.bot.send_message(BORIS, "Сколько?", reply_markup=ForceReply(input_field_placeholder="Сумма"))
    seen = await kit.seen()

    assert content is not None
    assert (content.read(), sent.document.file_name, sent.caption) == (b"a;b\n", "отчёт.csv", "Готово")
    assert [(size.width, size.height) for size in photo.photo or []] == [(7, 5)]
    assert (seen[0]["reactions"], seen[-1]["force_reply"]) == (["👀"], {"placeholder": "Сумма"})
    assert menu["commands"] == [{"command": "today", "description": "Сегодня"}]
    assert [command.description for command in english] == ["Today"]


async def test_people_reply_forward_edit_and_paste(kit: Kit) -> None:
    """What people do arrives as a real client would send it; a paste above 4096 is cut into several messages."""
    card = await kit.bot.send_message(BORIS, "Одобрить?")
    yes = await kit.say("да", reply_to=card.message_id)
    await kit.say("мне переслали", forward_from=VERA)
    await kit.say("и это", forward_from="Кто-то", via_bot="gif")
    await kit.control(f"/sandbox/users/{BORIS}/edit", {"message_id": yes["message_id"], "text": "нет"})
    pasted = await kit.say("слово " * 1500)
    updates = await kit.bot.get_updates()
    wrong = await kit.http.post(f"/sandbox/users/{BORIS}/send", json={"text": "x", "chat": 1})

    messages = [update.message for update in updates if update.message]
    assert messages[0].reply_to_message is not None
    assert messages[0].reply_to_message.message_id == card.message_id
    origins = [message.forward_origin for message in messages[1:3]]
    assert [origin.type for origin in origins if origin] == ["user", "hidden_user"]
    assert messages[2].via_bot is not None
    edited = next(update.edited_message for update in updates if update.edited_message)
    assert (edited.message_id, edited.text) == (yes["message_id"], "нет")
    assert [message.message_id for message in messages[3:]] == pasted["message_ids"]
    assert all(len(message.text or "") <= 4096 for message in messages)
    assert (wrong.status_code, wrong.json()["detail"]) == (400, "chat: Extra inputs are not permitted")


async def test_a_group_hears_its_members_only(kit: Kit) -> None:
    """Members write and press in a group, others are refused, and the bot sees who it was."""
    group = (await kit.control("/sandbox/chats", {"title": "Отдел", "members": [BORIS, VERA]}))["chat_id"]
    card = await kit.bot.send_message(group, "?", reply_markup=keyboard([("Да", "y")]))
    await kit.control(f"/sandbox/users/{VERA}/press", {"message_id": card.message_id, "data": "y", "chat_id": group})
    outsider = await kit.http.post("/sandbox/users/1999/send", json={"text": "x", "chat_id": group})
    query = (await kit.bot.get_updates())[0].callback_query

    assert group < 0
    assert outsider.status_code == 400
    assert query is not None
    assert (query.from_user.id, query.message.chat.id if query.message else 0) == (VERA, group)


async def test_the_stream_tells_what_happens_in_a_chat(tmp_path: Path) -> None:
    """Server-sent events carry new and edited messages and typing of the watched chat, and of no other."""
    async with opened(tmp_path) as kit, kit.http.stream("GET", f"/sandbox/chats/{BORIS}/stream") as stream:
        lines = stream.aiter_lines()
        assert await anext(lines) == ": ready"
        async with httpx.AsyncClient(base_url=kit.http.base_url, trust_env=False) as other:
            await other.post("/bot1:sandbox/sendMessage", json={"chat_id": VERA, "text": "не сюда"})
            await other.post("/bot1:sandbox/sendChatAction", json={"chat_id": BORIS, "action": "typing"})
            await other.post("/bot1:sandbox/sendMessage", json={"chat_id": BORIS, "text": "сюда"})
        told = [line async for line in _first(lines, 2)]

    assert '"kind":"action"' in told[0]
    assert '"text":"сюда"' in told[1]


async def _first(lines: Any, count: int) -> Any:
    async for line in lines:
        if line.startswith("data: "):
            yield line
            count -= 1
        if not count:
            return


async def test_a_photo_is_edited_in_place_with_caption_and_buttons(kit: Kit) -> None:
    """Media may be replaced, a text may become a photo; captions count in UTF-16 units, and photos have their limits."""
    first = BufferedInputFile(draw_thumbnail(900, 1100, mark="1"), "1.png")
    photo = await kit.bot.send_photo(BORIS, first, caption="раз", reply_markup=keyboard([("Дальше", "a1:x")]))
    second = InputMediaPhoto(media=BufferedInputFile(draw_thumbnail(900, 400, mark="2"), "2.png"), caption="два", parse_mode=None)
    edited = await kit.bot.edit_message_media(
        second, chat_id=BORIS, message_id=photo.message_id, reply_markup=keyboard([("Назад", "a1:y")])
    )
    assert isinstance(edited, Message)
    assert (edited.caption, (edited.photo or [])[-1].height) == ("два", 400)
    text = await kit.bot.send_message(BORIS, "нет картинки")
    shown = await kit.bot.edit_message_media(second, chat_id=BORIS, message_id=text.message_id)
    assert isinstance(shown, Message)
    assert (shown.text, shown.caption) == (None, "два")
    seen = await kit.seen()
    assert [(message["text"], [[button["data"] for button in row] for row in message["buttons"]]) for message in seen] == [
        ("два", [["a1:y"]]), ("два", []),
    ]  # fmt: skip
    for media, sentence in (
        (InputMediaPhoto(media=BufferedInputFile(b"no picture", "3.png")), "IMAGE_PROCESS_FAILED"),
        (InputMediaPhoto(media=BufferedInputFile(draw_thumbnail(9000, 1001, mark="4"), "4.png")), "PHOTO_INVALID_DIMENSIONS"),
        (InputMediaPhoto(media=BufferedInputFile(draw_thumbnail(9, 200, mark="5"), "5.png")), "PHOTO_INVALID_DIMENSIONS"),
        (InputMediaPhoto(media=first, caption="😀" * 513, parse_mode=None), "caption is too long"),
    ):
        with pytest.raises(TelegramBadRequest, match=sentence):
            await kit.bot.edit_message_media(media, chat_id=BORIS, message_id=photo.message_id)
    again = InputMediaPhoto(media=(edited.photo or [])[-1].file_id, caption="два", parse_mode=None)
    with pytest.raises(TelegramBadRequest, match="not modified"):
        await kit.bot.edit_message_media(again, chat_id=BORIS, message_id=photo.message_id, reply_markup=keyboard([("Назад", "a1:y")]))
