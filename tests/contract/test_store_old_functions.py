"""Functions on the server with which programs of earlier versions commit: they stay while such a program may be at work, and then go."""

import time
from collections.abc import Callable

import psycopg
import pytest
from sqlalchemy import make_url

from state.sql import open_store
from tests.contract.store_kit import World, lease, said, step
from tests.postgres_kit import Server, libpq

OLD = ("commit_0123456789ab(p jsonb)", "sent_0123456789ab(row_id text, sent_to text)", "receive_0123456789ab(p jsonb)")
OTHERS = ("sdelka_commit(p jsonb)", "own_commit_0123456789ab(p jsonb)")
NAMES = "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY proname"


def create(url: str, *functions: str) -> None:
    """Define functions that do nothing."""
    with psycopg.connect(libpq(url), autocommit=True) as connection:
        for function in functions:
            connection.execute(f"CREATE FUNCTION {function} RETURNS void LANGUAGE sql AS 'SELECT'")


def names(url: str) -> list[str]:
    """The functions of that database."""
    with psycopg.connect(libpq(url), autocommit=True) as connection:
        return [name for (name,) in connection.execute(NAMES).fetchall()]


def until_nobody_is_connected(url: str, postgres: Server) -> None:
    """A connection that was closed may end a moment later."""
    others, end = "SELECT pid FROM pg_stat_activity WHERE datname = %s", time.monotonic() + 30
    while postgres.run(others, (str(make_url(url).database),)):
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_program_that_is_alone_removes_them_and_nothing_else(fresh_url: Callable[[str], str], postgres: Server) -> None:
    """What others keep in the same database is not touched, and the store works without any function."""
    url = fresh_url("postgresql")
    create(url, *(f"sdelka_{name}" for name in OLD), *OTHERS)
    until_nobody_is_connected(url, postgres)
    store = open_store(url)
    assert names(url) == ["own_commit_0123456789ab", "sdelka_commit"]
    assert [item.seq for item in store.commit(step(lease(store), said()))] == [1]
    store.close()


@pytest.mark.parametrize("world", ["postgresql"], indirect=True)
def test_they_stay_while_somebody_else_is_connected(world: World, postgres: Server) -> None:
    """During an update the older processes go on; whoever starts when the last of them is gone cleans up."""
    older = world.open()
    held = lease(older)
    create(world.url, *(f"sdelka_{name}" for name in OLD))
    newer = open_store(world.url)
    assert len(names(world.url)) == len(OLD)
    assert [store.commit(step(held, said()))[0].seq for store in (older, newer) * 2] == [1, 2, 3, 4]
    newer.close()
    older.close()
    until_nobody_is_connected(world.url, postgres)
    open_store(world.url).close()
    assert names(world.url) == []
