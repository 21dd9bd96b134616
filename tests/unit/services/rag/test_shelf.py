"""Documents are stored and removed without losing one, on each file system, by several people and after a kill."""

import errno
import os
import stat
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.shelf import ShelfFailed
from orchestrator.services.rag import building as shelf_module
from orchestrator.services.rag.building import FolderShelf
from orchestrator.services.rag.folder import PART_SECONDS, name_part
from tests.unit.services.rag.rag_kit import build_service, write_files


@pytest.fixture(name="shelf")
async def a_shelf(tmp_path: Path) -> AsyncIterator[FolderShelf]:
    """The shelf of a service over an empty folder."""
    service = build_service(tmp_path)
    service.poll_seconds = 3600
    async with service:
        await service.wait_until_read()
        yield FolderShelf(service)


def read_files(place: Path) -> dict[str, str]:
    """All files of the folder, hidden ones too."""
    return {str(one.relative_to(place / "docs")): one.read_text() for one in sorted((place / "docs").rglob("*")) if one.is_file()}


async def find_stamp(shelf: FolderShelf, path: str) -> str:
    found = await shelf.find_document(path)
    assert found is not None
    return found.stamp


async def test_equal_content_is_told_from_a_change(shelf: FolderShelf) -> None:
    """Whoever did not change anything must not be named as who did."""
    assert await shelf.add_document("а.md", b"one") == "added"
    assert await shelf.add_document("а.md", b"one") == "same"
    assert await shelf.add_document("а.md", b"two", replaces=await find_stamp(shelf, "а.md")) == "replaced"
    assert await shelf.remove_document("а.md", stamp=await find_stamp(shelf, "а.md")) == "removed"
    assert await shelf.remove_document("а.md", stamp="x") == "gone"


async def test_a_name_in_other_letters_is_taken(shelf: FolderShelf, tmp_path: Path) -> None:
    """Somebody adds "Отпуск.md" between the question and the press: macOS and Windows have one file of both names."""
    write_files(tmp_path / "docs", {"Отпуск.md": "первый"})
    assert await shelf.add_document("отпуск.md", b"two") == "exists"
    assert read_files(tmp_path) == {"Отпуск.md": "первый"}


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
async def test_a_file_system_without_hard_links_takes_documents_and_overwrites_none(
    shelf: FolderShelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """exFAT, FUSE and network shares refuse links in their own ways."""

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(code, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    assert await shelf.add_document("а.md", b"one") == "added"
    assert await shelf.add_document("а.md", b"two") == "exists"
    real = shelf_module._write

    def write_late(folder: int, name: str, content: bytes) -> None:
        real(folder, name, content)
        write_files(tmp_path / "docs", {"б.md": "somebody else"})

    monkeypatch.setattr(shelf_module, "_write", write_late)
    assert await shelf.add_document("б.md", b"two") == "exists"
    assert read_files(tmp_path) == {"а.md": "one", "б.md": "somebody else"}


async def test_without_hard_links_what_somebody_writes_into_the_placeholder_stays(
    shelf: FolderShelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The empty file that takes the name is replaced only as long as it is empty, also if replacing fails."""
    target = tmp_path / "docs" / "а.md"

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EPERM, "no links here")

    def fail_late(*_: Any, **__: Any) -> None:
        target.write_text("somebody else")
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(os, "replace", fail_late)
    with pytest.raises(ShelfFailed):
        await shelf.add_document("а.md", b"one")
    assert read_files(tmp_path) == {"а.md": "somebody else"}


async def test_a_document_that_is_replaced_while_somebody_removes_it_stays(
    shelf: FolderShelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Comparing the stamp and removing are one step: who removes sees the new document, which was not meant."""
    write_files(tmp_path / "docs", {"а.md": "old"})
    stamp, real, held = await find_stamp(shelf, "а.md"), os.unlink, threading.Event()
    results: list[str] = []

    def add() -> None:
        held.set()
        results.append(shelf._add("а.md", b"new one", stamp))

    def unlink_late(*told: Any, **more: Any) -> None:
        if told[0] == "а.md":
            other.start()
            held.wait(10)
            other.join(0.2)  # it must wait for this removal
        real(*told, **more)

    other = threading.Thread(target=add)
    monkeypatch.setattr(os, "unlink", unlink_late)
    results.append(await shelf.remove_document("а.md", stamp=stamp))
    other.join(10)
    assert (sorted(results), read_files(tmp_path)) == (["changed", "removed"], {})


async def test_another_process_waits_for_the_folder(shelf: FolderShelf, tmp_path: Path) -> None:
    """Two programs on one folder change it one after the other."""
    done = threading.Event()

    def add() -> None:
        shelf._add("а.md", b"one", "")
        done.set()

    with shelf_module._lock_folder(tmp_path / "docs"):
        other = threading.Thread(target=add)
        other.start()
        assert not done.wait(0.2)
    assert done.wait(10)
    other.join()


async def test_what_was_done_is_told_although_the_folder_cannot_be_synced(shelf: FolderShelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """Network shares refuse to sync a folder; the document is there all the same."""
    real = os.fsync

    def refuse(number: int) -> None:
        if stat.S_ISDIR(os.fstat(number).st_mode):
            raise OSError(errno.EINVAL, "no")
        real(number)

    monkeypatch.setattr(os, "fsync", refuse)
    assert await shelf.add_document("а.md", b"one") == "added"
    assert await shelf.remove_document("а.md", stamp=await find_stamp(shelf, "а.md")) == "removed"


async def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    """Only files of our own names, only old ones, no links."""
    old = time.time() - PART_SECONDS - 60
    left, fresh, link = name_part(), name_part(), name_part()
    others = {".0123456789abcdef.part": "x", ".sdelka-1.part": "x", "а.md": "слово", fresh: "x", f"Кадры/{fresh}": "x"}
    write_files(tmp_path / "docs", {left: "x", f"Кадры/{left}": "x", **others})
    (tmp_path / "docs" / link).symlink_to(tmp_path / "docs" / "а.md")
    for name in [left, f"Кадры/{left}", *(one for one in others if fresh not in one)]:
        os.utime(tmp_path / "docs" / name, (old, old))
    service = build_service(tmp_path)
    async with service:
        await service.wait_until_read()
    assert set(read_files(tmp_path)) == {*others, link}


async def test_links_are_listed_as_what_cannot_be_removed(shelf: FolderShelf, tmp_path: Path) -> None:
    """The list says why, and offers nothing that fails."""
    write_files(tmp_path / "docs", {"а.md": "слово"})
    (tmp_path / "docs" / "б.md").symlink_to(tmp_path / "docs" / "а.md")
    assert [(one.path, one.is_file, bool(one.reasons)) for one in await shelf.list_documents()] == [
        ("а.md", True, False),
        ("б.md", False, True),
    ]
