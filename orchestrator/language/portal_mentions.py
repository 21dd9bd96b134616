"""Finds whom texts for the portal address, so that it notifies them, and the links whose text hides their address. Pure.

The portal reads marks such as [USER=8] in comments, descriptions and messages. Every text of the written values is searched, whatever its
field: a mark in the wrong field costs one question, an unseen one disturbs a colleague or a whole company.
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
"""The types of JSON values in which no mark and no person can stand, and most values have one of them or are texts."""
EVERYBODY = "all"
"""The id of a mark that addresses everybody."""


@dataclass(frozen=True, kw_only=True)
class Mentions:
    """Whom texts address, each once and in order."""

    users: tuple[str, ...] = ()
    """Ids of employees, or `EVERYBODY`."""
    members: tuple[str, ...] = ()
    """Ids of employees whom an item of a checklist is given to."""
    departments: tuple[str, ...] = ()
    chats: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """Names after "@", which the portal may or may not understand."""
    links: tuple[str, ...] = ()
    """Addresses of links that show another text."""

    def is_only_about(self, user: int | None) -> bool:
        """Return whether nobody but this employee is addressed; links do not count."""
        return not (self.departments or self.chats or self.names) and {*self.users, *self.members} <= {str(user)}


NOBODY: Final = Mentions()
"""What is found in texts that address nobody and hide no address."""


def read_mentions(values: Mapping[str, object]) -> Mentions:
    """Return whom the texts of the values, at any depth, address, and the links in them that hide their address."""
    texts: list[str] = []
    _collect_marked_texts(values, texts)
    members = tuple(dict.fromkeys(_list_members(values)))
    if not texts:
        return Mentions(members=members) if members else NOBODY
    found = {kind: _list_ids(pattern, texts) for kind, pattern in _PLACES.items()}
    links = (link for text in texts for link in _LINK.finditer(text))
    return Mentions(
        users=found["user"],
        members=members,
        departments=found["department"],
        chats=found["chat"],
        names=_list_ids(_NAME, texts),
        links=tuple(dict.fromkeys(link["address"] for link in links if link["label"].strip() != link["address"])),
    )


def _list_ids(pattern: re.Pattern[str], texts: list[str]) -> tuple[str, ...]:
    found = (found["id"] for text in texts for found in pattern.finditer(text))
    return tuple(dict.fromkeys(name.lower() if name.isascii() else name for name in found))


def _collect_marked_texts(value: object, found: list[str]) -> None:
    """Add to `found` all texts in a value in which a mark may stand."""
    if isinstance(value, str):
        if "[" in value or "@" in value:
            found.append(value)
        return
    inner = value if isinstance(value, _LISTS) else value.values() if isinstance(value, Mapping) else ()
    for item in inner:
        if type(item) not in _NO_TEXT:
            _collect_marked_texts(item, found)


def _list_members(value: Mapping[str, object]) -> Iterator[str]:
    """Yield the ids of the people whom an item of a checklist names: the keys of the map under MEMBERS."""
    for name, item in value.items():
        if type(item) is str or type(item) in _NO_TEXT or not isinstance(item, Mapping):
            continue
        if str(name).lower() == _MEMBERS:
            yield from (str(key) for key in item if str(key).isdecimal())
        else:
            yield from _list_members(item)
