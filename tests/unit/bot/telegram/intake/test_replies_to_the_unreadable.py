"""A reply to what holds no words says so, and one to a poll or a list brings what stands in it."""

from typing import Any

import pytest

from bot.i18n.translate import Translator
from bot.rendering.replies import render_reply
from bot.rendering.spans import to_plain_text
from orchestrator.domain.outputs import Reply
from state.stored import JsonObject
from tests.unit.bot.telegram.door_kit import ANNA, BOT, ME, NOW, VERA, access, message, parse_update, person, raw_message
from tests.unit.spine_kit import World, reply
from tests.unit.spine_kit import message as a_message

PHOTO: dict[str, Any] = {"photo": [{"file_id": "1", "file_unique_id": "1", "width": 1, "height": 1}]}
VOICE: dict[str, Any] = {"voice": {"file_id": "AwAC", "file_unique_id": "u", "duration": 3, "file_size": 900}}
POLL: dict[str, Any] = {
    "poll": {
        "id": "1", "question": "Когда отгрузка?", "total_voter_count": 3, "is_closed": False, "is_anonymous": True, "type": "regular",
        "allows_multiple_answers": False, "allows_revoting": True, "members_only": False,
        "options": [{"persistent_id": "a", "text": "среда", "voter_count": 2}, {"persistent_id": "b", "text": "пятница", "voter_count": 1}],
    }
}  # fmt: skip
CHECKLIST: dict[str, Any] = {"checklist": {"title": "Отгрузка", "tasks": [{"id": 1, "text": "счёт"}]}}
PLACE = {"latitude": 55.7, "longitude": 37.6}
VENUE: dict[str, Any] = {"venue": {"location": PLACE, "title": "Склад", "address": "Лесная, 1"}}
STORY: dict[str, Any] = {"reply_to_story": {"chat": {"id": 5, "type": "private"}, "id": 1}}
UNREAD: dict[str, Any] = {"attached": "answered"}
POLLED = "[poll] Когда отгрузка?\n- среда: 2\n- пятница: 1"


def _answering(sent: dict[str, Any], text: str | None = None, *, by: int = VERA) -> dict[str, Any]:
    return {"reply_to_message": raw_message(text, via=person(by) if by != BOT["id"] else BOT, message_id=3, **sent)}


def _read(beside: dict[str, Any], words: str | None = "поставь по этому задачу", **more: Any) -> JsonObject:
    (row,) = parse_update(message(words, **beside, **more), access(), ME, (), NOW).rows
    return {name: row.body[name] for name in ("quoted", "answered", "cited", "attached") if row.body.get(name)}


@pytest.mark.parametrize(
    ("beside", "read"),
    [
        (_answering(POLL), {"quoted": f"Имя:\n{POLLED}"}),
        (_answering(POLL, by=ANNA), {"answered": POLLED}),
        ({"external_reply": {"origin": {"type": "hidden_user", "date": 1, "sender_user_name": "Иван"}, **POLL}}, {"quoted": f"Иван:\n{POLLED}"}),
        (_answering(CHECKLIST), {"quoted": "Имя:\n[checklist] Отгрузка\n- счёт"}),
        (_answering(VENUE), {"quoted": "Имя:\n[place] Склад, Лесная, 1"}),
        (_answering({"date": 1_400_000_000}, "старое письмо"), {"quoted": "Имя:\nстарое письмо"}),
        (_answering(PHOTO), UNREAD),
        (_answering(PHOTO, by=ANNA), UNREAD),
        (_answering(PHOTO, by=BOT["id"]), UNREAD),
        (_answering({"date": 0}), UNREAD),
        (STORY, UNREAD),
        ({"quote": {"text": "среда", "position": 0}}, {"quoted": "среда"}),
        ({}, {}),
    ],
    ids=[
        "a poll", "an own poll", "a poll elsewhere", "a checklist", "a place", "before the bot came", "a photo", "an own photo",
        "a picture of the bot", "one of which nothing is left", "a story", "a deleted one, a part of which was quoted", "a deleted one",
    ],
)  # fmt: skip
def test_a_reply_brings_what_can_be_read_and_says_what_cannot(beside: dict[str, Any], read: JsonObject) -> None:
    """Of a deleted message Telegram tells nothing, so that the reply is a message like any other."""
    assert _read(beside) == read


@pytest.mark.parametrize(
    ("beside", "read"),
    [
        (_answering({}, "Ромашка: 120 000 ₽", by=BOT["id"]), {"answered": "Ромашка: 120 000 ₽"}),
        (_answering(POLL), {"quoted": f"Имя:\n{POLLED}"}),
        (_answering(PHOTO), UNREAD),
    ],
)
def test_a_recording_says_what_it_answers_too(beside: dict[str, Any], read: JsonObject) -> None:
    assert _read({**VOICE, **beside}, None) == read


async def test_the_person_and_the_model_are_told_that_it_cannot_be_read(world: World) -> None:
    session = await world.session()
    world.model.will(reply(text="Что именно поставить?"))
    await world.turn(session, a_message("поставь по этому задачу", attached="answered"))
    prompt = world.model.prompts[0][-1]["content"]
    assert "They reply to a message that cannot be read" in prompt
    assert "Attached" not in prompt
    (row,) = [row for row in world.outbox() if row.body.get("turn_id")]
    text = to_plain_text(render_reply(Reply.model_validate(row.body), Translator("ru")))
    assert "Сообщение, на которое вы ответили, прочитать не могу" in text
