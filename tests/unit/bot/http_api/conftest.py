"""What most tests of the API begin with, and what building it costs in tests."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from orchestrator.runtime import worker
from tests.shared_routes import share_routes
from tests.unit.bot.http_api.api_kit import Api, an_api
from tests.unit.bot.http_api.chat_kit import Door, a_door

share_routes()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of the loop are a matter of the real clock: shortened, not mocked away."""
    monkeypatch.setattr(worker, "POLL", 0.02)


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    """The endpoints beside /chat."""
    async with an_api(tmp_path) as api:
        yield api


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    """The whole app with `/chat`."""
    async with a_door(tmp_path) as door:
        yield door
