"""Definitions that many people and processes change at the same moment: nothing is lost, nothing is doubled, and the history is true."""

import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from state.journal import definitions
from state.model.definitions import Author, DefinitionsBusy, DefinitionVersion, NotADraft, StaleRevision
from state.sql import SqlStore
from tests.contract.definitions_kit import (
    ANNA,
    BORIS,
    KEY,
    KIND,
    author,
    check,
    create,
    everything,
    history,
    insist,
    list_active,
    publish,
    save,
)
from tests.contract.store_kit import World, lasting_store
from tests.forker import forked

CREATING = """
import sys
from state.sql import open_store
from tests.contract.definitions_kit import author, create, insist
store = open_store(sys.argv[1])
sys.stdin.readline()
for number in range(int(sys.argv[2])):
    print(insist(lambda who: create(store, {"by": sys.argv[3], "n": number}, who=who), author(user=int(sys.argv[3]))).version, flush=True)
"""
WORKING = """
import itertools, sys
from state.sql import open_store
from tests.contract.definitions_kit import create, insist, publish, save
store = open_store(sys.argv[1])
for number in itertools.count():
    made = insist(lambda who: create(store, {"n": number}, who=who))
    saved = insist(lambda who: save(store, made.version, {"n": -number}, 1, who=who))
    insist(lambda who: publish(store, made.version, 2, who=who))
    print(made.version, flush=True)
"""
STOPPING = """
import sys
from state.sql import open_store
from state.sql.database import Transaction
from tests.contract.definitions_kit import insist, publish
store = open_store(sys.argv[1])
run = Transaction.run
def stop(self, statement, params):
    done = run(self, statement, params)
    if statement is store._statements.definitions.add_history:
        print("in the middle", flush=True)
        sys.stdin.readline()
    return done
Transaction.run = stop
insist(lambda who: publish(store, 1, 1, who=who))
"""


def begin(script: str, *given: str, killed: bool = True) -> subprocess.Popen[str]:
    """A process of its own that works on the database; only one that nobody kills may be a fork of another, which dies a moment later."""
    pipe, command = subprocess.PIPE, [sys.executable, "-c", script, *given] if killed else forked("-c", script, *given)
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def race(*works: Callable[[], Any]) -> list[Any]:
    """Do all of it at the same moment; what each returned or raised."""
    ready, results = threading.Barrier(len(works)), list[Any]([None] * len(works))

    def work(number: int) -> None:
        ready.wait()
        try:
            results[number] = works[number]()
        except Exception as error:  # noqa: BLE001 - it is the result
            results[number] = error

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


def race_insisting(works: Sequence[tuple[Author, Callable[[Author], Any]]]) -> list[Any]:
    """As `race`, with each one trying again while somebody else has the turn."""
    return race(*(partial(insist, work, who) for who, work in works))


@pytest.mark.long
@lasting_store
def test_everybody_may_add_versions_at_once(world: World) -> None:
    """Threads with stores of their own and processes: no error, and the versions are 1 to n, each with the text of who made it."""
    stores, each = [world.open() for _ in range(3)], 6
    children = [begin(CREATING, world.url, str(each), str(number), killed=False) for number in (100, 101)]
    try:

        def work(store: SqlStore, number: int) -> list[int]:
            made = []
            for count in range(each):
                who = author(user=number)
                made.append(insist(lambda who, n=count: create(store, {"by": str(number), "n": n}, who=who), who).version)  # type: ignore[misc]
            return made

        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        results = race(*(partial(work, store, number) for number, store in enumerate([*stores, *stores], start=1)))
        told = [child.communicate(timeout=60) for child in children]
    finally:
        for child in children:
            child.kill()
            child.wait()
    assert [errors for _, errors in told] == ["", ""]
    made = dict(enumerate(results, start=1))
    made |= {number: [int(line) for line in out.split()] for number, (out, _) in zip((100, 101), told, strict=True)}
    assert sorted(version for versions in made.values() for version in versions) == list(range(1, each * 8 + 1))
    for number, versions in made.items():
        assert versions == sorted(versions)
        for count, version in enumerate(versions):
            found = definitions.find_version(stores[0], KIND, KEY, version)
            assert found is not None
            assert (found.document, found.author) == ({"by": str(number), "n": count}, f"tg:{number}")
    assert check(world) == set()


