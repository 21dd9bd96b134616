"""Fixtures of the gate's tests."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.gate.kinds_kit import Kinds
    from tests.unit.gate.sandbox_kit import Desk


@pytest.fixture
async def portal(tmp_path: Path) -> "AsyncIterator[Desk]":
    """The product over the sandbox portal, which answers every reader."""
    from tests.unit.gate.reading_kit import open_portal  # noqa: PLC0415 - imports that most files do not need

    async with open_portal(tmp_path) as made:
        yield made


@pytest.fixture
async def kinds(tmp_path: Path) -> "AsyncIterator[Kinds]":
    """A product with all kinds."""
    from tests.unit.gate.kinds_kit import a_product  # noqa: PLC0415 - as above

    async with a_product(tmp_path) as made:
        yield made
