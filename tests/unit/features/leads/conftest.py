"""Fixtures of the tests about leads."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.features.leads.leads_kit import a_department
from tests.unit.spine_kit import World


@pytest.fixture
async def department(tmp_path: Path) -> AsyncIterator[World]:
    """The product with leads, who decide on deals above two millions."""
    async with a_department(tmp_path) as made:
        yield made
