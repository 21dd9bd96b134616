"""Builds the card lines that say whom the texts of a call notify, and where a link with a text of its own leads."""

from typing import Final

from orchestrator.domain.card_view import PreviewLine
from orchestrator.gate.call.critical_fields import find_mentions
from orchestrator.gate.call.effect import Call
from orchestrator.gate.preview.format_values import Context, Reader, format_value, join_lines
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.portal_mentions import EVERYBODY, NOBODY

NOTIFIED: Final = "NOTIFIED"
"""The `field` of the line that names the people who are notified."""
LINKS: Final = "LINKS"
_WORDS = load_lexicon("mentions")
_LINE: Final = _WORDS.read_titles("line")
_EVERYBODY: Final = _WORDS.read_titles("everybody")
_DEPARTMENTS: Final = _WORDS.read_titles("departments")
_CHATS: Final = _WORDS.read_titles("chats")
_LINKS: Final = _WORDS.read_titles("links")


async def build_notified_lines(call: Call, reader: Reader) -> list[PreviewLine]:
    """Return a line with all whom the call's texts notify, and a line with its hidden links; a line without content is left out.

    The text "[USER=8]Anna[/USER]" notifies employee 8. The line shows the name that employee 8 has in the portal, and not "Anna".
    """
    mentions, locale = find_mentions(call), reader.locale
    if mentions == NOBODY:
        return []
    people = [user for user in (*mentions.users, *mentions.members) if user != EVERYBODY]
    named = await format_value(people, "user", context=Context(entity=call.entity), reader=reader) if people else ""
    told = [
        *([_EVERYBODY[locale]] if EVERYBODY in mentions.users else []),
        *named.split("\n"),
        *(_DEPARTMENTS[locale].format(id=department) for department in mentions.departments),
        *(_CHATS[locale].format(id=chat) for chat in mentions.chats),
        *(f"@{name}" for name in mentions.names),
    ]
    lines = [
        PreviewLine(field=NOTIFIED, name=_LINE[locale], before="", after=join_lines(filter(None, told), reader)),
        PreviewLine(field=LINKS, name=_LINKS[locale], before="", after=join_lines(mentions.links, reader)),
    ]
    return [line for line in lines if line.after]
