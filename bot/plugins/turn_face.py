"""How an engine of turns, which answers messages, is built, and what the services of the process give to it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bitrix.catalogue.catalogue import Catalogue
from bot.plugins.plugin import Slot
from bot.settings.settings import Settings
from orchestrator.engines.base import Engine
from orchestrator.engines.crm_agent.agent_texts import AgentTexts
from orchestrator.gate.call.gate_deps import PolicySource
from orchestrator.services.http_client import ServiceClients


@dataclass(frozen=True, kw_only=True)
class TurnPorts:
    """What the services of the process give to engines of turns."""

    settings: Settings
    catalogue: Catalogue
    policies: PolicySource
    """Gives the policy of the moment."""
    texts: AgentTexts
    services: ServiceClients
    """The services beside the program: documents, haiku."""


@dataclass(frozen=True, kw_only=True)
class TurnFace:
    """Builds the engine; it answers under the name of its plugin."""

    build: Callable[[TurnPorts], Engine]


TURN_FACE: Final = Slot("turns", TurnFace)
