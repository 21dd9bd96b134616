"""Caches the portal's reference data: employees, departments, funnels, stages, currencies, fields, smart processes.

Data for display is at most as old as the table `KINDS` below allows for data of its kind; while the portal fails, older data is used. A
check of a write uses `fresh=True`, which reads from the portal now or raises its error. Events of the portal and the bot's own calls mark
the data that they change as outdated. For statuses and funnels Bitrix24 documents no events, so they are cached only for a short time.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final, TypeVar

from bitrix.catalogue.names import CRM
from bitrix.client.read_only import PortalCaller
from bitrix.limits.askers import Asker, ask_for
from orchestrator.directory import reference_reads as reads
from orchestrator.directory.reference_cache import Key, Read, ReadCache, ReadLog, ReadTimeouts
from orchestrator.directory.reference_data import (
    Category,
    Department,
    Field,
    ProductCatalog,
    SmartType,
    Stage,
    find_stage_entity_id,
    has_funnels,
    parse_funnel,
    to_own_kind,
)
from orchestrator.directory.rows import User
from orchestrator.language.money_format import CurrencyBook
from state.clock import Clock

T = TypeVar("T")
Contains = Callable[[T], bool]
_EVERYBODY: Final = Asker(source="reference")
"""Whoever asks first, a person may come to wait for the same read, so it is urgent and is not given up with its asker."""
_ACTIVE = (True, "Y", "true", "1", None)


class Reference:
    """Reads reference data, mostly from a cache. Every read may raise BitrixError.

    Two arguments of the reads go around the cache. `fresh=True` reads from the portal now. `has` is a function that says whether the cached
    data contains the item that the caller looks for; if it returns False, the data is read again once.
    """

    def __init__(self, client: PortalCaller, clock: Clock) -> None:
        """Keep the client and the clock; nothing is read yet."""
        self._client = client
        self._shelf = ReadCache(clock)
        self._patience = ReadTimeouts(clock)
        self._log: ReadLog | None = None

    def log_reads(self, log: ReadLog) -> "Reference":
        """Return a reader of the same cache that adds to `log` what is read through it."""
        logged = copy(self)
        logged._log = log  # noqa: SLF001 - it is a copy of this object
        return logged

    def is_current(self, log: ReadLog) -> bool:
        """Return whether the reads in `log`, repeated for display, would give the same now without asking the portal."""
        return self._shelf.is_current(log)

    async def load_users(self, *, fresh: bool = False, has: Contains[Mapping[int, User]] | None = None) -> Mapping[int, User]:
        """Return the first 5,000 employees by id, including those who have left the company.

        The cache is not used if `fresh` is set; the list is read again if `has` returns False for the cached one.
        """
        return await self._get(("users",), partial(reads.read_users, self._client), fresh=fresh, has=has)

    async def find_user(self, user_id: int, *, fresh: bool = False) -> User | None:
        """Return one employee; None for an unknown id.

        An employee who is not in the cached list, or any employee if `fresh` is set, is read from the portal separately.
        """
        read = partial(reads.read_user, self._client, user_id)
        if not fresh and (row := (await self.load_users()).get(user_id)) is not None:
            return row
        return await self._get(("user", str(user_id)), read, fresh=fresh)

    async def is_active(self, user_id: int) -> bool:
        """Return whether the employee works here now. This is read from the portal at every call, since a write depends on it."""
        user = await self.find_user(user_id, fresh=True)
        return user is not None and is_employed(user)

    async def load_departments(self) -> Mapping[int, Department]:
        """Return the departments by id."""
        return await self._get(("departments",), partial(reads.read_departments, self._client))

    async def load_categories(
        self, entity: str = "deal", *, fresh: bool = False, has: Contains[Sequence[Category]] | None = None
    ) -> Sequence[Category]:
        """Return the funnels of deals ("deal") or of a smart process ("item:177").

        The cache is not used if `fresh` is set; the list is read again if `has` returns False for the cached one.
        """
        kind = to_own_kind(entity)
        return await self._get(("categories", kind), partial(reads.read_categories, self._client, kind), fresh=fresh, has=has)

    async def find_default_category(self, entity: str, *, fresh: bool = False) -> int:
        """Return the id of the funnel that a new record of this kind is put into; 0 for deals.

        The funnels come from the cache, unless `fresh` is set.
        """
        if not has_funnels(entity):
            return 0
        categories = await self.load_categories(entity, fresh=fresh)
        return next((item.id for item in categories if item.default), categories[0].id if categories else 0)

    async def load_stages(
        self, entity: str, category: int | None = None, *, fresh: bool = False, has: Contains[Sequence[Stage]] | None = None
    ) -> Sequence[Stage]:
        """Return the stages of the funnel `category` in order; empty for kinds of records without stages.

        Without `category` these are the stages of the default funnel. The cache is not used if `fresh` is set; the list is read again if
        `has` returns False for the cached one.
        """
        if category is None or (category == 0 and has_funnels(entity)):
            category = await self.find_default_category(entity, fresh=fresh)
        book = find_stage_entity_id(entity, category)
        return await self.load_status_entries(book, fresh=fresh, has=has) if book else ()

    async def find_stage(self, entity: str, stage_id: str, category: int | None = None, *, fresh: bool = False) -> Stage | None:
        """Return the stage with this id; None if there is none. The stages come from the cache, unless `fresh` is set.

        If the stage id contains a funnel (1 in "C1:NEW", 10 in "DT177_10:NEW"), that funnel is used in place of `category`.
        """
        funnel = parse_funnel(stage_id)
        category = category if funnel is None else funnel
        stages = await self.load_stages(entity, category, fresh=fresh, has=lambda stages: any(stage.id == stage_id for stage in stages))
        return next((stage for stage in stages if stage.id == stage_id), None)

    async def load_status_entries(self, book: str, *, fresh: bool = False, has: Contains[Sequence[Stage]] | None = None) -> Sequence[Stage]:
        """Return the entries of the CRM status list `book`, such as SOURCE, DEAL_TYPE or DEAL_STAGE_1.

        The cache is not used if `fresh` is set; the list is read again if `has` returns False for the cached one.
        """
        return await self._get(("stages", book), partial(reads.read_stages, self._client, book), fresh=fresh, has=has)

    async def load_first_stages(self, wanted: Collection[str]) -> Mapping[str, str]:
        """Return the id of the first stage of each funnel in `wanted`: {"deal:1": "C1:NEW"} for the funnel 1 of deals.

        The stages are read from the portal at every call, since writes are checked against them. A funnel without stages is left out.
        """
        firsts: dict[str, str] = {}
        for key in dict.fromkeys(wanted):
            entity, _, category = key.rpartition(":")
            known = category.isascii() and category.isdecimal()
            stages = await self.load_stages(entity, int(category), fresh=True) if known else ()
            if stages:
                firsts[key] = stages[0].id
        return firsts

    async def load_currency_book(self) -> CurrencyBook:
        """Return the portal's currencies by code, each with the way it is written."""
        return await self._get(("currencies",), partial(reads.read_currencies, self._client))

    async def load_fields(
        self, entity: str, *, fresh: bool = False, has: Contains[Mapping[str, Field]] | None = None
    ) -> Mapping[str, Field]:
        """Return the fields of a kind of record by code; empty for kinds without a list of fields.

        The codes of "deal" are spelled as in the methods crm.deal.* (STAGE_ID), those of "item:2" (deals, too) as in crm.item.* (stageId).
        The cache is not used if `fresh` is set; the fields are read again if `has` returns False for the cached ones.
        """
        return await self._get(("fields", entity), partial(reads.read_fields, self._client, entity), fresh=fresh, has=has)

    async def load_types(self, *, fresh: bool = False, has: Contains[Mapping[int, SmartType]] | None = None) -> Mapping[int, SmartType]:
        """Return the smart processes by their number, the portal's entityTypeId (177 in "item:177").

        The cache is not used if `fresh` is set; the list is read again if `has` returns False for the cached one.
        """
        return await self._get(("types",), partial(reads.read_types, self._client), fresh=fresh, has=has)

    async def load_catalogs(self) -> Sequence[ProductCatalog]:
        """Return the catalogues of products."""
        return await self._get(("catalogs",), partial(reads.read_catalogs, self._client))

    async def load_portal_zone(self) -> str:
        """Return the portal's time zone."""
        return await self._get(("zone",), partial(reads.read_zone, self._client))

    def discard(self, kind: str = "", *detail: str) -> None:
        """Mark as outdated the cached data of the kind `kind` ("fields"), or only its part `detail` ("deal").

        Without `kind`, the whole cache is cleared.
        """
        if kind:
            self._shelf.discard(kind, *detail)
        else:
            self._shelf.clear()

    def discard_for_event(self, event_name: str) -> None:
        """Mark as outdated the cached data that a portal event says was changed. Events that concern no reference data have no effect."""
        for key in find_outdated_by_event(event_name):
            self._shelf.discard(*key)

    def discard_for_call(self, method: str) -> None:
        """Mark as outdated the cached data that a call of `method` may have changed, even if the call failed."""
        for key in find_outdated_by_call(method):
            self._shelf.discard(*key)

    async def _get(self, key: Key, read: Read[T], *, fresh: bool = False, has: Contains[T] | None = None) -> T:
        life = KINDS[key[0]].life
        read = self._patience.wrap(key, read)
        try:
            with ask_for(_EVERYBODY):
                if fresh:
                    return await self._shelf.load_fresh(key, read)
                if has is not None:
                    return await self._shelf.load_matching(key, read, has, life=life)
                return await self._shelf.load(key, read, life=life)
        finally:
            if self._log is not None:
                self._shelf.note(key, self._log, life=life)


