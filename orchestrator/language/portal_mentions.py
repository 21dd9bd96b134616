"""Whom texts for the portal address, and links whose text hides their address.

All texts are searched, whatever their field: a mark in the wrong field costs one question, an unseen one disturbs a whole company.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from orchestrator.language.lexicon import load_lexicon

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
