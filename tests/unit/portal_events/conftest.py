"""Fixtures of the portal's events."""

import pytest
from events_kit import Watch
from spine_kit import World

from orchestrator import workers


@pytest.fixture
def watch(world: World, monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Anna (7), Boris (8) and Vera (6, a lead) listen; pauses of the loop are shortened."""
    monkeypatch.setattr(workers, "POLL", 0.02)
    return Watch(world)
