"""The index of runs (executions of scenarios, flows and workflows), by which they are listed. It follows from the runs' streams.

Each commit that changes the status of a run stores the run's new entry with it. An entry holds ids, times and keys of people, and nothing
that people wrote.
"""

from dataclasses import dataclass
from typing import NamedTuple

from state.model.run_state import RunState
from state.stored import convert

PREFIX = "run:"
MOST = 1000
"""How many entries one query returns at most."""
NO_TIME = "9999"
"""Stands for "later than every time" where ISO times are compared as text: unlike "~", it sorts behind them in every collation."""


class RunRow(NamedTuple):
    """The entry of one run; times are ISO texts, and `home` is the session in whose chat the run is shown."""

    run_id: str
    engine: str
    definition: str
    version: int
    home: str
    owner: str
    parent: str
    status: str
    started_at: str
    updated_at: str


@dataclass(frozen=True, kw_only=True)
class RunFilter:
    """Which runs to list: each part that is not empty must fit."""

    run_id: str = ""
    engine: str = ""
    home: str = ""
    owner: str = ""
    statuses: tuple[str, ...] = ()
    before: str = ""
    """Only runs that were last changed before this ISO time."""
    after: tuple[str, str] = (NO_TIME, "")
    """Only runs that come after this place (start, run id) in the list, which begins with the run that was started last."""
    limit: int = 100


def build_run_row(stream: str, run: RunState) -> RunRow:
    """Return the entry of the run whose stream is `stream` and whose state is `run`."""
    return convert(run, RunRow, run_id=stream.removeprefix(PREFIX))
