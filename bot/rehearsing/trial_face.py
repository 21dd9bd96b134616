from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from bot.plugins.plugin import Slot
from bot.rehearsing.trials import Playable
from orchestrator.definitions.kinds import DefinitionKind
from orchestrator.runs.registry import Definitions
from state.journal.async_store import AsyncStore


class LoadPlayable(Protocol):
    """Loads what a trial of a checked document needs of others."""

    async def __call__(
        self, kind: DefinitionKind, key: str, document: Mapping[str, Any], *, store: AsyncStore, definitions: Definitions
    ) -> Playable:
        """Raises StoreError."""


@dataclass(frozen=True, kw_only=True)
class TrialFace:
    load: LoadPlayable


TRIAL_FACE: Final = Slot("trial", TrialFace)
