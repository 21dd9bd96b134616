"""Small named values: swapping one is a compare-and-set over every kind of database."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bot.access.portal_auth import OAuthStore
from state.journal.async_store import AsyncStore
from state.sql import SqlStore, build_sqlite_url, open_store
from tests.contract.store_kit import LASTING, STORES


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest, fresh_url: Callable[[str], str]) -> str:
    """An empty database of each kind."""
    return fresh_url(request.param)


@pytest.fixture
def store(url: str) -> Iterator[SqlStore]:
    """A store on it."""
    made = open_store(url)
    yield made
    made.close()


def test_a_swap_needs_the_value_that_is_there(store: SqlStore) -> None:
    """A value is swapped from exactly what it is, also from nothing, and a failed swap changes nothing."""
    steps = [
        ("absent cannot be swapped from something", "old", "x", False, None),
        ("from nothing", None, "1", True, "1"),
        ("nothing is there no more", None, "2", False, "1"),
        ("another value", "2", "3", False, "1"),
        ("the value", "1", "4", True, "4"),
        ("itself", "4", "4", True, "4"),
    ]
    for name, expected, value, done, then in steps:
        assert (store.swap_value("k", expected, value), store.get_value("k")) == (done, then), name
    assert store.get_value("other") is None


@pytest.mark.parametrize("expected", [None, "start"])
def test_of_many_who_swap_at_once_one_succeeds(store: SqlStore, expected: str | None) -> None:
    """Eight threads swap from the same value: the value in the end is the one of the only winner."""
    if expected is not None:
        store.set_value("k", expected)
    won: list[str] = []
    ready = threading.Barrier(8)

    def work(mine: str) -> None:
        ready.wait()
        if store.swap_value("k", expected, mine):
            won.append(mine)

    threads = [threading.Thread(target=work, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [store.get_value("k")]


@pytest.mark.parametrize("kind", LASTING)
def test_two_stores_on_one_database_swap_each_other(kind: str, fresh_url: Callable[[str], str]) -> None:
    """What one process stored another sees, and cannot overwrite unseen."""
    url = fresh_url(kind)
    one, two = (open_store(url) for _ in range(2))
    try:
        assert one.swap_value("k", None, "1")
        assert not two.swap_value("k", None, "2")
        assert two.swap_value("k", "1", "2")
        assert not one.swap_value("k", "1", "3")
        assert one.get_value("k") == "2"
    finally:
        one.close()
        two.close()


async def test_tokens_of_a_failing_database_are_an_oserror_without_words(tmp_path: Path) -> None:
    """The adapter of the tokens speaks the port's language and quotes nothing."""
    store = AsyncStore(open_store(build_sqlite_url(tmp_path / "sdelka.db")))
    tokens = OAuthStore(store)
    assert await tokens.swap("k", None, "secret")
    assert await tokens.load("k") == "secret"
    await store.aclose()
    for asked in (tokens.load("k"), tokens.swap("k", "secret", "newer")):
        with pytest.raises(OSError, match=r"^StoreUnwritable$") as caught:
            await asked
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
