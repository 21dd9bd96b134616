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
    settings: Settings
    store: AsyncStore
    policies: PolicySource
    catalogue: Catalogue
    naming: Naming
    find_documents: FindDocuments
    read_file: ReadFile
    """As far as the policy opens the folder."""
    download: Download
    """From hosts that the policy opens."""
    scripts: ScriptRunner


def connect_nothing(engine: RegisteredEngine, _ports: EnginePorts) -> RegisteredEngine:
    """Its runs are all that reaches the outside."""
    return engine


@dataclass(frozen=True, kw_only=True)
class Wiring:
    """As it checks definitions, then as it executes them."""

    build: Callable[[], RegisteredEngine]
    connect: Callable[[RegisteredEngine, EnginePorts], RegisteredEngine] = connect_nothing


@dataclass(frozen=True, kw_only=True)
class Lifetime:
    """Lasts as long as the process; gets the folder and level of logs."""

    open: Callable[[Path, str], AbstractContextManager[None]]


WIRING: Final = Slot("wiring", Wiring)
LIFETIME: Final = Slot("lifetime", Lifetime)
