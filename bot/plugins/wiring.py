"""How an engine is built, and what the services of the process give to it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bitrix.catalogue.catalogue import Catalogue
from bot.plugins.plugin import Slot
from bot.settings.settings import Settings
from orchestrator.directory.naming import Naming
from orchestrator.domain.own_reads import FindDocuments
from orchestrator.engines.shared.file_access import Download, ReadFile
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.gate.call.gate_deps import PolicySource
from orchestrator.runs.registry import RegisteredEngine
from state.journal.async_store import AsyncStore


@dataclass(frozen=True, kw_only=True)
class EnginePorts:
    """What the services of the process give to engines."""

    settings: Settings
    store: AsyncStore
    policies: PolicySource
    catalogue: Catalogue
    naming: Naming
    find_documents: FindDocuments
    read_file: ReadFile
    """Reads the folder of files, as far as the policy opens it."""
    download: Download
    """Fetches files from the hosts that the policy opens."""
    scripts: ScriptRunner


def connect_nothing(engine: RegisteredEngine, _ports: EnginePorts) -> RegisteredEngine:
    """Return the engine as it is: it reaches the outside only through its runs."""
    return engine


@dataclass(frozen=True, kw_only=True)
class Wiring:
    """Builds the engine: as it checks definitions, and as it executes them with services."""

    build: Callable[[], RegisteredEngine]
    connect: Callable[[RegisteredEngine, EnginePorts], RegisteredEngine] = connect_nothing


@dataclass(frozen=True, kw_only=True)
class Lifetime:
    """What lasts as long as the process, such as a log of its own; it gets the folder of logs and the level."""

    open: Callable[[Path, str], AbstractContextManager[None]]


WIRING: Final = Slot("wiring", Wiring)
LIFETIME: Final = Slot("lifetime", Lifetime)
