"""What only PostgreSQL can do to a store: go away, come back, deadlock, sleep; and hints between processes."""

import asyncio
import re
from collections.abc import Callable
from datetime import timedelta
from itertools import count

import pytest
from sqlalchemy import make_url

from state.journal.async_store import AsyncStore
from state.journal.store import StaleEpoch, StoreError, StoreUnwritable
from state.sql import pipeline
from state.sql.commit import CommitBatch
from state.sql.notifier import PostgresNotifier
from tests import chain_kit
from tests.contract.store_kit import NOW, SESSION, STREAM, World, incoming, lease, said, step
from tests.postgres_kit import Server

postgres_only = pytest.mark.parametrize("world", ["postgresql"], indirect=True)


def cut(world: World, server: Server) -> None:
    """The server ends every connection to that database, as when it is restarted; returns when all are gone."""
    name = str(make_url(world.url).database)
    server.run("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", (name,))


@postgres_only
def test_lost_connections_are_replaced_unseen(world: World, postgres: Server) -> None:
    """After a restart of the server the very next call works."""
    store = world.open()
    held = lease(store)
    store.commit(step(held, said()))
    cut(world, postgres)
    assert [item.seq for item in store.commit(step(held, said()))] == [2]


@postgres_only
def test_statements_that_were_deallocated_are_prepared_anew(world: World) -> None:
    """The driver deallocates all of a connection after some rollbacks; the commit that finds none is stored once."""
    store = world.open()
    held = lease(store)
    store.commit(step(held, said()))
    for idle in store._database._idle:
        idle.driver_connection.execute("DEALLOCATE ALL")
    assert [item.seq for item in store.commit(step(held, said()))] == [2]
    assert store.put_inbox([incoming("a")]).fresh == [True]
    assert isinstance(chain_kit.verify_stream(store, STREAM), chain_kit.Verified)


@postgres_only
def test_a_statement_that_was_prepared_just_now_is_not_prepared_again(world: World) -> None:
    """Only those behind it were deallocated: an input that comes in then is stored at the first try."""
    store = world.open()
    store.put_inbox([incoming("a")])
    [idle] = store._database._idle
    store.put_inbox([], [(SESSION, "turn")])
    idle.driver_connection.execute("DEALLOCATE ALL")
    pipeline._PREPARED[idle.driver_connection].remove(store._statements.add_inbox.native.name)
    assert store.put_inbox([incoming("b")], [(SESSION, "turn")]).fresh == [True]


@postgres_only
def test_a_text_with_a_nul_is_refused_and_not_cut_off(world: World) -> None:
    """The protocol ends a text there; what cannot be stored whole is not stored, and the store goes on."""
    store = world.open()
    held = lease(store)
    with pytest.raises(StoreError):
        store.put_inbox([incoming("a\0b")])
    with pytest.raises(StoreError):
        store.commit(step(held, said(), blobs={"d\0": "x"}))
    assert (store.read_head(STREAM)[0], store.list_waiting_inbox(SESSION, "turn"), store.load_blob("d")) == (0, [], None)
    assert [item.seq for item in store.commit(step(held, said()))] == [1]


@postgres_only
def test_a_large_commit_does_not_wait_for_its_own_answers(world: World) -> None:
    """More than the buffers of a socket hold goes out while answers come in."""
    store = world.open()
    held = lease(store)
    blobs = {f"d{number}": "x" * 1000 for number in range(5000)}
    store.commit(step(held, said("м" * 3_000_000), blobs=blobs))
    assert store.load_blob("d4999") == "x" * 1000


@postgres_only
def test_a_machine_that_is_lost_in_a_commit_keeps_no_locks_for_hours(world: World) -> None:
    """No time limit of the server's holds for a commit that is half sent: only by keepalives does it see that nobody is there any more."""
    store = world.open()
    asked = "SELECT setting::int, source FROM pg_settings WHERE name LIKE 'tcp_keepalives_%' ORDER BY name"
    with store._database.read() as transaction:
        (count, idle, interval), sources = zip(*transaction._cursor.execute(asked).fetchall(), strict=True)
        over_a_socket = transaction._cursor.execute("SELECT inet_client_addr() IS NULL").fetchone()[0]
    assert set(sources) == {"session"}
    assert over_a_socket or 0 < idle + interval * count <= 30


@postgres_only
def test_a_connection_that_dies_in_a_step_keeps_nothing_of_it(world: World, postgres: Server) -> None:
    """The caller is told, the step is not there, the next one works."""
    store = world.open()
    held = lease(store)

    def die() -> None:
        with store._database.write() as transaction:
            transaction.run(store._statements.set_value, {"key": "k", "value": "v"})
            cut(world, postgres)

    with pytest.raises(StoreUnwritable):
        die()
    assert store.get_value("k") is None
    assert [item.seq for item in store.commit(step(held, said()))] == [1]


