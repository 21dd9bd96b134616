"""The crash lab shares the scripted portal of the unit tests."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "unit"))
