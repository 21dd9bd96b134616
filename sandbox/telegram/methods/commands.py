"""The methods setMyCommands, getMyCommands and deleteMyCommands, and a function that returns the command menu of a chat."""

import re
from typing import Any

import orjson

from sandbox.telegram.storage import people
from sandbox.telegram.wire import JsonObject, Params, bad_request
from sandbox.telegram.world import World

_COMMAND = re.compile(r"[a-z0-9_]{1,32}")
_COMMANDS_LIMIT = 100
_DESCRIPTION_LIMIT = 256
_SETTING = "commands"


def set_my_commands(world: World, params: Params) -> bool:
    """Store the command menu of one scope and language, and return True. Raises `ApiError` 400 for an invalid name or description."""
    given = params.structure("commands")
    if not isinstance(given, list):
        raise bad_request("can't parse commands JSON object")
    if len(given) > _COMMANDS_LIMIT:
        raise bad_request("BOT_COMMANDS_TOO_MUCH")
    menus = {**world.db.setting(_SETTING, {}), _key(params): [_command(item) for item in given]}
    return _store(world, menus)


def delete_my_commands(world: World, params: Params) -> bool:
    """Delete the command menu of one scope and language, and return True."""
    menus = {key: menu for key, menu in world.db.setting(_SETTING, {}).items() if key != _key(params)}
    return _store(world, menus)


def get_my_commands(world: World, params: Params) -> list[JsonObject]:
    """Return the command menu that is stored for exactly this scope and language."""
    menu: list[JsonObject] = world.db.setting(_SETTING, {}).get(_key(params), [])
    return menu


def menu_of_chat(world: World, chat_id: int) -> list[JsonObject]:
    """Return the command menu that is shown in a chat: the menu of the narrowest scope that has one.

    Within a scope, the menu in the person's language comes before the one without a language.
    """
    menus = world.db.setting(_SETTING, {})
    person = people.find_person(world.db, chat_id)
    language = person.language_code if person else "ru"
    kind = "all_private_chats" if chat_id > 0 else "all_group_chats"
    for scope in ({"chat_id": chat_id, "type": "chat"}, {"type": kind}, {"type": "default"}):
        for spoken in (language, ""):
            menu: list[JsonObject] = menus.get(_written(scope, spoken), [])
            if menu:
                return menu
    return []


def _store(world: World, menus: dict[str, list[JsonObject]]) -> bool:
    world.db.remember(_SETTING, menus)
    world.hub.publish("commands", 0)
    return True


def _key(params: Params) -> str:
    scope = params.structure("scope") or {"type": "default"}
    if not isinstance(scope, dict) or "type" not in scope:
        raise bad_request("can't parse BotCommandScope: type must be specified")
    return _written(scope, params.text("language_code"))


def _written(scope: JsonObject, language: str) -> str:
    return orjson.dumps(scope, option=orjson.OPT_SORT_KEYS).decode() + language


def _command(item: Any) -> JsonObject:
    name = str(item.get("command", "")).removeprefix("/") if isinstance(item, dict) else ""
    if not _COMMAND.fullmatch(name):
        raise bad_request("BOT_COMMAND_INVALID")
    description = str(item.get("description", ""))
    if not 1 <= len(description) <= _DESCRIPTION_LIMIT:
        raise bad_request("BOT_COMMAND_DESCRIPTION_INVALID")
    return {"command": name, "description": description}
