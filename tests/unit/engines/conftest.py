"""What tests of engines share."""

import sys

import pytest


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of the loop are a matter of the real clock: shortened, not mocked away. A file that plays no runs imports none of it."""
    if (worker := sys.modules.get("orchestrator.runtime.worker")) is not None:
        monkeypatch.setattr(worker, "POLL", 0.02)
