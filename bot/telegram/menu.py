"""The command menu: one table, by scope and language. Ring 3."""

import contextlib
from collections.abc import Collection
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

from bot.i18n.translate import Locale, Translator
from orchestrator.commands import ADMIN_COMMANDS, COMMANDS

IN_GROUPS: Final = ("help", "pending", "stop", "new", "history", "status")
"""What is of use where several read along; the others are for a private chat."""
_LANGUAGES: Final[tuple[tuple[Locale, str | None], ...]] = (("ru", None), ("en", "en"))
"""Russian for everybody whose client speaks no language of ours."""
_LONGEST: Final = 256

Scope = BotCommandScopeDefault | BotCommandScopeAllPrivateChats | BotCommandScopeAllGroupChats | BotCommandScopeChat


def list_menus(admins: Collection[int] = ()) -> list[tuple[Scope, tuple[str, ...]]]:
    """Each scope with its commands, in the order in which they are shown; an administrator's own chat has some more."""
    return [
        (BotCommandScopeDefault(), ("start", "help")),
        (BotCommandScopeAllPrivateChats(), COMMANDS),
        (BotCommandScopeAllGroupChats(), IN_GROUPS),
        *((BotCommandScopeChat(chat_id=number), (*COMMANDS, *ADMIN_COMMANDS)) for number in admins),
    ]


async def publish_menus(bot: Bot, admins: Collection[int] = ()) -> None:
    """Set every menu; one that Telegram does not take is not worth stopping for."""
    for locale, code in _LANGUAGES:
        tr = Translator(locale)
        for scope, names in list_menus(admins):
            commands = [BotCommand(command=name, description=tr.translate(f"menu-{name}")[:_LONGEST]) for name in names]
            with contextlib.suppress(AiogramError):
                await bot.set_my_commands(commands, scope=scope, language_code=code)
