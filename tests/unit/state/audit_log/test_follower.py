"""Who follows a log sees each record once, whatever becomes of its files, which are opened together or not at all."""

from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import pytest

from state.audit_log import archives
from state.audit_log.archives import open_all
from state.audit_log.interaction_log import Follower, InteractionLogger, list_users
from tests.fixed_clock import FixedClock

START = datetime(2026, 11, 21, 22, 48, tzinfo=UTC)


@pytest.fixture
def log(tmp_path: Path) -> InteractionLogger:
    """About ten records fill a file."""
    return InteractionLogger(tmp_path, clock=FixedClock(START), limit=700)


def write_numbers(log: InteractionLogger, first: int, last: int) -> None:
    for number in range(first, last + 1):
        log.record("anna", {"number": number})


def test_a_follower_begins_with_the_last_and_survives_an_erasure(tmp_path: Path, log: InteractionLogger) -> None:
    """A log that is not there yet, several rotations between two looks, half a line, a log that begins anew."""
    follower = Follower(tmp_path / "anna.jsonl")
    assert list(follower.poll()) == []
    write_numbers(log, 1, 25)
    assert [record["number"] for record in follower.poll()] == list(range(1, 26))
    late = Follower(tmp_path / "anna.jsonl", last=2)
    assert [record["number"] for record in late.poll()][-1] == 25
    with (tmp_path / "anna.jsonl").open("ab") as file:
        file.write(b'{"half')
    assert list(follower.poll()) == []
    write_numbers(log, 26, 48)
    assert [record["number"] for record in follower.poll()] == list(range(26, 49))
    assert [record["number"] for record in late.poll()] == list(range(26, 49))
    for path in tmp_path.glob("*anna*"):
        path.unlink()
    assert list(follower.poll()) == []
    write_numbers(log, 49, 49)
    assert [record["number"] for record in follower.poll()] == [49]
    for each in (follower, late):
        each.close()


def test_a_follower_is_not_fooled_by_the_moment_after_a_rotation(tmp_path: Path, log: InteractionLogger) -> None:
    """The new live file is empty for an instant: what was written since lies in the file before it."""
    follower = Follower(tmp_path / "anna.jsonl")
    write_numbers(log, 1, 3)
    assert len(list(follower.poll())) == 3
    write_numbers(log, 4, 8)
    live = tmp_path / "anna.jsonl"
    live.rename(tmp_path / "anna.jsonl.20261122T000000Z")
    live.touch()
    assert [record["number"] for record in follower.poll()] == [4, 5, 6, 7, 8]
    follower.close()


def test_everybody_with_a_log_is_known(tmp_path: Path, log: InteractionLogger) -> None:
    """Also those whose ids no file name can carry, and those of whom only archives are left."""
    for user in ("tg:1007", "", "Анна", "a/b", "\ud800"):
        log.record(user, {"number": 1})
    assert set(list_users(tmp_path)) == {"tg:1007", "", "Анна", "a/b", "%ed%a0%80"}
    assert list_users(tmp_path / "nowhere") == []


NAMES = ("anna.jsonl.20261121T100000Z", "anna.jsonl.20261121T100001Z", "anna.jsonl")


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[BinaryIO]:
    """Two segments and the live file, and every segment that is opened."""
    for name in NAMES:
        (tmp_path / name).write_text("{}\n", encoding="utf-8")
    seen: list[BinaryIO] = []
    plain = archives.open_archive

    def remembering(path: Path) -> BinaryIO:
        seen.append(plain(path))
        return seen[-1]

    monkeypatch.setattr(archives, "open_archive", remembering)
    return seen


def test_a_segment_that_is_gone_by_then_leaves_none_open(tmp_path: Path, opened: list[BinaryIO], monkeypatch: pytest.MonkeyPatch) -> None:
    """The list is made anew, and what was opened before is closed."""
    remembering, gone = archives.open_archive, {NAMES[1]}

    def losing(path: Path) -> BinaryIO:
        if path.name in gone:
            gone.remove(path.name)
            raise FileNotFoundError(path)
        return remembering(path)

    monkeypatch.setattr(archives, "open_archive", losing)
    files = open_all(tmp_path / "anna.jsonl")
    assert [Path(file.name).name for file in files] == list(NAMES)
    assert [file.closed for file in opened] == [True, False, False]
    for file in files:
        file.close()


def test_too_many_open_files_leave_none_open(tmp_path: Path, opened: list[BinaryIO], monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is the caller's, the files are nobody's."""
    remembering = archives.open_archive

    def full(path: Path) -> BinaryIO:
        if path.name == NAMES[1]:
            raise OSError(24, "Too many open files")
        return remembering(path)

    monkeypatch.setattr(archives, "open_archive", full)
    with pytest.raises(OSError, match="Too many open files"):
        open_all(tmp_path / "anna.jsonl")
    assert [file.closed for file in opened] == [True]
