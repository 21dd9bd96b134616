"""The Telegram sandbox starts over: chats are empty, people as seeded, numbers go on; and speaks another language to all."""

from pathlib import Path

from tests.contract.sandbox_telegram_kit import BORIS, opened


async def test_starting_over_empties_the_chats_and_keeps_the_numbers(tmp_path: Path) -> None:
    """No message, update, file or added person is left; the next message has a new number, and the bot keeps its menu."""
    async with opened(tmp_path) as kit:
        first = (await kit.say("раз"))["message_id"]
        await kit.control("/sandbox/users", {"id": 2001, "first_name": "Новый", "username": "new", "role": "manager"})
        await kit.control(f"/sandbox/users/{BORIS}/standing", {"state": "blocked"})
        await kit.call("setMyCommands", commands=[{"command": "pending", "description": "Что ждёт"}])
        await kit.control("/sandbox/faults", {"method": "sendMessage", "kind": "500", "times": 3})
        await kit.control("/sandbox/reset", {})
        chats = (await kit.control("/sandbox/chats"))["chats"]
        updates = (await kit.call("getUpdates"))["result"]
        commands = (await kit.control(f"/sandbox/chats/{BORIS}/commands"))["commands"]
        second = (await kit.say("два"))["message_id"]
        answered = await kit.call("sendMessage", chat_id=BORIS, text="да")

    assert [chat["chat_id"] for chat in chats] == [1001, 1006, 1007, 1008, 1999]
    assert [(chat["last"], chat.get("state")) for chat in chats] == [(None, None)] * 5
    assert (updates, [item["command"] for item in commands]) == ([], ["pending"])
    assert second > first
    assert answered["ok"]


async def test_the_menu_comes_in_the_language_of_the_page(tmp_path: Path) -> None:
    """One call sets the language of everybody's Telegram; the bot's menu of that language is shown."""
    async with opened(tmp_path) as kit:
        for code, words in (("ru", "Что ждёт"), ("en", "What waits")):
            await kit.call("setMyCommands", commands=[{"command": "pending", "description": words}], language_code=code)
        await kit.control("/sandbox/language", {"language_code": "en"})
        commands = (await kit.control(f"/sandbox/chats/{BORIS}/commands"))["commands"]
    assert [item["description"] for item in commands] == ["What waits"]
