"""Builds what reaches language models: the router over all providers, and the transcriber of speech. Part of the composition root."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.composition.model_providers import build_model_settings, build_providers
from bot.monitoring.reachability import ReachabilityTracker
from bot.settings.model_plan import ProviderSpec
from bot.settings.settings import Settings
from orchestrator.features.talking.voice import SpeechToText
from orchestrator.model_client.client import ModelClient
from orchestrator.model_client.router import ModelRouter
from orchestrator.model_client.transcribe import Transcriber


@dataclass(frozen=True, kw_only=True)
class Models:
    """The models that this process asks."""

    router: ModelRouter
    transcriber: SpeechToText | None = None
    """Turns speech into text; None if voice messages are refused."""
    clients: Mapping[str, ModelClient | Transcriber] = field(default_factory=dict)
    """What is closed at the end, by name; empty if whoever made the router closes its clients."""

    async def aclose(self) -> None:
        """Close the connections."""
        for client in self.clients.values():
            await client.aclose()


def build_models(settings: Settings, reachability: ReachabilityTracker) -> Models:
    """Return the models of the settings; `reachability` hears how each call ends. Raises SettingsError."""
    providers = build_providers(settings, heard=reachability.record_model_call, observe=reachability.record_provider_call)
    reachability.breakers = {name: route.breaker for name, route in providers.router.routes.items()}
    reachability.model.probe = providers.probe
    if not settings.openai_transcribe_model:
        return Models(router=providers.router, clients=providers.clients)
    transcriber = Transcriber(build_model_settings(ProviderSpec(kind="openai"), settings), settings.openai_transcribe_model)
    return Models(router=providers.router, transcriber=transcriber, clients={**providers.clients, "speech": transcriber})
