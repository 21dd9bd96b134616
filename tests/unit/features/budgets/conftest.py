"""Fixtures of the tests about budgets."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.runs.runs_kit import a_run_world
from tests.unit.spine_kit import World


@pytest.fixture
async def runs(tmp_path: Path) -> AsyncIterator[World]:
    """The product with engines of runs, and no document of any."""
    async with a_run_world(tmp_path, {}) as made:
        yield made
