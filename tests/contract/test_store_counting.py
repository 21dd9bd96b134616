"""How much a person may begin within a day, over every kind of database: the transaction that starts a write has the last word."""

import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state.journal import freeze_switch
from state.journal.daily_count import DAY, PastStart, StartCount, build_keys, build_person_key
from state.journal.freeze_switch import SwitchOperator
from state.journal.store import CapReached, Commit, EffectChange, EffectConflict, Lease, Uncounted, WriteStopped
from state.sql import SqlStore, open_store
from tests.contract.store_kit import NOW, STREAM, World, every_store, lasting_store, lease, said, step
from tests.forker import forked
from tests.postgres_kit import libpq

ANNA = "employee:7"
LIMIT = 5
RUNS = 40


def start(
    effect_id: str, many: int = 1, *, limit: int | None = LIMIT, person: str = ANNA, known: Sequence[PastStart] | None = None
) -> EffectChange:
    """The change that starts a call, counted."""
    count = StartCount(person=person, many=many, limit=limit, known=known)
    return EffectChange(effect_id=effect_id, expect=("absent",), status="started", call={"method": "x"}, count=count)


def begin(store: SqlStore, held: Lease, change: EffectChange, *, at: datetime = NOW) -> None:
    """Start it at that moment; for a person of whom nobody has counted anything, from nothing."""
    commit: Commit = step(held, effects=[change])._replace(now=at)
    try:
        store.commit(commit)
    except Uncounted:
        assert change.count is not None
        store.commit(commit._replace(effects=[replace(change, count=replace(change.count, known=()))]))


@every_store
class TestCount:
    def test_one_too_many_does_not_start_and_nothing_of_its_commit_is_kept(self, store: SqlStore) -> None:
        """Each command counts; a colleague has a count of their own, and a cap of nothing lets nothing start."""
        held = lease(store)
        begin(store, held, start("a", 2))
        begin(store, held, start("b", 2))
        with pytest.raises(CapReached):
            store.commit(step(held, said(), effects=[start("c", 2)]))
        assert store.find_effect("c") is None
        assert store.read_events(STREAM) == []
        begin(store, held, start("d", 1))
        with pytest.raises(CapReached):
            store.commit(step(held, effects=[start("e", 1)]))
        begin(store, held, start("f", LIMIT, person="employee:8"))
        with pytest.raises(CapReached):
            begin(store, held, start("g", 1, limit=0, person="employee:9"))

    def test_only_the_last_24_hours_count(self, store: SqlStore) -> None:
        """To the microsecond, over midnight; what lies in a future counts, for the clock may have gone back."""
        held = lease(store)
        begin(store, held, start("a", 3))
        begin(store, held, start("b", 2), at=NOW + timedelta(hours=2))
        for late in (DAY - timedelta(microseconds=1), timedelta(hours=3), -timedelta(hours=1)):
            with pytest.raises(CapReached):
                begin(store, held, start("c", 1), at=NOW + late)
        begin(store, held, start("c", 3), at=NOW + DAY)
        with pytest.raises(CapReached):
            begin(store, held, start("d", 1), at=NOW + DAY)

    def test_a_raised_cap_or_none_counts_what_was_begun_under_another(self, store: SqlStore) -> None:
        """The limit comes with the start; what started without one is counted for the next."""
        held = lease(store)
        begin(store, held, start("a", 5))
        begin(store, held, start("b", 4, limit=None))
        with pytest.raises(CapReached):
            begin(store, held, start("c", 1, limit=9))
        begin(store, held, start("c", 1, limit=10))

    def test_of_whom_nothing_is_counted_the_journal_is_asked(self, store: SqlStore) -> None:
        """Lost values are made anew: the start is refused till it tells what the journal knows, which is counted once, whoever else tells it."""
        held = lease(store)
        with pytest.raises(Uncounted):
            store.commit(step(held, said(), effects=[start("a")]))
        assert store.read_events(STREAM) == []
        known = [PastStart(at=NOW - timedelta(hours=hours), effect_id=f"old{hours}", many=2) for hours in (1, 23, 25)]
        with pytest.raises(CapReached):
            store.commit(step(held, effects=[start("a", 2, known=known)]))
        with pytest.raises(Uncounted):  # nothing of that commit was kept, the count neither
            store.commit(step(held, effects=[start("a")]))
        store.commit(step(held, effects=[start("a", known=known)]))
        told_again = [*known, PastStart(at=NOW, effect_id="a", many=1)]
        with pytest.raises(CapReached):
            store.commit(step(held, effects=[start("b", known=told_again)]))
        with pytest.raises(CapReached):
            store.commit(step(held, effects=[start("b", limit=LIMIT)]))
        store.commit(step(held, effects=[start("b", limit=LIMIT + 1, known=told_again)]))

    def test_what_somebody_else_started_is_a_conflict_whatever_the_cap(self, store: SqlStore) -> None:
        """The second of two presses hears of the first one, not of a cap that the first one reached."""
        held = lease(store)
        begin(store, held, start("a", LIMIT))
        with pytest.raises(EffectConflict):
            store.commit(step(held, effects=[start("a", LIMIT)]))

    def test_what_is_frozen_is_not_counted(self, store: SqlStore) -> None:
        """A start that was kept back costs nothing."""
        held, ops = lease(store), SwitchOperator(key="cli:root", name="root", via="cli", at=NOW)
        begin(store, held, start("a", 1))
        assert freeze_switch.freeze_writes(store, ops).changed
        with pytest.raises(WriteStopped):
            begin(store, held, start("b", LIMIT - 1))
        assert freeze_switch.release_writes(store, ops).changed
        begin(store, held, start("b", LIMIT - 1))

    def test_what_nobody_counts_any_more_goes(self, store: SqlStore) -> None:
        """The values stay as few as the starts of two days, and name nobody."""
        held = lease(store)
        for day in range(6):
            begin(store, held, start(f"e{day}"), at=NOW + day * DAY)
            begin(store, held, start(f"f{day}", person="employee:8"), at=NOW + day * DAY)
        with store._database.read() as transaction:
            keys = [row[0] for row in transaction._cursor.execute("SELECT key FROM \"values\" WHERE key LIKE 'begun:%'").fetchall()]
        assert sorted(key for key in keys if key.count(":") == 1) == sorted(map(build_person_key, (ANNA, "employee:8")))
        assert len([key for key in keys if key.count(":") > 1]) == 6
        assert not any("employee" in key for key in keys)


