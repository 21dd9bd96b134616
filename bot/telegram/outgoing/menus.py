"""Publishes the command menus: in the language of the Telegram client, or for people with access in the language that they chose."""

import asyncio
import contextlib
from collections.abc import Iterable
from typing import Final

from aiogram import Bot
from aiogram.exceptions import AiogramError
from aiogram.types import (
    BotCommand,
    BotCommandScopeAllGroupChats,
    BotCommandScopeAllPrivateChats,
    BotCommandScopeChat,
    BotCommandScopeDefault,
)

from bot.access.access import Access
from bot.i18n.translate import Locale, Translator
from orchestrator.domain.actor import Actor
from orchestrator.runtime.commands import ADMIN_COMMANDS, COMMANDS

IN_GROUPS: Final = ("help", "pending", "stop", "new", "history", "status")
"""Commands in the menu of a group, where several people read along; the others are offered in private chats only."""
LOOK_EVERY: Final = 30.0
"""Seconds after which a changed language or role is noticed."""
_LANGUAGES: Final[tuple[tuple[Locale, str | None], ...]] = (("ru", None), ("en", "en"))
"""Each language of the bot with the language code of Telegram clients that see it; None, the default for all others, is Russian."""
_LONGEST: Final = 256

Scope = BotCommandScopeDefault | BotCommandScopeAllPrivateChats | BotCommandScopeAllGroupChats | BotCommandScopeChat
Menu = tuple[Locale, tuple[str, ...]]
"""The language of a menu and the names of its commands in display order."""


def list_menus() -> list[tuple[Scope, tuple[str, ...]]]:
    """Return the menus that do not depend on the person, as pairs: Telegram's scope (who sees the menu), and the names of its commands."""
    return [
        (BotCommandScopeDefault(), ("start", "help")),
        (BotCommandScopeAllPrivateChats(), COMMANDS),
        (BotCommandScopeAllGroupChats(), IN_GROUPS),
    ]


def map_own_menus(people: Iterable[Actor]) -> dict[int, Menu]:
    """Return, by Telegram id, the command menu of each person's private chat with the bot.

    A menu is in the language in which the bot answers the person. That of an administrator has further commands.
    """
    return {
        int(number): (person.locale, (*COMMANDS, *ADMIN_COMMANDS) if person.role == "admin" else COMMANDS)
        for person in people
        if (number := person.key.partition(":")[2]).isdecimal()
    }


async def keep_menus(bot: Bot, access: Access) -> None:
    """Publish all menus, and publish a person's menu again when their language or role changes, until cancelled.

    A menu that Telegram refuses is skipped, since the bot works without it.
    """
    await publish_common_menus(bot)
    published: dict[int, Menu] = {}
    while True:
        present = map_own_menus(access.list_people())
        await publish_own_menus(bot, published, present)
        published = present
        await asyncio.sleep(LOOK_EVERY)


async def publish_common_menus(bot: Bot) -> None:
    """Publish the menus that do not depend on the person, in every language of the bot."""
    for locale, code in _LANGUAGES:
        for scope, names in list_menus():
            await _publish(bot, scope, (locale, names), code)


async def publish_own_menus(bot: Bot, published: dict[int, Menu], present: dict[int, Menu]) -> None:
    """Publish each menu of `present` that differs from `published`, and remove the menus of people who lost their access.

    Both map Telegram ids to menus. Each menu is published twice, for clients in English and for all others, because Telegram prefers a menu
    with the client's language code to one without a code.
    """
    for number, menu in present.items():
        if published.get(number) != menu:
            for _, code in _LANGUAGES:
                await _publish(bot, BotCommandScopeChat(chat_id=number), menu, code)
    for number in published.keys() - present.keys():
        for _, code in _LANGUAGES:
            with contextlib.suppress(AiogramError):
                await bot.delete_my_commands(BotCommandScopeChat(chat_id=number), language_code=code)


async def _publish(bot: Bot, scope: Scope, menu: Menu, code: str | None) -> None:
    locale, names = menu
    tr = Translator(locale)
    commands = [BotCommand(command=name, description=tr.translate(f"menu-{name}")[:_LONGEST]) for name in names]
    with contextlib.suppress(AiogramError):
        await bot.set_my_commands(commands, scope=scope, language_code=code)
