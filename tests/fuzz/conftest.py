"""The kits of the unit tests are the kits of these: the same world, behind a real socket."""

import sys
from pathlib import Path

_UNIT = Path(__file__).resolve().parents[1] / "unit"
sys.path[:0] = [str(folder) for folder in (_UNIT, _UNIT / "http_api") if str(folder) not in sys.path]
