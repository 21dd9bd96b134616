"""Fixtures of the end-to-end tests: servers once per test process, a fresh world for each test."""

import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from orchestrator.sessions import merge_inputs
from tests.e2e.e2e_kit import World, opened_world
from tests.e2e.e2e_servers import Servers, running_servers

_IDS = itertools.count(20_000, 10)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a person writes waits for a forward: shortened, not mocked away."""
    monkeypatch.setattr(merge_inputs, "FORWARD_PAUSE", 0.05)


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """The three sandbox servers."""
    with running_servers() as found:
        yield found


@pytest.fixture
async def world(servers: Servers, tmp_path: Path) -> AsyncIterator[World]:
    """A world nothing has happened in yet."""
    async with opened_world(servers, tmp_path, next(_IDS)) as made:
        yield made
