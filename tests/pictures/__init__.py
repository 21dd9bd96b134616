"""Pictures for the documentation; `python -m tests.pictures`. Its world is that of the end-to-end tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "e2e"))
