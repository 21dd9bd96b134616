"""Fixtures of the directory's tests."""

from collections.abc import AsyncIterator

import pytest

from tests.unit.directory.reference_kit import Desk, desk


@pytest.fixture
async def here(request: pytest.FixtureRequest) -> AsyncIterator[Desk]:
    """The directory over the ANSWERS of the file."""
    async with desk(request.module.ANSWERS) as made:
        yield made
