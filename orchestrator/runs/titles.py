"""What people call the runs of a chat: the title of what each executes, and where two have one title, a part of its id."""

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
"""How many characters of its id tell a run from another one of the same title."""
LONGEST_TITLE: Final = 60
NONE: Final = "none"
"""The value of an argument of a sentence that is left out."""


@dataclass(frozen=True, slots=True)
class RunName:
    """The name of a run among others."""

    title: str
    """The title of its definition when it began, of older runs as it is published now; its key if there is none."""
    mark: str = NONE
    """The end of its id if another one has this title, otherwise `NONE`."""

    @property
    def written(self) -> str:
        """The name in one text."""
        return self.title if self.mark == NONE else f"{self.title} · {self.mark}"


async def name_runs(rows: Sequence[RunRow], engines: Engines, store: AsyncStore) -> Mapping[str, RunName]:
    """Return the names of these runs by id, each different from the others."""
    titles: dict[str, str] = {}
    for row in rows:
        state, _ = await store.read(load_state, f"{PREFIX}{row.run_id}")
        recorded = state.run.title if state.run is not None else ""
        titles[row.run_id] = recorded or await look_up_title(row.engine, row.definition, engines)
    counts = Counter(titles.values())
    return {run: RunName(title, run[-ID_SHOWN:] if counts[title] > 1 else NONE) for run, title in titles.items()}


def find_title(document: object, registered: RegisteredEngine) -> str:
    """Return what people call runs of this document; "" if it has no title, or is none that its engine can read."""
    try:
        title = registered.describe(document)[0]
    except Exception:  # noqa: BLE001 - an author's mistake may raise anything, and must not keep a run from beginning
        return ""
    return to_visible_line(title, limit=LONGEST_TITLE)


async def look_up_title(engine: str, key: str, engines: Engines) -> str:
    """Return the title of a definition as it is published now; its key if it has none, or can be started no more."""
    return await find_published_title(engine, key, engines) or key


async def find_published_title(engine: str, key: str, engines: Engines) -> str:
    """Return the title of a definition as it is published now; "" if it has none, or can be started no more."""
    registered = engines.runs.get(engine)
    if registered is None:
        return ""
    try:
        definition = await engines.definitions.find(engine, key)
    except RunFailed:  # switched off since, or a draft again
        return ""
    return find_title(definition.document, registered) if definition is not None else ""
