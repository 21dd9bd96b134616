"""Finds web addresses in text and removes those that are not allowed, so that an address cannot carry data to a stranger.

Allowed are addresses of the portal and of listed hosts, and addresses that the person wrote. The latter must be exactly the same, since one
more character could carry data.
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
_HOST = rf"(?<![\w@./-])(?:[\w-]{{1,63}}\.){{1,130}}(?:xn--[a-z0-9-]{{1,59}}|[a-z{RUSSIAN_SMALL_LETTERS}]{{2,}})"
_NUMBERS = r"(?<![\w@./-])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?!/[0-9]{1,2}(?![\w/?#-]))"
"""A host given by its IP address; «10.0.0.0/8» is a network and no address."""
_FULL = rf"(?:[a-z][a-z0-9+.-]{{0,20}}://|www\.)[^{_STOPS}]+|(?:{_HOST}|{_NUMBERS})(?::[0-9]+)?(?:/|[?#](?=[\w%&=/]))[^{_STOPS}]*"
_ADDRESS: Final = re.compile(_FULL, re.IGNORECASE)
_ANY_ADDRESS: Final = re.compile(rf"{_FULL}|{_HOST}(?::[0-9]+)?(?![\w@-])", re.IGNORECASE)
_LABELLED: Final = re.compile(rf"!?\[([^\[\]\n]{{0,300}})\]\(\s*<?({_FULL})>?(?:\s+\"[^\"\n]*\")?\s*\)", re.IGNORECASE)
"""A link of Markdown: its label and its address."""
_CLOSING: Final = ".,;:!?…*_~`"
"""Signs after an address that belong to the sentence or to its formatting."""
_REMOVED_MARK = load_lexicon("records").read_table("removed_link")


@dataclass(frozen=True, slots=True)
class FoundAddress:
    """A web address in a text and its position there; punctuation after it is not included."""

    start: int
    end: int
    address: str


def find_addresses(text: str) -> Iterator[FoundAddress]:
    """Yield the web addresses in `text`: those with a scheme, a path or "www.", and bare host names such as "example.com"."""
    return _find(_ANY_ADDRESS, text)


def strip_unknown_links(text: str, hosts: AbstractSet[str], *, locale: str, addresses: AbstractSet[str] = frozenset()) -> str:
    """Return `text` with each address that is not allowed replaced by a mark such as «[link removed]».

    Allowed are addresses whose host is one of `hosts`, and those in `addresses` (in the form of `extract_addresses`). Bare host names stay.
    """
    mark = _REMOVED_MARK[locale]
    labelled = _LABELLED.sub(lambda found: found[0] if is_allowed(found[2], hosts, addresses) else f"{found[1]} {mark}".lstrip(), text)
    pieces: list[str] = []
    end = 0
    for found in _find(_ADDRESS, labelled):
        pieces += labelled[end : found.start], found.address if is_allowed(found.address, hosts, addresses) else mark
        end = found.end
    return "".join([*pieces, labelled[end:]])


def is_allowed(address: str, hosts: AbstractSet[str], addresses: AbstractSet[str] = frozenset()) -> bool:
    """Return whether the address leads to one of `hosts`, or is one of `addresses` (in the form of `extract_addresses`)."""
    host = _parse_host(address)
    return bool(host) and (host in hosts or normalize_address(address) in addresses)


def find_allowed_links(text: str, hosts: AbstractSet[str], addresses: AbstractSet[str] = frozenset()) -> tuple[str, ...]:
    """Return the allowed addresses in `text` without duplicates, spelt as in the text; the arguments are those of `is_allowed`."""
    return tuple(dict.fromkeys(found.address for found in find_addresses(text) if is_allowed(found.address, hosts, addresses)))


def extract_hosts(text: str) -> frozenset[str]:
    """Return the hosts of the addresses in `text`; bare host names such as "example.com" are not counted."""
    return frozenset(host for found in _find(_ADDRESS, text) if (host := _parse_host(found.address)))


def extract_addresses(text: str) -> frozenset[str]:
    """Return the addresses in `text`, including bare host names, in the form of `normalize_address`."""
    return frozenset(normalize_address(found.address) for found in find_addresses(text) if _parse_host(found.address))


def normalize_address(address: str) -> str:
    """Return the address in the form in which addresses are compared: the host in lower case, no http(s)://, no slash at the end."""
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
    """Return the host of an address with its port; "" for an address that not all programs read alike.

    Examples of such addresses are those with a backslash or a user name.
    """
    try:
        host = urlsplit(address if "://" in address else f"//{address}").netloc.lower()
    except ValueError:
        return ""
    return "" if "@" in host or "\\" in address else host
