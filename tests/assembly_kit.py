"""Builds the orchestrator as `open_orchestrator` does, over clients that tests and benchmarks made with transports of their own."""

from bitrix.client.client import BitrixClient
from bot.composition.bootstrap import build_orchestrator
from bot.composition.engines import build_engines
from bot.composition.features import Models
from bot.composition.installation import build_installation
from bot.composition.outside import build_outside
from bot.composition.people import People
from bot.composition.portal import connect_portal
from bot.composition.tool_services import build_service_clients
from bot.plugins.building import load_installed_engines
from bot.settings.settings import Settings
from orchestrator.domain.shelf import DocumentShelf
from orchestrator.features.talking.voice import SpeechToText
from orchestrator.model_client.providers import WireClient
from orchestrator.model_client.router import ModelRouter
from orchestrator.runs.registry import Engines
from orchestrator.runtime.worker import Orchestrator
from orchestrator.services.http_client import ServiceClients
from orchestrator.sessions.paid_models import ATTACHED_MODELS
from state.clock import Clock, SystemClock
from state.journal.async_store import AsyncStore


def assemble(
    settings: Settings,
    store: AsyncStore,
    client: BitrixClient,
    model: WireClient | ModelRouter,
    people: People,
    *,
    clock: Clock | None = None,
    engines: Engines | None = None,
    services: ServiceClients | None = None,
    shelf: DocumentShelf | None = None,
    transcriber: SpeechToText | None = None,
) -> Orchestrator:
    """Return the orchestrator; the caller closes the clients. Without `engines` it has those of the program."""
    engines = load_installed_engines() if engines is None else engines
    installation = build_installation(settings, store, clock or SystemClock(), engines)
    router = model if isinstance(model, ModelRouter) else ModelRouter.from_client(model, model=settings.openai_model)
    portal, models = connect_portal(installation, client), Models(router=router, transcriber=transcriber)
    services = services or build_service_clients(settings, ATTACHED_MODELS)
    outside = build_outside(installation, portal, people, services, shelf)
    return build_orchestrator(installation, portal, models, people, build_engines(installation, portal, outside, engines), outside)
