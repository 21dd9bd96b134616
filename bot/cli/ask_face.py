from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

from bot.plugins.plugin import Slot
from bot.settings.settings import Settings
from orchestrator.directory.answers import FindRecords
from orchestrator.domain.models import Models
from orchestrator.services.http_client import ServiceClients

FAILED: Final = 1
INTERRUPTED: Final = 130


@dataclass(frozen=True, kw_only=True)
class AskPorts:
    settings: Settings
    models: Models
    services: ServiceClients
    read_line: Callable[[], str]
    """Raises EOFError at the end of input."""
    show: Callable[[str], None]
    run: Callable[[Coroutine[Any, Any, Any]], Any]
    find_records: FindRecords | None = None
    """None if no portal is connected."""


@dataclass(frozen=True, kw_only=True)
class AskFace:
    talk: Callable[[AskPorts], int]
    """Until the person leaves or the model fails; returns the exit code."""
    logger: str
    """Name of the log in which it says each of its steps."""


ASK_FACE: Final = Slot("ask", AskFace)
