"""A program that is killed at any moment of a write leaves the old content or the new one, whole."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.performers.files import folder as folder_module
from orchestrator.performers.files.folder import TEMPORARY, Folder

OLD, NEW = b"old " * 1000, b"new " * 2000
CALLS = ("open", "stat", "fstat", "write", "fchmod", "fsync", "close", "rename", "unlink", "scandir", "mkdir")


def write_and_die(root: Path, deadly: int, parts: tuple[str, ...], expected: str | None) -> bool:
    """Write in a process of its own, which ends before its call number `deadly` to the system; return whether it came that far.

    It ends like one that was killed: nothing is cleaned up, no `finally` runs.
    """
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    passed = 0

    def count(honest: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            nonlocal passed
            passed += 1
            if passed == deadly:
                os._exit(9)
            if honest is os_write:
                return honest(args[0], args[1][:3000])
            return honest(*args, **named)

        return call

    os_write = os.write
    try:
        for name in CALLS:
            setattr(folder_module.os, name, count(getattr(os, name)))
        Folder(root).write(parts, NEW, expected=expected)
    finally:
        os._exit(0)


def kill_at_each_call(root: Path, parts: tuple[str, ...], old: bytes | None) -> list[bytes | None]:
    """Return the content that each killed write left, in the order of the calls."""
    left: list[bytes | None] = []
    file = root.joinpath(*parts)
    for deadly in range(1, 200):
        if old is None:
            file.unlink(missing_ok=True)
        else:
            file.write_bytes(old)
        known = Folder(root).read(parts)
        died = write_and_die(root, deadly, parts, known.digest if known else None)
        left.append(file.read_bytes() if file.exists() else None)
        if not died:
            return left
    raise AssertionError("the write never ended")


@pytest.mark.parametrize("old", [OLD, None])
def test_the_old_or_the_new_content_is_there_whole(tmp_path: Path, old: bytes | None) -> None:
    left = kill_at_each_call(tmp_path, ("note.txt",), old)
    assert set(left) == {old, NEW}
    assert left == sorted(left, key=lambda content: content == NEW), "once new, it stays new"
    assert len(left) > 12


def test_a_new_folder_on_the_way_does_no_harm(tmp_path: Path) -> None:
    assert set(kill_at_each_call(tmp_path, ("deep", "deeper", "note.txt"), None)) == {None, NEW}


def test_what_killed_writes_left_is_unnamed_and_goes_after_an_hour(tmp_path: Path) -> None:
    kill_at_each_call(tmp_path, ("note.txt",), OLD)
    left = [file.name for file in tmp_path.iterdir() if file.name.startswith(TEMPORARY)]
    assert left
    assert [entry.name for entry in Folder(tmp_path).list_entries(()).entries] == ["note.txt"]
    young, old = left[0], left[1:]
    for name in old:
        os.utime(tmp_path / name, (time.time() - 3700,) * 2)
    Folder(tmp_path).write(("other.txt",), b"x", expected=None)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([young, "note.txt", "other.txt"])
