"""A shared contact as lines of text: name, organisation and post, all phones, e-mail."""

import re
from collections.abc import Iterator
from typing import Any, Final

from aiogram.types import Contact

from state.canonical import to_storable_text

_LONGEST: Final = 20_000
"""Telegram sends at most 2,048 bytes; a longer card is not read."""
_PHONE: Final = re.compile(r"^TEL[^\n]*(?<!\\),[^\n]*", re.MULTILINE | re.IGNORECASE)
"""Phones write an extension behind a comma, at which the library would cut."""
_MOST_LINES: Final = 20
_PLAIN_KINDS: Final = frozenset({"cell", "voice", "pref", "internet", "home", "x-internet"})


def format_contact(contact: Contact) -> str:
    """What the vCard adds to name and number; a card that cannot be read adds nothing."""
    name = " ".join(filter(None, (contact.first_name, contact.last_name)))
    lines = [name, contact.phone_number]
    for line in _read_card(contact.vcard or ""):
        digits = _to_digits(line)
        if not digits or digits not in map(_to_digits, lines):
            lines.append(line)
    return to_storable_text("\n".join(dict.fromkeys(filter(None, lines[:_MOST_LINES]))))


def _to_digits(line: str) -> str:
    """Of a phone; "" for other lines."""
    return "" if any(char.isalpha() for char in line.partition(" (")[0]) else "".join(filter(str.isdigit, line))


def _read_card(vcard: str) -> list[str]:
    if not vcard or len(vcard) > _LONGEST:
        return []
    import vobject  # noqa: PLC0415 - few messages are contacts, and it takes 20 ms

    try:
        card = vobject.readOne(_PHONE.sub(lambda line: line[0].replace(",", "\\,"), vcard), ignoreUnreadable=True)
        return [" ".join(str(line).split()) for line in _list_lines(card.contents)]
    except (vobject.base.VObjectError, AttributeError, IndexError, StopIteration, TypeError, ValueError):
        return []


def _list_lines(contents: dict[str, list[Any]]) -> Iterator[str]:
    for organisation in contents.get("org", ()):
        yield ", ".join(filter(None, organisation.value if isinstance(organisation.value, list) else [organisation.value]))
    for name in ("title", "role"):
        yield from (post.value for post in contents.get(name, ()))
    for name in ("tel", "email"):
        for address in contents.get(name, ()):
            kinds = [kind.lower() for kind in address.params.get("TYPE", ()) if kind.lower() not in _PLAIN_KINDS]
            yield f"{address.value} ({', '.join(kinds)})" if kinds else address.value
