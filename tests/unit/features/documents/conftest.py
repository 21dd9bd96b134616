"""Fixtures of the tests about documents."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.features.documents.chat_kit import Desk, a_desk


@pytest.fixture(autouse=True)
def waits_are_short(quick: None) -> None:
    """Each of these tests waits for the loop."""


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """The product with a folder of documents and the chat of an administrator."""
    async with a_desk(tmp_path) as made:
        yield made
