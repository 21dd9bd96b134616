"""Fixtures of the tests about people."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "bot"))  # door_kit: updates as Telegram sends them

from people_kit import Office, an_office


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    """The registry at work on a database in memory."""
    async with an_office(tmp_path) as made:
        yield made
