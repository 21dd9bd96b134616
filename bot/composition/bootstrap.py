"""Builds the orchestrator from five groups of services (portal, models, people, engines and outside), and the queries of engines of turns.

`process.py` adds the doors.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from bitrix.errors import BitrixError
from bitrix.masking import SecretMask
from bot.composition.engines import EngineSet, build_engines
from bot.composition.features import Models, build_features, build_models
from bot.composition.installation import Installation
from bot.composition.outside import Outside, build_order_performer, build_outside, build_schedule_performer
from bot.composition.people import People
from bot.composition.portal import Portal, build_portal
from bot.composition.tool_services import build_service_clients
from bot.monitoring.reachability import ReachabilityTracker
from bot.settings.loading import hide_secrets
from orchestrator.directory.answers import AskedDate, ColumnedTable, DatedParams, OutcomeView, Resolution, Unresolved
from orchestrator.directory.created_references import place_created
from orchestrator.directory.current_records import CURRENT, list_current
from orchestrator.directory.date_references import DateReferences
from orchestrator.directory.duplicates import DuplicateFinder
from orchestrator.directory.lead_conversion import Conversion, CustomerQuestion, LeadConverter
from orchestrator.directory.list_columns import ViewContext, add_columns
from orchestrator.directory.list_files import build_sheet
from orchestrator.directory.list_message import ListMessage, write_list
from orchestrator.directory.lookup import Lookup
from orchestrator.directory.naming import Naming
from orchestrator.directory.outcome_view import render_outcome
from orchestrator.directory.plain_names import PlainNames
from orchestrator.directory.portal_card import METHODS, PortalCard
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.directory.reference import ReferenceContext
from orchestrator.domain.actor import Actor
from orchestrator.domain.bulk import BULK, BULK_ENGINE
from orchestrator.domain.effect import Outcome
from orchestrator.domain.http_address import parse_listed_site
from orchestrator.domain.outputs import SheetPart, Table
from orchestrator.features.budgets.change_counter import OVERLAP, JournalChangeCounter
from orchestrator.features.budgets.model_budget import MonthlyModelBudget, UsageReader
from orchestrator.features.leads.approvers import LeadApprovers
from orchestrator.features.undo.turn_steps import UndoSteps
from orchestrator.gate.call.gate_deps import GateDeps, PolicySource
from orchestrator.gate.call.modes import may_read_shared
from orchestrator.gate.call.permissions import NoLeads
from orchestrator.gate.call.reasons import build_read_refusal
from orchestrator.gate.gate import Gate
from orchestrator.language.calendar_units import format_bounds
from orchestrator.language.date_format import format_calendar
from orchestrator.replies.text_guard import TextGuard
from orchestrator.runs.offers import StartableOffers
from orchestrator.runs.registry import Engines
from orchestrator.runtime.worker import Orchestrator
from orchestrator.sessions.audit import Audit
from orchestrator.sessions.paid_models import ATTACHED_MODELS
from orchestrator.sessions.turn_context import Query
from orchestrator.turns.feature import Feature, Tools, merge_features
from state.audit_log.interaction_log import InteractionLogger
from state.clock import Clock
from state.model.session_state import SessionState
from state.stored import JsonObject

if TYPE_CHECKING:
    from orchestrator.services.rag.building import EmbeddedRag


MOST_KEPT: Final = 18


def build_queries(reads: PortalReader, naming: Naming, clock: Clock, policies: PolicySource) -> Mapping[str, Query]:
    """By name; `policies` decides what the portal card shows."""
    lookup = Lookup(reads, naming, clock)

    async def shown(*, outcome: Outcome, actor: Actor) -> OutcomeView:
        return await render_outcome(outcome, naming, actor)

    async def named(*, titles: Mapping[str, str], text: str, actor: Actor) -> set[str]:
        try:
            return await lookup.find_named_records(titles, text, actor)
        except BitrixError:  # the call was made already, and a record that nobody is known to have named only has more asked about it
            return set()

    async def when(*, actor: Actor) -> dict[str, object]:
        now = clock.now()
        here: datetime = now.astimezone(ZoneInfo(actor.time_zone))
        lines = format_calendar(now, actor.time_zone, locale=actor.locale)
        bounds = format_bounds(here.date())
        return {"now": here.isoformat(timespec="minutes"), "zone": actor.time_zone, "calendar": lines, "periods": dict(bounds)}

    async def current(*, state: SessionState, actor: Actor) -> dict[str, object]:
        del actor
        return {CURRENT[kind]: number for kind, number in list_current(state).items()}

    async def link(*, target: str, actor: Actor) -> str:
        kind, _, number = target.rpartition(":")
        return naming.build_card_url(kind, int(number), user=actor.bitrix_user_id or 0) if kind and number.isdecimal() else ""

    async def zone(*, user_id: int | None) -> str:
        return await naming.find_zone(user_id)

    return {
        "zone": zone,
        **_build_plan_queries(naming),
        "link": link,
        **_build_meaning_queries(lookup, reads, naming, clock),
        "present": shown,
        "named": named,
        "when": when,
        "current": current,
        **_build_list_queries(reads, naming, clock),
        "portal_card": _build_portal_card(reads, clock, policies).build,
    }


def _build_meaning_queries(lookup: Lookup, reads: PortalReader, naming: Naming, clock: Clock) -> Mapping[str, Query]:
    """Without the portal a step is not run; the others of its plan are."""
    dates, plain_names = DateReferences(reads, naming, clock), PlainNames(reads, naming)

    async def resolve(*, reference: str, method: str, params: JsonObject, actor: Actor, state: SessionState, text: str) -> Resolution:
        try:
            return await lookup.resolve(reference, ReferenceContext(method=method, params=params, actor=actor, state=state, text=text))
        except BitrixError as error:
            return _build_unread(error)

    async def resolve_dates(
        *, method: str, params: JsonObject, actor: Actor, chosen: Mapping[str, object], said_at: datetime | None = None
    ) -> DatedParams | AskedDate | Unresolved:
        try:
            named = await plain_names.resolve(method=method, params=params, actor=actor, chosen=chosen)
            if isinstance(named, AskedDate | Unresolved):
                return named
            return await dates.resolve(method=method, params=named, actor=actor, chosen=chosen, said_at=said_at)
        except BitrixError as error:
            return _build_unread(error)

    duplicates = DuplicateFinder(reads, naming)
    converter = LeadConverter(reads, naming, duplicates)

    async def convert_lead(*, lead: int, actor: Actor, chosen: Mapping[str, object]) -> Conversion | CustomerQuestion | Unresolved:
        try:
            return await converter.plan(lead=lead, actor=actor, chosen=chosen)
        except BitrixError as error:
            return _build_unread(error)

    return {"resolve": resolve, "dates": resolve_dates, "same": duplicates.find, "convert_lead": convert_lead}


def _build_unread(error: BitrixError) -> Unresolved:
    """The portal's words may quote anybody, so the model reads none."""
    detail = "the portal could not be asked what this step is about, so it was not run; trying it again now would not help"
    return Unresolved(notice=build_read_refusal(error).reason, detail=detail)


