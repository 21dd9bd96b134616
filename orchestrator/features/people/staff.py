"""The sources of facts for the people feature: the access list (who has which rights now) and the portal (who is employed).

The access list implements `Staff`; `Employees` reads the portal.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from bitrix.errors import BitrixError, OutcomeUnknown
from orchestrator.directory.naming import Naming
from orchestrator.directory.reference import Reference, is_employed
from orchestrator.directory.reference_reads import MOST_USERS
from orchestrator.directory.rows import User
from orchestrator.domain.actor import Actor
from orchestrator.language.text import to_visible_line
from state.model.registry import Registry

_WITHIN: Final = 5.0
"""Seconds that a person who clicked a link or a button may wait for the portal."""
_FOR_ALL: Final = 30.0


class Staff(Protocol):
    """The access list: who may use the bot, with which rights and preferences. `bot.access.access` implements it."""

    def find_actor_by_key(self, key: str) -> Actor | None:
        """Return the person with their present rights; None for a stranger and for a person who lost access."""

    def list_admins(self) -> Sequence[Actor]:
        """Return the administrators of the bot; they decide who gets access."""

    def map_employees(self) -> Mapping[str, int]:
        """Return the portal user ids of the bot's users: person key → user id.

        People who lost access are included; people without a user id are left out.
        """

    def find_name(self, key: str) -> str:
        """Return the person's name, also if they lost access; "" for a stranger."""

    def is_fixed(self, key: str) -> bool:
        """Whether the access file lists the person. Only a change of that file can remove such a person."""

    def resolve_preferences(self, key: str) -> Mapping[str, str]:
        """Return the preferences that the person has set: name → value. A preference that is missing has its default value."""

    def apply_registry(self, registry: Registry, seq: int) -> None:
        """Update the access list from the registry of people as it is after the event with number `seq`."""


@dataclass(frozen=True, kw_only=True)
class Employee:
    """An employee of the portal, as far as the people feature needs to know them."""

    user_id: int
    name: str
    time_zone: str = ""
    works: bool = True
    known: bool = True
    """Whether the employee was found; False if the portal could not be read, or has no employee with that number."""


class Employees:
    """Reads from the portal who is employed; used when people are admitted or lose access."""

    def __init__(self, reference: Reference, naming: Naming) -> None:
        """Keep the readers of the portal's users and of their time zones."""
        self._reference = reference
        self._naming = naming

    async def read_employee(self, user_id: int) -> Employee:
        """Return the employee with this user id, read from the portal and not from a cache.

        Takes at most `_WITHIN` seconds and raises no BitrixError; if the employee cannot be read, `known` is False.
        """
        try:
            async with _limit_wait(_WITHIN):
                row = await self._reference.find_user(user_id, fresh=True)
                zone = await self._naming.find_zone(user_id)
        except BitrixError:
            row, zone = None, ""
        if row is None:
            return Employee(user_id=user_id, name="", known=False)
        return Employee(user_id=user_id, name=_format_name(row), time_zone=zone, works=is_employed(row))

    async def list_working(self) -> list[Employee]:
        """Return the employees who are not dismissed, sorted by name. Raises BitrixError."""
        async with _limit_wait(_WITHIN):
            rows = await self._reference.load_users()
        employees = [Employee(user_id=number, name=_format_name(row) or f"№{number}") for number, row in rows.items() if is_employed(row)]
        return sorted(employees, key=lambda item: item.name)

    async def check_at_work(self, numbers: Collection[int]) -> dict[int, bool]:
        """Return whether each of these employees works in the company now: user id → bool. Raises BitrixError.

        Employees who are not found are left out. The list of users is read once; if the portal cuts it off, missing employees are read one
        by one.
        """
        async with _limit_wait(_FOR_ALL):
            rows = dict(await self._reference.load_users(fresh=True))
            for number in numbers if len(rows) >= MOST_USERS else ():  # the list is cut off there, so others must be read one by one
                if number not in rows and (row := await self._reference.find_user(number, fresh=True)) is not None:
                    rows[number] = row
        return {number: is_employed(rows[number]) for number in numbers if number in rows}


@asynccontextmanager
async def _limit_wait(seconds: float) -> AsyncIterator[None]:
    """Run a read of the portal with a time limit; raise OutcomeUnknown, a BitrixError, on a timeout or an unreadable answer."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise OutcomeUnknown("the portal takes too long to tell of its employees") from None
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise OutcomeUnknown(f"what the portal tells of its employees cannot be understood ({type(error).__name__})") from None


def _format_name(user: User) -> str:
    return to_visible_line(user.full_name, limit=60)
