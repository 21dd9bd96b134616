import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from bitrix.errors import BitrixError, OutcomeUnknown
from orchestrator.directory.answers import User
from orchestrator.directory.naming import Naming
from orchestrator.directory.reference import Reference, is_employed
from orchestrator.directory.reference_reads import MOST_USERS
from orchestrator.domain.actor import Actor
from orchestrator.language.text import to_visible_line
from state.model.registry import Registry

_WITHIN: Final = 5.0
"""Seconds that a person waits for the portal."""
_FOR_ALL: Final = 30.0


class Staff(Protocol):
    """`bot.access.access` implements it."""

    def find_actor_by_key(self, key: str) -> Actor | None:
        """None without access."""

    def list_admins(self) -> Sequence[Actor]: ...

    def map_employees(self) -> Mapping[str, int]:
        """Person key → user id, also without access."""

    def find_name(self, key: str) -> str:
        """ "" for a stranger."""

    def is_fixed(self, key: str) -> bool:
        """Only a change of the file removes the person."""

    def resolve_preferences(self, key: str) -> Mapping[str, str]:
        """A missing one has its default value."""

    def apply_registry(self, registry: Registry, seq: int) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Employee:
    user_id: int
    name: str
    time_zone: str = ""
    works: bool = True
    known: bool = True
    """False if the portal has no such employee or no answer."""


class Employees:
    def __init__(self, reference: Reference, naming: Naming) -> None:
        self._reference = reference
        self._naming = naming

    async def read_employee(self, user_id: int) -> Employee:
        """Not cached; raises no BitrixError."""
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
        """By name, without dismissed ones. Raises BitrixError."""
        async with _limit_wait(_WITHIN):
            rows = await self._reference.load_users()
        employees = [Employee(user_id=number, name=_format_name(row) or f"№{number}") for number, row in rows.items() if is_employed(row)]
        return sorted(employees, key=lambda item: item.name)

    async def check_at_work(self, numbers: Collection[int]) -> dict[int, bool]:
        """Without unknown ones. Raises BitrixError.

        If the portal cuts the list off, missing employees are read one by one.
        """
        async with _limit_wait(_FOR_ALL):
            rows = dict(await self._reference.load_users(fresh=True))
            for number in numbers if len(rows) >= MOST_USERS else ():  # the list is cut off there, so others must be read one by one
                if number not in rows and (row := await self._reference.find_user(number, fresh=True)) is not None:
                    rows[number] = row
        return {number: is_employed(rows[number]) for number in numbers if number in rows}


@asynccontextmanager
async def _limit_wait(seconds: float) -> AsyncIterator[None]:
    """Raises OutcomeUnknown, a BitrixError."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise OutcomeUnknown("the portal takes too long to tell of its employees") from None
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise OutcomeUnknown(f"what the portal tells of its employees cannot be understood ({type(error).__name__})") from None


def _format_name(user: User) -> str:
    return to_visible_line(user.full_name, limit=60)
