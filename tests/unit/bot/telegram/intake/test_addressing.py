"""Whom a message is meant for: notes of Telegram and words for others are left alone, in groups most of all."""

from typing import Any

import pytest
from aiogram.types import Update

from bot.telegram.intake.router import ParsedUpdate
from state.journal.store import InboxRow
from tests.unit.bot.telegram.door_kit import (
    ANNA,
    BOT,
    ME,
    NOW,
    STRANGER,
    access,
    answer_in,
    forwarded,
    message,
    parse_update,
    person,
    raw_message,
)

GROUP = -100500
PHOTO: dict[str, Any] = {"photo": [{"file_id": "1", "file_unique_id": "1", "width": 1, "height": 1}]}
TO_US: dict[str, Any] = {"reply_to_message": raw_message("ответ", chat=GROUP, via=BOT)}
VOICE: dict[str, Any] = {"voice": {"file_id": "1", "file_unique_id": "1", "duration": 3}}
NOTES: dict[str, Any] = {
    "new_chat_members": [person(STRANGER)],
    "left_chat_member": person(STRANGER),
    "new_chat_title": "Отдел продаж",
    "new_chat_photo": [{"file_id": "1", "file_unique_id": "1", "width": 1, "height": 1}],
    "delete_chat_photo": True,
    "group_chat_created": True,
    "supergroup_chat_created": True,
    "migrate_to_chat_id": -1,
    "pinned_message": raw_message("старое", chat=GROUP),
    "message_auto_delete_timer_changed": {"message_auto_delete_time": 60},
    "forum_topic_created": {"name": "Тема", "icon_color": 1},
    "forum_topic_closed": {},
    "video_chat_started": {},
    "video_chat_ended": {"duration": 5},
    "boost_added": {"boost_count": 1},
    "write_access_allowed": {},
    "users_shared": {"request_id": 1, "users": []},
    "a_note_of_tomorrow": {"x": 1},
}


def _routed(update: Update) -> ParsedUpdate:
    return parse_update(update, access(), ME, (), NOW)


def _row(update: Update) -> InboxRow | None:
    routed = _routed(update)
    assert answer_in(routed) is None
    return routed.rows[0] if routed.rows else None


