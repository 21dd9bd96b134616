"""Reference data of the portal, kept and refreshed: employees, departments, funnels, stages, currencies, fields, smart processes. Ring 2.

For showing, a value is at most its kind's life old, and older only while the portal fails. What a write is judged by is asked for with
`fresh=True`: then it is read now, or the portal's error is raised. Events and the bot's own calls outdate what they change.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from bitrix.client import BitrixClient
from orchestrator.directory import reference_reads as reads
from orchestrator.directory.kinds import KINDS, outdated_by_call, outdated_by_event
from orchestrator.directory.money_style import Book
from orchestrator.directory.reference_data import (
    Category,
    Department,
    Field,
    Row,
    SmartType,
    Stage,
    funnel_of,
    has_funnels,
    own_kind,
    stage_book,
)
from orchestrator.directory.reference_patience import Patience
from orchestrator.directory.shelf import Key, Read, Shelf
from state.clock import Clock

T = TypeVar("T")
Has = Callable[[T], bool]
_ACTIVE = (True, "Y", "true", "1", None)


class Reference:
    """See the module docstring. Every read may raise BitrixError; `has` says what is looked for, so that a miss is read again once."""

    def __init__(self, client: BitrixClient, clock: Clock) -> None:
        """Keep the parts; nothing is read yet."""
        self._client = client
        self._shelf = Shelf(clock)
        self._patience = Patience(clock)

    async def users(self, *, fresh: bool = False, has: Has[Mapping[int, Row]] | None = None) -> Mapping[int, Row]:
        """The first 5,000 employees by id, the dismissed too."""
        return await self._get(("users",), partial(reads.read_users, self._client), fresh=fresh, has=has)

    async def user(self, user_id: int, *, fresh: bool = False) -> Row | None:
        """One employee; a number that is not in the list is asked for alone."""
        read = partial(reads.read_user, self._client, user_id)
        if not fresh and (row := (await self.users()).get(user_id)) is not None:
            return row
        return await self._get(("user", str(user_id)), read, fresh=fresh)

    async def is_active(self, user_id: int) -> bool:
        """Whether this employee works here now: read now, since a write hangs on it."""
        row = await self.user(user_id, fresh=True)
        return row is not None and works_here(row)

    async def departments(self) -> Mapping[int, Department]:
        """The departments by id."""
        return await self._get(("departments",), partial(reads.read_departments, self._client))

    async def categories(
        self, entity: str = "deal", *, fresh: bool = False, has: Has[Sequence[Category]] | None = None
    ) -> Sequence[Category]:
        """The funnels of deals ("deal") or of a smart process ("item:177")."""
        kind = own_kind(entity)
        return await self._get(("categories", kind), partial(reads.read_categories, self._client, kind), fresh=fresh, has=has)

    async def default_category(self, entity: str, *, fresh: bool = False) -> int:
        """The funnel that a new record of this kind falls into; 0 for deals."""
        if not has_funnels(entity):
            return 0
        found = await self.categories(entity, fresh=fresh)
        return next((item.id for item in found if item.default), found[0].id if found else 0)

    async def stages(
        self, entity: str, category: int | None = None, *, fresh: bool = False, has: Has[Sequence[Stage]] | None = None
    ) -> Sequence[Stage]:
        """The stages of a funnel in order, of the usual funnel when none is given; empty for kinds without stages."""
        if category is None or (category == 0 and has_funnels(entity)):
            category = await self.default_category(entity, fresh=fresh)
        book = stage_book(entity, category)
        return await self.book(book, fresh=fresh, has=has) if book else ()

    async def stage(self, entity: str, stage_id: str, category: int | None = None, *, fresh: bool = False) -> Stage | None:
        """The stage with this id; its funnel is read from the id where it stands there ("C1:NEW", "DT177_10:NEW")."""

        def found(stages: Sequence[Stage]) -> bool:
            return any(stage.id == stage_id for stage in stages)

        funnel = funnel_of(stage_id)
        stages = await self.stages(entity, category if funnel is None else funnel, fresh=fresh, has=found)
        return next((stage for stage in stages if stage.id == stage_id), None)

    async def book(self, book: str, *, fresh: bool = False, has: Has[Sequence[Stage]] | None = None) -> Sequence[Stage]:
        """The entries of any book of the CRM: SOURCE, DEAL_TYPE, DEAL_STAGE_1."""
        return await self._get(("stages", book), partial(reads.read_stages, self._client, book), fresh=fresh, has=has)

    async def first_stages(self, wanted: Collection[str]) -> Mapping[str, str]:
        """ "deal:1", "lead:0", "item:177:10" → the first stage of that funnel as it is now, for judging a write."""
        firsts: dict[str, str] = {}
        for key in dict.fromkeys(wanted):
            entity, _, category = key.rpartition(":")
            known = category.isascii() and category.isdecimal()
            stages = await self.stages(entity, int(category), fresh=True) if known else ()
            if stages:
                firsts[key] = stages[0].id
        return firsts

    async def currencies(self) -> Book:
        """How the portal writes its currencies."""
        return await self._get(("currencies",), partial(reads.read_currencies, self._client))

    async def fields(self, entity: str, *, fresh: bool = False, has: Has[Mapping[str, Field]] | None = None) -> Mapping[str, Field]:
        """The fields of a kind of record by code: "deal" in the classic spelling, "item:2" in that of crm.item.*; empty for others."""
        return await self._get(("fields", entity), partial(reads.read_fields, self._client, entity), fresh=fresh, has=has)

    async def types(self, *, fresh: bool = False, has: Has[Mapping[int, SmartType]] | None = None) -> Mapping[int, SmartType]:
        """The smart processes by entityTypeId."""
        return await self._get(("types",), partial(reads.read_types, self._client), fresh=fresh, has=has)

    async def portal_zone(self) -> str:
        """The time zone of the portal."""
        return await self._get(("zone",), partial(reads.read_zone, self._client))

    def forget(self, kind: str = "", *detail: str) -> None:
        """What is kept of `kind` ("fields", "deal") is outdated; without a kind, everything is dropped."""
        if kind:
            self._shelf.forget(kind, *detail)
        else:
            self._shelf.clear()

    def forget_for_event(self, event_name: str) -> None:
        """Outdate what this event of the portal changed; other events change nothing."""
        for key in outdated_by_event(event_name):
            self._shelf.forget(*key)

    def forget_for_call(self, method: str) -> None:
        """Outdate what this call of ours changed, whether or not it succeeded."""
        for key in outdated_by_call(method):
            self._shelf.forget(*key)

    async def _get(self, key: Key, read: Read[T], *, fresh: bool = False, has: Has[T] | None = None) -> T:
        life = KINDS[key[0]].life
        read = self._patience.bounded(key, read)
        if fresh:
            return await self._shelf.fresh(key, read)
        if has is not None:
            return await self._shelf.having(key, read, has, life=life)
        return await self._shelf.kept(key, read, life=life)


def works_here(row: Mapping[str, Any]) -> bool:
    """Whether an employee's row is of somebody who was not dismissed."""
    return row.get("ACTIVE") in _ACTIVE
