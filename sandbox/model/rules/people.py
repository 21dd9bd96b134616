"""Rules for looking up contacts, companies and leads."""

import re
from typing import Any

from sandbox.model.answers import Answer, Step, say
from sandbox.model.names import nominative_title, people
from sandbox.model.rules.base import COMPANY_FIELDS, CONTACT_FIELDS, LEAD_FIELDS, Handler, listing, proposing
from sandbox.model.rules.creating import title_in
from sandbox.model.slots import numbers, phones
from sandbox.model.text import mask, quotes
from sandbox.model.wishes import Wish, leftover, spoken

_MINE = re.compile(r"(?<!\w)(?:мо[ияй]\w{0,2}|у меня|my|mine)(?!\w)")


def contact(wish: Wish) -> Answer | None:
    """Propose to find contacts by phone or name, to list the person's own contacts, or to read one contact by its number.

    A message without a phone, number or name reads the contact that the conversation is about. Return None if nothing of this applies.
    """
    phone, numbered = phones(wish.text), numbers(wish.text)
    if phone:
        return _contacts(wish, {"PHONE": phone[0].text}, words=phone[0].text)
    if numbered:
        return _one(wish, "contact", int(numbered[0].text))
    name = _name(wish)
    if name:
        first, _, last = name.partition(" ")
        filters = {"NAME": first, "%LAST_NAME": last} if last else {_field(first): first}
        return _contacts(wish, filters, words=name)
    if wish.request.current.get("contact") and not _MINE.search(wish.folded):
        return _one(wish, "contact", "@current")
    if not re.search(r"контакт|contact", wish.folded):
        return None
    return _contacts(wish, {"ASSIGNED_BY_ID": "@me"}, words=say("yours", wish.lang))


def _name(wish: Wish) -> str:
    quoted, named = quotes(wish.text), people(wish.text)
    if quoted:
        return quoted[0].text
    if named:
        return named[0].name
    words = leftover(mask(wish.text, []))
    return nominative_title(words) if words else ""


def _field(word: str) -> str:
    known = people(word)
    surname = bool(re.search(r"(?:ов|ев|ёв|ин|ын|ова|ева|ёва|ина|ына|ский|ская|енко|ук|юк|ко)$", word))
    return "NAME" if known and not surname else "%LAST_NAME"


def _contacts(wish: Wish, filters: dict[str, Any], *, words: str) -> Answer:
    return proposing(wish, "contacts", listing(wish, "crm.contact.list", filters, select=CONTACT_FIELDS), words=words)


def _one(wish: Wish, kind: str, record: int | str) -> Answer:
    step = Step(f"crm.{kind}.get", {"id": record}, comment=say("comment.read", wish.lang))
    return proposing(wish, "deal.show", step, record=spoken(record, wish.lang))


def company(wish: Wish) -> Answer:
    """Propose to read one company by name or number, or to list companies."""
    numbered, name = numbers(wish.text), title_in(wish.text)
    if numbered:
        return _one(wish, "company", int(numbered[0].text))
    if name:
        return _one(wish, "company", f"@company:{nominative_title(name)}")
    filters = {"ASSIGNED_BY_ID": "@me"} if _MINE.search(wish.folded) else {}
    return proposing(wish, "companies", listing(wish, "crm.company.list", filters, select=COMPANY_FIELDS))


def leads(wish: Wish) -> Answer:
    """Propose to read one lead by number or name, or to list the person's leads."""
    numbered, name = numbers(wish.text), title_in(wish.text)
    if numbered:
        return _one(wish, "lead", int(numbered[0].text))
    if name:
        return _one(wish, "lead", f"@lead:{nominative_title(name)}")
    return proposing(wish, "leads", listing(wish, "crm.lead.list", {"ASSIGNED_BY_ID": "@me"}, select=LEAD_FIELDS))


HANDLERS: dict[str, Handler] = {"contact.find": contact, "company.find": company, "lead.list": leads}
