"""The index of runs on both databases: pages in order, filters, and how many runs are not over."""

import pytest

from state.clock import format_iso
from state.journal.run_index import RunFilter, RunRow
from state.sql.backlog import BacklogReader
from tests.contract.store_kit import NOW, World, lasting_store, lease, said, step

pytestmark = pytest.mark.req("G1")


def row(number: int, *, status: str = "waiting", started: str = "2026-11-21T12:00:00.000000Z", owner: str = "tg:1007") -> RunRow:
    """An entry of the index."""
    return RunRow(f"{number:04d}", "steps", "plan", 1, owner, owner, "", status, started, started)


@lasting_store
def test_the_list_of_runs_goes_page_by_page(world: World) -> None:
    """Each run comes once, the one that was started last first, also where many were started at one moment."""
    store = world.open()
    held = lease(store)
    early = "2026-11-21T11:00:00.000000Z"
    rows = [*(row(number) for number in range(5)), row(9, started=early), row(7, status="done", owner="tg:1008")]
    for one in rows:
        store.commit(step(held, said(), run=one))
    found: list[str] = []
    place = ("~", "")
    while page := store.list_runs(RunFilter(limit=2, after=place)):
        found += [one.run_id for one in page]
        place = (page[-1].started_at, page[-1].run_id)
    assert found == ["0007", "0004", "0003", "0002", "0001", "0000", "0009"]
    assert [one.run_id for one in store.list_runs(RunFilter(owner="tg:1008", statuses=("done", "failed")))] == ["0007"]
    reader = BacklogReader(world.url)
    assert reader.read(format_iso(NOW)).runs == {("steps", "waiting"): 6}
    reader.close()
