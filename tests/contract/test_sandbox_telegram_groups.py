"""Groups and closed doors of the Telegram sandbox: topics, anonymous admins, messages for one, moving, blocking, removal."""

from typing import Any

import pytest
from aiogram.exceptions import TelegramBadRequest, TelegramForbiddenError, TelegramMigrateToChat
from aiogram.methods import DeleteEphemeralMessage, EditEphemeralMessageText
from aiogram.types import EphemeralMessageParameters

from tests.contract.sandbox_telegram_kit import BORIS, VERA, Kit, keyboard

ANNA = 1006
OTHER_BOT = 1500


async def test_who_speaks_in_a_group_is_told_truly(kit: Kit) -> None:
    """An anonymous admin is GroupAnonymousBot with the group as sender, a channel is Channel_Bot, another bot is a bot."""
    await kit.control("/sandbox/users", {"id": OTHER_BOT, "first_name": "Погода", "username": "weather_bot", "role": "bot"})
    group = await _group(kit, members=[BORIS, ANNA, OTHER_BOT])
    await kit.say("@sdelka_sandbox_bot сделки", chat_id=group)
    await kit.say("/pending", ANNA, chat_id=group, as_chat="anonymous_admin")
    await kit.say("да", ANNA, chat_id=group, as_chat="channel")
    await kit.say("/pending", OTHER_BOT, chat_id=group)
    messages = [update.message for update in await kit.bot.get_updates() if update.message]

    who = [(message.from_user.id, message.from_user.is_bot) for message in messages if message.from_user]
    assert who == [(BORIS, False), (1087968824, True), (136817688, True), (OTHER_BOT, True)]
    assert [message.sender_chat.id if message.sender_chat else None for message in messages[:2]] == [None, group]
    assert (messages[2].sender_chat.type if messages[2].sender_chat else "") == "channel"
    assert [entity.type for entity in messages[0].entities or []] == ["mention"]


async def test_topics_are_kept_apart_and_a_chain_of_answers_is_none(kit: Kit) -> None:
    """A topic's messages carry its id both ways; an unknown one is refused; outside a forum an answer has a thread and no topic."""
    forum = await _group(kit, kind="forum")
    topic = (await kit.control(f"/sandbox/chats/{forum}/topics", {"by": BORIS, "name": "Сделки"}))["thread"]
    await kit.say("в теме", chat_id=forum, thread=topic)
    answer = await kit.bot.send_message(forum, "ответ", message_thread_id=topic)
    await kit.say("и ответ на ответ", chat_id=forum, reply_to=answer.message_id)
    with pytest.raises(TelegramBadRequest, match="message thread not found"):
        await kit.bot.send_message(forum, "мимо", message_thread_id=topic + 77)
    group = await _group(kit)
    asked = await kit.bot.send_message(group, "?")
    await kit.say("да", chat_id=group, reply_to=asked.message_id)
    with pytest.raises(TelegramBadRequest, match="message thread not found"):
        await kit.bot.send_message(group, "x", message_thread_id=asked.message_id)
    messages = [update.message for update in await kit.bot.get_updates() if update.message]

    opened_topic, inside, replied, plain = messages
    assert opened_topic.forum_topic_created is not None
    assert [(message.message_thread_id, message.is_topic_message) for message in (inside, answer, replied)] == [(topic, True)] * 3
    assert (inside.chat.is_forum, plain.message_thread_id, plain.is_topic_message) == (True, asked.message_id, None)


async def test_a_group_that_moved_says_where(kit: Kit) -> None:
    """Both chats get the service message; every call to the old one is a 400 with the new id, which works."""
    group = await _group(kit, kind="group")
    old = await kit.bot.send_message(group, "до")
    moved = (await kit.control(f"/sandbox/chats/{group}/migrate", {"by": BORIS}))["chat_id"]
    with pytest.raises(TelegramMigrateToChat) as sending:
        await kit.bot.send_message(group, "после")
    with pytest.raises(TelegramMigrateToChat):
        await old.edit_text("после")
    await kit.bot.send_message(moved, "после")
    left = await kit.http.post(f"/sandbox/users/{BORIS}/send", json={"text": "x", "chat_id": group})
    messages = [update.message for update in await kit.bot.get_updates() if update.message]

    assert sending.value.migrate_to_chat_id == moved
    assert [(message.chat.id, message.migrate_to_chat_id, message.migrate_from_chat_id) for message in messages] == [
        (group, moved, None),
        (moved, None, group),
    ]
    assert (left.status_code, str(moved) in left.json()["detail"]) == (400, True)


