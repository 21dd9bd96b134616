"""The index follows the folder: only what changed is read, in batches that are seen whole, and a folder that is away takes nothing."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.services.rag import library as library_module
from orchestrator.services.rag.building import open_index
from orchestrator.services.rag.document import Problem
from orchestrator.services.rag.folder import FolderUnavailable, build_record, find_bytes
from orchestrator.services.rag.index.port import IndexChanges
from orchestrator.services.rag.library import Library
from orchestrator.services.rag.parse_worker import ParseReply
from tests.unit.services.rag.rag_kit import write_files


class Watched(Library):
    """A library that notes which files are read."""

    read: list[str]

    def _parse_file(self, file: object, known: object) -> ParseReply | None:
        self.read.append(file.path)  # type: ignore[attr-defined]
        return super()._parse_file(file, known)  # type: ignore[arg-type]


def open_library(place: Path) -> Watched:
    (place / "docs").mkdir(exist_ok=True)
    made = Watched(place / "docs", open_index(place / "docs", place / "state", None))
    made.read = []
    return made


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Watched]:
    made = open_library(tmp_path)
    yield made
    made.close()


def found(library: Library, question: str) -> list[str]:
    return [hit.name for hit in library.index.search(question, None, 9)]


FILES = {"a.md": "# Первый\n\nСлово альфа.", "глубже/b.md": "# Второй\n\nСлово бета."}


def test_only_what_changed_is_read_again(library: Watched, tmp_path: Path) -> None:
    """New, changed and touched files are looked into; a touched one with the same content keeps its passages."""
    write_files(tmp_path / "docs", FILES)
    assert library.refresh().read == 2
    library.read.clear()
    assert (library.refresh().read, library.read) == (0, [])
    ids = [hit.passage_id for hit in library.index.search("альфа", None, 1)]
    os.utime(tmp_path / "docs" / "a.md", ns=(1, 1))
    library.refresh()
    assert library.read == ["a.md"]
    assert [hit.passage_id for hit in library.index.search("альфа", None, 1)] == ids
    library.refresh()
    assert library.read == ["a.md"]
    write_files(tmp_path / "docs", {"a.md": "# Первый\n\nСлово гамма."})
    library.refresh()
    assert (found(library, "альфа"), found(library, "гамма")) == ([], ["a.md"])


def test_removed_and_moved_documents_leave_their_old_place(library: Watched, tmp_path: Path) -> None:
    """Their passages go with the file."""
    write_files(tmp_path / "docs", FILES)
    library.refresh()
    (tmp_path / "docs" / "a.md").unlink()
    (tmp_path / "docs" / "глубже").rename(tmp_path / "docs" / "выше")
    assert library.refresh().removed == 2
    assert (found(library, "альфа"), found(library, "бета")) == ([], ["выше/b.md"])


def test_a_restart_reads_nothing(library: Watched, tmp_path: Path) -> None:
    """What is known of files is kept on the disk."""
    write_files(tmp_path / "docs", FILES)
    library.refresh()
    library.close()
    again = open_library(tmp_path)
    try:
        again.refresh()
        assert again.read == []
        assert found(again, "бета") == ["глубже/b.md"]
    finally:
        again.close()


def test_a_broken_document_becomes_good_again(library: Watched, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A problem is told once, and is over with the next good version."""
    write_files(tmp_path / "docs", {**FILES, "a.md": b""})
    library.refresh()
    library.refresh()
    assert caplog.text.count("a.md: the file is empty.") == 1
    assert [file.name for file in library.list_problems()] == ["a.md"]
    write_files(tmp_path / "docs", FILES)
    library.refresh()
    assert (library.list_problems(), found(library, "альфа")) == ([], ["a.md"])
    write_files(tmp_path / "docs", {"a.md": b""})
    library.refresh()
    assert found(library, "альфа") == []


def test_a_document_that_changes_while_it_is_read_waits_for_the_next_time(
    library: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a document is never indexed."""
    write_files(tmp_path / "docs", {"a.md": "# Первый\n\nСлово альфа."})
    parse = library._parser.parse

    def parse_late(path: bytes, known_digest: str = "") -> ParseReply:
        reply = parse(path, known_digest)
        if "конец" not in Path(os.fsdecode(path)).read_text(encoding="utf-8"):
            write_files(tmp_path / "docs", {"a.md": "# Первый\n\nСлово альфа и конец."})
        return reply

    monkeypatch.setattr(library._parser, "parse", parse_late)
    library.refresh()
    assert library.index.count_passages() == 0
    library.refresh()
    assert [hit.text for hit in library.index.search("альфа", None, 9)] == ["Слово альфа и конец."]


def test_a_folder_that_is_away_takes_nothing_from_the_index(library: Watched, tmp_path: Path) -> None:
    """A disk that is not mounted is no empty folder."""
    write_files(tmp_path / "docs", FILES)
    library.refresh()
    (tmp_path / "docs").rename(tmp_path / "gone")
    with pytest.raises(FolderUnavailable):
        library.refresh()
    assert found(library, "альфа") == ["a.md"]


def test_many_documents_are_stored_in_batches_and_counted_in_the_log(
    library: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each batch is one change of the index."""
    monkeypatch.setattr(library_module, "_BATCH_PASSAGES", 10)
    write_files(tmp_path / "docs", {f"{n}.md": f"# Тема {n}\n\nТекст {n}." for n in range(25)})
    applied: list[IndexChanges] = []
    apply = library.index.apply
    monkeypatch.setattr(library.index, "apply", lambda changes: (applied.append(changes), apply(changes)))
    library.refresh()
    assert [len(one.stored) for one in applied if one.stored] == [10, 10, 5]
    assert library.index.count_passages() == 25


@pytest.mark.parametrize(
    "name", [b"plain.md", "кадры/приказ.md".encode(), b"\xff\xfe.md", b"a?b.md", b"a?ff.md", b"\\xff?5c.md", b"%41.md"]
)
def test_every_name_of_a_file_is_found_again(name: bytes) -> None:
    """Whatever bytes it has: what the index keeps leads back to the file."""
    record = build_record(name, 1, 2)
    record.path.encode()
    assert find_bytes(record.path) == name
    assert record.name.isprintable()


def test_a_problem_that_is_tried_again_changes_nothing(library: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without the right to read it is looked at each time; the index keeps its revision until it can be read."""
    write_files(tmp_path / "docs", FILES)
    parse = library._parser.parse
    monkeypatch.setattr(library._parser, "parse", lambda *_: ParseReply(problem=Problem("not_allowed")))
    library.refresh()
    revision = library.index.find_revision()
    library.read.clear()
    library.refresh()
    assert sorted(library.read) == sorted(FILES)
    assert library.index.find_revision() == revision
    monkeypatch.setattr(library._parser, "parse", parse)
    library.refresh()
    assert (library.list_problems(), found(library, "альфа")) == ([], ["a.md"])
