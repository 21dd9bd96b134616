"""Erasing and rewriting one person's log: whole, chained anew, said aloud, and never half of each."""

import os
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from state.audit_log import log_files
from state.audit_log.interaction_log import DamagedArchive, InteractionLogger, erase_user, read_records, transform_user
from state.audit_log.log_files import build_archive_lock_path, build_lock_path, hold_lock
from state.audit_log.verify import verify_logs
from tests.fixed_clock import FixedClock

START = datetime(2026, 11, 21, 22, 48, tzinfo=UTC)


def written(folder: Path, count: int = 12, *, user: str = "anna") -> InteractionLogger:
    """A log with archives."""
    log = InteractionLogger(folder, clock=FixedClock(START), limit=900)
    for number in range(count):
        log.record(user, {"number": number, "text": "Ромашка" if number % 3 else "Вектор"})
    assert log.close(10)
    return log


def without_romashka(record: dict[str, Any]) -> dict[str, Any] | None:
    """Drops every fourth record and changes what names the deal."""
    if record["number"] % 4 == 1:
        return None
    record["text"] = record["text"].replace("Ромашка", "***")
    return record


def texts(folder: Path) -> list[tuple[int, str]]:
    return [(record["number"], record["text"]) for record in read_records(folder, "anna") if "number" in record]


def test_an_erased_person_leaves_no_file_and_the_others_theirs(tmp_path: Path) -> None:
    """Live log, archives, ledger and locks are gone; who writes next begins at one, and the neighbour's log is as it was."""
    log = written(tmp_path)
    written(tmp_path, 2, user="anna2")
    others = {path.name: path.read_bytes() for path in tmp_path.iterdir() if "anna2" in path.name}

    assert erase_user(tmp_path, "anna") == 12
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == others
    assert erase_user(tmp_path, "anna") == 0
    assert erase_user(tmp_path / "nowhere", "anna") == 0
    log.record("anna", {"number": 1, "text": "neu"})
    assert [record["chain"]["n"] for record in read_records(tmp_path, "anna")] == [1]
    assert list(verify_logs(tmp_path)) == []


def test_damaged_archives_are_erased_as_well(tmp_path: Path) -> None:
    """What cannot be read is removed like the rest, it only does not count."""
    written(tmp_path)
    archive = next(tmp_path.glob("*.gz"))
    archive.write_bytes(archive.read_bytes()[:30])
    assert 0 < erase_user(tmp_path, "anna") < 12
    assert list(tmp_path.iterdir()) == []


def test_a_writer_that_waited_for_an_erased_log_begins_a_new_one(tmp_path: Path) -> None:
    """It notices that the lock it got belongs to a file that is gone, and its record is not lost."""
    log = written(tmp_path)
    with hold_lock(build_lock_path(tmp_path / "anna.jsonl")):
        writer = threading.Thread(target=log.record, args=("anna", {"number": 99, "text": "x"}))
        writer.start()
        while not writer.is_alive():
            pass
        for path in log_files.list_all_files(tmp_path / "anna.jsonl"):
            path.unlink()
    writer.join(10)

    assert texts(tmp_path) == [(99, "x")]
    assert list(verify_logs(tmp_path)) == []


def test_a_rewritten_log_is_whole_and_says_that_it_was(tmp_path: Path) -> None:
    """Changed and dropped records are counted, the old end of the chain is named, numbers are dense, new records follow."""
    log = written(tmp_path)
    old = list(read_records(tmp_path, "anna"))
    live = (tmp_path / "anna.jsonl").stat().st_ino

    assert transform_user(tmp_path, "anna", without_romashka, clock=FixedClock(START)) == 9
    log.record("anna", {"number": 12, "text": "danach"})
    records = list(read_records(tmp_path, "anna"))
    assert "Ромашка" not in str(records)
    assert texts(tmp_path) == [(n, "Вектор" if n % 3 == 0 else "***") for n in range(12) if n % 4 != 1] + [(12, "danach")]
    assert [record["chain"]["n"] for record in records] == list(range(1, len(records) + 1))
    note = records[-2]
    assert {key: note[key] for key in ("type", "changed", "dropped", "unreadable")} == {
        "type": "rewritten",
        "changed": 6,
        "dropped": 3,
        "unreadable": 0,
    }
    assert note["before"] == {"n": 12, "hash": old[-1]["chain"]["hash"]}
    assert list(verify_logs(tmp_path)) == []
    assert (tmp_path / "anna.jsonl").stat().st_ino != live


