"""What workflows are played with beside their runs: types of runes, the sandbox of scripts, blocks, and bounds on models and scripts."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from orchestrator.domain.taint import Origins, Value
from orchestrator.engines.workflows.results import DisplayUpdatePayload
from orchestrator.engines.workflows.rune_types import RuneParams, RuneTypes
from orchestrator.expressions.scripts.runner import ScriptRunner

AI_CALLS: Final = 4
"""How many calls of one AI service workflows make at a time in one process."""
SCRIPTS: Final = 16
"""How many scripts workflows run at a time in one process."""
Show = Callable[[str, DisplayUpdatePayload, Origins], Awaitable[None]]
"""Shows something for a node. It may be dropped (S003-70)."""


class BlockQueries(Protocol):
    """What scripts may ask about blocks, the results of workflows on records (S003-64). All of it only reads, at a node (S003-65)."""

    async def list_entities(self, node: str, block_id: str, /) -> Value:
        """Return the records that belong to a block, null for one that there is not."""

    async def read_game_state(self, node: str, block_id: str, /) -> Value:
        """Return {funnel, stage, activities} of the record of a block."""

    async def read_raw_text(self, node: str, block_id: str, /) -> Value:
        """Return the text of a block."""

    async def list_parents(self, node: str, block_id: str, /) -> Value:
        """Return the ids of the blocks from the first on that record to this one."""


class Bounds:
    """Holds back what workflows do side by side: calls of AI services, and scripts, of which too many at once would be refused."""

    def __init__(self, calls: int = AI_CALLS, scripts: int = SCRIPTS) -> None:
        """Allow this many calls of each service, and this many scripts, at a time in this process."""
        self.scripts = asyncio.Semaphore(scripts)
        """What a script holds while it runs."""
        self._turns: dict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(calls))

    def find(self, service: str) -> asyncio.Semaphore:
        """Return what a call of the service holds while it goes on."""
        return self._turns[service]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the tuums of one run are played with."""

    types: RuneTypes
    scripts: ScriptRunner
    params: dict[int, RuneParams] = field(default_factory=dict)
    """The parameters of runes that were read before, by the id() of the rune. It must not live longer than the runes do."""
    show: Show
    blocks: BlockQueries | None = None
    player: Mapping[str, Value] = field(default_factory=dict)
    """The profile of the run's person, as it was when the run began."""
    bounds: Bounds = field(default_factory=Bounds)
    clock: datetime | None = None
    """The moment at which the clocks of scripts stand: that of the run's begin, so that a run that is played again gives the same."""
