"""The index of runs: kept with each commit, filtered, counted, in pages, and the same as the streams on every kind of database."""

import asyncio
import random
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete, insert, text, update

from orchestrator.domain.errors import RunOver
from orchestrator.reports.consistency import EffectChecker
from orchestrator.sessions.session import Session, open_session
from state.canonical import hash_text
from state.clock import format_iso
from state.events.base import Event
from state.events.runs import NodeDone, NodeFailed, RunFinished, RunForgotten, RunStarted, RunWaits, RunWoken
from state.journal.async_store import AsyncStore
from state.journal.journal import load_state
from state.journal.run_index import RunFilter, RunRow, build_run_row
from state.sql import SqlStore
from state.sql.backlog import BacklogReader
from state.sql.record_index import build_tolerant_ask
from state.sql.run_index import find_run_differences, rebuild_run_index
from state.sql.tables import blobs, runs
from state.verify.journal import verify_journal
from tests.contract.store_kit import NOW, World, every_store, lasting_store, lease, said, step
from tests.fixed_clock import FixedClock

ANNA, BORIS = "tg:1007", "tg:1008"
NODES = ("ask", "write")


def started(owner: str = ANNA, *, engine: str = "steps", home: str = ANNA, definition: str = "plan") -> RunStarted:
    """The event that begins a run."""
    actor = {"key": owner, "name": "Анна"}
    return RunStarted(engine=engine, definition=definition, version=3, digest="d", replay=1, home=home, mode="full", actor=actor)


def waits(node: str = "ask") -> RunWaits:
    return RunWaits(node=node, on="input", waits_for="q", answers=[ANNA])


async def write(store: SqlStore, key: str, *steps: Event, owner: str = ANNA, buffered: bool = False) -> None:
    """Each event in a step of its own, one second after the other."""
    clock = FixedClock(NOW)
    shared = AsyncStore(store)
    session: Session = await open_session(shared, clock, key, "one")
    for event in steps:
        clock.advance(timedelta(seconds=1))
        with suppress(RunOver):  # a run that is over does not wait, and does not end again: then nothing is written
            await (session.buffer if buffered else session.commit)(event, actor=owner)
    await session.close()


def told(store: SqlStore) -> list[tuple[str, str]]:
    """What the comparison of the index with the streams finds: (place, why)."""
    with store._dialect.engine.connect() as connection:
        return [(one.place, one.why) for one in find_run_differences(build_tolerant_ask(connection))]


def ids(store: SqlStore, **wanted: Any) -> list[str]:
    return [row.run_id for row in store.list_runs(RunFilter(**wanted))]


