"""Builds what reaches the portal: its client, and what reads records and names with it. Part of the composition root."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from pydantic import SecretStr

from bitrix.catalogue.catalogue import Catalogue
from bitrix.client.client import BitrixClient
from bitrix.errors import BitrixError
from bitrix.limits.limiter import Limiter, SharedLevel
from bitrix.limits.plan import parse_plan
from bot.access.portal_auth import build_portal_auth
from bot.composition.installation import Installation, load_rules
from bot.monitoring.reachability import PortalLimits, ReachabilityTracker
from bot.plugins.building import load_installed_engines
from bot.settings.settings import Settings
from orchestrator.directory.answers import FoundRecords
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.outputs import MOST_ROWS, Notice, Row, Table
from orchestrator.features.people.staff import Employees
from orchestrator.language.text import to_visible_line
from orchestrator.rehearsals.call_forms import CallForms
from state.clock import SystemClock, read_boottime
from state.stored import JsonObject
from state.trace import build_trace_headers


class TitleSearch:
    """Searches the records of the portal by name with a client that refuses everything but reads."""

    def __init__(self, reads: PortalReader, *, close: Callable[[], Awaitable[None]]) -> None:
        """Search with these reads; `close` closes the connections of their client."""
        self._reads, self._close = reads, close

    async def find_records(self, name: str) -> FoundRecords:
        """Return the deals, leads, contacts and companies whose names contain `name`; a problem if the portal does not answer."""
        tables: list[Table] = []
        try:
            for entity in ("deal", "lead", "contact", "company"):
                rows = [Row(label=title) for row in await self._reads.search(entity, name, {}) if (title := _read_title(row))]
                tables += [Table(rows=tuple(rows[:MOST_ROWS]), total=len(rows))] if rows else []
        except BitrixError:
            return FoundRecords(problem=Notice(code="ask-find-in-crm-failed"))
        return FoundRecords(tables=tables, is_prose=True)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._close()


def _read_title(row: JsonObject) -> str:
    names = " ".join(str(row[part]) for part in ("NAME", "LAST_NAME") if row.get(part))
    return to_visible_line(str(row.get("TITLE") or names), limit=200)


PROBE: Final = 5.0
"""Seconds that a probe, a harmless call, may wait in the queue."""


@dataclass(frozen=True, kw_only=True)
class Portal:
    """One client for all, because the portal counts its calls together."""

    client: BitrixClient
    reads: PortalReader
    naming: Naming
    employees: Employees
    limiter: Limiter | None = None
    """For all processes; None if whoever made the client owns it."""

    async def aclose(self) -> None:
        await self.client.aclose()
        if self.limiter is not None:
            await self.limiter.aclose()


def build_portal(installation: Installation, reachability: ReachabilityTracker) -> Portal:
    """`reachability` hears how each call ends. Raises SettingsError."""
    settings, clock = installation.settings, installation.clock
    auth = build_portal_auth(settings, installation.store, clock.now)
    plan = parse_plan(settings.bitrix_plan)
    level = SharedLevel(installation.store, auth.portal, now=clock.now)
    limiter = Limiter(plan.rate, plan.burst, shared=level, clock=read_boottime, waited=reachability.record_wait)
    client = BitrixClient(
        auth,
        limiter=limiter,
        operating_limit=settings.bitrix_operating_limit,
        now=clock.now,
        headers=build_trace_headers,
        heard=reachability.record_portal_call,
    )
    reachability.limits = lambda: PortalLimits(
        requests=limiter.describe(), methods=client.list_spent_times(), seconds=settings.bitrix_operating_limit
    )
    reachability.portal.probe = partial(client.call, "server.time", {}, repeatable=True, send_within=PROBE)
    return connect_portal(installation, client, limiter)


def connect_portal(installation: Installation, client: BitrixClient, limiter: Limiter | None = None) -> Portal:
    reads = PortalReader(client, installation.catalogue, installation.clock)
    naming = Naming(reads)
    return Portal(client=client, reads=reads, naming=naming, employees=Employees(reads.reference, naming), limiter=limiter)


@asynccontextmanager
async def open_call_forms(settings: Settings, find_catalogue: Callable[[], Catalogue]) -> AsyncIterator[CallForms]:
    webhook = settings.bitrix_webhook_url
    if webhook is None:
        yield CallForms(find_catalogue)
        return
    client = _build_webhook_client(settings, webhook)
    try:
        reference = PortalReader(client, find_catalogue(), SystemClock()).reference
        yield CallForms(find_catalogue, lambda: reference)
    finally:
        await client.aclose()


def _build_webhook_client(settings: Settings, webhook: SecretStr) -> BitrixClient:
    plan = parse_plan(settings.bitrix_plan)
    try:
        return BitrixClient(webhook, limiter=Limiter(plan.rate, plan.burst))
    except ValueError as error:
        raise SettingsError(f"BITRIX_WEBHOOK_URL: {error}") from None


def open_title_search(settings: Settings, webhook: SecretStr) -> TitleSearch:
    """Uses no database, so it works beside a running bot. Raises SettingsError."""
    client = _build_webhook_client(settings, webhook)
    _, catalogue = load_rules(settings, load_installed_engines())
    return TitleSearch(PortalReader(client, catalogue, SystemClock()), close=client.aclose)
