"""Erasing one person's log, and changing records in that of another: whole files, and the neighbours' are as they were."""

import threading
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from state.audit_log.interaction_log import DamagedArchive, InteractionLogger, erase_user, read_records, rewrite_log
from state.audit_log.log_files import hold_lock, list_all_files
from tests.fixed_clock import FixedClock

START = datetime(2026, 11, 21, 22, 48, tzinfo=UTC)


def write_log(folder: Path, count: int = 12, *, user: str = "anna") -> InteractionLogger:
    """A log with archives."""
    log = InteractionLogger(folder, clock=FixedClock(START), limit=300)
    for number in range(count):
        log.record(user, {"number": number, "text": "Ромашка" if number % 3 else "Вектор"})
    return log


def hide_deal(line: bytes) -> bytes | None:
    """Drops every fourth record and changes what names the deal."""
    return None if orjson.loads(line)["number"] % 4 == 1 else line.replace("Ромашка".encode(), b"***")


def read_texts(folder: Path) -> list[tuple[int, str]]:
    return [(record["number"], record["text"]) for record in read_records(folder, "anna")]


def read_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_an_erased_person_leaves_no_file_and_the_others_theirs(tmp_path: Path) -> None:
    """Live log, archives and lock are gone, and what older versions wrote beside them; who writes next begins anew."""
    log = write_log(tmp_path)
    write_log(tmp_path, 2, user="anna2")
    for name in (".anna.jsonl.archives", ".anna.jsonl.archive.lock", "anna.jsonl.20261121T224800Z.gz.part"):
        (tmp_path / name).touch()
    (tmp_path / ".anna.jsonl.rewriting").mkdir()
    others = {name: data for name, data in read_files(tmp_path).items() if "anna2" in name}

    assert erase_user(tmp_path, "anna") == 12
    assert read_files(tmp_path) == others
    assert erase_user(tmp_path, "anna") == 0
    assert erase_user(tmp_path / "nowhere", "anna") == 0
    log.record("anna", {"number": 1, "text": "neu"})
    assert read_texts(tmp_path) == [(1, "neu")]


def test_damaged_archives_are_erased_as_well(tmp_path: Path) -> None:
    """What cannot be read is removed like the rest, it only does not count."""
    write_log(tmp_path)
    archive = max(tmp_path.glob("*Z-*.gz"))
    archive.write_bytes(archive.read_bytes()[:30])
    assert 0 < erase_user(tmp_path, "anna") < 12
    assert list(tmp_path.iterdir()) == []


def test_a_writer_that_waited_for_an_erased_log_begins_a_new_one(tmp_path: Path) -> None:
    """It notices that the lock it got belongs to a file that is gone, and its record is not lost."""
    log = write_log(tmp_path)
    with hold_lock(tmp_path / "anna.jsonl"):
        writer = threading.Thread(target=log.record, args=("anna", {"number": 99, "text": "x"}))
        writer.start()
        for path in list_all_files(tmp_path / "anna.jsonl"):
            path.unlink()
    writer.join(10)

    assert read_texts(tmp_path) == [(99, "x")]


def test_a_rewritten_log_has_the_changed_records_in_their_places(tmp_path: Path) -> None:
    """Changed and dropped records are counted, archives stay archives, and new records follow."""
    log = write_log(tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) > 3

    assert rewrite_log(tmp_path, "anna", hide_deal) == 9
    log.record("anna", {"number": 12, "text": "danach"})
    assert read_texts(tmp_path) == [(n, "Вектор" if n % 3 == 0 else "***") for n in range(12) if n % 4 != 1] + [(12, "danach")]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_where_nothing_changes_nothing_is_written(tmp_path: Path) -> None:
    """Every file is the one that it was."""
    write_log(tmp_path)
    before = {path.name: path.stat().st_ino for path in tmp_path.iterdir()}
    assert rewrite_log(tmp_path, "anna", lambda line: line) == 0
    assert {path.name: path.stat().st_ino for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("trouble", ["damaged archive", "error of the change"])
def test_what_goes_wrong_leaves_the_old_log(tmp_path: Path, trouble: str) -> None:
    """Nothing of the new files stays."""
    write_log(tmp_path)
    if trouble == "damaged archive":
        archive = next(tmp_path.glob("*.gz"))
        archive.write_bytes(archive.read_bytes()[:30])
    before = read_files(tmp_path)

    def change(line: bytes) -> bytes:
        return b"%d" % (1 // (orjson.loads(line)["number"] - 11))

    with pytest.raises((DamagedArchive, ZeroDivisionError)):
        rewrite_log(tmp_path, "anna", change)
    assert read_files(tmp_path) == before
