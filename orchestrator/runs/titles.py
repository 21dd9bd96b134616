"""What people call the runs of a chat: the title of what each executes, and where two have one title, a part of its id."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.engines.runs import RunFailed
from orchestrator.runs.registry import Engines
from state.journal.run_index import RunRow

ID_SHOWN: Final = 6
"""How many characters of its id tell a run from another one of the same title."""
LONGEST_TITLE: Final = 60
NONE: Final = "none"
"""The value of an argument of a sentence that is left out."""


@dataclass(frozen=True, slots=True)
class RunName:
    """The name of a run among others."""

    title: str
    """The title of its definition as it is published now; its key if it has none, or can be started no more."""
    mark: str = NONE
    """The end of its id if another one has this title, otherwise `NONE`."""

    @property
    def written(self) -> str:
        """The name in one text."""
        return self.title if self.mark == NONE else f"{self.title} · {self.mark}"


async def name_runs(rows: Sequence[RunRow], engines: Engines) -> Mapping[str, RunName]:
    """Return the names of these runs by id, each different from the others."""
    known = {(one.engine, one.definition): one.definition for one in rows}
    for engine, key in known:
        known[engine, key] = await _find_title(engine, key, engines)
    titles = {one.run_id: known[one.engine, one.definition] for one in rows}
    counts = Counter(titles.values())
    return {run: RunName(title, run[-ID_SHOWN:] if counts[title] > 1 else NONE) for run, title in titles.items()}


async def _find_title(engine: str, key: str, engines: Engines) -> str:
    registered = engines.runs.get(engine)
    if registered is None:
        return key
    try:
        found = await engines.definitions.find(engine, key)
    except RunFailed:  # switched off since, or a draft again
        return key
    title = registered.describe(found.document)[0] if found is not None else ""
    return " ".join(title.split())[:LONGEST_TITLE] or key
