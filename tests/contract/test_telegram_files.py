"""Recordings out of Telegram, and the command menus, against the sandbox's Bot API."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiogram.types import BotCommandScopeAllGroupChats, BotCommandScopeAllPrivateChats, BotCommandScopeChat, BotCommandScopeDefault

from bot.telegram.intake.files import TelegramFiles
from bot.telegram.outgoing.menus import IN_GROUPS, list_menus, map_own_menus, publish_common_menus, publish_own_menus
from orchestrator.domain.actor import Actor
from orchestrator.domain.errors import FileUnavailable
from orchestrator.runtime.commands import COMMANDS
from sandbox.telegram.speech import words_of
from tests.contract.sandbox_telegram_kit import BORIS, Kit, opened


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[Kit]:
    async with opened(tmp_path) as made:
        yield made


async def _voice(kit: Kit) -> str:
    return str((await kit.control(f"/sandbox/users/{BORIS}/voice", {"words": "покажи мои сделки"}))["file_id"])


async def test_a_recording_is_read_as_it_was_sent(kit: Kit) -> None:
    content = await TelegramFiles(kit.bot).read(await _voice(kit), 1_000_000)
    assert words_of(content) == "покажи мои сделки"


async def test_what_is_larger_than_allowed_or_not_there_is_refused_without_its_address(kit: Kit) -> None:
    """The address of a file holds the token."""
    files, voice = TelegramFiles(kit.bot), await _voice(kit)
    for file_id, limit in ((voice, 100), ("AwACnothing", 1_000_000)):
        with pytest.raises(FileUnavailable) as caught:
            await files.read(file_id, limit)
        assert "sandbox" not in str(caught.value)
        assert "http" not in str(caught.value)


@pytest.mark.parametrize("kind", ["html", "500", "429"])
async def test_a_telegram_that_fails_is_no_crash(kit: Kit, kind: str) -> None:
    voice = await _voice(kit)
    await kit.control("/sandbox/faults", {"method": "getFile", "kind": kind})
    with pytest.raises(FileUnavailable):
        await TelegramFiles(kit.bot).read(voice, 1_000_000)


async def test_each_scope_has_its_menu_in_both_languages(kit: Kit) -> None:
    """In a group only what is of use there; everything that is offered exists."""
    await publish_common_menus(kit.bot)
    for scope, names in ((BotCommandScopeAllPrivateChats(), COMMANDS), (BotCommandScopeAllGroupChats(), IN_GROUPS), (BotCommandScopeDefault(), ("start", "help"))):  # fmt: skip
        russian = await kit.bot.get_my_commands(scope=scope)
        english = await kit.bot.get_my_commands(scope=scope, language_code="en")
        assert [command.command for command in russian] == [command.command for command in english] == list(names)
        assert all(first.description != second.description for first, second in zip(russian, english, strict=True))
    assert {name for _, names in list_menus() for name in names} <= set(COMMANDS)


async def test_a_person_has_the_menu_in_the_language_of_their_answers(kit: Kit) -> None:
    """Who chose English and has a Russian phone read Russian commands above English answers."""
    anna, olga = Actor(key="tg:1007", name="Anna", locale="en"), Actor(key="tg:1001", name="Ольга", role="admin")
    first = map_own_menus([anna, olga])
    await publish_own_menus(kit.bot, {}, first)
    for code in (None, "en"):
        english = await kit.bot.get_my_commands(scope=BotCommandScopeChat(chat_id=1007), language_code=code)
        russian = await kit.bot.get_my_commands(scope=BotCommandScopeChat(chat_id=1001), language_code=code)
        assert [one.command for one in english] == list(COMMANDS)
        assert [one.command for one in russian] == list(COMMANDS)
        assert not re.search("[А-Яа-яЁё«»]", " ".join(one.description for one in english))
        assert re.search("[А-Яа-яЁё]", " ".join(one.description for one in russian))
    await publish_own_menus(kit.bot, first, map_own_menus([anna.model_copy(update={"locale": "ru"})]))
    assert re.search("[А-Яа-яЁё]", (await kit.bot.get_my_commands(scope=BotCommandScopeChat(chat_id=1007)))[0].description)
    assert await kit.bot.get_my_commands(scope=BotCommandScopeChat(chat_id=1001)) == []