@pytest.mark.parametrize("world", ["postgresql"], indirect=True)
def test_a_commit_statement_by_statement_counts_too(world: World) -> None:
    """The way PostgreSQL takes when others keep coming between counts as the short way does, and each sees what the other counted."""
    store, slow = world.open(), world.open()
    slow._gathers = False
    held, other = lease(store), lease(slow, "tg:-100")
    with pytest.raises(Uncounted):
        slow.commit(step(other, effects=[start("a")]))
    begin(slow, other, start("a", 2))
    begin(store, held, start("b", 2))
    with pytest.raises(CapReached):
        slow.commit(step(other, effects=[start("c", 2)]))
    begin(slow, other, start("c", 1))
    with pytest.raises(CapReached):
        store.commit(step(held, effects=[start("d", 1)]))


@pytest.mark.parametrize("world", ["postgresql"], indirect=True)
@pytest.mark.parametrize("gathers", [True, False], ids=["in one piece", "statement by statement"])
def test_a_start_waits_for_one_that_is_being_stored_and_counts_it(world: World, *, gathers: bool) -> None:
    """Two of one person are stored one after the other, whatever they read before; a colleague waits for nobody."""
    store = world.open()
    store._gathers = gathers
    held, other = lease(store), lease(store, "tg:8")
    begin(store, held, start("a", LIMIT - 1))
    ended: list[object] = []

    def starts() -> None:
        try:
            ended.append(store.commit(step(held, effects=[start("b")])))
        except CapReached as error:
            ended.append(error)

    with psycopg.connect(libpq(world.url), autocommit=True) as look, psycopg.connect(libpq(world.url)) as first:
        place = build_keys(StartCount(person=ANNA, many=1), "c", NOW)
        first.execute('SELECT FROM "values" WHERE key = %s FOR UPDATE', (place.held,))
        first.execute('INSERT INTO "values" VALUES (%s, %s)', (place.key, "1"))
        thread = threading.Thread(target=starts)
        thread.start()
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        until(lambda: bool(ended) or look.execute(waiting).fetchone() == (1,))
        begin(store, other, start("d", LIMIT, person="employee:8"))
        assert ended == []
        first.commit()
        thread.join(10)
    assert isinstance(ended.pop(), CapReached)


