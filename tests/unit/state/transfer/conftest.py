"""Homes for the tests of backup, restore and moving."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.runtime import worker
from tests.unit.state.transfer.moving_kit import Home, Homes, some_homes
from tests.unit.verify_kit import conversation


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of the loop are a matter of the real clock: shortened, not mocked away."""
    monkeypatch.setattr(worker, "POLL", 0.02)


@pytest.fixture
def homes(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Homes]:
    with some_homes(tmp_path, request) as made:
        yield made


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which somebody has talked; nobody changes it."""
    folder = tmp_path_factory.mktemp("once")
    conversation(folder / "state" / "sdelka.db")
    shutil.move(folder / "state" / "logs", folder / "logs")
    return folder


@pytest.fixture
def talked(homes: Homes, once: Path) -> Home:
    """A copy of it."""
    home = homes.home("old")
    shutil.copytree(once, home.folder)
    return home
