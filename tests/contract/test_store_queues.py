"""What every store must do with inputs, messages, timers, values, and many threads at once."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from state.journal.store import StoredInputs, StoreUnwritable, Timer
from state.sql import SqlStore
from tests import chain_kit
from tests.contract.store_kit import NOW, SESSION, STREAM, due, every_store, incoming, lease, outgoing, said, step


@every_store
class TestInbox:
    def test_one_source_is_stored_once(self, store: SqlStore) -> None:
        """A repeated update is recognised, in one call and across calls."""
        assert store.put_inbox([incoming("a"), incoming("b"), incoming("a")]).fresh == [True, True, False]
        assert store.put_inbox([incoming("b"), incoming("c")]).fresh == [False, True]

    def test_lanes_keep_order_and_do_not_wait_for_each_other(self, store: SqlStore) -> None:
        """Within a lane the oldest first; a decision overtakes; a session is ready until its rows are closed."""
        rows = [incoming("1"), incoming("2", "tg:2"), incoming("3"), incoming("4", lane="express")]
        store.put_inbox(rows)

        assert store.list_ready_sessions() == [("tg:1", "turn"), ("tg:2", "turn"), ("tg:1", "express")]
        got = store.take_inbox(SESSION, "turn")
        assert got is not None
        assert (got.id, got.body, got.actor, got.received_at) == (rows[0].id, {"text": "сделка"}, {"id": 7}, NOW)
        express = store.take_inbox(SESSION, "express")
        assert express is not None
        assert express.id == rows[3].id
        store.commit(step(lease(store), inbox_done=[got.id]))
        following = store.take_inbox(SESSION, "turn")
        assert following is not None
        assert following.id == rows[2].id
        assert store.take_inbox("tg:3", "turn") is None

    def test_attempts_are_counted_and_a_poison_row_is_set_aside(self, store: SqlStore) -> None:
        """Each look counts; a quarantined row is out of the way and its source stays known."""
        store.put_inbox([incoming("poison"), incoming("next")])
        for attempt in (1, 2, 3):
            row = store.take_inbox(SESSION, "turn")
            assert row is not None
            assert (row.source, row.attempts) == ("poison", attempt)
        store.finish_inbox(row.id, "quarantined", "it broke the parser three times")

        following = store.take_inbox(SESSION, "turn")
        assert following is not None
        assert following.source == "next"
        assert store.put_inbox([incoming("poison")]).fresh == [False]

    def test_a_claim_along_with_inputs_is_a_look_like_any_other(self, store: SqlStore) -> None:
        """The oldest new row of each lane asked for comes back, its attempt counted, whether it was stored just now or before."""
        old = incoming("old")
        store.put_inbox([old])
        stored = store.put_inbox(
            [incoming("new"), incoming("press", lane="express")], [(SESSION, "turn"), ("tg:2", "turn"), (SESSION, "express")]
        )
        assert stored.fresh == [True, True]
        assert [(row.source, row.attempts, row.status) for row in stored.claimed] == [("old", 1, "new"), ("press", 1, "new")]
        assert stored.claimed[0] == replace(old, attempts=1)

        assert store.list_ready_sessions() == [(SESSION, "turn"), (SESSION, "express")], "a claimed row is found again"
        again = store.put_inbox([old], [(SESSION, "turn")])
        assert (again.fresh, [(row.id, row.attempts) for row in again.claimed]) == ([False], [(old.id, 2)])
        store.return_inbox(old.id)
        row = store.take_inbox(SESSION, "turn")
        assert row is not None
        assert (row.id, row.attempts) == (old.id, 2)
        store.finish_inbox(old.id, "done")
        assert [row.source for row in store.put_inbox([], [(SESSION, "turn")]).claimed] == ["new"]

    def test_inputs_are_stored_though_the_claimed_row_cannot_be_read(self, store: SqlStore) -> None:
        """The door hears that its input is stored; the damage is told to who asks for the row."""
        bad = incoming("bad")
        store.put_inbox([bad])
        with store._database.write() as transaction:
            transaction._cursor.execute("UPDATE inbox SET body = '{'")
        stored = store.put_inbox([incoming("good")], [(SESSION, "turn")])
        assert stored == StoredInputs([True], [])
        with pytest.raises(ValueError, match="line 1"):
            store.take_inbox(SESSION, "turn")


@every_store
class TestOutbox:
    def test_a_session_gets_its_messages_in_order(self, store: SqlStore) -> None:
        """A later message waits for the earlier one, also while that one is put off; other sessions do not wait."""
        rows = [outgoing("o1"), outgoing("o2"), outgoing("x1", session="tg:2")]
        store.commit(step(lease(store), outbox=rows))
        assert due(store) == ["o1", "x1"]

        store.reschedule_outbox("o1", NOW + timedelta(seconds=9), "429")
        assert due(store) == ["x1"]
        [again, _] = store.list_due_outbox("telegram", NOW + timedelta(seconds=9))
        assert (again.id, again.attempts, again.body) == ("o1", 1, {"n": "o1"})
        store.mark_outbox_sent("o1", "55")
        assert due(store) == ["o2", "x1"]
        store.mark_outbox_failed("o2", "the chat is gone")
        store.mark_outbox_sent("x1", "")
        assert due(store, NOW + timedelta(days=9)) == []

    def test_nothing_goes_out_before_its_time_or_elsewhere(self, store: SqlStore) -> None:
        """Due time and channel are heeded."""
        store.commit(step(lease(store), outbox=[outgoing("o1", due=NOW + timedelta(seconds=5))]))

        assert due(store) == []
        assert store.list_due_outbox("http", NOW + timedelta(seconds=5)) == []
        assert due(store, NOW + timedelta(seconds=5)) == ["o1"]

    def test_after_the_clock_was_set_back_what_was_never_tried_goes_out_at_once(self, store: SqlStore) -> None:
        """It need not wait until its time comes again; what was put off waits for its time, and so does a later message behind it."""
        store.commit(step(lease(store), outbox=[outgoing("o1"), outgoing("o2"), outgoing("x1", session="tg:2")]))
        earlier = NOW - timedelta(days=1)
        assert due(store, earlier) == ["o1", "x1"]
        store.reschedule_outbox("o1", NOW + timedelta(seconds=9), "429")
        assert due(store, earlier) == ["x1"]

    def test_a_key_replaces_what_is_unsent_and_edits_what_is_sent(self, store: SqlStore) -> None:
        """The newer text takes the older one's place in the queue; after delivery the next one names the message."""
        held = lease(store)
        store.commit(step(held, outbox=[outgoing("o1", key="k"), outgoing("o2"), outgoing("o3", key="k")]))
        assert due(store) == ["o3"]
        store.mark_outbox_sent("o3", "77")
        store.mark_outbox_sent("o2", "78")
        store.commit(step(held, outbox=[outgoing("o4", key="k"), outgoing("x1", key="k", session="tg:2")]))

        assert store.find_sent_ref(SESSION, "k") == "77"
        assert store.find_sent_ref(SESSION, "") == store.find_sent_ref("tg:2", "k") == ""
        assert [(row.id, row.sent_ref) for row in store.list_due_outbox("telegram", NOW)] == [("o4", "77"), ("x1", "")]

    def test_a_message_replaced_while_on_the_wire_becomes_an_edit(self, store: SqlStore) -> None:
        """The newer text is not taken for delivered, and goes out as an edit of what just arrived."""
        held = lease(store)
        store.commit(step(held, outbox=[outgoing("o1", key="k")]))
        assert due(store) == ["o1"]
        store.commit(step(held, outbox=[outgoing("o2", key="k")]))
        store.mark_outbox_sent("o1", "77")

        assert [(row.id, row.sent_ref) for row in store.list_due_outbox("telegram", NOW)] == [("o2", "77")]
        store.mark_outbox_sent("o2", "77")
        assert due(store) == []
        store.reschedule_outbox("o2", NOW, "late")
        assert due(store) == []

    def test_a_message_replaced_twice_while_on_the_wire_keeps_its_last_place(self, store: SqlStore) -> None:
        """Each delivery that is still reported counts, the latest report last; a repeated or placeless one does nothing."""
        held = lease(store)
        for id_ in ("o1", "o2", "o3"):
            store.commit(step(held, outbox=[outgoing(id_, key="k")]))
        store.mark_outbox_sent("o1", "76")
        store.mark_outbox_sent("o2", "77")
        store.mark_outbox_sent("o2", "78")
        store.mark_outbox_sent("o3", "")

        assert store.find_sent_ref(SESSION, "k") == "77"
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
        assert [item.id for item in store.list_due_timers(at)] == ["early", "late"]
        assert [item.id for item in store.list_due_timers(at, limit=1)] == ["early"]
        store.commit(step(held, timers=[timer("early", 1, delete=True), timer("unknown", 1, delete=True)]))
        assert [item.id for item in store.list_due_timers(at)] == ["late"]

    def test_timers_are_found_by_kind_and_by_id_before_they_are_due(self, store: SqlStore) -> None:
        """In pages, sorted by id; timers of other kinds are not among them."""
        kinds = {"b": "k", "a": "k", "c": "k", "x": "other"}
        timers = [
            Timer(id=id_, due_at=NOW + timedelta(days=9), session=SESSION, kind=kind, body={"of": id_}) for id_, kind in kinds.items()
        ]
        store.commit(step(lease(store), timers=timers))
        assert [item.id for item in store.list_timers("k")] == ["a", "b", "c"]
        assert [item.id for item in store.list_timers("k", limit=2)] == ["a", "b"]
        assert [item.id for item in store.list_timers("k", after="b")] == ["c"]
        assert store.list_timers("none") == []
        assert store.find_timer("c") == timers[2]
        assert store.find_timer("d") is None

    def test_values_and_blobs(self, store: SqlStore) -> None:
        """A value is overwritten, a blob is written once, a missing one is None."""
        store.set_value("offset", "1")
        store.set_value("offset", "2")
        held = lease(store)
        store.commit(step(held, blobs={"d": "x"}))
        store.commit(step(held, blobs={"d": "x"}))

        assert (store.get_value("offset"), store.get_value("other")) == ("2", None)
        assert (store.load_blob("d"), store.load_blob("other")) == ("x", None)

    def test_many_threads_lose_nothing(self, store: SqlStore) -> None:
        """Commits from several threads of one process are all kept, in one dense chain."""
        held = lease(store)

        def work() -> None:
            for number in range(20):
                store.commit(step(held, said(str(number))))

        with ThreadPoolExecutor(4) as threads:
            works = [threads.submit(work) for _ in range(4)]
        assert [error for done in works if (error := done.exception())] == []

        assert chain_kit.verify_stream(store, STREAM) == chain_kit.Verified(seq=80, hash=store.read_head(STREAM)[1])

    def test_a_closed_store_says_so(self, store: SqlStore) -> None:
        """No call brings a closed store back to life."""
        store.close()
        with pytest.raises(StoreUnwritable, match="closed"):
            store.get_value("x")
