"""Records are gathered and written together; what cannot be written waits, and nobody waits for it."""

import fcntl
import gc
import logging
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from weakref import ref

import orjson
import pytest

from state.audit_log import batch_writer, interaction_log, log_files
from state.audit_log.batch_writer import BatchWriter
from state.audit_log.interaction_log import InteractionLogger, erase_user, read_records
from state.audit_log.verify import verify_logs
from tests.fixed_clock import FixedClock

START = datetime(2026, 11, 27, 9, 0, tzinfo=UTC)


def keep(user: str, records: Sequence[bytes]) -> Sequence[bytes]:
    del user
    return records


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "logs"


@pytest.fixture
def writer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> BatchWriter:
    """One that waits for more records until it is told to write."""
    monkeypatch.setattr(batch_writer, "GATHER_SECONDS", 60)
    monkeypatch.setattr(batch_writer, "LOCK_WAIT", 0.01)
    return BatchWriter(InteractionLogger(folder, clock=FixedClock(START)), keep)


def record(number: int, user: str = "anna", text: str = "") -> bytes:
    return orjson.dumps({"timestamp": "2026-11-27T09:00:00.000000Z", "user": user, "number": number, "text": text})


def numbers(folder: Path, user: str = "anna") -> list[int]:
    return [found["number"] for found in read_records(folder, user)]


def wait_until(check: Any) -> None:
    for _ in range(2000):
        if check():
            return
        threading.Event().wait(0.005)
    raise AssertionError("it did not come about in time")


