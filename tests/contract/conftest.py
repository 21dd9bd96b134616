"""A database and a store for each contract test that asks for one, and the sandbox portal."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import httpx
import pytest

from state.sql import SqlStore, build_sqlite_url
from tests.contract.sandbox_model_kit import model
from tests.contract.sandbox_portal_kit import Caller, in_process
from tests.contract.sandbox_telegram_kit import Kit, opened
from tests.contract.store_kit import World
from tests.postgres_kit import Server


@pytest.fixture
def fresh_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """The address of an empty database of a kind: memory, file or postgresql."""
    made: list[tuple[Server, str]] = []

    def fresh(kind: str) -> str:
        if kind == "memory":
            return "sqlite://"
        if kind == "file":
            return build_sqlite_url(tmp_path / "state" / "sdelka.db")
        server: Server = request.getfixturevalue("postgres")
        made.append((server, server.fresh()))
        return made[-1][1]

    yield fresh
    for server, url in made:
        server.drop(url)


@pytest.fixture
def world(request: pytest.FixtureRequest, fresh_url: Callable[[str], str]) -> Iterator[World]:
    """A database of the kind the test asks for, closed afterwards."""
    kind = getattr(request, "param", "file")
    made = World(kind, fresh_url(kind))
    yield made
    for store in made.opened:
        store.close()


@pytest.fixture
def store(world: World) -> SqlStore:
    """A store on that database."""
    return world.open()


@pytest.fixture
async def portal() -> AsyncIterator[Caller]:
    """The sandbox portal in this process, without a limit of requests."""
    async with in_process() as portal:
        yield portal


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    """A fresh demo model for each test."""
    async with model() as client:
        yield client


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[Kit]:
    """The sandbox Telegram over an empty folder."""
    async with opened(tmp_path) as kit:
        yield kit
