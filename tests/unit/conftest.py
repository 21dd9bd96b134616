"""Fixtures of the spine's tests."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from spine_kit import World, a_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """The product in mode full with the shipped policy."""
    async with a_world(tmp_path) as made:
        yield made
