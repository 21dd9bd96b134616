"""What every store must do with a step: events chained, all or nothing, fenced by the lease, effects by compare-and-set."""

from datetime import timedelta

import pytest

from state import canonical
from state.events.calls import CallStarted
from state.events.conversation import ModelFailed
from state.journal.process_lease import PREFIX
from state.journal.store import Commit, EffectChange, EffectConflict, Lease, Snapshot, StaleEpoch, StoreError, Timer
from state.sql import SqlStore
from tests import chain_kit
from tests.contract.store_kit import NOW, SESSION, STREAM, due, every_store, incoming, intent, lease, outgoing, said, step


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
        assert read[0].data["text"] == "раз"
        assert read[0].ts == "2026-11-21T12:00:00.000000Z"
        assert all(item.raw == canonical.dumps(canonical.loads(item.raw)) for item in read)
        assert store.read_head(STREAM) == (3, read[-1].hash)
        assert chain_kit.verify_stream(store, STREAM) == chain_kit.Verified(seq=3, hash=read[-1].hash)

    def test_reading_goes_on_after_a_seq_and_stops_at_a_limit(self, store: SqlStore) -> None:
        """Pages fit together."""
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

        assert store.list_streams() == ["run:abc", "session:tg:1", "session:tg:2"]
        assert [item.data["text"] for item in store.read_events("run:abc")] == ["run:abc"]
        assert [item.seq for item in store.read_events("session:tg:2")] == [1]
        assert store.load_snapshot(STREAM) is None
        assert store.load_snapshot("session:tg:2") == Snapshot(stream="session:tg:2", seq=1, state={"a": 1})

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

        assert store.read_head(STREAM) == (0, "")


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

        effect = store.find_effect("e1")
        assert effect is not None
        assert (effect.status, effect.stream) == ("requested", STREAM)
        assert (effect.call, effect.outcome, effect.updated_at) == ({"method": "crm.deal.update"}, None, NOW)
        assert due(store) == ["o1"]
        assert store.list_due_timers(NOW) == [timer]
        assert store.list_ready_sessions() == [(SESSION, "express")]
        assert store.load_blob("d1") == "много текста"
        assert store.load_snapshot(STREAM) == snapshot

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

        assert store.read_head(STREAM) == (0, "")
        assert (store.read_events(STREAM), store.find_effect("e2"), due(store), store.list_due_timers(NOW)) == ([], None, [], [])
        assert (store.list_ready_sessions(), store.load_blob("d1"), store.load_snapshot(STREAM)) == ([(SESSION, "turn")], None, None)
        assert [item.seq for item in store.commit(step(held, said()))] == [1]

    def test_an_id_that_is_taken_is_an_error_and_keeps_nothing(self, store: SqlStore) -> None:
        """The same reply id twice is a bug of the caller: told, not swallowed."""
        held = lease(store)
        store.commit(step(held, outbox=[outgoing("o1")]))
        with pytest.raises(StoreError, match="unique key"):
            store.commit(step(held, said(), outbox=[outgoing("o1")]))

        assert store.read_head(STREAM) == (0, "")


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

    def test_a_session_goes_over_when_the_process_that_holds_it_has_died(self, store: SqlStore) -> None:
        """The lease of a process is shorter than those of its sessions: they are free, and offered to others, as soon as it has ended."""
        minute, second = timedelta(minutes=1), timedelta(seconds=1)
        store.put_inbox([incoming("tg:1")])
        held = lease(store)
        store.acquire(f"{PREFIX}one", "one", NOW, NOW + 10 * second)
        store.acquire("tg:else", "nobody knows whether it lives", NOW, NOW + minute)

        assert store.acquire(SESSION, "two", NOW + 9 * second, NOW + minute) is None
        assert store.list_ready_sessions("two", NOW + 9 * second) == []
        assert store.list_ready_sessions("two", NOW + 10 * second) == [(SESSION, "turn")]
        assert store.acquire("tg:else", "two", NOW + 10 * second, NOW + minute) is None
        taken = store.acquire(SESSION, "two", NOW + 10 * second, NOW + minute)
        assert taken == Lease(session=SESSION, owner="two", epoch=held.epoch + 1, until=NOW + minute)
        with pytest.raises(StaleEpoch):
            store.commit(step(held, said("поздно")))

    def test_a_late_writer_is_refused(self, store: SqlStore) -> None:
        """A process that slept through its lease cannot write after another one took over."""
        old = lease(store)
        store.commit(step(old, said("до")))
        new = lease(store, owner="two", now=NOW + timedelta(hours=1))
        with pytest.raises(StaleEpoch):
            store.commit(step(old, said("поздно"), effects=[intent()]))

        assert store.find_effect("e1") is None
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

        found = store.find_effect("e1")
        assert found is not None
        assert (found.status, found.fingerprint, found.call, found.outcome) == ("succeeded", "f", {"x": 1}, {"result": 5})
        assert store.list_effects(STREAM, "succeeded") == [found]
        assert store.list_effects(STREAM, "started") == store.list_effects("session:tg:2", "succeeded") == []
        assert store.read_events(STREAM) == []

    def test_an_effect_that_is_not_there_cannot_be_changed(self, store: SqlStore) -> None:
        """No row appears where one was expected."""
        change = EffectChange(effect_id="e1", expect=("approved",), status="started")
        with pytest.raises(EffectConflict, match="e1"):
            store.commit(step(lease(store), effects=[change]))

        assert store.find_effect("e1") is None
