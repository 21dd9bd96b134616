"""Publishes the command menus: in the language of the Telegram client, or for people with access in the language that they chose."""

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
"""Commands in the menu of a group, where several people read along; the others are offered in private chats only."""
LOOK_EVERY: Final = 30.0
"""Seconds after which a changed language or role is noticed."""
_LANGUAGES: Final[tuple[tuple[Locale, str | None], ...]] = (("ru", None), ("en", "en"))
"""Each language of the bot with the language code of Telegram clients that see it; None, the default for all others, is Russian."""
_LONGEST: Final = 256
_MOST: Final = 80
"""How many commands of features a menu has at most; Telegram allows 100 commands in all."""
_NAME: Final = re.compile(r"[a-z0-9_]{1,32}", re.ASCII)
NO_FEATURES: Final = Feature()

Scope = BotCommandScopeDefault | BotCommandScopeAllPrivateChats | BotCommandScopeAllGroupChats | BotCommandScopeChat
Menu = tuple[Locale, tuple[str, ...]]
"""The language of a menu and the names of its commands in display order."""


def list_menus(features: Feature = NO_FEATURES) -> list[tuple[Scope, tuple[str, ...]]]:
    """Return the menus that do not depend on the person, as pairs: Telegram's scope (who sees the menu), and the names of its commands.

    `features` are what all features registered; the commands that they offer follow the others.
    """
    offered = _list_names(features)
    in_groups = tuple(name for name in offered if features.command_specs[name].in_groups)
    return [
        (BotCommandScopeDefault(), ("start", "help")),
        (BotCommandScopeAllPrivateChats(), (*COMMANDS, *offered)),
        (BotCommandScopeAllGroupChats(), (*IN_GROUPS, *in_groups)),
    ]


def _list_names(features: Feature, *, for_admins: bool = False) -> tuple[str, ...]:
    """Return the commands that features offer. One whose name Telegram would refuse is left out: it would refuse the whole menu."""
    return tuple(name for name in list_offered_commands(features, for_admins=for_admins) if _NAME.fullmatch(name))[:_MOST]


def map_own_menus(people: Iterable[Actor], features: Feature = NO_FEATURES) -> dict[int, Menu]:
    """Return, by Telegram id, the command menu of each person's private chat with the bot.

    A menu is in the language in which the bot answers the person. That of an administrator has further commands. `features` are what all
    features registered.
    """
    names = (*COMMANDS, *_list_names(features))
    more = _list_names(features, for_admins=True)
    return {
        int(number): (person.locale, (*names, *more) if person.role == "admin" else names)
        for person in people
        if (number := person.key.partition(":")[2]).isdecimal()
    }


async def keep_menus(bot: Bot, access: Access, features: Feature = NO_FEATURES) -> None:
    """Publish all menus, and publish a person's menu again when their language or role changes, until cancelled.

    `features` are what all features registered. A menu that Telegram refuses is skipped, since the bot works without it.
    """
    await publish_common_menus(bot, features)
    published: dict[int, Menu] = {}
    while True:
        present = map_own_menus(access.list_people(), features)
        await publish_own_menus(bot, published, present, features)
        published = present
        await asyncio.sleep(LOOK_EVERY)


async def publish_common_menus(bot: Bot, features: Feature = NO_FEATURES) -> None:
    """Publish the menus that do not depend on the person, in every language of the bot."""
    for locale, code in _LANGUAGES:
        for scope, names in list_menus(features):
            await _publish(bot, scope, (locale, names), code, features)


async def publish_own_menus(bot: Bot, published: dict[int, Menu], present: dict[int, Menu], features: Feature = NO_FEATURES) -> None:
    """Publish each menu of `present` that differs from `published`, and remove the menus of people who lost their access.

    Both map Telegram ids to menus. Each menu is published twice, for clients in English and for all others, because Telegram prefers a menu
    with the client's language code to one without a code.
    """
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