def _build_plan_queries(naming: Naming) -> Mapping[str, Query]:
    """Find the kind of a call's record, and the place of one to be created."""

    async def created(*, reference: str, target: str, method: str, params: JsonObject) -> Resolution:
        return place_created(reference, target, method, params, naming)

    async def kind(*, method: str, params: JsonObject) -> str:
        return naming.find_entity(method, params)

    return {"created": created, "kind": kind}


def _build_list_queries(reads: PortalReader, naming: Naming, clock: Clock) -> Mapping[str, Query]:
    async def columns(*, outcome: Outcome, table: Table, columns: Sequence[str], actor: Actor) -> ColumnedTable:
        context = ViewContext(reads=reads, naming=naming, actor=actor, now=clock.now())
        return await add_columns(outcome, table, columns, context)

    async def sheet(*, outcome: Outcome, table: Table, fields: Sequence[str], actor: Actor) -> SheetPart:
        return await build_sheet(outcome, table, fields, ViewContext(reads=reads, naming=naming, actor=actor, now=clock.now()))

    async def list_message(*, outcome: Outcome, table: Table, fields: Sequence[str], to: int, actor: Actor) -> ListMessage:
        return await write_list(
            outcome, table, fields, to=to, context=ViewContext(reads=reads, naming=naming, actor=actor, now=clock.now())
        )

    return {"columns": columns, "sheet": sheet, "list_message": list_message}


def _build_portal_card(reads: PortalReader, clock: Clock, policies: PolicySource) -> PortalCard:
    """What may be read is found once for each policy."""
    catalogued = {name: method for name in METHODS if (method := reads.catalogue.find(name)) is not None}

    readable_by_policy: dict[tuple[str, bool], frozenset[str]] = {}

    def list_readable(actor: Actor) -> frozenset[str]:
        policy, sees_all = policies.now(), actor.sees == "all"
        key = policy.digest, sees_all
        if key not in readable_by_policy:
            if len(readable_by_policy) >= MOST_KEPT:
                readable_by_policy.clear()
            readable_by_policy[key] = frozenset(name for name, one in catalogued.items() if may_read_shared(one, policy, sees_all=sees_all))
        return readable_by_policy[key]

    return PortalCard(reads.reference, clock, list_readable)


