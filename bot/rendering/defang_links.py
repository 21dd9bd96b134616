"""Words of customers and of the portal as Telegram makes nothing of them: no address to tap, no mention, no command. Ring 3, pure.

Only what is shown changes, never what is written. A card shows all of an address, since somebody decides on it; elsewhere it goes.
"""

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

from orchestrator.language.links import extract_hosts, strip_unknown_links

JOINER: Final = "\u2060"
"""WORD JOINER: nobody sees it, and no address, mention or command goes on behind it. A zero-width joiner may be part of an address."""
_URL_FIELDS: Final = frozenset({"url", "made_url", "links"})
"""Made by us: where a record is in the portal."""
_CODE_FIELDS: Final = _URL_FIELDS | {"method", "commands"}
_ADDRESSES_SHOWN: Final = frozenset({"card", "details", "edit", "waiting", "people"})
_ADDRESSES_HIDDEN: Final = frozenset({"history", "news", "daily", "reminder"})
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://\S+|www\.\S+|(?<![\w@.-])(?:[\w-]+\.)+[^\W\d_]{2,}(?![\w@-])(?:[/:?#]\S*)?", re.IGNORECASE)
_STOP = re.compile(r":(?=//)|\.(?=\w)")
_MENTION = re.compile(r"(?<!\w)@(?=\w)|(?<![\w/<>])/(?=\w)")


def disable_message_links(kind: str, body: Mapping[str, Any], *, locale: str) -> Mapping[str, Any]:
    """The body of an outgoing message as it is to be drawn; of a reply only what code put in: the model's prose was looked at before."""
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
    """`text` with nothing to tap but addresses of `hosts`; it looks the same."""
    kept = _ADDRESS.sub(
        lambda found: found[0] if extract_hosts(found[0]) & hosts else _STOP.sub(lambda stop: stop[0] + JOINER, found[0]), text
    )
    return _MENTION.sub(lambda found: found[0] + JOINER, kept) if "@" in kept or "/" in kept else kept


def _disable_reply_links(name: str, value: Any, hosts: AbstractSet[str], locale: str) -> Any:
    if name == "parts":
        return [part if "text" in part else _disable_nested_links("", part, hosts, locale=locale) for part in value]
    return _disable_nested_links(name, value, hosts, locale="") if name in {"notices", "sections"} else value


def _disable_nested_links(name: str, value: Any, hosts: AbstractSet[str], *, locale: str) -> Any:
    """All texts below `value`; addresses go where a locale is given, which says what stands in their place."""
    if isinstance(value, str):
        if name in _CODE_FIELDS:
            return value
        return disable_links(strip_unknown_links(value, hosts, locale=locale) if locale else value, hosts)
    if isinstance(value, Mapping):
        return {key: _disable_nested_links(str(key), item, hosts, locale=locale) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_disable_nested_links(name if name in _URL_FIELDS else "", item, hosts, locale=locale) for item in value]
    return value


def _find_own_addresses(value: Any, name: str = "") -> Iterator[str]:
    """The addresses that code has made."""
    if isinstance(value, str) and name in _URL_FIELDS:
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _find_own_addresses(item, str(key))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _find_own_addresses(item, name)
