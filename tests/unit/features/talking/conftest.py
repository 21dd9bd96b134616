"""Fixtures of talking."""

import pytest

from orchestrator.features.talking.voice import VoiceInput
from orchestrator.sessions import merge_inputs
from tests.unit.features.talking.talking_kit import Wire, wired
from tests.unit.spine_kit import World


@pytest.fixture
def wire(world: World, monkeypatch: pytest.MonkeyPatch) -> Wire:
    """The world with talking in it; pauses of the loop are shortened."""
    monkeypatch.setattr(merge_inputs, "FORWARD_PAUSE", 0.02)
    made = Wire()
    wired(world, VoiceInput(files=made, transcriber=made))
    return made
