"""What the registry needs of the rest: who has which rights now, and who works in the portal. Ports and one adapter. Ring 2."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol

from bitrix.errors import BitrixError, OutcomeUnknown
from orchestrator.directory.naming import Naming
from orchestrator.directory.reference import Reference, works_here
from orchestrator.directory.reference_reads import MOST_USERS
from orchestrator.directory.text import clean
from orchestrator.messages import Actor

_WITHIN: Final = 5.0
"""Seconds that somebody who has pressed a link or a button may be kept waiting by the portal."""
_FOR_ALL: Final = 30.0


class Staff(Protocol):
    """The people of the doors (`bot.access`)."""

    def actor_of(self, key: str) -> Actor | None:
        """The rights that the person has now; None for strangers and for those who lost them."""
        ...

    def admins(self) -> Sequence[Actor]:
        """Those who decide about access."""
        ...

    def employed(self) -> Mapping[str, int]:
        """Everybody with an employee number, those out of work too: key → employee."""
        ...

    def name_of(self, key: str) -> str:
        """What the person is called, also one without access; "" for strangers."""
        ...

    def fixed(self, key: str) -> bool:
        """Whether the access file lists them, so that only the file can remove them."""
        ...

    def preferences(self, key: str) -> Mapping[str, str]:
        """What the person has set; a name that is missing has its default."""
        ...

    def renewed(self, registry: Mapping[str, Any], seq: int) -> None:
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

    async def one(self, user_id: int) -> Employee:
        """This employee as they are now; never fails and never takes long."""
        try:
            async with _asking(_WITHIN):
                row = await self._reference.user(user_id, fresh=True)
                zone = await self._naming.zone_of(user_id)
        except BitrixError:
            row, zone = None, ""
        if row is None:
            return Employee(user_id=user_id, name="", known=False)
        return Employee(user_id=user_id, name=_name(row), time_zone=zone, works=works_here(row))

    async def working(self) -> list[Employee]:
        """Those who work here, by name. Raises BitrixError."""
        async with _asking(_WITHIN):
            rows = await self._reference.users()
        found = [Employee(user_id=number, name=_name(row) or f"№{number}") for number, row in rows.items() if works_here(row)]
        return sorted(found, key=lambda item: item.name)

    async def at_work(self, numbers: Collection[int]) -> dict[int, bool]:
        """Whether these employees work here now, read in one go; who is not found is left out. Raises BitrixError."""
        async with _asking(_FOR_ALL):
            rows = dict(await self._reference.users(fresh=True))
            for number in numbers if len(rows) >= MOST_USERS else ():  # the list ends there, people do not
                if number not in rows and (row := await self._reference.user(number, fresh=True)) is not None:
                    rows[number] = row
        return {number: works_here(rows[number]) for number in numbers if number in rows}


@asynccontextmanager
async def _asking(seconds: float) -> AsyncIterator[None]:
    """An answer that takes too long or cannot be understood is none: BitrixError."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise OutcomeUnknown("the portal takes too long to tell of its employees") from None
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise OutcomeUnknown(f"what the portal tells of its employees cannot be understood ({type(error).__name__})") from None


def _name(row: Mapping[str, Any]) -> str:
    return clean(f"{row.get('NAME') or ''} {row.get('LAST_NAME') or ''}".strip(), limit=60)
