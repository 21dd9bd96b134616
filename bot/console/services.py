"""The readers and services that the endpoints of the API call, built once per process."""

from dataclasses import dataclass
from functools import cached_property

from bot.access.access import Access
from bot.definition_service import build_class_finder, build_definition_service
from bot.http_api.runs.run_inputs import RunInputs
from bot.http_api.runs.run_reader import RunReader
from bot.http_api.server.endpoint_context import EndpointContext
from bot.http_api.server.tokens import Client
from bot.monitoring.figures import FigureReader
from bot.monitoring.health_checks import HealthChecks
from bot.monitoring.journal_watch import JournalWatch, watch_database
from bot.monitoring.monitor import Monitor
from bot.policy.policy_desk import PolicyDesk
from bot.settings.settings import Settings
from orchestrator.definitions.rules import FindClasses
from orchestrator.definitions.service import DefinitionService
from orchestrator.domain.actor import Actor
from orchestrator.features.budgets.model_budget import UsageMeter
from orchestrator.rehearsals.call_forms import CallForms
from orchestrator.rehearsals.live_trial import LiveTrial
from orchestrator.runs.registry import Engines
from orchestrator.runs.stored_definitions import add_stored_definitions
from orchestrator.runtime.worker import Orchestrator
from orchestrator.turns.feature import Reports
from state.clock import Clock
from state.journal.async_store import AsyncStore


@dataclass(frozen=True, kw_only=True)
class ConsoleServices:
    """They decide nothing: what a page submits goes through the inbox and the gate."""

    settings: Settings
    orchestrator: Orchestrator
    access: Access
    engines: Engines
    clock: Clock
    monitor: Monitor | None = None
    health: HealthChecks | None = None

    @cached_property
    def desk(self) -> EndpointContext:
        """As for the endpoints of the API."""
        return EndpointContext(self.orchestrator, self.clock)

    @property
    def store(self) -> AsyncStore:
        return self.orchestrator.tools.store

    @property
    def reports(self) -> Reports | None:
        return self.orchestrator.tools.reports

    @cached_property
    def usage(self) -> UsageMeter:
        return UsageMeter(self.store, self.clock.now)

    @cached_property
    def startable(self) -> Engines:
        return add_stored_definitions(self.engines, self.store)

    @cached_property
    def journal_watch(self) -> JournalWatch:
        return watch_database(self.settings.database.get_secret_value(), self.clock)

    @cached_property
    def runs(self) -> RunReader:
        return RunReader(self.desk)

    @cached_property
    def run_inputs(self) -> RunInputs:
        return RunInputs(self.desk, self.runs, self.startable)

    @cached_property
    def definitions(self) -> DefinitionService:
        deps = self.orchestrator.tools.gate.deps
        return build_definition_service(
            self.store,
            self.engines,
            policies=deps.policies,
            catalogue=lambda: deps.catalogue,
            clock=self.clock,
            find_reference=lambda: deps.records.reference,
        )

    @cached_property
    def find_classes(self) -> FindClasses:
        deps = self.orchestrator.tools.gate.deps
        return build_class_finder(lambda: deps.catalogue)

    @cached_property
    def call_forms(self) -> CallForms:
        """As the portal would be asked for them."""
        deps = self.orchestrator.tools.gate.deps
        return CallForms(lambda: deps.catalogue, lambda: deps.records.reference)

    def open_live_trial(self, actor: Actor) -> LiveTrial:
        return LiveTrial(self.orchestrator.tools, self.clock, actor)

    @cached_property
    def figures(self) -> FigureReader:
        """Once a minute for all who look."""
        deps = self.orchestrator.tools.gate.deps
        return FigureReader(self.store, self.clock, budget=lambda: deps.policy.budget, list_people=self.access.list_people)

    @cached_property
    def policy(self) -> PolicyDesk:
        deps = self.orchestrator.tools.gate.deps
        return PolicyDesk(
            settings=self.settings,
            deps=deps,
            engines=self.engines,
            store=self.store,
            clock=self.clock,
            receive=self.orchestrator.receive,
        )


def build_caller(actor: Actor) -> Client:
    """As a caller of the API's functions; a person has no token."""
    return Client(name=actor.key, actor=actor, digest=b"", is_guessable=False)
