"""Escapes texts of customers and of the portal so that Telegram makes no link, mention or command of them. Pure; stored data is unchanged.

A card shows addresses in full, since somebody decides on them; elsewhere they are removed.
"""

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from orchestrator.language.links import extract_hosts, strip_unknown_links
from state.stored import JsonObject

JOINER: Final = "\u2060"
"""WORD JOINER: invisible, and it ends any address, mention or command. A zero-width joiner could be part of an address."""
_URL_FIELDS: Final = frozenset({"url", "made_url", "links"})
"""Fields with addresses built by our code: the record's page in the portal."""
_CODE_FIELDS: Final = _URL_FIELDS | {"method", "commands"}
_ADDRESSES_SHOWN: Final = frozenset({"card", "details", "edit", "waiting", "people"})
_ADDRESSES_HIDDEN: Final = frozenset({"history", "news", "daily", "reminder"})
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://\S+|www\.\S+|(?<![\w@.-])(?:[\w-]+\.)+[^\W\d_]{2,}(?![\w@-])(?:[/:?#]\S*)?", re.IGNORECASE)
_STOP = re.compile(r":(?=//)|\.(?=\w)")
_MENTION = re.compile(r"(?<!\w)@(?=\w)|(?<![\w/<>])/(?=\w)")


def disable_message_links(kind: str, body: JsonObject, *, locale: str) -> JsonObject:
    """Return a message body for rendering with its links disabled.

    In a reply only values inserted by code are treated, since the model's text was checked before.
    """
    hosts = frozenset(host for address in _find_own_addresses(body) for host in extract_hosts(address))
    match kind:
        case _ if kind in _ADDRESSES_SHOWN:
            return {name: _disable_nested_links(name, value, hosts, locale="") for name, value in body.items()}
        case _ if kind in _ADDRESSES_HIDDEN:
            return {name: _disable_nested_links(name, value, hosts, locale=locale) for name, value in body.items()}
        case "reply":
            return {name: _disable_reply_links(name, value, hosts, locale) for name, value in body.items()}
        case _:
            return body


def disable_links(text: str, hosts: AbstractSet[str] = frozenset()) -> str:
    """Return `text` looking the same, with no clickable part except addresses of `hosts`."""
    kept = _ADDRESS.sub(
        lambda found: found[0] if extract_hosts(found[0]) & hosts else _STOP.sub(lambda stop: stop[0] + JOINER, found[0]), text
    )
    return _MENTION.sub(lambda found: found[0] + JOINER, kept) if "@" in kept or "/" in kept else kept


def _disable_reply_links(name: str, value: object, hosts: AbstractSet[str], locale: str) -> object:
    if name == "parts" and isinstance(value, list | tuple):
        return [part if "text" in part else _disable_nested_links("", part, hosts, locale=locale) for part in value]
    return _disable_nested_links(name, value, hosts, locale="") if name in {"notices", "sections"} else value


def _disable_nested_links(name: str, value: object, hosts: AbstractSet[str], *, locale: str) -> object:
    """Treat all texts inside `value`; with a `locale`, addresses are replaced by a word in that language."""
    if isinstance(value, str):
        if name in _CODE_FIELDS:
            return value
        return disable_links(strip_unknown_links(value, hosts, locale=locale) if locale else value, hosts)
    if isinstance(value, Mapping):
        return {key: _disable_nested_links(str(key), item, hosts, locale=locale) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_disable_nested_links(name if name in _URL_FIELDS else "", item, hosts, locale=locale) for item in value]
    return value


def _find_own_addresses(value: object, name: str = "") -> Iterator[str]:
    """Yield the addresses built by our code."""
    if isinstance(value, str) and name in _URL_FIELDS:
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _find_own_addresses(item, str(key))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _find_own_addresses(item, name)
