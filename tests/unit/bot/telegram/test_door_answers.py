"""What needs no turn is answered once per update, and what comes with a caption is told apart from what was read."""

import asyncio
from typing import Any

import pytest

from bot.telegram.door import TelegramDoor
from state.journal.store import StoreUnwritable
from tests.unit.bot.telegram.door_kit import ANNA, STRANGER, VERA, add_registry, opened_door, raw_message
from tests.unit.spine_kit import World, reply, until

PHOTO: dict[str, Any] = {"photo": [{"file_id": "1", "file_unique_id": "1", "width": 1, "height": 1}]}
FILE: dict[str, Any] = {"document": {"file_id": "1", "file_unique_id": "1"}}
VIDEO: dict[str, Any] = {"video": {"file_id": "1", "file_unique_id": "1", "width": 1, "height": 1, "duration": 1}}
AUDIO: dict[str, Any] = {"audio": {"file_id": "1", "file_unique_id": "1", "duration": 1}}
PLACE: dict[str, Any] = {"location": {"latitude": 55.7, "longitude": 37.6}}
POLL: dict[str, Any] = {"dice": {"emoji": "🎲", "value": 3}}
STICKER: dict[str, Any] = {
    "sticker": {"file_id": "1", "file_unique_id": "1", "type": "regular", "width": 1, "height": 1, "is_animated": False, "is_video": False}
}  # fmt: skip


async def _came(door: TelegramDoor, number: int, said: dict[str, Any]) -> None:
    await asyncio.wait_for(door._intake.take({"update_id": number, "message": said}), 30)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (raw_message(None, **PHOTO), "Что на фото, я не вижу."),
        (raw_message(None, **FILE), "Файл я прочитать не могу."),
        (raw_message(None, **STICKER), "Стикер я понять не могу."),
        (raw_message("ж" * 30_000), "Сообщение слишком длинное"),
        (raw_message("пустите", sender=STRANGER), "Вас нет в списке."),
    ],
    ids=["photo", "document", "sticker", "too long", "stranger"],
)
async def test_an_update_that_comes_again_is_answered_once_also_after_a_restart(world: World, said: dict[str, Any], words: str) -> None:
    add_registry(world)
    async with world.working():
        async with opened_door(world) as (door, wire):
            for _ in range(2):
                await _came(door, 5, said)
            await world.idle()
            await door.delivery.wait_until_empty()
            assert [body["text"].startswith(words) for body in wire.calls("sendMessage")] == [True]
        async with opened_door(world) as (door, wire):
            await _came(door, 5, said)
            await world.idle()
            await door.delivery.wait_until_empty()
            assert wire.calls("sendMessage") == []


async def test_an_answer_outlives_a_crash_before_it_was_sent(world: World) -> None:
    """Stored with the update: whoever starts next sends it."""
    async with opened_door(world) as (door, wire):
        await _came(door, 5, raw_message(None, **PHOTO))
        assert wire.calls("sendMessage") == []
    async with world.working(), opened_door(world) as (_, wire):
        await until(lambda: len(wire.calls("sendMessage")) == 1)


async def test_a_stranger_whose_update_could_not_be_stored_at_first_is_answered_and_heard(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, broken = world.sql.put_inbox, [1]

    def sometimes(*args: Any) -> Any:
        if broken:
            broken.pop()
            raise StoreUnwritable("disk full")
        return real(*args)

    async with opened_door(world) as (door, _):
        monkeypatch.setattr(world.sql, "put_inbox", sometimes)
        with pytest.raises(StoreUnwritable):
            await _came(door, 5, raw_message("пустите", sender=STRANGER))
        await _came(door, 5, raw_message("пустите", sender=STRANGER))
    (row,) = world.sql.list_waiting_inbox("access", "express")
    assert row.body == {"asks": True, "answered": True, "begins": False}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (PHOTO, "Что на фото, я не вижу: прочитал только подпись."),
        (VIDEO, "Видео я не смотрел: прочитал только подпись."),
        (FILE, "Что в файле, я не вижу: прочитал только подпись."),
        (AUDIO, "Аудиозапись я не слушал: прочитал только подпись."),
    ],
)
async def test_a_caption_is_the_request_and_the_person_reads_that_the_rest_was_not(
    world: World, content: dict[str, Any], told: str
) -> None:
    world.model.will(reply(text="Смотрю."))
    async with world.working(), opened_door(world) as (door, wire):
        await _came(door, 5, raw_message(None, caption="что с Ромашкой?", **content))
        await until(lambda: any(told in body["text"] for body in wire.calls("sendMessage")))
    prompt = world.model.prompts[0][-1]["content"]
    assert prompt.startswith("что с Ромашкой?")
    assert "You cannot see what is in it" in prompt


async def test_an_album_with_one_caption_says_it_once(world: World) -> None:
    world.model.will(reply(text="Смотрю."))
    async with world.working(), opened_door(world) as (door, wire):
        await _came(door, 5, raw_message(None, caption="это счёт", media_group_id="7", **PHOTO))
        await _came(door, 6, raw_message(None, media_group_id="7", message_id=101, **PHOTO))
        await until(lambda: bool(wire.calls("sendMessage")))
        await world.idle()
        await door.delivery.wait_until_empty()
        texts = [body["text"] for body in wire.calls("sendMessage")]
    assert len(texts) == 1
    assert texts[0].count("Что на фото, я не вижу") == 1


@pytest.mark.parametrize(
    ("content", "russian", "english"),
    [
        (PHOTO, "Что на фото, я не вижу.", "I cannot see what is in a photo."),
        (VIDEO, "Видео я смотреть не умею.", "I cannot watch videos."),
        (AUDIO, "Аудиозапись я прослушать не могу.", "I cannot listen to sound files."),
        (PLACE, "Место на карте я прочитать не могу.", "I cannot read places on a map."),
        (POLL, "Такое сообщение я прочитать не могу.", "I cannot read such a message."),
    ],
)
async def test_what_has_no_words_is_answered_with_what_the_bot_takes(
    world: World, content: dict[str, Any], russian: str, english: str
) -> None:
    async with world.working(), opened_door(world) as (door, wire):
        await _came(door, 5, raw_message(None, **content))
        await _came(door, 6, raw_message(None, sender=VERA, **content))
        await until(lambda: len(wire.calls("sendMessage")) == 2)
    by_chat = {int(body["chat_id"]): body["text"] for body in wire.calls("sendMessage")}
    assert by_chat[ANNA].startswith(f"{russian} Напишите словами, что сделать.")
    assert by_chat[VERA].startswith(f"{english} Please write in words what to do.")
