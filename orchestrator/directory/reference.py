"""Caches reference data, at most as old as `KINDS` allows; while the portal fails, older data is used.

`fresh=True` reads now or raises. Events and the bot's own calls mark data as outdated.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final, TypeVar

from bitrix.catalogue.catalogue import Catalogue
from bitrix.catalogue.names import CRM
from bitrix.client.read_only import PortalCaller
from bitrix.limits.askers import Asker, ask_for
from orchestrator.directory import reference_reads as reads
from orchestrator.directory.answers import User
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
from orchestrator.domain.actor import Actor
from orchestrator.language.money_format import CurrencyBook
from state.clock import Clock
from state.model.session_state import SessionState
from state.stored import JsonObject


@dataclass(frozen=True, kw_only=True)
class ReferenceContext:
    method: str
    params: JsonObject
    actor: Actor
    state: SessionState
    text: str

    def is_write(self, catalogue: Catalogue) -> bool:
        """Names are then checked against fresh data, not the cache."""
        method = catalogue.find(self.method)
        return method is None or not method.reads_only


T = TypeVar("T")
Contains = Callable[[T], bool]
_EVERYBODY: Final = Asker(source="reference")
"""A person may come to wait for the same read: it is urgent and outlives its asker."""
_ACTIVE = (True, "Y", "true", "1", None)


class Reference:
    """Every read may raise BitrixError. `fresh` reads now; if `has` is False for what is cached, it is read again once."""

    def __init__(self, client: PortalCaller, clock: Clock) -> None:
        self._client = client
        self._shelf = ReadCache(clock)
        self._patience = ReadTimeouts(clock)
        self._log: ReadLog | None = None

    def log_reads(self, log: ReadLog) -> "Reference":
        """The same cache; what is read through it is added to `log`."""
        logged = copy(self)
        logged._log = log  # noqa: SLF001 - it is a copy of this object
        return logged

    def is_current(self, log: ReadLog) -> bool:
        """Repeated for display, the reads would give the same without asking the portal."""
        return self._shelf.is_current(log)

    async def load_users(self, *, fresh: bool = False, has: Contains[Mapping[int, User]] | None = None) -> Mapping[int, User]:
        """The first 5,000, also those who have left."""
        return await self._get(("users",), partial(reads.read_users, self._client), fresh=fresh, has=has)

    async def find_user(self, user_id: int, *, fresh: bool = False) -> User | None:
        """None for an unknown id."""
        read = partial(reads.read_user, self._client, user_id)
        if not fresh and (row := (await self.load_users()).get(user_id)) is not None:
            return row
        return await self._get(("user", str(user_id)), read, fresh=fresh)

    async def is_active(self, user_id: int) -> bool:
        """Read at every call, since a write depends on it."""
        user = await self.find_user(user_id, fresh=True)
        return user is not None and is_employed(user)

    async def load_departments(self) -> Mapping[int, Department]:
        return await self._get(("departments",), partial(reads.read_departments, self._client))

    async def load_categories(
        self, entity: str = "deal", *, fresh: bool = False, has: Contains[Sequence[Category]] | None = None
    ) -> Sequence[Category]:
        """Of deals, or of a smart process ("item:177")."""
        kind = to_own_kind(entity)
        return await self._get(("categories", kind), partial(reads.read_categories, self._client, kind), fresh=fresh, has=has)

    async def find_default_category(self, entity: str, *, fresh: bool = False) -> int:
        """Where a new record is put; 0 for deals."""
        if not has_funnels(entity):
            return 0
        categories = await self.load_categories(entity, fresh=fresh)
        return next((item.id for item in categories if item.default), categories[0].id if categories else 0)

    async def load_stages(
        self, entity: str, category: int | None = None, *, fresh: bool = False, has: Contains[Sequence[Stage]] | None = None
    ) -> Sequence[Stage]:
        """In order; without `category` of the default funnel, empty for kinds without stages."""
        if category is None or (category == 0 and has_funnels(entity)):
            category = await self.find_default_category(entity, fresh=fresh)
        book = find_stage_entity_id(entity, category)
        return await self.load_status_entries(book, fresh=fresh, has=has) if book else ()

    async def find_stage(self, entity: str, stage_id: str, category: int | None = None, *, fresh: bool = False) -> Stage | None:
        """A funnel in the id ("C1:NEW") wins over `category`."""
        funnel = parse_funnel(stage_id)
        category = category if funnel is None else funnel
        stages = await self.load_stages(entity, category, fresh=fresh, has=lambda stages: any(stage.id == stage_id for stage in stages))
        return next((stage for stage in stages if stage.id == stage_id), None)

    async def load_status_entries(self, book: str, *, fresh: bool = False, has: Contains[Sequence[Stage]] | None = None) -> Sequence[Stage]:
        return await self._get(("stages", book), partial(reads.read_stages, self._client, book), fresh=fresh, has=has)

    async def load_first_stages(self, funnels: Collection[str]) -> Mapping[str, str]:
        """{"deal:1": "C1:NEW"}, read at every call. A funnel without stages is left out."""
        firsts: dict[str, str] = {}
        for key in dict.fromkeys(funnels):
            entity, _, category = key.rpartition(":")
            known = category.isascii() and category.isdecimal()
            stages = await self.load_stages(entity, int(category), fresh=True) if known else ()
            if stages:
                firsts[key] = stages[0].id
        return firsts

    async def load_currency_book(self) -> CurrencyBook:
        return await self._get(("currencies",), partial(reads.read_currencies, self._client))

    async def load_fields(
        self, entity: str, *, fresh: bool = False, has: Contains[Mapping[str, Field]] | None = None
    ) -> Mapping[str, Field]:
        """By code: STAGE_ID for "deal", stageId for "item:2". Empty for kinds without fields."""
        return await self._get(("fields", entity), partial(reads.read_fields, self._client, entity), fresh=fresh, has=has)

    async def load_types(self, *, fresh: bool = False, has: Contains[Mapping[int, SmartType]] | None = None) -> Mapping[int, SmartType]:
        return await self._get(("types",), partial(reads.read_types, self._client), fresh=fresh, has=has)

    async def load_catalogs(self) -> Sequence[ProductCatalog]:
        return await self._get(("catalogs",), partial(reads.read_catalogs, self._client))

    async def load_account(self) -> int:
        """The employee in whose name the portal makes the calls; 0 if it does not say."""
        return await self._get(("account",), partial(reads.read_account, self._client))

    async def load_portal_zone(self) -> str:
        return await self._get(("zone",), partial(reads.read_zone, self._client))

    def discard(self, kind: str = "", *detail: str) -> None:
        """Without `kind` the whole cache."""
        if kind:
            self._shelf.discard(kind, *detail)
        else:
            self._shelf.clear()

    def discard_for_event(self, event_name: str) -> None:
        for key in find_outdated_by_event(event_name):
            self._shelf.discard(*key)

    def discard_for_call(self, method: str) -> None:
        """Even if the call failed."""
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
    """Has not left the company."""
    return user.active in _ACTIVE


@dataclass(frozen=True, kw_only=True)
class ReferenceKind:
    """`life` is the greatest age for display.

    `events` and `methods` are patterns of what makes the data outdated; a group names the part ("deal").
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
    "account": ReferenceKind(life=timedelta(hours=1)),
}


def find_outdated_by_event(name: str) -> tuple[Key, ...]:
    """Empty for events about records."""
    return tuple(_find_outdated(name, {kind: row.events for kind, row in KINDS.items()}))


def find_outdated_by_call(method: str) -> tuple[Key, ...]:
    return tuple(_find_outdated(method, {kind: row.methods for kind, row in KINDS.items()}))


def _find_outdated(name: str, patterns: dict[str, str]) -> Iterator[Key]:
    for kind, pattern in patterns.items():
        match = re.fullmatch(pattern, name.strip().lower(), re.ASCII)
        if match:
            part = next((group for group in match.groups() if group), "")
            yield (kind, part) if part else (kind,)
            if part:  # the universal methods (crm.item.*) show the same fields
                yield (kind, f"item:{_TYPE_NUMBERS[part]}")


_TYPE_NUMBERS: Final = {kind: number for number, kind in CRM.items()}
