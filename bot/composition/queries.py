"""Builds the read-only queries of engines of turns."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from bitrix.errors import BitrixError
from orchestrator.directory.answers import AskedDate, ColumnedTable, DatedParams, GroupedView, OutcomeView, Resolution, Unresolved
from orchestrator.directory.created_references import place_created
from orchestrator.directory.current_records import CURRENT, list_current
from orchestrator.directory.date_references import DateReferences
from orchestrator.directory.duplicates import DuplicateFinder
from orchestrator.directory.list_columns import ViewContext, add_columns
from orchestrator.directory.list_groups import group_list
from orchestrator.directory.lookup import Lookup
from orchestrator.directory.naming import Naming
from orchestrator.directory.outcome_view import render_outcome
from orchestrator.directory.portal_card import METHODS, PortalCard
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.directory.reference import ReferenceContext
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Outcome
from orchestrator.domain.outputs import Table
from orchestrator.gate.call.gate_deps import PolicySource
from orchestrator.gate.call.modes import may_read_shared
from orchestrator.gate.call.reasons import build_read_refusal
from orchestrator.language.calendar_units import format_bounds
from orchestrator.language.date_format import format_calendar
from orchestrator.sessions.turn_context import Query
from state.clock import Clock
from state.model.session_state import SessionState
from state.stored import JsonObject

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
    dates = DateReferences(reads, naming, clock)

    async def resolve(*, reference: str, method: str, params: JsonObject, actor: Actor, state: SessionState, text: str) -> Resolution:
        try:
            return await lookup.resolve(reference, ReferenceContext(method=method, params=params, actor=actor, state=state, text=text))
        except BitrixError as error:
            return _build_unread(error)

    async def resolve_dates(
        *, method: str, params: JsonObject, actor: Actor, chosen: Mapping[str, object], said_at: datetime | None = None
    ) -> DatedParams | AskedDate | Unresolved:
        try:
            return await dates.resolve(method=method, params=params, actor=actor, chosen=chosen, said_at=said_at)
        except BitrixError as error:
            return _build_unread(error)

    return {"resolve": resolve, "dates": resolve_dates, "same": DuplicateFinder(reads, naming).find}


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
    """A list with more columns, or counted by a field."""

    async def columns(*, outcome: Outcome, table: Table, columns: Sequence[str], actor: Actor) -> ColumnedTable:
        context = ViewContext(reads=reads, naming=naming, actor=actor, now=clock.now())
        return await add_columns(outcome, table, columns, context)

    async def grouped(*, outcome: Outcome, by: str, actor: Actor) -> GroupedView:
        return await group_list(outcome, by, ViewContext(reads=reads, naming=naming, actor=actor, now=clock.now()))

    return {"columns": columns, "group": grouped}


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