def until(check: Callable[[], bool]) -> None:
    stop = threading.Event()
    for _ in range(2000):
        if check():
            return
        stop.wait(0.005)
    raise AssertionError("it did not come about in time")


@lasting_store
def test_conversations_that_begin_at_the_same_moment_never_pass_the_cap(world: World) -> None:
    """Threads with stores of their own, each in a conversation of its own, begin as fast as they can: exactly so many start as may."""
    names = ("tg:7", "tg:-100", "http:site:1", "tg:2007")
    stores = {name: world.open() for name in names}
    ready, started, refused = threading.Barrier(len(names)), list[str](), list[str]()

    def work(name: str) -> None:
        held = lease(stores[name], name)
        ready.wait()
        for number in range(LIMIT):
            try:
                begin(stores[name], held, start(f"{name}-{number}"))
            except CapReached:
                refused.append(name)
            else:
                started.append(name)

    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (len(started), len(refused)) == (LIMIT, LIMIT * (len(names) - 1))


CHILD = """
import sys
from tests.contract.test_store_counting import begin, lease, start
from state.sql import open_store
from state.journal.store import CapReached

url, name, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
store = open_store(url)
held = lease(store, name)
print("ready", flush=True)
sys.stdin.readline()
begun = 0
for number in range(runs):
    try:
        begin(store, held, start(f"{name}-{number}", limit=runs))
        begun += 1
    except CapReached:
        pass
print(begun, flush=True)
"""


@lasting_store
def test_processes_that_begin_at_the_same_moment_never_pass_the_cap(world: World) -> None:
    """Two programs on one database, each of which would come to the cap by itself, come to it together."""
    world.open()
    places = [str(Path(__file__).parents[2])]
    command = forked("-c", f"import sys; sys.path[:0] = {places!r}\n{CHILD}", world.url)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    children = [subprocess.Popen([*command, name, str(RUNS)], **pipes) for name in ("tg:7", "http:site:1")]  # type: ignore[call-overload]
    try:
        assert [child.stdout.readline() for child in children] == ["ready\n"] * 2
        for child in children:
            child.stdin.write("go\n")
            child.stdin.flush()
        begun = [int(child.communicate(timeout=60)[0]) for child in children]
    finally:
        for child in children:
            child.kill()
            child.wait()
    assert sum(begun) == RUNS, begun


@dataclass(frozen=True)
class Move:
    """A start at some moment, in some conversation."""

    session: int
    many: int
    limit: int | None
    minutes: int


moves = st.builds(
    Move,
    session=st.integers(0, 2),
    many=st.integers(1, 4),
    limit=st.none() | st.integers(0, 9),
    minutes=st.sampled_from([0, 0, 1, 59, 600, 1439, 1440, 1441]),
)


@pytest.mark.long
@given(st.lists(moves, max_size=25), st.integers(0, 24))
@settings(max_examples=60, deadline=None)
def test_no_order_of_starts_passes_the_cap_nor_is_refused_without_need(order: list[Move], lost: int) -> None:
    """Against a plain model of the last 24 hours; at some point the counted values are lost and made anew from the journal."""
    store = open_store("sqlite://")
    leases = [lease(store, f"tg:{number}") for number in range(3)]
    done: list[PastStart] = []
    now = NOW
    try:
        for number, move in enumerate(order):
            now += timedelta(minutes=move.minutes)
            if number == lost:
                with store._database.write() as transaction:
                    transaction._cursor.execute("DELETE FROM \"values\" WHERE key LIKE 'begun:%'")
            fits = move.limit is None or sum(one.many for one in done if now - one.at < DAY) + move.many <= move.limit
            change = start(f"e{number}", move.many, limit=move.limit)
            commit = step(leases[move.session], effects=[change])._replace(now=now)
            try:
                try:
                    store.commit(commit)
                except Uncounted:
                    assert change.count is not None
                    store.commit(commit._replace(effects=[replace(change, count=replace(change.count, known=list(done)))]))
            except CapReached:
                assert not fits
            else:
                assert fits
                done.append(PastStart(at=now, effect_id=f"e{number}", many=move.many))
    finally:
        store.close()