def is_employed(user: User) -> bool:
    """Return whether the employee has not left the company."""
    return user.active in _ACTIVE


@dataclass(frozen=True, kw_only=True)
class ReferenceKind:
    """The caching rules for one kind of reference data.

    `life` is the greatest age of data for display. `events` and `methods` are patterns: a portal event or a method of the bot's own call
    that matches makes the data outdated. A group in a pattern names the part that is outdated, such as "deal" for the fields of deals.
    """

    life: timedelta
    events: str = "(?!)"
    methods: str = "(?!)"


_CRM: Final = "lead|deal|contact|company"
KINDS: Final = {
    "users": ReferenceKind(life=timedelta(minutes=5), events=r"onuser\w+", methods=r"user\.(?:add|update)"),
    "user": ReferenceKind(life=timedelta(minutes=5), events=r"onuser\w+", methods=r"user\.(?:add|update)"),
    "departments": ReferenceKind(life=timedelta(minutes=15), methods=r"department\.(?:add|update|delete)|humanresources\.\w[\w.]*"),
    "categories": ReferenceKind(
        life=timedelta(minutes=5),
        events=r"oncrm(?:deal)?category(?:add|update|delete)|oncrmtype(?:add|update|delete)",
        methods=r"crm\.(?:deal)?category\.(?:add|update|delete|default\.set)|crm\.type\.(?:add|update|delete)",
    ),
    "stages": ReferenceKind(
        life=timedelta(minutes=5),
        events=r"oncrmstatus\w+|oncrm(?:deal)?category(?:add|update|delete)|oncrmtype(?:add|update|delete)",
        methods=r"crm\.status\.(?:add|update|delete)|crm\.(?:deal)?category\.(?:add|update|delete)|crm\.type\.(?:add|update|delete)",
    ),
    "currencies": ReferenceKind(life=timedelta(hours=1), events=r"oncrmcurrency\w+", methods=r"crm\.currency\.(?!list|get|fields)\w[\w.]*"),
    "fields": ReferenceKind(
        life=timedelta(minutes=15),
        events=rf"oncrm({_CRM})userfield\w+|oncrmtype\w+",
        methods=rf"crm\.({_CRM})\.userfield\.(?:add|update|delete)|userfieldconfig\.(?:add|update|delete)|crm\.type\.(?:add|update|delete)",
    ),
    "types": ReferenceKind(
        life=timedelta(minutes=15), events=r"oncrmtype(?:add|update|delete)", methods=r"crm\.type\.(?:add|update|delete)"
    ),
    "catalogs": ReferenceKind(life=timedelta(hours=1), methods=r"catalog\.catalog\.(?:add|update|delete)"),
    "zone": ReferenceKind(life=timedelta(hours=1)),
}


def find_outdated_by_event(name: str) -> tuple[Key, ...]:
    """Return the cache keys of the data that a portal event, such as ONCRMDEALUSERFIELDADD, makes outdated.

    The result is empty for events about records.
    """
    return tuple(_find_outdated(name, {kind: row.events for kind, row in KINDS.items()}))


def find_outdated_by_call(method: str) -> tuple[Key, ...]:
    """Return the cache keys of the data that a call of `method` by the bot makes outdated.

    The bot thus notices its own changes without an event from the portal.
    """
    return tuple(_find_outdated(method, {kind: row.methods for kind, row in KINDS.items()}))


def _find_outdated(name: str, patterns: dict[str, str]) -> Iterator[Key]:
    for kind, pattern in patterns.items():
        found = re.fullmatch(pattern, name.strip().lower(), re.ASCII)
        if found:
            part = next((group for group in found.groups() if group), "")
            yield (kind, part) if part else (kind,)
            if part:  # the universal methods (crm.item.*) show the same fields
                yield (kind, f"item:{_TYPE_NUMBERS[part]}")


_TYPE_NUMBERS: Final = {kind: number for number, kind in CRM.items()}
