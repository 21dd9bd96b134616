"""Fixtures of the spine's tests."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from orchestrator.sessions.session import Session
    from state.model.card import Card
    from tests.unit.gate.sandbox_kit import Desk
    from tests.unit.spine_kit import World


@pytest.fixture
async def world(tmp_path: Path) -> "AsyncIterator[World]":
    """The product in mode full with the shipped policy."""
    from tests.unit.spine_kit import a_world  # noqa: PLC0415 - a second of imports that most files do not need

    async with a_world(tmp_path) as made:
        yield made


@pytest.fixture
async def session(world: "World") -> "Session":
    """The session of Anna's chat, under its lease."""
    return await world.session()


@pytest.fixture
async def entry(world: "World", session: "Session") -> "Card":
    """The card of a sum that Anna wants raised to 1,200,000."""
    from tests.unit.spine_kit import effect  # noqa: PLC0415 - as above

    return await world.asked(session, effect("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 1_200_000}}))


@pytest.fixture
async def desk(tmp_path: Path) -> "AsyncIterator[Desk]":
    """The product over a fresh sandbox, on 21 November 2026."""
    from tests.unit.gate.sandbox_kit import a_desk  # noqa: PLC0415 - as above

    async with a_desk(tmp_path) as made:
        yield made


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of the loop are a matter of the real clock: shortened, not mocked away."""
    from orchestrator.runtime import worker  # noqa: PLC0415 - as above

    monkeypatch.setattr(worker, "POLL", 0.02)


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
