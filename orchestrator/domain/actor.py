from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal, Protocol

from orchestrator.domain.frozen import Frozen

Mode = Literal["shadow", "canary", "full"]


Role = Literal["manager", "lead", "admin"]


MODES: tuple[Mode, ...] = ("shadow", "canary", "full")


class Actor(Frozen):
    """A person of the access file, a named HTTP token, or the local user.

    `sees`: "own" records, "all", or those of these employees and the actor's own. `max_mode` is the highest safety mode.
    """

    key: str
    name: str
    role: Role = "manager"
    max_mode: Mode = "full"
    sees: Literal["own", "all"] | tuple[int, ...] = "own"
    bitrix_user_id: int | None = None
    time_zone: str = "Europe/Moscow"
    locale: Literal["ru", "en"] = "ru"
    may_approve: bool = True
    for_customers: bool = False
    """A token that passes on what customers write: it starts only what is marked for them, and all that it changes asks."""


def is_same_person(actor: Actor, key: str, user: int | None) -> bool:
    """The same account, or two accounts of one employee."""
    return actor.key == key or (user is not None and actor.bitrix_user_id == user)


@dataclass(frozen=True, kw_only=True)
class Absence:
    until: date
    deputy: str = ""


class Staff(Protocol):
    def list_people(self) -> Sequence[Actor]: ...

    def find_lead(self, key: str) -> str:
        """Empty if none is named."""

    def find_absence(self, key: str) -> Absence | None:
        """It may already be over."""
