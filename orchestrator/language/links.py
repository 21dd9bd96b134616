"""Finds addresses in text and removes those that may not stand there, so that text cannot carry data out.

Links may lead to the portal, to listed hosts, or to exactly an address that the person wrote: one more sign in it could carry data.
"""

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import RUSSIAN_SMALL_LETTERS

_STOPS = r"\s<>\"'»)\]"
# Bounded, since a text of 30,000 characters without a space must not take seconds.
_HOST = rf"(?<![\w@./-])(?:[\w-]{{1,63}}\.){{1,130}}[a-z{RUSSIAN_SMALL_LETTERS}]{{2,}}"
_FULL = rf"(?:[a-z][a-z0-9+.-]{{0,20}}://|www\.)[^{_STOPS}]+|{_HOST}(?::[0-9]+)?(?:/|[?#](?=[\w%&=/]))[^{_STOPS}]*"
_ADDRESS: Final = re.compile(_FULL, re.IGNORECASE)
_ANY_ADDRESS: Final = re.compile(rf"{_FULL}|{_HOST}(?::[0-9]+)?(?![\w@-])", re.IGNORECASE)
_LABELLED: Final = re.compile(rf"!?\[([^\[\]\n]{{0,300}})\]\(\s*<?({_FULL})>?(?:\s+\"[^\"\n]*\")?\s*\)", re.IGNORECASE)
"""A link of Markdown: its label and its address."""
_CLOSING: Final = ".,;:!?…*_~`"
"""Signs after an address that belong to the sentence or to its formatting."""
_REMOVED_MARK = load_lexicon("records").read_table("removed_link")


@dataclass(frozen=True, slots=True)
class FoundAddress:
    """An address in a text, without the punctuation after it."""

    start: int
    end: int
    address: str


def find_addresses(text: str) -> Iterator[FoundAddress]:
    """Yield the addresses in `text` that have a scheme, a path or "www.", and the bare hosts such as "example.com"."""
    return _find(_ANY_ADDRESS, text)


def strip_unknown_links(text: str, hosts: AbstractSet[str], *, locale: str, addresses: AbstractSet[str] = frozenset()) -> str:
    """Replace every address by a mark, except those of `hosts` and those that are one of `addresses` (see `extract_addresses`)."""
    mark = _REMOVED_MARK[locale]
    labelled = _LABELLED.sub(lambda found: found[0] if is_allowed(found[2], hosts, addresses) else f"{found[1]} {mark}".lstrip(), text)
    pieces: list[str] = []
    end = 0
    for found in _find(_ADDRESS, labelled):
        pieces += labelled[end : found.start], found.address if is_allowed(found.address, hosts, addresses) else mark
        end = found.end
    return "".join([*pieces, labelled[end:]])


def is_allowed(address: str, hosts: AbstractSet[str], addresses: AbstractSet[str] = frozenset()) -> bool:
    """Return whether the address leads to one of `hosts`, or is exactly one of `addresses`."""
    host = _parse_host(address)
    return bool(host) and (host in hosts or normalize_address(address) in addresses)


def find_allowed_links(text: str, hosts: AbstractSet[str], addresses: AbstractSet[str] = frozenset()) -> tuple[str, ...]:
    """Return the addresses of `text` that may be links, each once and in the form in which it stands there."""
    return tuple(dict.fromkeys(found.address for found in find_addresses(text) if is_allowed(found.address, hosts, addresses)))


def extract_hosts(text: str) -> frozenset[str]:
    """Return the hosts of the addresses in `text`."""
    return frozenset(host for found in _find(_ADDRESS, text) if (host := _parse_host(found.address)))


def extract_addresses(text: str) -> frozenset[str]:
    """Return the addresses in `text` in the form in which they are compared, bare hosts too."""
    return frozenset(normalize_address(found.address) for found in find_addresses(text) if _parse_host(found.address))


def normalize_address(address: str) -> str:
    """Return the address as it is compared: the host in small letters, without http(s):// and without a slash at its end."""
    scheme, mark, rest = address.partition("://")
    bare = rest if mark else address
    host, sign, path = re.split(r"([/?#]|$)", bare, maxsplit=1)[:3]
    plain = "" if scheme.lower() in {"http", "https"} or not mark else f"{scheme.lower()}://"
    return f"{plain}{host.lower()}{sign}{path}".removesuffix("/")


def _find(pattern: re.Pattern[str], text: str) -> Iterator[FoundAddress]:
    for found in pattern.finditer(text):
        address = found[0].rstrip(_CLOSING)
        yield FoundAddress(start=found.start(), end=found.start() + len(address), address=address)


def _parse_host(address: str) -> str:
    """Return the host with its port; "" for an address that programs read differently, such as one with a backslash or a user name."""
    try:
        host = urlsplit(address if "://" in address else f"//{address}").netloc.lower()
    except ValueError:
        return ""
    return "" if "@" in host or "\\" in address else host
