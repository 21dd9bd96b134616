"""Builds the orchestrator as `build_orchestrator` does, over clients that tests and benchmarks made with transports of their own."""

from bitrix.client.client import BitrixClient
from bot.composition.bootstrap import build_from_clients
from bot.composition.people import People
from bot.settings.settings import Settings
from orchestrator.domain.shelf import DocumentShelf
from orchestrator.features.talking.voice import SpeechToText, VoiceInput
from orchestrator.model_client.providers import WireClient
from orchestrator.model_client.router import ModelRouter
from orchestrator.runs.registry import Engines
from orchestrator.runtime.worker import Orchestrator
from orchestrator.services.http_client import ServiceClients
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
    return build_from_clients(
        settings,
        store,
        client,
        model,
        trouble=people.report_trouble,
        partial=people.show_partial,
        clock=clock or SystemClock(),
        present=people.refresh_actor,
        audience=people.audience,
        members=people.members,
        ear=VoiceInput(files=people.files, transcriber=transcriber) if people.files else None,
        files=people.files,
        engines=engines,
        services=services,
        shelf=shelf,
    )
