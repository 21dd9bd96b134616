"""What every store must do, over each kind of database. A new kind is one more name in STORES and one more branch below."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from filelock import FileLock
from sqlalchemy import event

from state import canonical, journal
from state.clock import new_id
from state.events import CallStarted, Event, MessageReceived, ModelFailed
from state.sql import SqlStore, open_store, sqlite_url
from state.store import (
    Commit,
    EffectChange,
    EffectConflict,
    InboxRow,
    Lane,
    Lease,
    OutboxRow,
    Snapshot,
    StaleEpoch,
    StoreError,
    StoreUnwritable,
    Timer,
)

STORES = ["memory", "file"]
LASTING = ["file"]
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
SESSION = "tg:1"
STREAM = f"session:{SESSION}"


@dataclass
class World:
    """A database and the stores that a test opened on it."""

    url: str
    opened: list[SqlStore] = field(default_factory=list)

    def open(self) -> SqlStore:
        store = open_store(self.url)
        self.opened.append(store)
        return store


@pytest.fixture
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """A database of the kind the test asks for, closed afterwards."""
    kind = getattr(request, "param", "file")
    made = World("sqlite://" if kind == "memory" else sqlite_url(tmp_path / "state" / "sdelka.db"))
    yield made
    for store in made.opened:
        store.close()


@pytest.fixture
def store(world: World) -> SqlStore:
    """A store on that database."""
    return world.open()


every_store = pytest.mark.parametrize("world", STORES, indirect=True)
every_sqlite = pytest.mark.parametrize("world", ["memory", "file"], indirect=True)
lasting_store = pytest.mark.parametrize("world", LASTING, indirect=True)


def lease(store: SqlStore, session: str = SESSION, owner: str = "one", now: datetime = NOW) -> Lease:
    """The lease of `session`, taken by `owner`."""
    got = store.acquire(session, owner, now, now + timedelta(minutes=1))
    assert got is not None
    return got


def said(text: str = "Привет") -> MessageReceived:
    """An event."""
    return MessageReceived(turn_id="t1", text=text)


def step(held: Lease, *events: Event, **more: object) -> Commit:
    """A commit under the lease."""
    stream = held.session if held.session.startswith("run:") else f"session:{held.session}"
    return Commit(stream=stream, epoch=held.epoch, actor="person:7", now=NOW, events=events, **more)  # type: ignore[arg-type]


def incoming(source: str, session: str = SESSION, lane: Lane = "turn") -> InboxRow:
    """An inbox row."""
    return InboxRow(
        id=new_id(),
        source=source,
        session=session,
        lane=lane,
        kind="message",
        actor={"id": 7},
        body={"text": "сделка"},
        received_at=NOW,
    )


def outgoing(id_: str, *, key: str = "", session: str = SESSION, due: datetime = NOW) -> OutboxRow:
    """An outbox row."""
    return OutboxRow(id=id_, session=session, channel="telegram", kind="text", body={"n": id_}, key=key, created_at=NOW, due_at=due)


def due(store: SqlStore, at: datetime = NOW) -> list[str]:
    """The ids of what should go out now."""
    return [row.id for row in store.due_outbox("telegram", at)]


def intent(effect_id: str = "e1") -> EffectChange:
    """The first change of an effect."""
    return EffectChange(effect_id=effect_id, expect=("absent",), status="requested", fingerprint="f", call={"method": "crm.deal.update"})


@every_store
class TestJournal:
    @pytest.mark.req("S004-14")
    def test_events_come_back_in_order_dense_and_chained(self, store: SqlStore) -> None:
        """What was committed is read back as it was, numbered from one and chained."""
        held = lease(store)
        first = store.commit(step(held, said("раз"), said("два")))
        second = store.commit(step(held, ModelFailed(turn_id="t1", iteration=1, reason="timeout")))

        read = store.read_events(STREAM)

        assert read == first + second
        assert [item.seq for item in read] == [1, 2, 3]
        assert [item.prev for item in read] == ["", read[0].hash, read[1].hash]
        assert read[0].data["text"] == "раз"
        assert read[0].ts == "2026-11-21T12:00:00.000000Z"
        assert all(item.raw == canonical.dumps(canonical.loads(item.raw)) for item in read)
        assert store.head(STREAM) == (3, read[-1].hash)
        assert journal.verify(read) == journal.Verified(seq=3, hash=read[-1].hash)

    def test_reading_goes_on_after_a_seq_and_stops_at_a_limit(self, store: SqlStore) -> None:
        """Pages fit together, and the first event of a page knows what it follows."""
        whole = store.commit(step(lease(store), *(said(str(n)) for n in range(7))))

        assert store.read_events(STREAM, after=2, limit=3) == whole[2:5]
        assert store.read_events(STREAM, after=5) == whole[5:]
        assert store.read_events(STREAM, after=7) == []

    @pytest.mark.req("S004-57")
    def test_streams_are_apart(self, store: SqlStore) -> None:
        """Each session and run has its own numbers, chain and snapshot."""
        for session in ("tg:1", "tg:2", "run:abc"):
            held = lease(store, session)
            store.commit(step(held, said(session)))
        store.commit(step(lease(store, "tg:2"), snapshot=Snapshot(stream="session:tg:2", seq=1, state={"a": 1})))

        assert store.streams() == ["run:abc", "session:tg:1", "session:tg:2"]
        assert [item.data["text"] for item in store.read_events("run:abc")] == ["run:abc"]
        assert [item.seq for item in store.read_events("session:tg:2")] == [1]
        assert store.snapshot(STREAM) is None
        assert store.snapshot("session:tg:2") == Snapshot(stream="session:tg:2", seq=1, state={"a": 1})

    @pytest.mark.parametrize("stream", ["", "tg:1", "session:", "run:", "session:run:1", "other:1"])
    def test_a_stream_of_no_known_kind_is_refused(self, store: SqlStore, stream: str) -> None:
        """A name that no lease guards never gets an event."""
        with pytest.raises(ValueError, match="a stream is session:<key> or run:<id>"):
            store.commit(Commit(stream=stream, epoch=1, actor="", now=NOW, events=[said()]))

    def test_what_cannot_be_stored_is_refused_before_anything_is(self, store: SqlStore) -> None:
        """A value that two readers would read differently never reaches the journal."""
        held = lease(store)
        bad = CallStarted(
            **dict.fromkeys(("effect_id", "turn_id", "slot", "method", "call_class", "fingerprint", "requested_by"), "x"),
            params={"sum": float("nan")},
        )
        with pytest.raises(canonical.NotCanonical):
            store.commit(step(held, said(), bad))

        assert store.head(STREAM) == (0, "")


@every_store
class TestAtomicity:
    @pytest.mark.req("S004-13", "S004-14")
    def test_a_step_lands_whole(self, store: SqlStore) -> None:
        """Events, effect, outbox, timer, inbox rows, blob and snapshot of one commit are all there after it."""
        held = lease(store)
        row = incoming("telegram:1:1")
        store.put_inbox([row])
        timer = Timer(id="t", due_at=NOW, session=SESSION, kind="expiry", body={"n": 1})
        snapshot = Snapshot(stream=STREAM, seq=1, state={"shape": 1})
        store.commit(
            step(
                held,
                said(),
                effects=[intent()],
                outbox=[outgoing("o1")],
                timers=[timer],
                inbox_done=[row.id],
                inbox_new=[incoming("timer:9", lane="express")],
                blobs={"d1": "много текста"},
                snapshot=snapshot,
            )
        )

        effect = store.effect("e1")
        assert effect is not None
        assert (effect.status, effect.stream, effect.epoch) == ("requested", STREAM, held.epoch)
        assert (effect.call, effect.outcome, effect.updated_at) == ({"method": "crm.deal.update"}, None, NOW)
        assert due(store) == ["o1"]
        assert store.due_timers(NOW) == [timer]
        assert store.ready_sessions() == [(SESSION, "express")]
        assert store.blob("d1") == "много текста"
        assert store.snapshot(STREAM) == snapshot

    def test_a_step_that_conflicts_keeps_nothing(self, store: SqlStore) -> None:
        """A lost race over an effect leaves no event, no reply, no timer, no blob, and the store goes on."""
        held = lease(store)
        row = incoming("telegram:1:1")
        store.put_inbox([row])
        store.commit(step(held, effects=[intent()]))
        whole = {
            "outbox": [outgoing("o1")],
            "timers": [Timer(id="t", due_at=NOW, session=SESSION, kind="expiry")],
            "inbox_done": [row.id],
            "inbox_new": [incoming("timer:9", lane="express")],
            "blobs": {"d1": "x"},
            "snapshot": Snapshot(stream=STREAM, seq=1, state={}),
        }
        with pytest.raises(EffectConflict):
            store.commit(step(held, said(), effects=[intent("e2"), intent()], **whole))

        assert store.head(STREAM) == (0, "")
        assert (store.read_events(STREAM), store.effect("e2"), due(store), store.due_timers(NOW)) == ([], None, [], [])
        assert (store.ready_sessions(), store.blob("d1"), store.snapshot(STREAM)) == ([(SESSION, "turn")], None, None)
        assert [item.seq for item in store.commit(step(held, said()))] == [1]

    def test_an_id_that_is_taken_is_an_error_and_keeps_nothing(self, store: SqlStore) -> None:
        """The same reply id twice is a bug of the caller: told, not swallowed."""
        held = lease(store)
        store.commit(step(held, outbox=[outgoing("o1")]))
        with pytest.raises(StoreError, match="unique key"):
            store.commit(step(held, said(), outbox=[outgoing("o1")]))

        assert store.head(STREAM) == (0, "")


@every_store
class TestFence:
    def test_a_lease_is_kept_by_its_owner_and_goes_over_when_it_has_ended(self, store: SqlStore) -> None:
        """One owner at a time; each change of hands raises the epoch."""
        minute = timedelta(minutes=1)
        first = lease(store)

        assert store.acquire(SESSION, "two", NOW, NOW + minute) is None
        renewed = store.acquire(SESSION, "one", NOW + minute / 2, NOW + 2 * minute)
        assert renewed == Lease(session=SESSION, owner="one", epoch=first.epoch, until=NOW + 2 * minute)
        assert store.acquire(SESSION, "two", NOW + minute, NOW + 3 * minute) is None
        taken = store.acquire(SESSION, "two", NOW + 2 * minute, NOW + 3 * minute)
        assert taken == Lease(session=SESSION, owner="two", epoch=first.epoch + 1, until=NOW + 3 * minute)

    def test_a_late_writer_is_refused(self, store: SqlStore) -> None:
        """A process that slept through its lease cannot write after another one took over."""
        old = lease(store)
        store.commit(step(old, said("до")))
        new = lease(store, owner="two", now=NOW + timedelta(hours=1))
        with pytest.raises(StaleEpoch):
            store.commit(step(old, said("поздно"), effects=[intent()]))

        assert store.effect("e1") is None
        assert [item.seq for item in store.commit(step(new, said("после")))] == [2]

    def test_a_released_lease_writes_no_more(self, store: SqlStore) -> None:
        """Who gave a session up must take it again; a foreign lease cannot be given up."""
        old = lease(store)
        store.release(Lease(session=SESSION, owner="two", epoch=old.epoch, until=NOW))
        store.commit(step(old, said()))
        store.release(old)
        with pytest.raises(StaleEpoch):
            store.commit(step(old, said()))

        assert lease(store, owner="two").epoch == old.epoch + 1

    def test_nobody_writes_without_a_lease(self, store: SqlStore) -> None:
        """A session that was never taken has no epoch to write under."""
        with pytest.raises(StaleEpoch):
            store.commit(Commit(stream=STREAM, epoch=0, actor="", now=NOW, events=[said()]))


@every_store
class TestEffects:
    def test_an_effect_moves_only_from_where_it_is_expected(self, store: SqlStore) -> None:
        """Compare-and-set: absent, requested, approved, started, succeeded; a second start conflicts."""
        held = lease(store)
        store.commit(step(held, effects=[intent()]))
        approve = EffectChange(effect_id="e1", expect=("requested",), status="approved")
        start = EffectChange(effect_id="e1", expect=("approved", "absent"), status="started", call={"x": 1})
        end = EffectChange(effect_id="e1", expect=("started", "unknown"), status="succeeded", outcome={"result": 5})
        for change in (approve, start):
            store.commit(step(held, effects=[change]))
        with pytest.raises(EffectConflict):
            store.commit(step(held, said(), effects=[EffectChange(effect_id="e1", expect=("approved",), status="started")]))
        store.commit(step(held, effects=[end]))

        found = store.effect("e1")
        assert found is not None
        assert (found.status, found.fingerprint, found.call, found.outcome) == ("succeeded", "f", {"x": 1}, {"result": 5})
        assert store.effects(STREAM, "succeeded") == [found]
        assert store.effects(STREAM, "started") == store.effects("session:tg:2", "succeeded") == []
        assert store.read_events(STREAM) == []

    def test_an_effect_that_is_not_there_cannot_be_changed(self, store: SqlStore) -> None:
        """No row appears where one was expected."""
        change = EffectChange(effect_id="e1", expect=("approved",), status="started")
        with pytest.raises(EffectConflict, match="e1"):
            store.commit(step(lease(store), effects=[change]))

        assert store.effect("e1") is None


@every_store
class TestInbox:
    def test_one_source_is_stored_once(self, store: SqlStore) -> None:
        """A repeated update is recognised, in one call and across calls."""
        assert store.put_inbox([incoming("a"), incoming("b"), incoming("a")]) == [True, True, False]
        assert store.put_inbox([incoming("b"), incoming("c")]) == [False, True]

    def test_lanes_keep_order_and_do_not_wait_for_each_other(self, store: SqlStore) -> None:
        """Within a lane the oldest first; a decision overtakes; a session is ready until its rows are closed."""
        rows = [incoming("1"), incoming("2", "tg:2"), incoming("3"), incoming("4", lane="express")]
        store.put_inbox(rows)

        assert store.ready_sessions() == [("tg:1", "turn"), ("tg:2", "turn"), ("tg:1", "express")]
        got = store.next_inbox(SESSION, "turn")
        assert got is not None
        assert (got.id, got.body, got.actor, got.received_at) == (rows[0].id, {"text": "сделка"}, {"id": 7}, NOW)
        express = store.next_inbox(SESSION, "express")
        assert express is not None
        assert express.id == rows[3].id
        store.commit(step(lease(store), inbox_done=[got.id]))
        following = store.next_inbox(SESSION, "turn")
        assert following is not None
        assert following.id == rows[2].id
        assert store.next_inbox("tg:3", "turn") is None

    def test_attempts_are_counted_and_a_poison_row_is_set_aside(self, store: SqlStore) -> None:
        """Each look counts; a quarantined row is out of the way and its source stays known."""
        store.put_inbox([incoming("poison"), incoming("next")])
        for attempt in (1, 2, 3):
            row = store.next_inbox(SESSION, "turn")
            assert row is not None
            assert (row.source, row.attempts) == ("poison", attempt)
        store.finish_inbox(row.id, "quarantined", "it broke the parser three times")

        following = store.next_inbox(SESSION, "turn")
        assert following is not None
        assert following.source == "next"
        assert store.put_inbox([incoming("poison")]) == [False]


@every_store
class TestOutbox:
    def test_a_session_gets_its_messages_in_order(self, store: SqlStore) -> None:
        """A later message waits for the earlier one, also while that one is put off; other sessions do not wait."""
        rows = [outgoing("o1"), outgoing("o2"), outgoing("x1", session="tg:2")]
        store.commit(step(lease(store), outbox=rows))
        assert due(store) == ["o1", "x1"]

        store.outbox_retry("o1", NOW + timedelta(seconds=9), "429")
        assert due(store) == ["x1"]
        [again, _] = store.due_outbox("telegram", NOW + timedelta(seconds=9))
        assert (again.id, again.attempts, again.body) == ("o1", 1, {"n": "o1"})
        store.outbox_sent("o1", "55")
        assert due(store) == ["o2", "x1"]
        store.outbox_failed("o2", "the chat is gone")
        store.outbox_sent("x1", "")
        assert due(store, NOW + timedelta(days=9)) == []

    def test_nothing_goes_out_before_its_time_or_elsewhere(self, store: SqlStore) -> None:
        """Due time and channel are heeded."""
        store.commit(step(lease(store), outbox=[outgoing("o1", due=NOW + timedelta(seconds=5))]))

        assert due(store) == []
        assert store.due_outbox("http", NOW + timedelta(seconds=5)) == []
        assert due(store, NOW + timedelta(seconds=5)) == ["o1"]

    def test_a_key_replaces_what_is_unsent_and_edits_what_is_sent(self, store: SqlStore) -> None:
        """The newer text takes the older one's place in the queue; after delivery the next one names the message."""
        held = lease(store)
        store.commit(step(held, outbox=[outgoing("o1", key="k"), outgoing("o2"), outgoing("o3", key="k")]))
        assert due(store) == ["o3"]
        store.outbox_sent("o3", "77")
        store.outbox_sent("o2", "78")
        store.commit(step(held, outbox=[outgoing("o4", key="k"), outgoing("x1", key="k", session="tg:2")]))

        assert store.sent_ref(SESSION, "k") == "77"
        assert store.sent_ref(SESSION, "") == store.sent_ref("tg:2", "k") == ""
        assert [(row.id, row.sent_ref) for row in store.due_outbox("telegram", NOW)] == [("o4", "77"), ("x1", "")]

    def test_a_message_replaced_while_on_the_wire_becomes_an_edit(self, store: SqlStore) -> None:
        """The newer text is not taken for delivered, and goes out as an edit of what just arrived."""
        held = lease(store)
        store.commit(step(held, outbox=[outgoing("o1", key="k")]))
        assert due(store) == ["o1"]
        store.commit(step(held, outbox=[outgoing("o2", key="k")]))
        store.outbox_sent("o1", "77")

        assert [(row.id, row.sent_ref) for row in store.due_outbox("telegram", NOW)] == [("o2", "77")]
        store.outbox_sent("o2", "77")
        assert due(store) == []
        store.outbox_retry("o2", NOW, "late")
        assert due(store) == []

    def test_a_message_replaced_twice_while_on_the_wire_keeps_its_last_place(self, store: SqlStore) -> None:
        """Each delivery that is still reported counts, the latest report last; a repeated or placeless one does nothing."""
        held = lease(store)
        for id_ in ("o1", "o2", "o3"):
            store.commit(step(held, outbox=[outgoing(id_, key="k")]))
        store.outbox_sent("o1", "76")
        store.outbox_sent("o2", "77")
        store.outbox_sent("o2", "78")
        store.outbox_sent("o3", "")

        assert store.sent_ref(SESSION, "k") == "77"
        assert due(store) == []


