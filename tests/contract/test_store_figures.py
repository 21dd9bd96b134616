"""What waits in the tables, on both databases, while others write; a look that takes too long is given up."""

from collections.abc import Callable
from datetime import timedelta
from threading import Thread

import pytest

from state.clock import format_iso
from state.journal.store import StoreUnwritable, Timer
from state.sql import backlog
from state.sql.backlog import BacklogReader, Waiting
from tests.contract.store_kit import NOW, World, incoming, intent, lasting_store, lease, outgoing, said, step


def fill(world: World) -> Callable[[], None]:
    """Something in each table; the store goes on writing when called."""
    store = world.open()
    held = lease(store)
    store.put_inbox([incoming("a"), incoming("b")])
    timers = [Timer(id="t", due_at=NOW, session="s", kind="x"), Timer(id="u", due_at=NOW + timedelta(days=1), session="s", kind="x")]
    store.commit(step(held, said(), effects=[intent("e1"), intent("e2")], outbox=[outgoing("o1")], timers=timers))
    return lambda: store.commit(step(held, said())) and None


@lasting_store
def test_the_figures_are_those_of_the_tables(world: World) -> None:
    """And they hold up no writer, nor does one hold them up."""
    write = fill(world)
    reader = BacklogReader(world.url)
    first = reader.read(format_iso(NOW))
    writing = Thread(target=write)
    writing.start()
    again = reader.read(format_iso(NOW))
    writing.join(10)
    reader.close()

    assert not writing.is_alive()
    assert first.effects == again.effects == {"requested": Waiting(count=2, oldest=format_iso(NOW))}
    assert {lane: waiting.count for lane, waiting in first.inbox.items()} == {"turn": 2}
    assert [waiting.count for waiting in first.outbox.values()] == [1]
    assert (first.timers, first.timers_due) == (2, 1)
    assert first.database_bytes > 0
    assert not first.frozen


@lasting_store
def test_a_freeze_is_seen_and_its_end(world: World) -> None:
    """Whatever the switch holds."""
    store, reader = world.open(), BacklogReader(world.url)
    seen = []
    for value in ("{}", ""):
        store.commit(step(lease(store), switch=value))
        seen.append(reader.read(format_iso(NOW)).frozen)
    reader.close()

    assert seen == [True, False]


@lasting_store
def test_a_look_that_takes_too_long_is_given_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database itself ends it, so that no thread and no lock is left behind."""
    fill(world)
    monkeypatch.setattr(backlog, "TIMEOUT_SECONDS", -1.0 if "sqlite" in world.url else 0.001)
    monkeypatch.setattr(backlog, "_STEPS", 1)
    slow = "SELECT count(*) FROM generate_series(1, 10000000)"
    if "sqlite" not in world.url:
        monkeypatch.setattr(backlog, "_measure_size", lambda connection, _: connection.exec_driver_sql(slow).scalar_one())
    reader = BacklogReader(world.url)
    with pytest.raises(StoreUnwritable):
        reader.read(format_iso(NOW))
    monkeypatch.undo()
    assert reader.read(format_iso(NOW)).timers == 2
    reader.close()
