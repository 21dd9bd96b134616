"""What the pages of the console use: the same readers and services that the endpoints of the HTTP API call, built once per process."""

from dataclasses import dataclass
from functools import cached_property

from bot.access.access import Access
from bot.definition_service import build_definition_service
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
from orchestrator.definitions.service import DefinitionService
from orchestrator.domain.actor import Actor
from orchestrator.features.budgets.usage_meter import UsageMeter
from orchestrator.rehearsals.call_forms import CallForms
from orchestrator.runs.registry import Engines
from orchestrator.runs.stored_definitions import add_stored_definitions
from orchestrator.runtime.worker import Orchestrator
from state.clock import Clock
from state.journal.async_store import AsyncStore


@dataclass(frozen=True, kw_only=True)
class ConsoleServices:
    """The services of the pages. Nothing in them decides: what a page submits goes through the inbox and the gate, as from everywhere."""

    settings: Settings
    orchestrator: Orchestrator
    access: Access
    engines: Engines
    clock: Clock
    monitor: Monitor | None = None
    health: HealthChecks | None = None

    @cached_property
    def desk(self) -> EndpointContext:
        """Finds cards and calls, and waits for changes, as for the endpoints of the API."""
        return EndpointContext(self.orchestrator, self.clock)

    @property
    def store(self) -> AsyncStore:
        """The journal."""
        return self.orchestrator.tools.store

    @cached_property
    def usage(self) -> UsageMeter:
        """Measures how much of their limits people have used."""
        return UsageMeter(self.store, self.clock.now)

    @cached_property
    def startable(self) -> Engines:
        """The engines with the published definitions."""
        return add_stored_definitions(self.engines, self.store)

    @cached_property
    def journal_watch(self) -> JournalWatch:
        """Knows whether the journal is as it was written."""
        return watch_database(self.settings.database.get_secret_value(), self.clock)

    @cached_property
    def runs(self) -> RunReader:
        """Finds and describes runs."""
        return RunReader(self.desk)

    @cached_property
    def run_inputs(self) -> RunInputs:
        """Submits orders about runs, starts of runs, and answers to their questions."""
        return RunInputs(self.desk, self.runs, self.startable)

    @cached_property
    def definitions(self) -> DefinitionService:
        """Lists, checks, stores and publishes definitions."""
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
    def call_forms(self) -> CallForms:
        """Judges the calls of trials as the portal would be asked for them."""
        deps = self.orchestrator.tools.gate.deps
        return CallForms(lambda: deps.catalogue, lambda: deps.records.reference)

    @cached_property
    def figures(self) -> FigureReader:
        """Reads the figures of the charts, once a minute for all who look."""
        deps = self.orchestrator.tools.gate.deps
        return FigureReader(self.store, self.clock, budget=lambda: deps.policy.budget, list_people=self.access.list_people)

    @cached_property
    def policy(self) -> PolicyDesk:
        """Shows, checks, rehearses and saves the policy."""
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
    """Return the person as a caller of what the endpoints of the API call; a person has no token."""
    return Client(name=actor.key, actor=actor, digest=b"", is_guessable=False)
