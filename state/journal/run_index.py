"""The index of runs, stored with each commit that changes a run's status."""

from dataclasses import dataclass
from typing import NamedTuple

from state.model.run_state import RunState

PREFIX = "run:"
MOST = 1000
NO_TIME = "9999"
"""Later than every ISO time in every collation (unlike "~")."""


class RunRow(NamedTuple):
    """Times are ISO texts; `home` is the session that shows the run."""

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
    """Each part that is not empty must fit."""

    run_id: str = ""
    engine: str = ""
    definition: str = ""
    """The key of what it executes."""
    home: str = ""
    owner: str = ""
    statuses: tuple[str, ...] = ()
    before: str = ""
    after: tuple[str, str] = (NO_TIME, "")
    """Only runs after this place (start, run id); the latest start comes first."""
    limit: int = 100


def build_run_row(stream: str, run: RunState) -> RunRow:
    return RunRow(
        run_id=stream.removeprefix(PREFIX),
        engine=run.engine,
        definition=run.definition,
        version=run.version,
        home=run.home,
        owner=run.owner,
        parent=run.parent,
        status=run.status,
        started_at=run.started_at,
        updated_at=run.updated_at,
    )
