"""From whom a text goes out, whom it notifies, and where a link with a text of its own leads."""

from typing import Final

from orchestrator.domain.card_view import PreviewLine
from orchestrator.gate.call import fields
from orchestrator.gate.call.critical_fields import find_mentions
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.decide.signatures import is_signed, lacks_author, tells_people
from orchestrator.gate.preview.format_values import Context, Reader, format_value, join_lines
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.links import EVERYBODY, NOBODY

SENDER: Final = "SENDER"
NOTIFIED: Final = "NOTIFIED"
LINKS: Final = "LINKS"
_WORDS = load_lexicon("mentions")
_LINE: Final = _WORDS.read_titles("line")
_FROM: Final = _WORDS.read_titles("sender", "line")
_OWNER: Final = _WORDS.read_titles("sender", "owner")
_SOMEBODY: Final = _WORDS.read_titles("sender", "somebody")
_EVERYBODY: Final = _WORDS.read_titles("everybody")
_DEPARTMENTS: Final = _WORDS.read_titles("departments")
_CHATS: Final = _WORDS.read_titles("chats")
_LINKS: Final = _WORDS.read_titles("links")


async def build_sender_lines(call: Call, facts: Facts, reader: Reader) -> list[PreviewLine]:
    """What carries the name of the owner of the webhook, whoever asks for it, unless the card says otherwise whose it is.

    A signed text does, and so does an entry for which the person is responsible.
    """
    user = facts.sender.user if facts.sender is not None else 0
    if facts.sender is None or (user and user == reader.user) or is_signed(call, facts.sender.person):
        return []
    responsible = fields.find_value(call.written_fields, call.spec.responsible, call.entity) if call.spec.responsible else None
    if not tells_people(call) and (not lacks_author(call) or fields.parse_ids(responsible) == {str(reader.user)}):
        return []
    if user:
        sender = _OWNER[reader.locale].format(name=await format_value(user, "user", context=Context(entity=call.entity), reader=reader))
    else:
        sender = _SOMEBODY[reader.locale]
    return [PreviewLine(field=SENDER, name=_FROM[reader.locale], before="", after=sender)]


async def build_notified_lines(call: Call, reader: Reader) -> list[PreviewLine]:
    """The text "[USER=8]Anna[/USER]" shows the name that employee 8 has in the portal, not "Anna"."""
    mentions, locale = find_mentions(call), reader.locale
    if mentions == NOBODY:
        return []
    people = [user for user in (*mentions.users, *mentions.members) if user != EVERYBODY]
    people_names = await format_value(people, "user", context=Context(entity=call.entity), reader=reader) if people else ""
    notified = [
        *([_EVERYBODY[locale]] if EVERYBODY in mentions.users else []),
        *people_names.split("\n"),
        *(_DEPARTMENTS[locale].format(id=department) for department in mentions.departments),
        *(_CHATS[locale].format(id=chat) for chat in mentions.chats),
        *(f"@{name}" for name in mentions.names),
    ]
    lines = [
        PreviewLine(field=NOTIFIED, name=_LINE[locale], before="", after=join_lines(filter(None, notified), reader)),
        PreviewLine(field=LINKS, name=_LINKS[locale], before="", after=join_lines(mentions.links, reader)),
    ]
    return [line for line in lines if line.after]
