"""Fixtures of the portal's events."""

import pytest

from orchestrator.runtime import worker
from tests.unit.features.portal_events.events_kit import Watch
from tests.unit.spine_kit import World


@pytest.fixture
def watch(world: World, monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Anna (7), Boris (8) and Vera (6, a lead) listen; pauses of the loop are shortened."""
    monkeypatch.setattr(worker, "POLL", 0.02)
    return Watch(world)
