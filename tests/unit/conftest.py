"""Fixtures of the spine's tests."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.spine_kit import World


@pytest.fixture
async def world(tmp_path: Path) -> "AsyncIterator[World]":
    """The product in mode full with the shipped policy."""
    from tests.unit.spine_kit import a_world  # noqa: PLC0415 - a second of imports that most files do not need

    async with a_world(tmp_path) as made:
        yield made


@pytest.fixture(scope="session")
def talked(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The database of a conversation."""
    from tests.unit.verify_kit import conversation  # noqa: PLC0415 - as above

    path = tmp_path_factory.mktemp("talked") / "sdelka.db"
    conversation(path)
    return path.read_bytes()


@pytest.fixture
def database(talked: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it where the settings say that the database is."""
    monkeypatch.setenv("STATE_DIR", str(tmp_path))
    monkeypatch.setenv("LOG_DIR", str(tmp_path / "logs"))
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sdelka.db").write_bytes(talked)
    return tmp_path / "sdelka.db"