@contextmanager
def held(path: Path) -> Iterator[None]:
    """The lock of a log in somebody else's hands."""
    path.parent.mkdir(exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    yield
    os.close(descriptor)


@pytest.mark.req("S004-49")
def test_the_records_of_a_moment_are_written_at_once(folder: Path, writer: BatchWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each log is opened once for them, whoever handed them in between, and every person's order is kept."""
    opened: list[str] = []
    hold = interaction_log.hold_in_place

    def count(path: Path, **more: Any) -> Any:
        opened.append(path.name)
        return hold(path, **more)

    monkeypatch.setattr(interaction_log, "hold_in_place", count)
    for number in range(30):
        for user in ("anna", "boris"):
            writer.put(user, [record(number, user)])
    writer.wait(5)
    assert opened == ["anna.jsonl", "boris.jsonl"]
    assert numbers(folder) == numbers(folder, "boris") == list(range(30))
    assert list(verify_logs(folder)) == []


def test_records_are_written_without_anybody_waiting(folder: Path, writer: BatchWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a quarter of a second, and at once if there are many bytes of them."""
    monkeypatch.setattr(batch_writer, "GATHER_SECONDS", 0.01)
    writer.put("anna", [record(0)])
    wait_until(lambda: folder.exists() and numbers(folder) == [0])
    monkeypatch.setattr(batch_writer, "GATHER_SECONDS", 60)
    writer.put("anna", [record(1)])
    writer.put("boris", [record(0, "boris", "x" * batch_writer.SOON_BYTES)])
    wait_until(lambda: numbers(folder) == [0, 1] and numbers(folder, "boris") == [0])


PROGRAM = """
import sys
from pathlib import Path
from state.audit_log.batch_writer import BatchWriter
from state.audit_log.interaction_log import InteractionLogger
from state.clock import SystemClock

folder = Path(sys.argv[1])
writer = BatchWriter(InteractionLogger(folder, clock=SystemClock()), lambda user, records: records)
if len(sys.argv) > 2:
    folder.write_text("")
    writer.put("anna", [b'{"user": "anna", "number": -1}'])
    writer.wait(5)
    folder.unlink()
for number in range(100):
    writer.put("anna", [b'{"user": "anna", "number": %d}' % number])
"""


@pytest.mark.long
@pytest.mark.parametrize("trouble", [(), ("folder",)])
def test_what_was_gathered_is_written_when_the_program_ends(folder: Path, trouble: tuple[str, ...]) -> None:
    """The program does nothing for it; what could not be written before has a last chance, and the log is in order."""
    told = subprocess.run([sys.executable, "-c", PROGRAM, str(folder), *trouble], check=True, capture_output=True, text=True, timeout=60)
    assert numbers(folder) == [*([-1] if trouble else []), *range(100)]
    assert list(verify_logs(folder)) == []
    assert told.stderr.count("an interaction was not logged") == len(trouble)


@pytest.mark.long
def test_what_cannot_be_written_at_the_end_is_told_with_its_remedy(folder: Path) -> None:
    """How many records are lost, and the command that brings them back."""
    folder.write_text("")
    told = subprocess.run([sys.executable, "-c", PROGRAM, str(folder)], check=True, capture_output=True, text=True, timeout=60)
    assert "100 audit records could not be written before the end; `sdelka logs rebuild` writes them" in told.stderr


TROUBLES = ["a file in the way", "no room", "a lock that somebody holds"]


@pytest.mark.req("S004-52")
@pytest.mark.parametrize("trouble", TROUBLES)
def test_what_cannot_be_written_comes_later(
    folder: Path, writer: BatchWriter, trouble: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """In its order and once, told once when it begins and once when it is over; nobody who hands in records waits meanwhile."""
    monkeypatch.setattr(log_files, "LOCK_SECONDS", 0.01)
    monkeypatch.setattr(batch_writer, "FIRST_PAUSE", 0.01)
    write, lock = os.write, folder / ".anna.jsonl.lock"
    if trouble == "a file in the way":
        folder.write_text("")
    elif trouble == "no room":
        monkeypatch.setattr(interaction_log.os, "write", lambda descriptor, data: write(descriptor, data[:9]))
    with held(lock) if trouble == "a lock that somebody holds" else caplog.at_level(logging.DEBUG):
        for number in range(5):
            started = time.thread_time()
            writer.put("anna", [record(number)])
            assert time.thread_time() - started < 0.1
            writer.wait(5)
        if folder.is_file():
            folder.unlink()
        monkeypatch.setattr(interaction_log.os, "write", write)
    wait_until(lambda: "is written again" in caplog.text)  # by itself
    assert numbers(folder) == list(range(5))
    assert list(verify_logs(folder)) == []
    assert caplog.text.count("an interaction was not logged") == 1
    assert "5 records came late, 0 are left out" in caplog.text


@pytest.mark.req("S004-52")
def test_a_lock_that_somebody_holds_keeps_nobody_else_waiting(folder: Path, writer: BatchWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many logs are locked, the others are written in the same round, which waits for one lock only."""
    patience: list[float | None] = []
    append = InteractionLogger.append

    def note(self: InteractionLogger, user: str, records: Any, *, seconds: float | None = None, known: int | None = None) -> None:
        patience.append(seconds)
        append(self, user, records, seconds=seconds, known=known)

    monkeypatch.setattr(InteractionLogger, "append", note)
    with held(folder / ".a.jsonl.lock"), held(folder / ".b.jsonl.lock"), held(folder / ".c.jsonl.lock"):
        for user in ("a", "b", "c", "zoe"):
            writer.put(user, [record(0, user)])
        writer._hurry.set()
        wait_until(lambda: (folder / "zoe.jsonl").exists() and numbers(folder, "zoe") == [0])
    assert patience[:4] == [batch_writer.LOCK_WAIT, 0.0, 0.0, 0.0]
    writer.wait(10)
    assert [numbers(folder, user) for user in ("a", "b", "c")] == [[0]] * 3


def test_what_no_longer_fits_into_memory_is_left_to_the_journal(
    folder: Path, writer: BatchWriter, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The first ones stay, and it is told once how the others are to be had."""
    monkeypatch.setattr(batch_writer, "MOST_BYTES", 1000)
    folder.write_text("")
    for number in range(50):
        writer.put("anna", [record(number)])
        writer.wait(5)
    folder.unlink()
    writer.wait(5)
    kept = numbers(folder)
    assert kept == list(range(len(kept)))
    assert 5 < len(kept) < 15
    assert caplog.text.count("are left out; `sdelka logs rebuild`") == 1
    assert f"{len(kept)} records came late, {50 - len(kept)} are left out" in caplog.text
    writer.put("anna", [record(50)])
    writer.wait(5)
    assert numbers(folder) == [*kept, 50]


def test_a_log_that_was_erased_meanwhile_does_not_come_back(folder: Path, writer: BatchWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    """What waited for room when the person was erased is dropped; what they do later is new."""
    writer.put("anna", [record(0)])
    writer.wait(5)
    write = os.write
    monkeypatch.setattr(interaction_log.os, "write", lambda descriptor, data: write(descriptor, data[:9]))
    writer.put("anna", [record(1)])
    writer.wait(5)
    monkeypatch.setattr(interaction_log.os, "write", write)
    assert erase_user(folder, "anna") == 1
    writer.wait(5)
    assert not (folder / "anna.jsonl").exists()
    writer.put("anna", [record(2)])
    writer.wait(5)
    assert numbers(folder) == [2]


def test_what_a_person_does_after_the_erasure_is_kept_while_older_records_still_wait(
    folder: Path, writer: BatchWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They come before the older ones are tried again, and are not taken for records of the erased log."""
    writer.put("anna", [record(0)])
    writer.wait(5)
    write = os.write
    monkeypatch.setattr(interaction_log.os, "write", lambda descriptor, data: write(descriptor, data[:9]))
    writer.put("anna", [record(1)])
    writer.wait(5)
    monkeypatch.setattr(interaction_log.os, "write", write)
    assert erase_user(folder, "anna") == 1
    writer.put("anna", [record(2)])
    writer.wait(5)
    assert numbers(folder) == [2]
    assert list(verify_logs(folder)) == []


@pytest.mark.req("S004-49")
def test_records_of_a_write_that_cannot_be_undone_do_not_come_twice(
    folder: Path, writer: BatchWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of three fit, and the disk has no room to cut them off either: only the third is tried again, however often that fails."""
    writer.put("anna", [record(0)])
    writer.wait(5)
    write, cut = os.write, os.ftruncate

    def refuse(descriptor: int, size: int) -> None:
        raise OSError(28, "no room")

    monkeypatch.setattr(interaction_log.os, "ftruncate", refuse)
    monkeypatch.setattr(interaction_log.os, "write", lambda descriptor, data: write(descriptor, data[: len(data) * 5 // 6]))
    writer.put("anna", [record(number) for number in (1, 2, 3)])
    for _ in range(3):
        writer.wait(5)
    monkeypatch.setattr(interaction_log.os, "write", write)
    monkeypatch.setattr(interaction_log.os, "ftruncate", cut)
    writer.put("anna", [record(4)])
    writer.wait(5)
    assert numbers(folder) == list(range(5))
    assert {finding.kind for finding in verify_logs(folder)} == {"note"}, "the half record that stays between them"


def test_what_was_gathered_when_a_person_was_erased_does_not_come_back(folder: Path, writer: BatchWriter) -> None:
    """Nothing had failed yet: the record waited for others, and the log is gone when its turn comes."""
    writer.put("anna", [record(0)])
    writer.wait(5)
    writer.put("anna", [record(1)])
    assert erase_user(folder, "anna") == 1
    writer.wait(5)
    assert not (folder / "anna.jsonl").exists()
    writer.put("anna", [record(2)])
    writer.wait(5)
    assert numbers(folder) == [2]


def test_a_log_that_is_erased_while_its_lock_is_waited_for_does_not_come_back(
    folder: Path, writer: BatchWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An erasure holds the lock until it is done."""
    writer.put("anna", [record(0)])
    writer.wait(5)
    hold = interaction_log.hold_in_place

    def erase_first(path: Path, **more: Any) -> Any:
        monkeypatch.setattr(interaction_log, "hold_in_place", hold)
        erase_user(folder, "anna")
        return hold(path, **more)

    monkeypatch.setattr(interaction_log, "hold_in_place", erase_first)
    writer.put("anna", [record(1)])
    writer.wait(5)
    assert not (folder / "anna.jsonl").exists()


def test_a_record_that_cannot_be_masked_takes_no_others_with_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is left out, since it may hold a secret; the records of everybody else of that moment are written, and what comes later."""

    def mask(user: str, records: Sequence[bytes]) -> Sequence[bytes]:
        if user == "anna":
            raise ValueError("it cannot be read")
        return records

    monkeypatch.setattr(batch_writer, "GATHER_SECONDS", 60)
    writer = BatchWriter(InteractionLogger(folder, clock=FixedClock(START)), mask)
    writer.put("anna", [record(0)])
    writer.put("boris", [record(0, "boris")])
    writer.wait(5)
    assert numbers(folder, "boris") == [0]
    assert not (folder / "anna.jsonl").exists()
    assert not writer.is_behind


def test_a_writer_that_nobody_has_any_more_tries_no_longer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its timer does not keep it alive."""
    monkeypatch.setattr(batch_writer.log, "disabled", True)  # pytest keeps what is logged, and with the error all that it came through
    folder.write_text("")
    writer = BatchWriter(InteractionLogger(folder, clock=FixedClock(START)), keep)
    writer.put("anna", [record(0)])
    writer.wait(5)
    gone = ref(writer)
    del writer
    wait_until(lambda: gc.collect() is not None and gone() is None)


@pytest.mark.long
def test_a_child_process_does_not_write_what_its_parent_was_given(folder: Path) -> None:
    """A fork has a copy of all that was gathered, and would write it a second time at its end."""
    code = PROGRAM + textwrap.dedent("""
        import os, atexit
        if os.fork() == 0:
            atexit._run_exitfuncs()
            os._exit(0)
        os.wait()
    """)
    subprocess.run([sys.executable, "-W", "ignore", "-c", code, str(folder)], check=True, timeout=60)
    assert numbers(folder) == list(range(100))
