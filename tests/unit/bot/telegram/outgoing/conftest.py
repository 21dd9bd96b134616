"""The delivery that most tests of this folder begin with."""

from collections.abc import AsyncIterator

import pytest

from tests.unit.bot.telegram.outgoing.delivery_kit import Post, posting


@pytest.fixture
async def post() -> AsyncIterator[Post]:
    """A delivery that no pace holds up."""
    async with posting() as post:
        yield post
