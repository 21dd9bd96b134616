"""A database and a store for each contract test that asks for one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from store_kit import World

from state.sql import SqlStore, sqlite_url


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
