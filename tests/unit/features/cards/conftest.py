"""Fixtures of the tests about cards."""

from typing import Any

import pytest

from tests.unit.features.cards.cards_kit import asked
from tests.unit.spine_kit import World


@pytest.fixture
async def entry(world: World) -> dict[str, Any]:
    """The card of a raised sum, as the chat shows it."""
    return await asked(world)
