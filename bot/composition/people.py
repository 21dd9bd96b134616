"""The people who use the bot as the doors of a process know them. Part of the composition root."""

from dataclasses import dataclass
from typing import Final, Protocol

from orchestrator.domain.actor import Actor
from orchestrator.domain.chat_messages import ChatMessenger, KnownPeople
from orchestrator.domain.staff import Staff as LeadStaff
from orchestrator.features.console.handlers import SignLink
from orchestrator.features.daily.ports import People as Addressees
from orchestrator.features.people.staff import Staff
from orchestrator.features.portal_events.news import Audience, Nobody
from orchestrator.runtime.worker import TellTrouble
from orchestrator.turns.feature import Files, RefreshActor, ShowPartial


class Members(Addressees, Staff, LeadStaff, KnownPeople, Protocol):
    """Looks up the people who may use the bot. `Access` implements it for the features that write to people or admit new ones."""


def keep_actor(actor: Actor) -> Actor:
    """Return the actor with the rights of the input: a door without a list of people has no others."""
    return actor


NOBODY: Final = Nobody()


@dataclass(frozen=True, kw_only=True)
class People:
    """Who uses the bot, and how they are reached."""

    report_trouble: TellTrouble
    """Tells a session that nothing can be stored."""
    show_partial: ShowPartial
    """Shows a session the progress of its running turn (processing of a message)."""
    refresh_actor: RefreshActor = keep_actor
    """Returns an actor with the rights that the person has now, None if access was lost."""
    audience: Audience = NOBODY
    """Finds those who want notices of changes to their records."""
    members: Members | None = None
    """Finds all people who use the bot; without it the bot never writes to people unasked and admits nobody."""
    files: Files | None = None
    """Downloads what people send; None without a messenger that gives files."""
    messenger: ChatMessenger | None = None
    """Sends the messages of effects."""
    sign_link: SignLink | None = None
    """Signs links of the console; None without one."""