def test_where_nothing_changes_nothing_is_written(tmp_path: Path) -> None:
    """Not even the note."""
    written(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert transform_user(tmp_path, "anna", lambda record: record) == 0
    assert transform_user(tmp_path, "boris", lambda record: None) == 0
    assert transform_user(tmp_path / "nowhere", "anna", lambda record: None) == 0
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("trouble", ["damaged archive", "error of the change"])
def test_what_goes_wrong_leaves_the_old_log(tmp_path: Path, trouble: str) -> None:
    """Nothing of the new files stays."""
    written(tmp_path)
    if trouble == "damaged archive":
        archive = next(tmp_path.glob("*.gz"))
        archive.write_bytes(archive.read_bytes()[:30])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def change(record: dict[str, Any]) -> dict[str, Any]:
        return record | {"x": 1 // (record["number"] - 11)}

    with pytest.raises((DamagedArchive, ZeroDivisionError)):
        transform_user(tmp_path, "anna", change)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


class Killed(BaseException):
    """Stands for kill -9: nothing after it runs, but what the test itself cleans up."""


def kill_at(step: int) -> Any:
    """Patches that die at the so-many-th change of the disk."""
    left = [step]

    def dying(plain: Any) -> Any:
        def call(*args: Any, **more: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            return plain(*args, **more)

        return call

    return (
        patch.object(Path, "rename", dying(Path.rename)),
        patch.object(Path, "unlink", dying(Path.unlink)),
        patch.object(Path, "mkdir", dying(Path.mkdir)),
        patch.object(os, "fsync", dying(os.fsync)),
        patch.object(os, "pwrite", dying(os.pwrite)),
        patch.object(log_files, "clear_staged_files", dying(log_files.clear_staged_files)),
        patch.object(log_files.shutil, "copyfile", dying(log_files.shutil.copyfile)),
        patch.object(log_files.shutil, "rmtree", dying(log_files.shutil.rmtree)),
    ), left


@pytest.mark.long
def test_a_kill_at_any_step_leaves_the_old_log_or_the_new_one(tmp_path: Path) -> None:
    """Readers see the one or the other at once; the next record finishes what was begun, and the check finds nothing."""
    seen = {"old": 0, "new": 0}
    for step in range(200):
        folder = tmp_path / str(step)
        folder.mkdir()
        log = written(folder, 6)
        old = texts(folder)
        patches, left = kill_at(step)
        for each in patches:
            each.start()
        try:
            transform_user(folder, "anna", without_romashka)
        except Killed:
            pass
        finally:
            patch.stopall()
        now = texts(folder)
        assert now == old or (len(now) == 4 and "Ромашка" not in str(now)), step
        seen["old" if now == old else "new"] += 1
        findings = list(verify_logs(folder))
        assert findings == [], (step, findings)
        log.record("anna", {"number": 8, "text": "danach"})
        assert texts(folder) == [*now, (8, "danach")], step
        assert list(verify_logs(folder)) == [], step
        transform_user(folder, "anna", without_romashka)
        assert "Ромашка" not in "".join(
            path.read_bytes().decode(errors="replace") for path in log_files.list_all_files(folder / "anna.jsonl") if path.is_file()
        )
        assert not any(path.is_dir() for path in folder.iterdir()), step
        if left[0] > 0:
            break
    assert left[0] > 0, "the last run came to its end"
    assert min(seen.values()) > 5
    assert build_archive_lock_path(folder / "anna.jsonl").exists()
