"""To whom a stored message may still be shown: asked when it is brought, not when it was made. Ring 3; sends and closes nothing.

A row of a group is the group's: it is read by everybody there, and no one person's access opens or shuts it.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from bot.access import Access
from bot.telegram.parts import chat_of
from orchestrator.leads.choosing import Leads
from orchestrator.messages import Notice, say
from orchestrator.people.screens import KIND
from state.store import OutboxRow

STRANGER: Final = "not shown: the person has no access any more"
NO_LEAD: Final = "not shown: the person decides about cards of others no more"
_DECIDE: Final = frozenset({"lead", "admin"})
_FOR_STRANGERS: Final = ("people-link-", "people-lost-")
"""Sentences about a link that does not fit, and about access that is gone; nothing of the company is in them."""
_GONE: Final = say(Notice(code="no-access-any-more")).model_dump(mode="json")
"""All that an input comes to whose sender has lost access before it was worked."""


def admitting(access: Access) -> Callable[[int], bool]:
    """Whether a chat may be shown what is the company's: a group, or the private chat of somebody with access."""
    return lambda chat: chat < 0 or access.actor(chat) is not None


def is_for_anyone(row: OutboxRow) -> bool:
    """Whether it may be shown to somebody without access: it tells of that, or ends a card that stands in the chat already."""
    if row.kind == KIND:
        return str(row.body.get("code", "")).startswith(_FOR_STRANGERS)
    if row.kind == "reply":
        return row.body == _GONE
    return row.kind == "card" and row.body.get("why") == "no-access" and bool(row.sent_ref)


def withheld(row: OutboxRow, access: Access, now: datetime) -> str:
    """Why this row is not to be shown by the rights of this moment, "" where it may be. A toast has other words then instead."""
    chat = chat_of(row.session)[0]
    if chat < 0 or row.kind == "toast" or is_for_anyone(row):
        return ""
    actor = access.actor(chat)
    if actor is None:
        return STRANGER
    of_another = row.kind == "card" and bool(row.body.get("home"))
    ends = row.body.get("status") != "requested" and bool(row.sent_ref)  # of what was seen there with the right to see it
    return NO_LEAD if of_another and not ends and Leads(access, lambda: now).acting(actor).role not in _DECIDE else ""
