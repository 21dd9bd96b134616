"""The tests of the corpus use the spine's kit and the kit of the corpus, which live beside other tests."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "unit"), str(TESTS / "corpus")]
