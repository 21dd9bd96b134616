"""The people who may use the bot, their leads (heads of sales) and absences, as the access list says them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from orchestrator.domain.actor import Actor


@dataclass(frozen=True, kw_only=True)
class Absence:
    """The absence of a lead (head of sales) up to and including the day `until`.

    `deputy` is the key of the person who decides in the lead's place, "" if nobody was named.
    """

    until: date
    deputy: str = ""


class Staff(Protocol):
    """Lists the people who may use the bot now; implemented by the access list, which is held in memory."""

    def list_people(self) -> Sequence[Actor]:
        """Return all people with access."""

    def find_lead(self, key: str) -> str:
        """Return the key of the lead (head of sales) named for the person with this key, or "" if none is."""

    def find_absence(self, key: str) -> Absence | None:
        """Return the person's absence according to the access list, or None; it may already be over."""
