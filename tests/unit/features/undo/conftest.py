"""Fixtures of the tests about undo."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.features.undo.undo_kit import an_office
from tests.unit.spine_kit import World


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[World]:
    """The product with the undo button, on a database in memory."""
    async with an_office(tmp_path) as made:
        yield made