@every_store
class TestSmallThings:
    def test_timers_are_replaced_and_dropped_by_id(self, store: SqlStore) -> None:
        """A timer stays due until a commit drops it; setting it again moves it."""
        held = lease(store)

        def timer(id_: str, minutes: int, *, delete: bool = False) -> Timer:
            return Timer(id=id_, due_at=NOW + timedelta(minutes=minutes), session=SESSION, kind="k", delete=delete)

        store.commit(step(held, timers=[timer("late", 2), timer("early", 1), timer("moved", 1)]))
        store.commit(step(held, timers=[timer("moved", 5)]))
        at = NOW + timedelta(minutes=2)
        assert [item.id for item in store.due_timers(at)] == ["early", "late"]
        assert [item.id for item in store.due_timers(at, limit=1)] == ["early"]
        store.commit(step(held, timers=[timer("early", 1, delete=True), timer("unknown", 1, delete=True)]))
        assert [item.id for item in store.due_timers(at)] == ["late"]

    def test_values_and_blobs(self, store: SqlStore) -> None:
        """A value is overwritten, a blob is written once, a missing one is None."""
        store.set_value("offset", "1")
        store.set_value("offset", "2")
        held = lease(store)
        store.commit(step(held, blobs={"d": "x"}))
        store.commit(step(held, blobs={"d": "x"}))

        assert (store.get_value("offset"), store.get_value("other")) == ("2", None)
        assert (store.blob("d"), store.blob("other")) == ("x", None)

    def test_many_threads_lose_nothing(self, store: SqlStore) -> None:
        """Commits from several threads of one process are all kept, in one dense chain."""
        held = lease(store)

        def work() -> None:
            for number in range(20):
                store.commit(step(held, said(str(number))))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert journal.verify_stream(store, STREAM) == journal.Verified(seq=80, hash=store.head(STREAM)[1])

    def test_a_closed_store_says_so(self, store: SqlStore) -> None:
        """No call brings a closed store back to life."""
        store.close()
        with pytest.raises(StoreUnwritable, match="closed"):
            store.get_value("x")


