"""Finds web addresses and whom texts address; removes links that are not allowed: one more character could carry data to a stranger."""

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import RUSSIAN_SMALL_LETTERS

_LEXICON = load_lexicon("mentions")
_FLAGS = re.IGNORECASE | re.DOTALL
_PLACES = {kind: re.compile(_LEXICON.read_text(kind), _FLAGS) for kind in ("user", "department", "chat")}
_NAME = re.compile(_LEXICON.read_text("name"), re.IGNORECASE)
_LINK = re.compile(_LEXICON.read_text("link"), _FLAGS)
_MEMBERS = "members"
_LISTS = (list, tuple)
_NO_TEXT: Final = frozenset({int, float, bool, type(None)})
"""JSON types in which no mark can stand."""
EVERYBODY = "all"


@dataclass(frozen=True, kw_only=True)
class Mentions:
    users: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    """Employees whom an item of a checklist is given to."""
    departments: tuple[str, ...] = ()
    chats: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    """Addresses of links that show another text."""

    def is_only_about(self, user: int | None) -> bool:
        """Links do not count."""
        return not (self.departments or self.chats or self.names) and {*self.users, *self.members} <= {str(user)}


NOBODY: Final = Mentions()


def read_mentions(values: Mapping[str, object]) -> Mentions:
    """In all texts, whatever their field: a mark in the wrong field costs one question, an unseen one disturbs a whole company."""
    texts: list[str] = []
    _collect_marked_texts(values, texts)
    members = tuple(dict.fromkeys(_list_members(values)))
    if not texts:
        return Mentions(members=members) if members else NOBODY
    ids_by_kind = {kind: _list_ids(pattern, texts) for kind, pattern in _PLACES.items()}
    links = (link for text in texts for link in _LINK.finditer(text))
    return Mentions(
        users=ids_by_kind["user"],
        members=members,
        departments=ids_by_kind["department"],
        chats=ids_by_kind["chat"],
        names=_list_ids(_NAME, texts),
        links=tuple(dict.fromkeys(link["address"] for link in links if link["label"].strip() != link["address"])),
    )


def _list_ids(pattern: re.Pattern[str], texts: list[str]) -> tuple[str, ...]:
    ids = (match["id"] for text in texts for match in pattern.finditer(text))
    return tuple(dict.fromkeys(name.lower() if name.isascii() else name for name in ids))


def _collect_marked_texts(value: object, texts: list[str]) -> None:
    if isinstance(value, str):
        if "[" in value or "@" in value:
            texts.append(value)
        return
    inner = value if isinstance(value, _LISTS) else value.values() if isinstance(value, Mapping) else ()
    for item in inner:
        if type(item) not in _NO_TEXT:
            _collect_marked_texts(item, texts)


def _list_members(value: Mapping[str, object]) -> Iterator[str]:
    for name, item in value.items():
        if type(item) is str or type(item) in _NO_TEXT or not isinstance(item, Mapping):
            continue
        if str(name).lower() == _MEMBERS:
            yield from (str(key) for key in item if str(key).isdecimal())
        else:
            yield from _list_members(item)


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
