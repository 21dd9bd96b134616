"""What the people feature needs to know: who has which rights now, and who works in the portal.

`Staff` is implemented by the access list; `Employees` reads the portal.
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
from state.registry import Registry

_WITHIN: Final = 5.0
"""Seconds that a person who clicked a link or a button may wait for the portal."""
_FOR_ALL: Final = 30.0


class Staff(Protocol):
    """The people known to the front ends; implemented by `bot.access.access`."""

    def find_actor_by_key(self, key: str) -> Actor | None:
        """Return the person with their present rights; None for strangers and for those who lost access."""

    def list_admins(self) -> Sequence[Actor]:
        """Return the administrators, who decide about access."""

    def map_employees(self) -> Mapping[str, int]:
        """Return the employee numbers by person key of everybody who has one, including those without access."""

    def find_name(self, key: str) -> str:
        """Return the person's name, even without access; "" for strangers."""

    def is_fixed(self, key: str) -> bool:
        """Whether the access file lists the person, so that only the file can remove them."""

    def resolve_preferences(self, key: str) -> Mapping[str, str]:
        """Return the preferences that the person has set, name → value; a name that is missing has its default."""

    def apply_registry(self, registry: Registry, seq: int) -> None:
        """Update the access list from a changed registry, in its state after the event with number `seq`."""


@dataclass(frozen=True, kw_only=True)
class Employee:
    """An employee of the portal."""

    user_id: int
    name: str
    time_zone: str = ""
    works: bool = True
    known: bool = True
    """Whether the employee was found; False if the portal could not be read, or has no employee with that number."""


class Employees:
    """Reads the portal's employees, for admitting and removing people."""

    def __init__(self, reference: Reference, naming: Naming) -> None:
        """Keep the readers."""
        self._reference = reference
        self._naming = naming

    async def read_employee(self, user_id: int) -> Employee:
        """Return this employee, read from the portal again.

        Raises nothing and takes at most `_WITHIN` seconds; if the employee cannot be read, `known` is False.
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
        found = [Employee(user_id=number, name=_format_name(row) or f"№{number}") for number, row in rows.items() if is_employed(row)]
        return sorted(found, key=lambda item: item.name)

    async def check_at_work(self, numbers: Collection[int]) -> dict[int, bool]:
        """Return, by number, whether each of these employees works in the company now. Raises BitrixError.

        Employees who are not found are left out. The portal is read once, unless its list is too long.
        """
        async with _limit_wait(_FOR_ALL):
            rows = dict(await self._reference.load_users(fresh=True))
            for number in numbers if len(rows) >= MOST_USERS else ():  # the list is cut off there, so others must be read one by one
                if number not in rows and (row := await self._reference.find_user(number, fresh=True)) is not None:
                    rows[number] = row
        return {number: is_employed(rows[number]) for number in numbers if number in rows}


@asynccontextmanager
async def _limit_wait(seconds: float) -> AsyncIterator[None]:
    """Limit the time of a read, and turn a timeout or an unreadable answer of the portal into OutcomeUnknown, which is a BitrixError."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise OutcomeUnknown("the portal takes too long to tell of its employees") from None
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise OutcomeUnknown(f"what the portal tells of its employees cannot be understood ({type(error).__name__})") from None


def _format_name(user: User) -> str:
    return to_visible_line(user.full_name, limit=60)