@pytest.mark.parametrize("world", ["memory", "file", "postgresql"], indirect=True)
def test_a_step_that_was_stored_after_all_is_not_stored_again(world: World) -> None:
    """Its answer was lost, and it is tried again as it was: refused, so that nothing is doubled."""
    store = world.open()
    held = lease(store)
    again = step(held, said(), after=0)
    store.commit(again)
    with pytest.raises(StaleEpoch):
        store.commit(again)
    assert store.read_head(STREAM)[0] == 1
    assert [item.seq for item in store.commit(step(held, said(), after=1))] == [2]


@postgres_only
def test_another_commit_in_between_is_waited_for(world: World) -> None:
    """Somebody writes to the stream between reading its end and sending the step: both are kept, in one chain."""
    store = world.open()
    held = lease(store)
    look = store._statements.rules.look_at_fence
    rows, met = CommitBatch.fetch_rows, []

    def meddled(self: CommitBatch, statement: object, params: dict[str, str]) -> list[tuple[object, ...]]:
        found = rows(self, statement, params)  # type: ignore[arg-type]
        if not met:
            met.append(look)
            store.commit(step(held, said("между")))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CommitBatch, "fetch_rows", meddled)
        stored = store.commit(step(held, said("сам")))
    assert [item.seq for item in stored] == [2]
    assert [item.data["text"] for item in store.read_events(STREAM)] == ["между", "сам"]


@postgres_only
async def test_other_processes_hear_of_inputs(world: World, fresh_url: Callable[[str], str]) -> None:
    """One process stores an input, the other one is woken long before it would look by itself."""
    url = world.url
    stores = [AsyncStore(world.open(), threads=2, hints=PostgresNotifier(url)) for _ in range(2)]
    heard = asyncio.Event()
    stores[1].listeners.append(heard.set)
    await asyncio.wait_for(heard.wait(), 30)  # it listens from now on
    heard.clear()
    for _ in range(50):  # the other one may not listen yet, but it tells
        await stores[0].put_inbox([incoming("a")])
        if heard.is_set():
            break
        await asyncio.sleep(0.05)
    assert heard.is_set()
    for store in stores:
        await store.aclose()


@postgres_only
def test_leases_follow_the_clock_of_the_server(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose clock is an hour ahead does not take what another one holds."""
    one, two = world.open(), world.open()
    lease(one)
    monkeypatch.setattr(two._database, "measure_skew", lambda _: timedelta(hours=-1))
    assert two.acquire(SESSION, "two", NOW + timedelta(hours=1), NOW + timedelta(hours=1, minutes=1)) is None


@postgres_only
def test_what_is_known_of_a_stream_is_checked(world: World) -> None:
    """Two processes take turns on one stream, each knowing an end that is not the end any more: one chain, nothing lost."""
    one, two = world.open(), world.open()
    held = lease(one)
    stored = [store.commit(step(held, said()))[0].seq for store in (one, two) * 3]
    assert stored == [1, 2, 3, 4, 5, 6]
    assert isinstance(chain_kit.verify_stream(one, STREAM), chain_kit.Verified)


@postgres_only
def test_a_key_that_was_erased_meanwhile_is_never_used_from_memory(world: World) -> None:
    """The person's key goes while a process still knows it: the next record is sealed with another one, and can be read."""
    store = world.open()
    held = lease(store)
    store.commit(step(held, said("до")))
    with store._database.write() as transaction:
        transaction._cursor.execute("UPDATE person_keys SET secret = ''")
    store.commit(step(held, said("после")))
    assert [(item.erased, item.data["text"]) for item in store.read_events(STREAM)] == [(True, ""), (False, "после")]


@pytest.mark.parametrize("world", ["memory", "file", "postgresql"], indirect=True)
def test_several_inputs_at_once_are_new_each_by_itself(world: World) -> None:
    """One was known, one comes twice in the same call: exactly the others are new, in their order."""
    store = world.open()
    store.put_inbox([incoming("a")])
    assert store.put_inbox([incoming("b"), incoming("a"), incoming("c"), incoming("b")]).fresh == [True, False, True, False]
    assert [row.source for row in store.list_waiting_inbox(SESSION, "turn")] == ["a", "b", "c"]


@postgres_only
def test_what_waits_is_found_without_reading_what_is_done(world: World) -> None:
    """A plan that is made once for all values uses the index of new rows, however many are done."""
    store = world.open()
    with store._database.write() as transaction:
        cursor = transaction._cursor
        for name in ("next_inbox", "waiting_inbox", "ready_for", "due_outbox"):
            places = count(1)
            sql = re.sub(r"%\(\w+\)s(::\w+)?", lambda _, places=places: f"${next(places)}", getattr(store._statements, name).sql)  # type: ignore[misc]
            cursor.execute(f"PREPARE {name} AS {sql}")
            nulls = ", ".join(["NULL"] * (next(places) - 1))
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute(f"EXPLAIN EXECUTE {name}({nulls})")
            assert "box_new" in "".join(line for (line,) in cursor.fetchall())
