"""Builds the orchestrator from five groups of services: portal, models, people, engines and outside.

`process.py` adds the doors.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from bitrix.masking import SecretMask
from bot.composition.engines import EngineSet, build_engines
from bot.composition.features import Models, build_features, build_models
from bot.composition.installation import Installation
from bot.composition.outside import Outside, build_outside, build_schedule_performer
from bot.composition.people import People
from bot.composition.portal import Portal, build_portal
from bot.composition.queries import build_queries
from bot.composition.tool_services import build_service_clients
from bot.monitoring.reachability import ReachabilityTracker
from bot.settings.loading import hide_secrets
from orchestrator.domain.http_address import parse_listed_site
from orchestrator.features.budgets.change_counter import OVERLAP, JournalChangeCounter
from orchestrator.features.budgets.model_budget import MonthlyModelBudget, UsageReader
from orchestrator.features.leads.approvers import LeadApprovers
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.permissions import NoLeads
from orchestrator.gate.gate import Gate
from orchestrator.replies.text_guard import TextGuard
from orchestrator.runs.offers import StartableOffers
from orchestrator.runs.registry import Engines
from orchestrator.runtime.worker import Orchestrator
from orchestrator.sessions.audit import Audit
from orchestrator.sessions.paid_models import ATTACHED_MODELS
from orchestrator.sessions.turn_context import Query
from orchestrator.turns.feature import Feature, Tools, merge_features
from state.audit_log.interaction_log import InteractionLogger

if TYPE_CHECKING:  # not every installation has documents
    from orchestrator.services.rag.building import EmbeddedRag


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
    tools = Tools(
        store=store,
        gate=_build_gate(installation, portal, people, engines, outside),
        model=models.router,
        engines=engines.turns,
        queries=_build_queries(installation, portal, engines),
        audit=Audit(InteractionLogger(settings.log_dir, clock=installation.clock), installation.clock),
        mode=settings.agent_mode,
        show_partial=people.show_partial,
        guard=_build_guard(installation, portal),
        refresh_actor=people.refresh_actor,
        model_budget=MonthlyModelBudget(policies, UsageReader(store)),
        features=merge_features(features, watched),
    )
    return Orchestrator(tools, installation.clock, trouble=people.report_trouble)


def _build_gate(installation: Installation, portal: Portal, people: People, engines: EngineSet, outside: Outside) -> Gate:
    settings, clock = installation.settings, installation.clock
    deps = GateDeps(
        catalogue=installation.catalogue,
        policies=installation.policies,
        approvers=LeadApprovers(people.members, clock.now) if people.members else NoLeads(),
        switch=installation.switch,
        change_counter=JournalChangeCounter(installation.store, overlap=OVERLAP if settings.database_url else timedelta(seconds=1)),
        performers={**outside.performers, "schedule": build_schedule_performer(installation, people, engines.runs)},
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