async def test_a_message_for_one_is_seen_by_one(kit: Kit) -> None:
    """It has no number of its own, names its receiver, can be edited and deleted as such only, needs a member and a fresh press."""
    group = await _group(kit)
    card = await kit.bot.send_message(group, "?", reply_markup=keyboard([("Да", "y")]))
    press = await kit.control(f"/sandbox/users/{VERA}/press", {"message_id": card.message_id, "data": "y", "chat_id": group})
    for_vera = EphemeralMessageParameters(receiver_user_id=VERA, callback_query_id=press["callback_id"])
    sent = await kit.bot.send_message(group, "Не ваша операция", ephemeral_message_parameters=for_vera)
    number = sent.ephemeral_message_id
    assert number is not None
    with pytest.raises(TelegramBadRequest, match="message to edit not found"):
        await kit.bot.edit_message_text("x", chat_id=group, message_id=number)
    await kit.bot(EditEphemeralMessageText(chat_id=group, receiver_user_id=VERA, ephemeral_message_id=number, text="Нельзя"))
    shown = (await kit.seen(group))[-1]
    await kit.bot(DeleteEphemeralMessage(chat_id=group, receiver_user_id=VERA, ephemeral_message_id=number))
    for chat, receiver, words in (
        (VERA, VERA, "only to groups"),
        (group, 1999, "USER_NOT_PARTICIPANT"),
        (group, BORIS, "query is too old"),
    ):
        wrong = EphemeralMessageParameters(receiver_user_id=receiver, callback_query_id=press["callback_id"])
        with pytest.raises(TelegramBadRequest, match=words):
            await kit.bot.send_message(chat, "x", ephemeral_message_parameters=wrong)
    await kit.later(16)
    with pytest.raises(TelegramBadRequest, match="query is too old"):
        await kit.bot.send_message(group, "x", ephemeral_message_parameters=for_vera)

    assert (sent.message_id, sent.receiver_user.id if sent.receiver_user else 0) == (0, VERA)
    assert (shown["text"], shown["only_for"]) == ("Нельзя", VERA)


DOORS: list[tuple[int, str, str, str]] = [
    (BORIS, "blocked", "bot was blocked by the user", "kicked"),
    (BORIS, "deactivated", "user is deactivated", ""),
    (BORIS, "unstarted", "bot can't initiate conversation with a user", ""),
    (0, "kicked", "bot was kicked from the supergroup chat", "kicked"),
    (0, "left", "bot is not a member of the supergroup chat", "left"),
]


async def test_a_closed_door_is_403_until_it_is_opened(kit: Kit) -> None:
    """Sending, editing, drafts and typing are refused in Telegram's words, `my_chat_member` tells, and afterwards all is well again."""
    group = await _group(kit)
    for person, state, sentence, status in DOORS:
        chat = person or group
        path = f"/sandbox/users/{person}/standing" if person else f"/sandbox/chats/{group}/standing"
        sent = await kit.bot.send_message(chat, "до")
        closed = await kit.control(path, {"state": state, "by": BORIS})
        for attempt in (kit.bot.send_message(chat, "x"), sent.edit_text("x"), kit.bot.send_chat_action(chat, "typing")):
            with pytest.raises(TelegramForbiddenError, match=sentence):
                await attempt
        await kit.control(path, {"state": None, "by": BORIS})
        await kit.bot.send_message(chat, "после")
        updates = await kit.bot.get_updates()
        await kit.bot.get_updates(offset=(updates[-1].update_id + 1) if updates else None)
        told = [update.my_chat_member.new_chat_member.status for update in updates if update.my_chat_member]
        assert told == ([status, "member"] if status else []), state
        assert (closed["update_id"] is not None) == bool(status)


async def test_who_never_wrote_cannot_be_written_to(kit: Kit) -> None:
    """A new person who did not start the bot is a 403 until the first message; a removed bot hears nothing of its group."""
    await kit.control("/sandbox/users", {"id": 2001, "first_name": "Новая", "started": False})
    with pytest.raises(TelegramForbiddenError, match="can't initiate conversation"):
        await kit.bot.send_message(2001, "здравствуйте")
    await kit.say("/start", 2001)
    await kit.bot.send_message(2001, "здравствуйте")
    group = await _group(kit, added_by=BORIS)
    await kit.control(f"/sandbox/chats/{group}/members", {"by": BORIS, "add": [ANNA], "remove": [VERA]})
    await kit.control(f"/sandbox/chats/{group}/standing", {"state": "kicked", "by": BORIS})
    unheard = await kit.say("есть кто?", chat_id=group)
    updates = await kit.bot.get_updates()
    states = {row["chat_id"]: row.get("state") for row in (await kit.control("/sandbox/chats"))["chats"]}

    assert [update.event_type for update in updates] == ["message", "my_chat_member", "message", "message", "my_chat_member"]
    joined, gone = updates[2].message, updates[3].message
    assert [user.id for user in (joined and joined.new_chat_members) or []] == [ANNA]
    assert (gone and gone.left_chat_member and gone.left_chat_member.id) == VERA
    assert (unheard["update_id"], states[group], states[2001]) == (None, "kicked", None)


async def _group(kit: Kit, members: tuple[int, ...] | list[int] = (BORIS, VERA), **more: Any) -> int:
    return int((await kit.control("/sandbox/chats", {"title": "Отдел", "members": list(members), **more}))["chat_id"])
