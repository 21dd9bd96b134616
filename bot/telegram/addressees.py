"""To whom a stored message may still be shown: asked when it is brought, not when it was made. Ring 3; sends and closes nothing.

A row of a group is the group's: it is read by everybody there, and no one person's access opens or shuts it.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from bot.access import Access
from bot.telegram.parts import parse_chat
from orchestrator.leads.choosing import LeadApprovers
from orchestrator.messages import Notice, build_reply
from orchestrator.people.screens import KIND
from state.store import OutboxRow

NO_ACCESS: Final = "not shown: the person has no access any more"
NO_LEAD: Final = "not shown: the person decides about cards of others no more"
_DECIDING_ROLES: Final = frozenset({"lead", "admin"})
_FOR_STRANGERS: Final = ("people-link-", "people-lost-")
"""Sentences about a link that does not fit, and about access that is gone; nothing of the company is in them."""
_ACCESS_LOST: Final = build_reply(Notice(code="no-access-any-more")).model_dump(mode="json")
"""All that an input comes to whose sender has lost access before it was worked."""


def build_admission_check(access: Access) -> Callable[[int], bool]:
    """Whether a chat may be shown what is the company's: a group, or the private chat of somebody with access."""
    return lambda chat: chat < 0 or access.find_actor(chat) is not None


def is_for_anyone(row: OutboxRow) -> bool:
    """Whether it may be shown to somebody without access: it tells of that, or ends a card that stands in the chat already."""
    if row.kind == KIND:
        return str(row.body.get("code", "")).startswith(_FOR_STRANGERS)
    if row.kind == "reply":
        return row.body == _ACCESS_LOST
    return row.kind == "card" and row.body.get("why") == "no-access" and bool(row.sent_ref)


def find_withholding_reason(row: OutboxRow, access: Access, now: datetime) -> str:
    """Why this row is not to be shown by the rights of this moment, "" where it may be. A toast has other words then instead."""
    chat = parse_chat(row.session)[0]
    if chat < 0 or row.kind == "toast" or is_for_anyone(row):
        return ""
    actor = access.find_actor(chat)
    if actor is None:
        return NO_ACCESS
    of_another = row.kind == "card" and bool(row.body.get("home"))
    ends = row.body.get("status") != "requested" and bool(row.sent_ref)  # of what was seen there with the right to see it
    return (
        NO_LEAD
        if of_another and not ends and LeadApprovers(access, lambda: now).apply_delegation(actor).role not in _DECIDING_ROLES
        else ""
    )
