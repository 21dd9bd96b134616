"""Fixtures of daily help."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from sandbox.portal.app import create_app
from sandbox.portal.portal import Settings
from tests.unit.features.daily.agenda_kit import Sandbox
from tests.unit.features.daily.daily_kit import Home, a_home
from tests.unit.spine_kit import NOW, World, a_world
from tests.unit.spine_portal import Portal


@pytest.fixture
def home(world: World) -> Home:
    """Daily help on a fresh world."""
    return a_home(world)


@pytest.fixture
async def wire() -> AsyncIterator[Sandbox]:
    """The sandbox portal, whose records a test may add to."""
    app = create_app(Settings(bucket=None, clock=lambda: NOW))
    yield Sandbox(app, [], set())
    await app.state.portal.events.aclose()
    app.state.portal.close()


@pytest.fixture
async def sandbox_home(tmp_path: Path, wire: Sandbox) -> AsyncIterator[Home]:
    """Daily help over that portal."""
    async with a_world(tmp_path, portal=cast("Portal", wire)) as world:
        yield a_home(world)
