"""What people call the runs of a chat."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.engines.runs import RunFailed
from orchestrator.language.text import to_visible_line
from orchestrator.runs.registry import Engines, RegisteredEngine
from state.journal.async_store import AsyncStore
from state.journal.journal import load_state
from state.journal.run_index import PREFIX, RunRow

ID_SHOWN: Final = 6
"""Characters of its id that tell namesakes apart."""
LONGEST_TITLE: Final = 60
NONE: Final = "none"
"""Stands for an argument that is left out."""


@dataclass(frozen=True, slots=True)
class RunName:
    """The title, with a mark if another run has it."""

    title: str
    mark: str = NONE
    """The end of its id if another run has this title."""

    @property
    def written(self) -> str:
        return self.title if self.mark == NONE else f"{self.title} · {self.mark}"


async def name_runs(rows: Sequence[RunRow], engines: Engines, store: AsyncStore) -> Mapping[str, RunName]:
    """By id, each different from the others."""
    titles: dict[str, str] = {}
    for row in rows:
        state, _ = await store.read(load_state, f"{PREFIX}{row.run_id}")
        recorded = state.run.title if state.run is not None else ""
        titles[row.run_id] = recorded or await look_up_title(row.engine, row.definition, engines)
    counts = Counter(titles.values())
    return {run: RunName(title, run[-ID_SHOWN:] if counts[title] > 1 else NONE) for run, title in titles.items()}


def find_title(document: object, registered: RegisteredEngine) -> str:
    """Empty if it has no title or its engine cannot read it."""
    try:
        title = registered.describe(document)[0]
    except Exception:  # noqa: BLE001 - an author's mistake may raise anything, and must not keep a run from beginning
        return ""
    return to_visible_line(title, limit=LONGEST_TITLE)


async def look_up_title(engine: str, key: str, engines: Engines) -> str:
    """As it is published now; its key if there is none."""
    return await find_published_title(engine, key, engines) or key


async def find_published_title(engine: str, key: str, engines: Engines) -> str:
    """As it is published now; "" if there is none."""
    registered = engines.runs.get(engine)
    if registered is None:
        return ""
    try:
        definition = await engines.definitions.find(engine, key)
    except RunFailed:  # switched off since, or a draft again
        return ""
    return find_title(definition.document, registered) if definition is not None else ""
