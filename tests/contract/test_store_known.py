"""What a process remembers of a stream's end lets nothing in that a look at the database would have refused."""

import threading
import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import make_url

from state.journal.store import EffectConflict, Lease, StaleEpoch
from state.sql import SqlStore
from tests import chain_kit
from tests.contract.store_kit import LASTING, NOW, SESSION, STREAM, World, due, intent, lasting_store, lease, outgoing, said, step
from tests.postgres_kit import Server

LATER = NOW + timedelta(minutes=2)


def taken_over(other: SqlStore, _: Lease) -> None:
    """The lease ran out and went to somebody else."""
    assert other.acquire(SESSION, "two", LATER, LATER + timedelta(minutes=1)) is not None


def taken_over_and_back(other: SqlStore, held: Lease) -> None:
    """The same, and back again to the first owner."""
    taken_over(other, held)
    later = LATER + timedelta(minutes=2)
    assert other.acquire(SESSION, held.owner, later, later + timedelta(minutes=1)) is not None


def given_up(other: SqlStore, held: Lease) -> None:
    """Another part of the owner gave the lease up."""
    other.release(held)


def given_up_and_taken_again(other: SqlStore, held: Lease) -> None:
    """The owner gave the lease up and took it once more: what was begun before belongs to a state that was let go."""
    other.release(held)
    assert lease(other, owner=held.owner).epoch == held.epoch + 1


def ended(other: SqlStore, _: Lease) -> None:
    """Whoever is alone on the database began anew."""
    other.expire_leases()


def erased(other: SqlStore, _: Lease) -> None:
    """The person was erased."""
    other.open_erasure().erase("person:7", NOW, digests=[], change=lambda body: body)


def erased_and_taken_again(other: SqlStore, held: Lease) -> None:
    """The same, and the session was opened again."""
    erased(other, held)
    lease(other, owner=held.owner)


MEANWHILE = [taken_over, taken_over_and_back, given_up, given_up_and_taken_again, ended, erased, erased_and_taken_again]


@lasting_store
@pytest.mark.parametrize("meanwhile", MEANWHILE, ids=lambda done: done.__name__)
@pytest.mark.parametrize("through", ["another process", "this one"])
def test_a_remembered_end_does_not_outlive_the_lease(world: World, meanwhile: Callable[[SqlStore, Lease], None], through: str) -> None:
    """The late commit is refused whole, whoever ended the lease; a new holder goes on from the true end."""
    store = world.open()
    held = lease(store)
    store.commit(step(held, said("до")))
    meanwhile(world.open() if through == "another process" else store, held)
    with pytest.raises(StaleEpoch):
        store.commit(step(held, said("поздно"), outbox=[outgoing("o1")], effects=[intent()]))

    assert (store.read_head(STREAM)[0], due(store), store.find_effect("e1")) == (1, [], None)
    later = LATER + timedelta(hours=1)
    again = store.acquire(SESSION, "three", later, later + timedelta(minutes=1))
    assert again is not None
    assert [store.commit(step(again, said("после")))[0].seq for _ in range(2)] == [2, 3]
    assert isinstance(chain_kit.verify_stream(store, STREAM), chain_kit.Verified)
    assert store.read_events(STREAM)[-1].data["text"] == "после"


@pytest.mark.parametrize("world", ["memory", *LASTING], indirect=True)
def test_what_was_refused_leaves_nothing_in_mind(world: World) -> None:
    """After a conflict, and after a step that was refused for where it should begin, the next one follows the true end."""
    store = world.open()
    held = lease(store)
    store.commit(step(held, said(), effects=[intent()]))
    for refused, error in ((step(held, said(), effects=[intent()]), EffectConflict), (step(held, said(), after=0), StaleEpoch)):
        with pytest.raises(error):
            store.commit(refused)
        store.commit(step(held, said()))
    with pytest.raises(StaleEpoch):
        store.commit(step(held, said(), after=7))
    assert [item.seq for item in store.commit(step(held, said(), after=3))] == [4]
    assert isinstance(chain_kit.verify_stream(store, STREAM), chain_kit.Verified)


def until_somebody_waits(world: World, postgres: Server) -> None:
    """Wait until a call waits for a row of that database, a minute at most."""
    waits = "SELECT pid FROM pg_stat_activity WHERE datname = %s AND wait_event_type = 'Lock'"
    end = time.monotonic() + 60
    while not postgres.run(waits, (str(make_url(world.url).database),)):
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("world", ["postgresql"], indirect=True)
def test_a_commit_that_waits_for_an_erasure_is_refused_when_it_is_through(world: World, postgres: Server) -> None:
    """It was sent before the key went: it must not go in with that key, whatever its own look at the database began with."""
    store, other = world.open(), world.open()
    held = lease(store)
    store.commit(step(held, said("до")))
    came_to: list[object] = []

    def late() -> None:
        try:
            came_to.append(store.commit(step(held, said("поздно"))))
        except StaleEpoch as error:
            came_to.append(type(error))

    thread = threading.Thread(target=late)
    with other._database.write() as erasing:
        erasing._cursor.execute("UPDATE leases SET owner = ''")
        thread.start()
        until_somebody_waits(world, postgres)
        erasing._cursor.execute("UPDATE person_keys SET secret = '', erased_at = 'now'")
    thread.join(10)

    assert came_to == [StaleEpoch]
    assert store.read_head(STREAM)[0] == 1


@pytest.mark.parametrize("world", ["postgresql"], indirect=True)
def test_a_key_that_goes_while_a_commit_waits_is_not_used(world: World, postgres: Server) -> None:
    """Even where only the key goes and the lease stays: the record is sealed with the next key, and can be read."""
    store, other = world.open(), world.open()
    held = lease(store)
    store.commit(step(held, said("до")))
    thread = threading.Thread(target=store.commit, args=(step(held, said("после")),))
    with other._database.write() as erasing:
        erasing._cursor.execute("SELECT FROM leases FOR UPDATE")
        thread.start()
        until_somebody_waits(world, postgres)
        erasing._cursor.execute("UPDATE person_keys SET secret = '', erased_at = 'now'")
    thread.join(10)

    assert [(item.erased, item.data["text"]) for item in store.read_events(STREAM)] == [(True, ""), (False, "после")]