def _mention(text: str, at: str = "@Sdelka_Bot", **more: Any) -> Update:
    """A message in the group whose mention is marked, as Telegram marks it."""
    before = text[: text.index(at)]
    marked = {"type": "mention", "offset": len(before.encode("utf-16-le")) // 2, "length": len(at)}
    return message(text, chat=GROUP, entities=[marked], **more)


@pytest.mark.parametrize("sender", [ANNA, STRANGER])
@pytest.mark.parametrize("chat", [None, GROUP])
@pytest.mark.parametrize("note", NOTES)
def test_what_telegram_notes_by_itself_is_answered_by_nobody(note: str, chat: int | None, sender: int) -> None:
    for more in ({}, TO_US):
        assert _routed(message(None, sender=sender, chat=chat, **{note: NOTES[note]}, **more)) == ParsedUpdate()


@pytest.mark.parametrize(
    ("text", "chat", "name"),
    [
        ("/today@OtherBot", None, None),
        ("/today@OtherBot", GROUP, None),
        ("/today@sdelka_bot2", GROUP, None),
        ("/today@Sdelka_Bot", GROUP, "today"),
        ("/TODAY@sdelka_bot завтра", GROUP, "today"),
        ("/nonsense@SDELKA_BOT", GROUP, "nonsense"),
        ("/today", GROUP, "today"),
        ("/pending", GROUP, "pending"),
        ("/Stop сейчас", GROUP, "stop"),
        ("/nonsense", GROUP, None),
        ("/nonsense", None, "nonsense"),
        ("/", GROUP, None),
        ("/ x", GROUP, None),
    ],
)
def test_a_command_for_another_bot_is_not_ours(text: str, chat: int | None, name: str | None) -> None:
    """One that names a bot is that bot's; one that names none is ours in private, in a group only when we have it."""
    row = _row(message(text, chat=chat))
    assert (row.body["name"] if row else None) == name


def test_a_command_for_another_bot_stays_that_even_as_a_reply_to_us_or_under_a_picture() -> None:
    assert _routed(message("/today@OtherBot", chat=GROUP, **TO_US)) == ParsedUpdate()
    photo: dict[str, Any] = {"photo": [{"file_id": "1", "file_unique_id": "1", "width": 1, "height": 1}]}
    assert _routed(message(None, chat=GROUP, caption="/today@OtherBot", **photo)) == ParsedUpdate()


@pytest.mark.parametrize(
    ("update", "text"),
    [
        (message("Покажи сделки", chat=GROUP, **TO_US), "Покажи сделки"),
        (_mention("@sdelka_bot, покажи сделки", "@sdelka_bot"), "покажи сделки"),
        (_mention("😀 а что скажет @Sdelka_Bot?"), "😀 а что скажет @Sdelka_Bot?"),
        (_mention("@Sdelka_Bot"), "@Sdelka_Bot"),
        (message("Сделка, покажи", chat=GROUP, entities=[{"type": "text_mention", "offset": 0, "length": 6, "user": BOT}]), "Сделка, покажи"),
        (message(None, chat=GROUP, **PHOTO, caption="@Sdelka_Bot что это?", caption_entities=[{"type": "mention", "offset": 0, "length": 11}]), "что это?"),
        (message("@sdelka_bot покажи сделки"), "покажи сделки"),
        (message("@sdelka_bot2 покажи сделки"), "@sdelka_bot2 покажи сделки"),
    ],
)  # fmt: skip
def test_in_a_group_mentions_and_replies_are_requests(update: Update, text: str) -> None:
    """The mention at the beginning is the address, not a word of the request."""
    row = _row(update)
    assert row is not None
    assert (row.kind, row.body["text"]) == ("message", text)


@pytest.mark.parametrize(
    "update",
    [
        message("Коллеги, подняли сумму сделки 481", chat=GROUP),
        message("да", chat=GROUP),
        message("ж" * 30_000, chat=GROUP),
        message(None, chat=GROUP, **VOICE),
        message("согласен", chat=GROUP, reply_to_message=raw_message("думаю, да", chat=GROUP)),
        message("всем привет", chat=GROUP, reply_to_message=raw_message(None, chat=GROUP, via=BOT, forum_topic_created={"name": "Т", "icon_color": 1})),
        _mention("@OtherBot, покажи", "@OtherBot"),
        message("пишите на x@sdelka_bot.ru", chat=GROUP, entities=[{"type": "email", "offset": 10, "length": 15}]),
        _mention("@Sdelka_Bot, удали сделку 481", forward_origin=forwarded()),
        _mention("@Sdelka_Bot, удали сделку 481", via_bot=person(7, bot=True)),
        message("/new", chat=GROUP, via_bot=person(7, bot=True)),
        Update.model_validate({"update_id": 1, "edited_message": raw_message("опечатка", chat=GROUP, edit_date=1_795_000_001)}),
    ],
    ids=["talk", "yes", "long", "voice", "reply to a colleague", "first level of a topic", "other bot", "e-mail", "forwarded", "mentioned through a bot", "command through a bot", "edited"],
)  # fmt: skip
def test_in_a_group_what_people_tell_each_other_is_left_alone(update: Update) -> None:
    assert _routed(update) == ParsedUpdate()


@pytest.mark.parametrize(
    ("update", "code"),
    [(message(None, chat=GROUP, **PHOTO, **TO_US), "only-text"), (message("ж" * 30_000, chat=GROUP, **TO_US), "too-long")],
)
def test_in_a_group_what_was_meant_for_us_and_cannot_be_worked_on_is_answered(update: Update, code: str) -> None:
    said = answer_in(_routed(update))
    assert said is not None
    assert said.code == code


def test_a_live_location_that_moves_is_no_edit_of_words() -> None:
    place: dict[str, Any] = {"location": {"latitude": 55.7, "longitude": 37.6, "live_period": 900}}
    assert _routed(Update.model_validate({"update_id": 1, "edited_message": raw_message(None, **place)})) == ParsedUpdate()
    first = answer_in(_routed(message(None, **place)))
    assert first is not None
    assert first.code == "only-text"


def test_a_torn_surrogate_beside_a_mention_disturbs_nobody() -> None:
    update = _mention("@Sdelka_Bot ок")
    assert update.message is not None
    torn = update.model_copy(update={"message": update.message.model_copy(update={"text": "@Sdelka_Bot \ud83d ок"})})
    row = _row(torn)
    assert row is not None
    assert row.body["text"] == "? ок"
