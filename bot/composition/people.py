"""The people who use the bot, as the doors know them."""

from dataclasses import dataclass
from typing import Final, Protocol

from orchestrator.domain.actor import Actor
from orchestrator.domain.actor import Staff as LeadStaff
from orchestrator.domain.chat_messages import ChatMessenger, KnownPeople
from orchestrator.features.console.feature import SignLink
from orchestrator.features.daily.message_bodies import People as Addressees
from orchestrator.features.people.staff import Staff
from orchestrator.features.portal_events.news import Audience, Nobody
from orchestrator.runtime.worker import TellTrouble
from orchestrator.turns.feature import Files, RefreshActor, ShowPartial


class Members(Addressees, Staff, LeadStaff, KnownPeople, Protocol):
    """Who may use the bot."""


def keep_actor(actor: Actor) -> Actor:
    """A door without a list of people has no other rights."""
    return actor


NOBODY: Final = Nobody()


@dataclass(frozen=True, kw_only=True)
class People:
    report_trouble: TellTrouble
    show_partial: ShowPartial
    refresh_actor: RefreshActor = keep_actor
    """None if access was lost."""
    audience: Audience = NOBODY
    members: Members | None = None
    """Without it the bot never writes unasked and admits nobody."""
    files: Files | None = None
    messenger: ChatMessenger | None = None
    sign_link: SignLink | None = None
