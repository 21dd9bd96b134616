"""Publishes the command menus, in the client's language or in the one that a person chose."""

import asyncio
import contextlib
import re
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
from orchestrator.runtime.commands import COMMANDS, list_offered_commands
from orchestrator.turns.feature import Feature

IN_GROUPS: Final = ("help", "pending", "stop", "new", "history", "status")
"""Several people read along in a group."""
LOOK_EVERY: Final = 30.0
"""Seconds after which a changed language or role is noticed."""
_LANGUAGES: Final[tuple[tuple[Locale, str | None], ...]] = (("ru", None), ("en", "en"))
"""With the language code of the clients; None is the default."""
_LONGEST: Final = 256
_MOST: Final = 80
"""Telegram allows 100 commands in all."""
_NAME: Final = re.compile(r"[a-z0-9_]{1,32}", re.ASCII)
NO_FEATURES: Final = Feature()

Scope = BotCommandScopeDefault | BotCommandScopeAllPrivateChats | BotCommandScopeAllGroupChats | BotCommandScopeChat
Menu = tuple[Locale, tuple[str, ...]]
"""Language, and commands in display order."""


def list_menus(features: Feature = NO_FEATURES) -> list[tuple[Scope, tuple[str, ...]]]:
    """Menus that do not depend on the person, with Telegram's scopes."""
    offered = _list_names(features)
    in_groups = tuple(name for name in offered if features.command_specs[name].in_groups)
    return [
        (BotCommandScopeDefault(), ("start", "help")),
        (BotCommandScopeAllPrivateChats(), (*COMMANDS, *offered)),
        (BotCommandScopeAllGroupChats(), (*IN_GROUPS, *in_groups)),
    ]


def _list_names(features: Feature, *, for_admins: bool = False) -> tuple[str, ...]:
    """A name that Telegram would refuse spoils the whole menu."""
    return tuple(name for name in list_offered_commands(features, for_admins=for_admins) if _NAME.fullmatch(name))[:_MOST]


def map_own_menus(people: Iterable[Actor], features: Feature = NO_FEATURES) -> dict[int, Menu]:
    """By Telegram id, in the language of the answers."""
    names = (*COMMANDS, *_list_names(features))
    more = _list_names(features, for_admins=True)
    return {
        int(number): (person.locale, (*names, *more) if person.role == "admin" else names)
        for person in people
        if (number := person.key.partition(":")[2]).isdecimal()
    }


async def keep_menus(bot: Bot, access: Access, features: Feature = NO_FEATURES) -> None:
    """Publish menus when a language or role changes, until cancelled. Refused ones are skipped."""
    await publish_common_menus(bot, features)
    published: dict[int, Menu] = {}
    while True:
        present = map_own_menus(access.list_people(), features)
        await publish_own_menus(bot, published, present, features)
        published = present
        await asyncio.sleep(LOOK_EVERY)


async def publish_common_menus(bot: Bot, features: Feature = NO_FEATURES) -> None:
    for locale, code in _LANGUAGES:
        for scope, names in list_menus(features):
            await _publish(bot, scope, (locale, names), code, features)


async def publish_own_menus(bot: Bot, published: dict[int, Menu], present: dict[int, Menu], features: Feature = NO_FEATURES) -> None:
    """Each is published for English clients and for all others: Telegram prefers a menu with the client's language."""
    for number, menu in present.items():
        if published.get(number) != menu:
            for _, code in _LANGUAGES:
                await _publish(bot, BotCommandScopeChat(chat_id=number), menu, code, features)
    for number in published.keys() - present.keys():
        for _, code in _LANGUAGES:
            with contextlib.suppress(AiogramError):
                await bot.delete_my_commands(BotCommandScopeChat(chat_id=number), language_code=code)


async def _publish(bot: Bot, scope: Scope, menu: Menu, code: str | None, features: Feature) -> None:
    locale, names = menu
    tr, offered = Translator(locale), {**list_offered_commands(features), **list_offered_commands(features, for_admins=True)}
    lines = {name: tr.translate_notice(offered[name]) if name in offered else tr.translate(f"menu-{name}") for name in names}
    commands = [BotCommand(command=name, description=line[:_LONGEST]) for name, line in lines.items()]
    with contextlib.suppress(AiogramError):
        await bot.set_my_commands(commands, scope=scope, language_code=code)
