"""Fixtures of daily help."""

import pytest

from tests.unit.features.daily.daily_kit import Home, a_home
from tests.unit.spine_kit import World


@pytest.fixture
def home(world: World) -> Home:
    """Daily help on a fresh world."""
    return a_home(world)