@every_store
class TestIndex:
    """What each kind of database keeps of runs."""

    @pytest.mark.req("G2")
    async def test_runs_are_listed_by_each_part_of_the_filter(self, store: SqlStore) -> None:
        """By home, owner, engine, definition, status, time of the last change and number; the run that began last is first."""
        await write(store, "run:1", started(), waits())
        await write(store, "run:2", started(BORIS, home="tg:-100:5"), RunFinished(status="done"), owner=BORIS)
        await write(
            store,
            "run:3",
            started(engine="fan", definition="offer"),
            NodeFailed(node="ask", code="x"),
            RunFinished(status="failed", code="x"),
        )
        assert ids(store) == ["3", "2", "1"]
        assert ids(store, owner=ANNA) == ["3", "1"]
        assert ids(store, home="tg:-100:5") == ["2"]
        assert ids(store, engine="fan", statuses=("failed", "done")) == ["3"]
        assert ids(store, statuses=("waiting",)) == ["1"]
        assert (ids(store, definition="plan"), ids(store, definition="offer", engine="steps")) == (["2", "1"], [])
        assert ids(store, run_id="2") == ["2"]
        assert ids(store, before="2026-11-21T12:00:03") == ["2", "1"]
        assert ids(store, limit=1) == ["3"]
        assert ids(store, owner=BORIS, statuses=("waiting",)) == []

    async def test_a_row_says_what_a_list_shows(self, store: SqlStore) -> None:
        """Ids, times and keys of people; a later commit changes the row in its own transaction."""
        await write(store, "run:1", started(), waits())
        (row,) = store.list_runs(RunFilter())
        first, last = "2026-11-21T12:00:01.000000Z", "2026-11-21T12:00:02.000000Z"
        assert row == RunRow("1", "steps", "plan", 3, ANNA, ANNA, "", "waiting", first, last)
        assert told(store) == []

    @pytest.mark.parametrize("buffered", [False, True])
    async def test_the_index_equals_the_fold_of_the_streams(self, store: SqlStore, buffered: bool) -> None:  # noqa: FBT001 - a table
        """Whatever happens in a run, in any order, in steps that are committed or buffered: row, fold and rebuilt row are the same."""
        chance = random.Random(14)  # noqa: S311 - the same sequences each time
        for number in range(60):
            key = f"run:{number:02}"
            await write(store, key, started(), *(_invent(chance) for _ in range(chance.randrange(1, 9))), buffered=buffered)
            state, _ = load_state(store, key)
            found = store.list_runs(RunFilter(run_id=key.removeprefix("run:")))
            assert found == ([build_run_row(key, state.run)] if state.run is not None else [])
        assert told(store) == []
        before = store.list_runs(RunFilter())
        assert rebuild_run_index(store._dialect) == len(before)
        assert store.list_runs(RunFilter()) == before

    async def test_a_wrong_a_missing_and_an_unfounded_row_are_found_and_mended(self, store: SqlStore) -> None:
        await write(store, "run:1", started(), waits())
        await write(store, "run:2", started(), RunFinished(status="done"))
        right = store.list_runs(RunFilter())
        with store._dialect.engine.begin() as connection:
            connection.execute(delete(runs).where(runs.c.run_id == "1"))
            connection.execute(update(runs).where(runs.c.run_id == "2").values(status="waiting", owner=BORIS))
            connection.execute(insert(runs).values(right[0]._replace(run_id="9")._asdict()))
        assert told(store) == [
            ("run:1", "table runs lacks its row"),
            ("run:2", f"its row in table runs is wrong: owner is '{BORIS}', its records say '{ANNA}'; status is 'waiting', its records say 'done'"),
            ("table runs", "its row of the run 9 is borne out by no record"),
        ]  # fmt: skip
        rebuild_run_index(store._dialect)
        assert (told(store), store.list_runs(RunFilter())) == ([], right)

    async def test_of_many_differences_the_first_are_named_and_all_are_counted(self, store: SqlStore) -> None:
        for number in range(23):
            await write(store, f"run:{number:02}", started())
        with store._dialect.engine.begin() as connection:
            connection.execute(delete(runs))
        found = told(store)
        assert (len(found), found[-1]) == (21, ("table runs", "3 more such rows"))

    async def test_an_erased_owner_is_named_by_no_row(self, store: SqlStore) -> None:
        """The owner stands in the encrypted part of the first record: without the key a rebuilt row names nobody either."""
        await write(store, "run:1", started(), waits())
        store.open_erasure().erase(ANNA, NOW, digests=[], change=lambda body: body)
        assert [row.owner for row in store.list_runs(RunFilter())] == [""]
        assert told(store) == []

    async def test_a_damaged_run_has_no_entry_and_stops_nobody(self, store: SqlStore) -> None:
        await write(store, "run:1", started(), waits())
        await write(store, "run:2", started())
        with store._dialect.engine.begin() as connection:
            connection.execute(text("UPDATE events SET data = '{' WHERE stream = 'run:1' AND seq = 2"))
        assert rebuild_run_index(store._dialect) == 1
        assert ids(store) == ["2"]

    async def test_a_run_that_is_forgotten_has_no_row(self, store: SqlStore) -> None:
        """Its event takes it out of every fold; the row goes with its snapshot and its own blobs, those of others stay."""
        await write(store, "run:1", started(), RunFinished(status="done"), RunForgotten(blobs=1))
        assert told(store) == [("run:1", "it has a row in table runs, although its records say that there is none any more")]
        held = store.acquire("run:2", "one", NOW, NOW + timedelta(minutes=1))
        assert held is not None
        mine, theirs = "run:1\n[1]", "run:2\n[1]"
        with store._dialect.engine.begin() as connection:
            for digest, content in (("a", mine), ("b", theirs), ("c", "[1]")):
                connection.execute(text("INSERT INTO blobs (digest, content) VALUES (:d, :c)"), {"d": digest, "c": content})
        assert store.remove_run("run:1", ["a", "b", "c"]) == 1
        assert (told(store), ids(store)) == ([], [])
        assert [store.load_blob(one) for one in "abc"] == [None, theirs, "[1]"]
        assert store.remove_run("run:1", ["a"]) == 0


