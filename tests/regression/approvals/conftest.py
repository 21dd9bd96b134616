"""The approvals' tests use the spine's world, which lives beside the unit tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "unit"))

from approvals_kit import house  # noqa: F401 - a fixture; the path above must be there first