@lasting_store
class TestLasting:
    def test_everything_is_there_after_a_restart(self, world: World) -> None:
        """A closed and reopened database goes on where it stood."""
        store = world.open()
        held = lease(store)
        store.put_inbox([incoming("a")])
        store.commit(step(held, said(), effects=[intent()], outbox=[outgoing("o1")]))
        store.close()
        store = world.open()

        assert store.head(STREAM)[0] == 1
        assert due(store) == ["o1"]
        assert store.put_inbox([incoming("a")]) == [False]
        assert [item.seq for item in store.commit(step(held, said()))] == [2]
        assert isinstance(journal.verify_stream(store, STREAM), journal.Verified)

    def test_two_stores_on_one_database_exclude_each_other(self, world: World) -> None:
        """Two connections see each other's commits, and the lease and the effect go to one of them."""
        one, two = world.open(), world.open()
        held = lease(one)

        assert two.acquire(SESSION, "two", NOW, NOW + timedelta(minutes=1)) is None
        one.commit(step(held, said(), effects=[intent()]))
        with pytest.raises(EffectConflict):
            two.commit(step(held, said(), effects=[intent()]))
        assert [item.seq for item in two.commit(step(held, said()))] == [2]
        assert one.head(STREAM) == two.head(STREAM)

    def test_only_one_process_opens_a_file_at_a_time(self, world: World, tmp_path: Path) -> None:
        """Creating and migrating is done under a lock that others wait for."""
        (tmp_path / "state").mkdir()
        lock = FileLock(tmp_path / "state" / "sdelka.db.lock")
        opener = threading.Thread(target=world.open)
        with lock:
            opener.start()
            opener.join(0.2)
            assert opener.is_alive()
            assert world.opened == []
        opener.join(10)

        assert len(world.opened) == 1

    def test_processes_open_and_write_at_the_same_time(self, world: World) -> None:
        """Several fresh processes create, migrate and write one database at once: one schema, every row once."""
        script = (
            "import sys\n"
            "from datetime import UTC, datetime\n"
            "from state.sql import open_store\n"
            "from state.store import InboxRow\n"
            "store = open_store(sys.argv[1])\n"
            "for n in range(10):\n"
            "    row = InboxRow(id=f'{sys.argv[2]}-{n}', source=f'shared-{n}', session='s', lane='turn', kind='k',\n"
            "                   actor={}, body={}, received_at=datetime.now(UTC))\n"
            "    print(sum(store.put_inbox([row])))\n"
        )
        started = [
            subprocess.Popen([sys.executable, "-c", script, world.url, str(n)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for n in range(2)
        ]
        outputs = [process.communicate(timeout=60) for process in started]

        assert [errors for _, errors in outputs] == ["", ""]
        assert sum(int(line) for out, _ in outputs for line in out.split()) == 10


class full:  # noqa: N801  reads as a state of the disk
    """While inside, the database may not grow by a page."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store

    def __enter__(self) -> None:
        with self._store._database.read() as transaction:
            cursor = transaction._cursor
            pages = cursor.execute("PRAGMA page_count").fetchone()[0]
            cursor.execute(f"PRAGMA max_page_count={pages}")

    def __exit__(self, *_: object) -> None:
        with self._store._database.read() as transaction:
            transaction._cursor.execute("PRAGMA max_page_count=1073741823")


class TestSqlite:
    """What only SQLite can be made to do from inside a test."""

    @every_sqlite
    def test_a_full_disk_refuses_the_step_and_then_works_again(self, store: SqlStore) -> None:
        """Out of room: the caller is told, nothing of the step is kept, and with room again it goes on."""
        held = lease(store)
        store.commit(step(held, said()))
        with full(store), pytest.raises(StoreUnwritable, match="full"):
            store.commit(step(held, said("x" * 100_000), effects=[intent()]))

        assert store.effect("e1") is None
        assert journal.verify_stream(store, STREAM) == journal.Verified(seq=1, hash=store.head(STREAM)[1])
        assert [item.seq for item in store.commit(step(held, said("x" * 100_000)))] == [2]

    def test_a_connection_that_failed_is_never_used_again(self, world: World) -> None:
        """After an error of the disk the store continues on a new connection."""
        store = world.open()
        made: list[object] = []
        event.listen(store._database._engine, "connect", lambda connection, _: made.append(connection))
        with full(store), pytest.raises(StoreUnwritable):
            store.set_value("x", "y" * 100_000)
        store.set_value("x", "y")

        assert len(made) == 1

    def test_a_database_that_another_process_holds_is_unwritable_and_not_for_ever(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A lock held too long is an error of the store; when it is gone, the store works again."""
        monkeypatch.setattr("state.sql.dialect.BUSY_SECONDS", 0.05)
        one, two = world.open(), world.open()
        held = lease(one)
        with two._database.write():
            with pytest.raises(StoreUnwritable, match="locked"):
                one.commit(step(held, said()))
            assert one.head(STREAM) == (0, "")

        assert [item.seq for item in one.commit(step(held, said()))] == [1]


def _damage(world: World, sql: str) -> SqlStore:
    store = world.open()
    store.commit(step(lease(store), *(said(str(n)) for n in range(5))))
    with store._database.write() as transaction:
        transaction._cursor.execute(sql)
    return store


@pytest.mark.parametrize(
    ("sql", "seq"),
    [
        ("UPDATE events SET data = replace(data, '\"2\"', '\"9\"') WHERE seq = 3", 3),
        ("UPDATE events SET actor = 'person:8' WHERE seq = 2", 2),
        ("UPDATE events SET ts = '2027' WHERE seq = 5", 5),
        ("UPDATE events SET hash = 'x' WHERE seq = 1", 1),
        ("DELETE FROM events WHERE seq = 1", 1),
        ("DELETE FROM events WHERE seq = 3", 3),
        ("DELETE FROM events WHERE seq = 5", 5),
        ("DELETE FROM events", 1),
        ("UPDATE events SET seq = 6 WHERE seq = 5", 5),
    ],
)
def test_a_changed_journal_is_noticed(world: World, sql: str, seq: int) -> None:
    """An edit, a removal in the middle and a cut tail are all found, at the first record concerned."""
    found = journal.verify_stream(_damage(world, sql), STREAM)

    assert isinstance(found, journal.Damage)
    assert found.seq == seq