def _invent(chance: random.Random) -> Event:
    """Some event of a run."""
    node = chance.choice(NODES)
    often = [
        NodeDone(node=node, output="x"),
        RunWaits(node=node, on=chance.choice(["input", "effect", "timer", "run"]), waits_for="w", until="2026-12-01"),
        RunWoken(node=node, by="answer", value="да"),
    ]
    seldom = [
        NodeFailed(node=node, code="x", attempt=chance.randrange(1, 3)),
        RunWaits(node="", on="pause", by=BORIS),
        RunWoken(node="", by=chance.choice(["resume", "retry"])),
        RunFinished(status=chance.choice(["done", "failed", "cancelled"]), code="x"),
    ]
    return chance.choice(often if chance.random() < 0.8 else seldom)


@lasting_store
async def test_a_rebuild_beside_a_working_run_loses_nothing(store: SqlStore) -> None:
    """The runs of a page are held while they are read, so what is committed meanwhile comes before or after."""
    await write(store, "run:1", started())
    await asyncio.gather(
        write(store, "run:2", started(), *[waits(), RunWoken(node="ask", by="answer")] * 20),
        asyncio.to_thread(lambda: [rebuild_run_index(store._dialect) for _ in range(5)]),
    )
    assert told(store) == []


@lasting_store
async def test_the_check_of_the_journal_knows_what_runs_speak_of(world: World) -> None:
    """Definition, pinned definition, output, sent file: missing or damaged is a finding; what nobody speaks of is noted."""
    store = world.open()
    texts = {name: f'"{name}"' for name in ("plan", "inner", "file", "nobody")} | {"output": 'run:1\n"output"'}
    digests = {name: hash_text(one) for name, one in texts.items()}
    pinned = [{"definition": "inner", "version": 1, "digest": digests["inner"]}]
    sent = {"kind": "photo", "sent": {"digest": digests["file"]}}
    begun = started().model_copy(update={"digest": digests["plan"], "pinned": pinned})
    await write(store, "run:1", begun, NodeDone(node="a", output_blob=digests["output"]), RunWoken(node="b", by="answer", value=sent))
    with store._dialect.engine.begin() as connection:
        for name, content in texts.items():
            connection.execute(insert(blobs).values(digest=digests[name], content=content))
    assert _check(world) == {("note", f"blob {digests['nobody']}", "no record speaks of it")}
    with store._dialect.engine.begin() as connection:
        connection.execute(delete(blobs).where(blobs.c.digest == digests["inner"]))
        connection.execute(delete(blobs).where(blobs.c.digest == digests["file"]))
        connection.execute(update(blobs).where(blobs.c.digest == digests["output"]).values(content="1"))
    found = {(kind, place) for kind, place, _ in _check(world)}
    missing = {("missing", f"blob {digests[name]}") for name in ("inner", "file")}
    assert found == {*missing, ("damaged", f"blob {digests['output']}"), ("note", f"blob {digests['nobody']}")}


@lasting_store
async def test_the_check_of_the_journal_compares_the_index_of_runs(world: World) -> None:
    store = world.open()
    await write(store, "run:1", started().model_copy(update={"digest": ""}), waits())
    assert _check(world) == set()
    with store._dialect.engine.begin() as connection:
        connection.execute(update(runs).values(status="done"))
    why = "its row in table runs is wrong: status is 'done', its records say 'waiting'"
    assert _check(world) == {("inconsistent", "run:1", why)}


def _check(world: World) -> set[tuple[str, str, str]]:
    checked = verify_journal(world.url, judge=EffectChecker, anchors={}, progress=lambda _: None)
    return {(one.kind, one.place, one.why) for one in checked.findings}


def row(number: int, *, status: str = "waiting", started: str = "2026-11-21T12:00:00.000000Z", owner: str = "tg:1007") -> RunRow:
    """An entry of the index."""
    return RunRow(f"{number:04d}", "steps", "plan", 1, owner, owner, "", status, started, started)


@pytest.mark.req("G1")
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
