"""Writes `tests/corpus/runs_v1`: a database with runs that wait in every way. To be run once, at the release; then the corpus stays.

Later versions of the program must resume its runs, so a change that could not do so is seen by `tests/regression/test_runs_v1.py`.
"""

import asyncio
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from tests.corpus.runs_corpus_kit import CORPUS, write_corpus


def main() -> None:
    """Write the database in a new folder, and move it to its place."""
    with tempfile.TemporaryDirectory() as made:
        asyncio.run(write_corpus(Path(made)))
        CORPUS.mkdir(exist_ok=True)
        shutil.copy(Path(made) / "sdelka.db", CORPUS / "sdelka.db")


if __name__ == "__main__":
    main()
