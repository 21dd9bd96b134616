"""Changes texts of customers and of the portal so that Telegram shows no clickable link, mention or command in them. Pure.

Cards show such addresses in full but not clickable, since somebody decides about them; in other messages they are removed. Only the
shown text is changed, not the stored one.
"""

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from orchestrator.language.links import extract_hosts, strip_unknown_links
from state.stored import JsonObject

JOINER: Final = "\u2060"
"""The invisible character WORD JOINER, at which an address, mention or command ends; a zero-width joiner could be part of an address."""
_URL_FIELDS: Final = frozenset({"url", "made_url", "links"})
"""Fields of message bodies that contain addresses built by the bot itself, of records' pages in the portal; they stay clickable."""
_CODE_FIELDS: Final = _URL_FIELDS | {"method", "commands"}
_ADDRESSES_SHOWN: Final = frozenset({"card", "details", "edit", "waiting", "people"})
_ADDRESSES_HIDDEN: Final = frozenset({"history", "news", "daily", "reminder"})
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://\S+|www\.\S+|(?<![\w@.-])(?:[\w-]+\.)+[^\W\d_]{2,}(?![\w@-])(?:[/:?#]\S*)?", re.IGNORECASE)
_STOP = re.compile(r":(?=//)|\.(?=\w)")
_MENTION = re.compile(r"(?<!\w)@(?=\w)|(?<![\w/<>])/(?=\w)")


def disable_message_links(kind: str, body: JsonObject, *, locale: str) -> JsonObject:
    """Return the body of an outbox message of this kind with its links disabled; bodies without foreign text are returned unchanged.

    In a reply only the values that code inserted are changed, since the links in the model's own text were checked before.
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
    """Return `text` with invisible characters inserted so that nothing in it is clickable, except addresses of `hosts`."""
    kept = _ADDRESS.sub(
        lambda found: found[0] if extract_hosts(found[0]) & hosts else _STOP.sub(lambda stop: stop[0] + JOINER, found[0]), text
    )
    return _MENTION.sub(lambda found: found[0] + JOINER, kept) if "@" in kept or "/" in kept else kept


def _disable_reply_links(name: str, value: object, hosts: AbstractSet[str], locale: str) -> object:
    if name == "parts" and isinstance(value, list | tuple):
        return [part if "text" in part else _disable_nested_links("", part, hosts, locale=locale) for part in value]
    return _disable_nested_links(name, value, hosts, locale="") if name in {"notices", "sections"} else value


def _disable_nested_links(name: str, value: object, hosts: AbstractSet[str], *, locale: str) -> object:
    """Return `value` with links disabled in all texts inside it; with a `locale`, addresses are replaced by a word in that language."""
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
    """Yield the addresses in `value` that the bot itself built."""
    if isinstance(value, str) and name in _URL_FIELDS:
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _find_own_addresses(item, str(key))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _find_own_addresses(item, name)
