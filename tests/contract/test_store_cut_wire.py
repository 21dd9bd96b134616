"""The connection to PostgreSQL is cut around a commit: the caller never hears "stored" or "not stored" where that is not so."""

from collections.abc import Callable, Iterator
from typing import get_args

import pytest

from state.journal.store import StaleEpoch, StoreUnwritable
from state.sql import SqlStore, open_store
from tests import chain_kit
from tests.contract.store_kit import SESSION, STREAM, due, incoming, intent, lease, outgoing, said, step
from tests.contract.wire_kit import Cut, Wire, wired

STORED = {"before": False, "in the question": False, "after": True, "before the end of the answer": True}
every_cut = pytest.mark.parametrize("cut", get_args(Cut))


@pytest.fixture
def wire(fresh_url: Callable[[str], str], postgres: object) -> Iterator[Wire]:
    """A wire to an empty database of the server, which the test names so that it counts as long."""
    del postgres
    with wired(fresh_url("postgresql")) as made:
        yield made


@pytest.fixture
def store(wire: Wire) -> Iterator[SqlStore]:
    """A store at the end of the wire."""
    made = open_store(wire.url)
    yield made
    made.close()


@every_cut
@pytest.mark.parametrize("gathers", [True, False], ids=["in one call", "statement by statement"])
def test_a_commit_whose_answer_is_lost_is_neither_lost_nor_doubled(
    store: SqlStore, wire: Wire, cut: Cut, monkeypatch: pytest.MonkeyPatch, *, gathers: bool
) -> None:
    """The caller hears that nothing is known; the journal tells; the same once more is stored only where it was not."""
    monkeypatch.setattr(store, "_gathers", gathers)
    held = lease(store)
    store.commit(step(held, said("до")))
    wire.order(cut, store._statements.rules.head.statement.guarded.name if gathers else b"COMMIT")
    cut_off = step(held, said("тогда"), outbox=[outgoing("o1")], effects=[intent()], after=1)
    with pytest.raises(StoreUnwritable):
        store.commit(cut_off)

    assert wire.cuts == 1
    assert store.read_head(STREAM)[0] == (2 if STORED[cut] else 1)
    if STORED[cut]:
        with pytest.raises(StaleEpoch):
            store.commit(cut_off)
    else:
        store.commit(cut_off)
    assert [item.data["text"] for item in store.read_events(STREAM)] == ["до", "тогда"]
    assert due(store) == ["o1"]
    assert [item.seq for item in store.commit(step(held, said("после"), after=2))] == [3]
    assert isinstance(chain_kit.verify_stream(store, STREAM), chain_kit.Verified)


@every_cut
def test_an_input_whose_answer_is_lost_is_there_once(store: SqlStore, wire: Wire, cut: Cut) -> None:
    """The door hears no and delivers again; the row is stored once, and a claim that nobody heard of leaves it to be found."""
    store.put_inbox([incoming("warm", "tg:9")])
    wire.order(cut, store._statements.add_inbox.native.name)
    with pytest.raises(StoreUnwritable):
        store.put_inbox([incoming("a")], [(SESSION, "turn")])

    assert ((SESSION, "turn") in store.list_ready_sessions()) is STORED[cut]
    assert store.put_inbox([incoming("a")]).fresh == [not STORED[cut]]
    row = store.take_inbox(SESSION, "turn")
    assert row is not None
    assert (row.source, row.attempts) == ("a", 2 if STORED[cut] else 1)
