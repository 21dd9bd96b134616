"""Finds web addresses, and removes those that are not allowed: one more character could carry data to a stranger."""

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
_HOST = rf"(?<![\w@./-])(?:[\w-]{{1,63}}\.){{1,130}}(?:xn--[a-z0-9-]{{1,59}}|[a-z{RUSSIAN_SMALL_LETTERS}]{{2,}})"
_NUMBERS = r"(?<![\w@./-])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?!/[0-9]{1,2}(?![\w/?#-]))"
"""«10.0.0.0/8» is a network and no address."""
_FULL = rf"(?:[a-z][a-z0-9+.-]{{0,20}}://|www\.)[^{_STOPS}]+|(?:{_HOST}|{_NUMBERS})(?::[0-9]+)?(?:/|[?#](?=[\w%&=/]))[^{_STOPS}]*"
_ADDRESS: Final = re.compile(_FULL, re.IGNORECASE)
_ANY_ADDRESS: Final = re.compile(rf"{_FULL}|{_HOST}(?::[0-9]+)?(?![\w@-])", re.IGNORECASE)
_LABELLED: Final = re.compile(rf"!?\[([^\[\]\n]{{0,300}})\]\(\s*<?({_FULL})>?(?:\s+\"[^\"\n]*\")?\s*\)", re.IGNORECASE)
_CLOSING: Final = ".,;:!?…*_~`"
"""Signs that belong to the sentence or to its formatting."""
_REMOVED_MARK = load_lexicon("records").read_table("removed_link")


@dataclass(frozen=True, slots=True)
class FoundAddress:
    start: int
    end: int
    address: str


def find_addresses(text: str) -> Iterator[FoundAddress]:
    return _find(_ANY_ADDRESS, text)


def strip_unknown_links(text: str, hosts: AbstractSet[str], *, locale: str, addresses: AbstractSet[str] = frozenset()) -> str:
    """Replace what is not allowed by «[link removed]»; bare host names stay. `addresses` are in the form of `extract_addresses`."""
    mark = _REMOVED_MARK[locale]
    labelled = _LABELLED.sub(lambda link: link[0] if is_allowed(link[2], hosts, addresses) else f"{link[1]} {mark}".lstrip(), text)
    pieces: list[str] = []
    end = 0
    for link in _find(_ADDRESS, labelled):
        pieces += labelled[end : link.start], link.address if is_allowed(link.address, hosts, addresses) else mark
        end = link.end
    return "".join([*pieces, labelled[end:]])


def is_allowed(address: str, hosts: AbstractSet[str], addresses: AbstractSet[str] = frozenset()) -> bool:
    host = _parse_host(address)
    return bool(host) and (host in hosts or normalize_address(address) in addresses)


def find_allowed_links(text: str, hosts: AbstractSet[str], addresses: AbstractSet[str] = frozenset()) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found.address for found in find_addresses(text) if is_allowed(found.address, hosts, addresses)))


def extract_hosts(text: str) -> frozenset[str]:
    """Bare host names do not count."""
    return frozenset(host for found in _find(_ADDRESS, text) if (host := _parse_host(found.address)))


def extract_addresses(text: str) -> frozenset[str]:
    return frozenset(normalize_address(found.address) for found in find_addresses(text) if _parse_host(found.address))


def normalize_address(address: str) -> str:
    """For comparison: the host in lower case, no http(s)://, no slash at the end."""
    scheme, mark, rest = address.partition("://")
    bare = rest if mark else address
    host, sign, path = re.split(r"([/?#]|$)", bare, maxsplit=1)[:3]
    plain = "" if scheme.lower() in {"http", "https"} or not mark else f"{scheme.lower()}://"
    return f"{plain}{host.lower()}{sign}{path}".removesuffix("/")


def _find(pattern: re.Pattern[str], text: str) -> Iterator[FoundAddress]:
    for match in pattern.finditer(text):
        address = match[0].rstrip(_CLOSING)
        yield FoundAddress(start=match.start(), end=match.start() + len(address), address=address)


def _parse_host(address: str) -> str:
    """With its port; "" for an address that not all programs read alike, as with a backslash or a user name."""
    try:
        host = urlsplit(address if "://" in address else f"//{address}").netloc.lower()
    except ValueError:
        return ""
    return "" if "@" in host or "\\" in address else host
