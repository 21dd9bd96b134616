"""Finds what people call the runs that a page names: the titles of what they execute."""

from collections.abc import Iterable, Mapping

from bot.console.visit import Visit
from orchestrator.runs.titles import look_up_title
from state.journal.run_index import RunFilter

DefinitionName = tuple[str, str]
"""An engine with the key of a definition."""


async def find_run_titles(visit: Visit, names: Iterable[DefinitionName]) -> Mapping[DefinitionName, str]:
    """Return the title of each definition as it is published now, each looked up once; its key if it has none."""
    return {name: await look_up_title(*name, visit.services.startable) for name in sorted(set(names))}


async def find_run_title(visit: Visit, run_id: str) -> str:
    """Return the title of what the run with this id executes; "" for a run that does not exist."""
    rows = await visit.services.store.list_runs(RunFilter(run_id=run_id))
    return await look_up_title(rows[0].engine, rows[0].definition, visit.services.startable) if rows else ""
