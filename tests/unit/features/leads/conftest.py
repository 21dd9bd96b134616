"""Fixtures of the tests about leads."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.features.leads.leads_kit import a_department, ask_for
from tests.unit.spine_kit import World


@pytest.fixture
async def department(tmp_path: Path) -> AsyncIterator[World]:
    """The product with leads, who decide on deals above two millions."""
    async with a_department(tmp_path) as made:
        yield made


@pytest.fixture
async def entry(department: World) -> dict[str, Any]:
    """The card of a request above the limit, its messages taken off the outbox."""
    return await ask_for(department)