@asynccontextmanager
async def open_orchestrator(
    installation: Installation,
    people: People,
    engines: Engines,
    *,
    documents: "EmbeddedRag | None" = None,
    reachability: ReachabilityTracker | None = None,
) -> AsyncIterator[Orchestrator]:
    """Close all connections at the end of the block. Raises SettingsError (S004-67).

    `reachability` hears how each call to the portal and to a model ends.
    """
    reachability = reachability or ReachabilityTracker()
    async with AsyncExitStack() as stack:
        portal = build_portal(installation, reachability)
        stack.push_async_callback(portal.aclose)
        models = build_models(installation.settings, reachability)
        stack.push_async_callback(models.aclose)
        services = build_service_clients(installation.settings, ATTACHED_MODELS, documents=documents)
        outside = build_outside(installation, portal, people, services, documents.shelf if documents is not None else None)
        stack.push_async_callback(outside.aclose)
        connected = build_engines(installation, portal, outside, engines)
        stack.push_async_callback(connected.aclose)
        yield build_orchestrator(installation, portal, models, people, connected, outside)


def build_orchestrator(
    installation: Installation, portal: Portal, models: Models, people: People, engines: EngineSet, outside: Outside
) -> Orchestrator:
    settings, store, policies = installation.settings, installation.store, installation.policies
    features = build_features(installation, portal, models, people, engines, outside)
    watched = Feature(frequent_tasks=(partial(installation.policy_news.run, policies),))
    gate = _build_gate(installation, portal, people, engines, outside)
    tools = Tools(
        store=store,
        gate=gate,
        model=models.router,
        engines=engines.turns,
        queries={**_build_queries(installation, portal, engines), "report_records": outside.numbers.build_list},
        audit=Audit(InteractionLogger(settings.log_dir, clock=installation.clock), installation.clock),
        mode=settings.agent_mode,
        show_partial=people.show_partial,
        guard=_build_guard(installation, portal),
        refresh_actor=people.refresh_actor,
        model_budget=MonthlyModelBudget(policies, UsageReader(store)),
        features=merge_features(features, watched),
        reports=outside.numbers,
        undo=UndoSteps(gate, store, people.refresh_actor),
    )
    return Orchestrator(tools, installation.clock, trouble=people.report_trouble)


def _build_gate(installation: Installation, portal: Portal, people: People, engines: EngineSet, outside: Outside) -> Gate:
    settings, clock = installation.settings, installation.clock
    gone = set() if BULK_ENGINE in engines.runs.runs else {BULK}  # nobody approves what nothing would carry out
    performers = {kind: performer for kind, performer in outside.performers.items() if kind not in gone}
    deps = GateDeps(
        catalogue=installation.catalogue,
        policies=installation.policies,
        approvers=LeadApprovers(people.members, clock.now) if people.members else NoLeads(),
        switch=installation.switch,
        change_counter=JournalChangeCounter(installation.store, overlap=OVERLAP if settings.database_url else timedelta(seconds=1)),
        performers={
            **performers,
            "schedule": build_schedule_performer(installation, people, engines.runs),
            "order": build_order_performer(installation, people, outside),
        },
        bulk=outside.bulk,
        records=portal.reads,
        names=portal.naming,
        ttl=settings.confirmation_ttl,
        present=people.refresh_actor,
    )
    return Gate(deps)


def _build_queries(installation: Installation, portal: Portal, engines: EngineSet) -> Mapping[str, Query]:
    """By name, for engines of turns."""
    return {
        **build_queries(portal.reads, portal.naming, installation.clock, installation.policies),
        "startable": StartableOffers(engines.runs, installation.store).list_startable,
        "employees": portal.employees.list_working,
        "employee": portal.employees.read_employee,
    }


def _build_guard(installation: Installation, portal: Portal) -> TextGuard:
    """Lets neither secrets nor links out of the portal and the policy's hosts into answers."""
    policy_hosts = {parse_listed_site(entry).host for entry in installation.policies.now().http_hosts}
    return TextGuard(hosts=frozenset({portal.client.portal}) | policy_hosts, secrets=SecretMask(hide_secrets(installation.settings)))
