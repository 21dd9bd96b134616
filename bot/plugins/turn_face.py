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
    settings: Settings
    catalogue: Catalogue
    policies: PolicySource
    """Of the moment."""
    texts: AgentTexts
    services: ServiceClients
    """Documents and haiku, beside the program."""


@dataclass(frozen=True, kw_only=True)
class TurnFace:
    build: Callable[[TurnPorts], Engine]


TURN_FACE: Final = Slot("turns", TurnFace)
