"""People of the Telegram sandbox send what people send: voice, files, forwards with a comment, quotes, quick messages, Stop."""

import base64
import io
from pathlib import Path
from typing import Any

import pytest
from aiogram.exceptions import TelegramBadRequest
from aiogram.methods import SendMessageDraft
from aiogram.types import MessageOriginChannel, MessageOriginChat, MessageOriginHiddenUser, MessageOriginUser

from sandbox.telegram.speech import words_of
from tests.contract.sandbox_telegram_kit import BORIS, VERA, Kit, opened

_PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x07\x00\x00\x00\x05\x08\x06\x00\x00\x00"
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("voice", {}, "one of the three"),
    ("voice", {"sample": "aria"}, "there is no sample 'aria'; there are my_deals"),
    ("voice", {"base64": "?"}, "base64: this is none"),
    ("document", {"file_name": "a.txt"}, "one of the two"),
    ("photo", {"file_name": "a.png", "text": "no picture"}, "a.png is no PNG or JPEG"),
    ("contact", {}, "one of the two"),
    ("contact", {"of": VERA, "phone_number": "1"}, "one of the two"),
    ("contact", {"phone_number": "+7 900 123-45-67"}, "has a name"),
    ("forward", {"texts": ["x"]}, "comes from somebody"),
    ("send", {"text": "x", "reply_to": 77}, "has no message 77"),
    ("send", {"text": "x", "thread": 5}, "has no topic 5"),
    ("send", {"text": "x", "as_chat": "anonymous_admin"}, "knows only the person"),
    ("press", {"message_id": 1, "text": "x"}, "has no message 1"),
    ("stop", {}, "no draft to stop"),
    ("standing", {"state": "kicked"}, "cannot put the bot into the state 'kicked'"),
]


async def test_what_no_client_would_do_is_refused_in_a_sentence(kit: Kit) -> None:
    """Each row is a 400 that says what is wrong, and the bot hears nothing of it."""
    for action, body, sentence in REFUSED:
        answer = await kit.http.post(f"/sandbox/users/{BORIS}/{action}", json=body)
        assert answer.status_code == 400, (action, body, answer.text)
        assert sentence in answer.json()["detail"], answer.text
    assert await kit.bot.get_updates() == []


async def test_a_voice_message_can_be_fetched_and_holds_what_was_said(kit: Kit) -> None:
    """Words and named samples become Ogg Opus files, a recording stays as it is; getFile gives them back, seconds are told."""
    await _does(kit, "voice", words="подними сумму Ромашки")
    await _does(kit, "voice", sample="remind", seconds=3)
    recorded = await _does(kit, "voice", base64=base64.b64encode(b"OggS of a phone").decode(), forward_from=VERA)
    voices = [update.message.voice for update in await kit.bot.get_updates() if update.message and update.message.voice]
    contents = [(await kit.bot.download(voice, io.BytesIO()) or io.BytesIO()).read() for voice in voices]
    shown = await kit.seen()

    assert [words_of(content) for content in contents] == ["подними сумму Ромашки", "напомни в пятницу в 11 позвонить в Ромашку", None]
    assert [content[:4] for content in contents] == [b"OggS"] * 3
    assert [voice.mime_type for voice in voices] == ["audio/ogg"] * 3
    assert (voices[1].duration, voices[2].file_id) == (3, recorded["file_id"])
    assert (shown[2]["voice"]["file_size"], shown[2]["forward_origin"]["type"]) == (15, "user")


async def test_documents_and_pictures_come_with_their_captions(tmp_path: Path) -> None:
    """A person's file keeps name, type, bytes and caption; a picture has its size; a caption can be edited; above the limit none is given."""
    async with opened(tmp_path, download_limit=1_000) as kit:
        sent = await _does(kit, "document", file_name="Прайс.csv", mime="text/csv", text="a;b", caption="заведи по списку")
        await _does(kit, "photo", file_name="визитка.png", mime="image/png", base64=base64.b64encode(_PNG).decode())
        await _does(kit, "edit", message_id=sent["message_id"], text="не надо")
        big = await _does(kit, "document", file_name="big.bin", text="x" * 1_001)
        updates = await kit.bot.get_updates()
        given = updates[0].message
        assert given is not None
        assert given.document is not None
        content = await kit.bot.download(given.document, io.BytesIO())
        with pytest.raises(TelegramBadRequest, match="file is too big"):
            await kit.bot.get_file(big["file_id"])

    assert content is not None
    assert (content.read(), given.document.file_name, given.document.mime_type, given.caption) == (
        b"a;b",
        "Прайс.csv",
        "text/csv",
        "заведи по списку",
    )
    picture = updates[1].message
    assert picture is not None
    assert [(size.width, size.height) for size in picture.photo or []] == [(7, 5)]
    assert (updates[2].edited_message and updates[2].edited_message.caption) == "не надо"


ORIGINS: list[tuple[dict[str, Any], type[Any]]] = [
    ({"forward_from": VERA}, MessageOriginUser),
    ({"forward_from": "Пётр из Ромашки"}, MessageOriginHiddenUser),
    ({"origin": {"kind": "user", "id": 5_550_001, "name": "Пётр"}}, MessageOriginUser),
    ({"origin": {"kind": "channel", "name": "Новости рынка", "id": -1007, "date": 1_700_000_000}}, MessageOriginChannel),
    ({"origin": {"kind": "chat", "name": "Отдел закупок"}}, MessageOriginChat),
]