@lasting_store
def test_of_two_savers_one_wins_and_the_other_learns_of_it(world: World) -> None:
    """Both began with one revision: the loser gets the text of the winner, and no text is lost."""
    stores = [world.open() for _ in range(3)]
    create(stores[0])
    for revision in range(1, 9):
        results = race_insisting(
            [
                (author(user=number), lambda who, n=number, r=revision: save(stores[n], 1, {"n": n, "r": r}, r, who=who))  # type: ignore[misc]
                for number in range(3)
            ]
        )
        [won] = [one for one in results if isinstance(one, DefinitionVersion)]
        lost = [one for one in results if isinstance(one, StaleRevision)]
        assert (len(lost), {one.present.digest for one in lost if isinstance(one.present, DefinitionVersion)}) == (2, {won.digest})
        assert definitions.find_version(stores[0], KIND, KEY, 1) == won
    assert len(history(stores[0])) == 9
    assert check(world) == set()


@lasting_store
def test_of_two_publishers_both_are_told_of_truthfully(world: World) -> None:
    """Afterwards exactly one version is active: that of whoever came last, and the history tells who replaced whom."""
    one, two = world.open(), world.open()
    for number in range(0, 10, 2):
        create(one)
        create(two)
        results = race_insisting(
            [
                (ANNA, lambda who, n=number: publish(one, n + 1, 1, who=who)),  # type: ignore[misc]
                (BORIS, lambda who, n=number: publish(two, n + 2, 1, who=who)),  # type: ignore[misc]
            ]
        )
        assert [(result.version, result.active) for result in results] == [(number + 1, True), (number + 2, True)]
        told = [(what, version) for what, version, _ in history(one) if what in {"published", "deactivated"}]
        [active] = list_active(one)
        assert told[-1] == ("published", active)
        assert told[-2] == ("deactivated", {number + 1: number + 2, number + 2: number + 1}[active])
    assert check(world) == set()


@lasting_store
def test_what_is_published_is_the_text_that_the_publisher_saw(world: World) -> None:
    """A save of the same draft comes before, and the publisher is told; or after, and the saver is told. Never both."""
    one, two = world.open(), world.open()
    for number in range(1, 9):
        create(one, {"seen": number})
        published, saved = race_insisting(
            [
                (BORIS, lambda who, n=number: publish(one, n, 1, who=who)),  # type: ignore[misc]
                (ANNA, lambda who, n=number: save(two, n, {"unseen": n}, 1, who=who)),  # type: ignore[misc]
            ]
        )
        found = definitions.find_version(one, KIND, KEY, number)
        assert found is not None
        if isinstance(published, DefinitionVersion):
            assert isinstance(saved, NotADraft)
            assert (found, found.document, found.active) == (published, {"seen": number}, True)
        else:
            assert isinstance(published, StaleRevision)
            assert (found, found.document, found.active) == (saved, {"unseen": number}, False)
    assert check(world) == set()


@pytest.mark.long
@lasting_store
def test_a_process_killed_at_any_moment_leaves_whole_changes_only(world: World) -> None:
    """Killed while it works as fast as it can; its turn ends by itself, and the next process goes on."""
    store = world.open()
    for rounds in range(3):
        child = begin(WORKING, world.url)
        assert child.stdout is not None
        for _ in range(rounds + 1):
            child.stdout.readline()
        child.kill()
        child.communicate()
        assert check(world) == set()
        later = datetime.now(UTC) + timedelta(seconds=11)
        last = definitions.find_version(store, KIND, KEY)
        assert last is not None
        assert create(store, who=author(at=later)).version == last.version + 1
    assert len(list_active(store)) == 1
    assert check(world) == set()


@pytest.mark.long
@lasting_store
def test_a_process_killed_in_the_middle_of_its_commit_leaves_nothing_of_it(world: World) -> None:
    """All rows but the last were written; until its turn is over nobody changes anything, then somebody else can."""
    store = world.open()
    create(store)
    before, at = everything(store), datetime.now(UTC)
    child = begin(STOPPING, world.url)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "in the middle\n"
    finally:
        child.kill()
        child.communicate()
    assert everything(store) == before
    with pytest.raises(DefinitionsBusy):
        publish(store, 1, 1, who=author(at=at))
    assert publish(store, 1, 1, who=author(at=datetime.now(UTC) + timedelta(seconds=11))).active
    assert check(world) == set()
