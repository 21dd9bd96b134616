"""Fixtures of the tests about people."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.features.people.people_kit import Office, an_office


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    """The registry at work on a database in memory."""
    async with an_office(tmp_path) as made:
        yield made
