"""All files of a log are opened together or not at all, while somebody else rotates and packs them."""

from pathlib import Path
from typing import BinaryIO

import pytest

from state.audit_log import archives
from state.audit_log.archives import open_all

NAMES = ("anna.jsonl.20261121T100000Z", "anna.jsonl.20261121T100001Z", "anna.jsonl")


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[BinaryIO]:
    """Two segments and the live file, and every segment that is opened."""
    for name in NAMES:
        (tmp_path / name).write_text("{}\n", encoding="utf-8")
    seen: list[BinaryIO] = []
    plain = archives._open

    def remembering(path: Path) -> BinaryIO:
        seen.append(plain(path))
        return seen[-1]

    monkeypatch.setattr(archives, "_open", remembering)
    return seen


def test_a_segment_that_is_gone_by_then_leaves_none_open(tmp_path: Path, opened: list[BinaryIO], monkeypatch: pytest.MonkeyPatch) -> None:
    """The list is made anew, and what was opened before is closed."""
    remembering, gone = archives._open, {NAMES[1]}

    def losing(path: Path) -> BinaryIO:
        if path.name in gone:
            gone.remove(path.name)
            raise FileNotFoundError(path)
        return remembering(path)

    monkeypatch.setattr(archives, "_open", losing)
    files = open_all(tmp_path / "anna.jsonl")
    assert [Path(file.name).name for file in files] == list(NAMES)
    assert [file.closed for file in opened] == [True, False, False]
    for file in files:
        file.close()


def test_too_many_open_files_leave_none_open(tmp_path: Path, opened: list[BinaryIO], monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is the caller's, the files are nobody's."""
    remembering = archives._open

    def full(path: Path) -> BinaryIO:
        if path.name == NAMES[1]:
            raise OSError(24, "Too many open files")
        return remembering(path)

    monkeypatch.setattr(archives, "_open", full)
    with pytest.raises(OSError, match="Too many open files"):
        open_all(tmp_path / "anna.jsonl")
    assert [file.closed for file in opened] == [True]
