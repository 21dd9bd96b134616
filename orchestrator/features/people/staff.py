"""What the registry needs of the rest: who has which rights now, and who works in the portal. Ports and one adapter. Ring 2."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol

from bitrix.errors import BitrixError, OutcomeUnknown
from orchestrator.directory.naming import Naming
from orchestrator.directory.reference import Reference, is_employed
from orchestrator.directory.reference_reads import MOST_USERS
from orchestrator.domain.actor import Actor
from orchestrator.language.text import to_visible_line

_WITHIN: Final = 5.0
"""Seconds that somebody who has pressed a link or a button may be kept waiting by the portal."""
_FOR_ALL: Final = 30.0


class Staff(Protocol):
    """The people of the doors (`bot.access.access`)."""

    def find_actor_by_key(self, key: str) -> Actor | None:
        """The rights that the person has now; None for strangers and for those who lost them."""
        ...

    def list_admins(self) -> Sequence[Actor]:
        """Those who decide about access."""
        ...

    def map_employees(self) -> Mapping[str, int]:
        """Everybody with an employee number, those out of work too: key → employee."""
        ...

    def find_name(self, key: str) -> str:
        """What the person is called, also one without access; "" for strangers."""
        ...

    def is_fixed(self, key: str) -> bool:
        """Whether the access file lists them, so that only the file can remove them."""
        ...

    def resolve_preferences(self, key: str) -> Mapping[str, str]:
        """What the person has set; a name that is missing has its default."""
        ...

    def apply_registry(self, registry: Mapping[str, Any], seq: int) -> None:
        """The registry has changed: it is now as it stands after event `seq`."""
        ...


@dataclass(frozen=True, kw_only=True)
class Employee:
    """Somebody of the portal."""

    user_id: int
    name: str
    time_zone: str = ""
    works: bool = True
    known: bool = True
    """False where the portal could not be asked, or has nobody with that number."""


class Employees:
    """The portal's employees, as far as letting people in and out needs them."""

    def __init__(self, reference: Reference, naming: Naming) -> None:
        """Keep the reads."""
        self._reference = reference
        self._naming = naming

    async def read_employee(self, user_id: int) -> Employee:
        """This employee as they are now; never fails and never takes long."""
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
        """Those who work here, by name. Raises BitrixError."""
        async with _limit_wait(_WITHIN):
            rows = await self._reference.load_users()
        found = [Employee(user_id=number, name=_format_name(row) or f"№{number}") for number, row in rows.items() if is_employed(row)]
        return sorted(found, key=lambda item: item.name)

    async def check_at_work(self, numbers: Collection[int]) -> dict[int, bool]:
        """Whether these employees work here now, read in one go; who is not found is left out. Raises BitrixError."""
        async with _limit_wait(_FOR_ALL):
            rows = dict(await self._reference.load_users(fresh=True))
            for number in numbers if len(rows) >= MOST_USERS else ():  # the list ends there, people do not
                if number not in rows and (row := await self._reference.find_user(number, fresh=True)) is not None:
                    rows[number] = row
        return {number: is_employed(rows[number]) for number in numbers if number in rows}


@asynccontextmanager
async def _limit_wait(seconds: float) -> AsyncIterator[None]:
    """An answer that takes too long or cannot be understood is none: BitrixError."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise OutcomeUnknown("the portal takes too long to tell of its employees") from None
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise OutcomeUnknown(f"what the portal tells of its employees cannot be understood ({type(error).__name__})") from None


def _format_name(row: Mapping[str, Any]) -> str:
    return to_visible_line(f"{row.get('NAME') or ''} {row.get('LAST_NAME') or ''}".strip(), limit=60)
