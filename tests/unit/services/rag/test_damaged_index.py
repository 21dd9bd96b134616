"""A file of the index that is damaged is replaced and filled again from the documents: nothing in it is lost for ever."""

import contextlib
import random
import sqlite3
from pathlib import Path

import pytest

from orchestrator.services.rag.building import open_index
from orchestrator.services.rag.index.port import IndexUnavailable
from orchestrator.services.rag.library import Library
from tests.unit.services.rag.rag_kit import write_files

DOCUMENTS = {f"d{number}.md": f"# Документ {number}\n\n" + f"Отпуск номер {number} дают летом. " * 40 for number in range(60)}
PAGE = 4096


def fill(place: Path) -> Path:
    """Index the documents, and return the file of the index with everything in it."""
    write_files(place / "docs", DOCUMENTS)
    library = Library(place / "docs", open_index(place / "docs", place / "state", None))
    library.refresh()
    library.close()
    (path,) = (place / "state").glob("*.db")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def ask_again(place: Path) -> list[str]:
    """What is found in the end by a process that updates the index and asks it, as the service does, again and again."""
    library = Library(place / "docs", open_index(place / "docs", place / "state", None))
    try:
        for _ in range(5):
            with contextlib.suppress(IndexUnavailable):
                library.refresh()
                hits = library.index.search("отпуск 7", None, 3)
                library.index.load_hits([hit.passage_id for hit in hits], None)
                library.index.count_passages()
                if hits and len(library.index.load_files()) == len(DOCUMENTS):
                    return [hit.name for hit in hits]
        return []
    finally:
        library.close()


@pytest.mark.long
@pytest.mark.parametrize("page", [0, 1, 2, 3, 5, 8, 13, 21])
def test_a_page_of_noise_is_mended(tmp_path: Path, page: int) -> None:
    """Whichever page it is, the documents are found in the end."""
    path = fill(tmp_path)
    content = bytearray(path.read_bytes())
    place = page * PAGE % len(content)
    content[place : place + PAGE] = random.Random(page).randbytes(PAGE)  # noqa: S311 - noise
    path.write_bytes(content)
    assert "d7.md" in ask_again(tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("kept", [0, 100, 20_000])
def test_half_a_file_is_mended(tmp_path: Path, kept: int) -> None:
    """So is one whose rest became zeros, and one that is no database at all."""
    path = fill(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[:kept] + bytes(len(content) - kept))
    assert "d7.md" in ask_again(tmp_path)
    path.write_bytes(b"no database " * 1000)
    assert "d7.md" in ask_again(tmp_path)


def test_a_folder_in_its_place_is_told(tmp_path: Path) -> None:
    """It is nothing that this program made, so it stays."""
    path = fill(tmp_path)
    path.unlink()
    path.mkdir()
    with pytest.raises(IndexUnavailable, match="cannot be opened"):
        open_index(tmp_path / "docs", tmp_path / "state", None)
    assert path.is_dir()