async def test_a_forward_and_its_comment_arrive_together(kit: Kit) -> None:
    """Every kind of origin is readable; the comment is nobody else's, stands first as clients send it or last, and ids are in order."""
    for origin, kind in ORIGINS:
        said = await _does(
            kit, "forward", texts=["Нужны 3 насоса", "Звоните: +7 900 123-45-67, p.ivanov@vector.ru"], comment="заведи лид", **origin
        )
        updates = await kit.bot.get_updates()
        await kit.bot.get_updates(offset=said["update_id"] + 1)
        messages = [update.message for update in updates if update.message]
        assert [message.text for message in messages] == ["заведи лид", "Нужны 3 насоса", "Звоните: +7 900 123-45-67, p.ivanov@vector.ru"]
        assert [entity.type for entity in messages[2].entities or []] == ["phone_number", "email"]
        assert [type(message.forward_origin) for message in messages] == [type(None), kind, kind]
        assert [update.update_id for update in updates] == said["update_ids"]
    last = await _does(kit, "forward", texts=["x"], forward_from=VERA, comment="y", comment_first=False)
    texts = [message["text"] for message in (await kit.seen())[-2:]]

    assert texts == ["x", "y"]
    assert last["message_id"] == last["message_ids"][-1]


async def test_a_reply_can_quote_and_quick_messages_keep_their_order(kit: Kit) -> None:
    """A quote has its place in UTF-16 and must be in the message; several texts in one go become messages in that order."""
    card = await kit.bot.send_message(BORIS, "😀 Сумма: 100 → 150")
    await kit.say("не 150, а 120", reply_to=card.message_id, quote="150")
    wrong = await kit.http.post(f"/sandbox/users/{BORIS}/send", json={"text": "x", "reply_to": card.message_id, "quote": "нет"})
    await _does(kit, "burst", texts=["раз", "два", "три"])
    bold = [{"type": "bold", "offset": 0, "length": 3}]
    await kit.say("жирно", entities=bold)
    messages = [update.message for update in await kit.bot.get_updates() if update.message]

    quote = messages[0].quote
    assert quote is not None
    assert (quote.text, quote.position, quote.is_manual) == ("150", 16, True)
    assert wrong.status_code == 400
    assert [message.text for message in messages[1:]] == ["раз", "два", "три", "жирно"]
    assert [entity.type for entity in messages[4].entities or []] == ["bold"]


async def test_a_stopped_draft_goes_and_stays_away_until_the_next_message(kit: Kit) -> None:
    """Stop takes the draft (or keeps it when asked), ends its further texts, works once, and a new message ends it all."""
    await kit.bot(SendMessageDraft(chat_id=BORIS, draft_id=7, text="Ищу", can_stop=True))
    await kit.bot(SendMessageDraft(chat_id=BORIS, draft_id=7, text="Ищу сделки", can_stop=True))
    grown = [message["text"] for message in await kit.seen()]
    await _does(kit, "stop")
    await kit.bot(SendMessageDraft(chat_id=BORIS, draft_id=7, text="Ещё ищу", can_stop=True))
    gone = await kit.seen()
    twice = await kit.http.post(f"/sandbox/users/{BORIS}/stop", json={})
    await kit.bot.send_message(BORIS, "Остановлено")
    await kit.bot(SendMessageDraft(chat_id=BORIS, draft_id=7, text="Снова", can_stop=True, keep_on_stop=True))
    await _does(kit, "stop")
    kept = [message["text"] for message in await kit.seen()]
    stops = [update.stopped_message_generation for update in await kit.bot.get_updates()]

    assert (grown, gone, twice.status_code) == (["Ищу сделки"], [], 400)
    assert kept == ["Остановлено", "Снова"]
    assert [stop.draft_id for stop in stops if stop] == [7, 7]


async def test_a_message_that_a_person_took_away_is_gone_for_the_bot(kit: Kit) -> None:
    """The bot's card deleted by the person cannot be edited or answered, and no update says so; a group keeps what is not one's own."""
    card = await kit.bot.send_message(BORIS, "карточка")
    await _does(kit, "delete", message_id=card.message_id)
    with pytest.raises(TelegramBadRequest, match="message to edit not found"):
        await card.edit_text("готово")
    with pytest.raises(TelegramBadRequest, match="message to be replied not found"):
        await card.reply("готово")
    group = (await kit.control("/sandbox/chats", {"title": "Отдел", "members": [BORIS]}))["chat_id"]
    other = await kit.bot.send_message(group, "карточка")
    body = {"message_id": other.message_id, "chat_id": group}
    kept = await kit.http.post(f"/sandbox/users/{BORIS}/delete", json=body)
    assert await kit.bot.get_updates() == []

    assert kept.status_code == 400


async def _does(kit: Kit, action: str, person: int = BORIS, **body: Any) -> Any:
    return await kit.control(f"/sandbox/users/{person}/{action}", body)
