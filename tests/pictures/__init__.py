"""Pictures for the documentation; `python -m tests.pictures`. Its world is that of the end-to-end tests."""

import sys
from pathlib import Path

_TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(_TESTS / "e2e"), str(_TESTS)]
