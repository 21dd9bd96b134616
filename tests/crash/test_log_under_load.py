"""The audit log under load and in trouble: several processes, rotation, kills, readers, a disk that does not play along."""

import multiprocessing
import os
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from state.audit_log.archives import open_all
from state.audit_log.interaction_log import LIMIT, Follower, InteractionLogger, read_records
from state.clock import SystemClock
from tests.fixed_clock import FixedClock

START = datetime(2026, 11, 21, 22, 48, tzinfo=UTC)
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["pytest", "state.audit_log.interaction_log", "state.audit_log.interaction_log"])
MANY = 1_000_000


def _write(folder: Path, writer: int, count: int, limit: int, size: int) -> None:
    log = InteractionLogger(folder, clock=SystemClock(), limit=limit, keep=MANY)
    text = "подними сумму " * (size // 26)
    for number in range(count):
        log.record("anna", {"type": "iteration", "writer": writer, "number": number, "user_message": text})


def _write_for_ever(folder: Path, writer: int, limit: int) -> None:
    _write(folder, writer, MANY, limit, 400)


def _started(target: Any, *args: Any) -> BaseProcess:
    process = PROCESSES.Process(target=target, args=args, daemon=True)
    process.start()
    return process


def _check(folder: Path) -> list[tuple[int, int]]:
    """Nothing is left half done once somebody has written again; who wrote what, in order."""
    InteractionLogger(folder, clock=SystemClock(), keep=MANY).record("anna", {"writer": -1, "number": 0})
    records = [record for record in read_records(folder, "anna") if record["writer"] >= 0]
    assert all(path.name.endswith(".gz") for path in folder.glob("anna.jsonl.*"))
    return [(record["writer"], record["number"]) for record in records]


@pytest.mark.req("S004-49", "S004-50", "S004-51", "S004-M5", "S004-M6")
@pytest.mark.parametrize(
    ("count", "limit", "size"),
    [(120, 40_000, 400), pytest.param(8_000, LIMIT, 2_000, marks=[pytest.mark.crash_long, pytest.mark.timeout(600)])],
    ids=["short", "five megabytes"],
)
def test_four_processes_on_one_user_lose_tear_and_double_nothing(tmp_path: Path, count: int, limit: int, size: int) -> None:
    """Every record of each writer is there once and in its order, over all rotations."""
    writers = [_started(_write, tmp_path, writer, count, limit, size) for writer in range(4)]
    for writer in writers:
        writer.join(500)
        assert writer.exitcode == 0
    seen = _check(tmp_path)
    assert sorted(seen) == [(writer, number) for writer in range(4) for number in range(count)]
    assert all([number for who, number in seen if who == writer] == list(range(count)) for writer in range(4))
    assert len(list(tmp_path.glob("*.gz"))) >= 5


@pytest.mark.req("S004-49", "S004-A2")
@pytest.mark.parametrize("kills", [25, pytest.param(200, marks=[pytest.mark.crash_long, pytest.mark.timeout(600)])])
def test_writers_that_are_killed_leave_whole_records(tmp_path: Path, kills: int) -> None:
    """SIGKILL wherever it falls, in a write or a rotation: what was written stays, once, and the next one finishes the rotation."""
    written = 0
    for kill in range(kills):
        two = [_started(_write_for_ever, tmp_path, kill * 2 + number, 4_000) for number in range(2)]
        before = _bytes(tmp_path)
        _until(lambda before=before: _bytes(tmp_path) > before + 3_000)
        for process in two:
            os.kill(process.pid or 0, signal.SIGKILL)
            process.join(10)
        seen = _check(tmp_path)
        assert len(seen) == len(set(seen))
        for writer in {who for who, _ in seen}:
            mine = [number for who, number in seen if who == writer]
            assert mine == list(range(len(mine)))
        assert len(seen) >= written  # what grew may have been a packing
        written = len(seen)
    assert written > kills


@pytest.mark.req("S004-A8")
def test_readers_that_follow_see_each_record_once(tmp_path: Path) -> None:
    """Two that follow and two processes that write, with a rotation every few records and packing behind their backs."""
    count = 60
    followers = [Follower(tmp_path / "anna.jsonl") for _ in range(2)]
    seen: list[list[tuple[int, int]]] = [[], []]
    writers = [_started(_write, tmp_path, writer, count, 3_000, 400) for writer in range(2)]
    while any(writer.is_alive() for writer in writers):
        for follower, records in zip(followers, seen, strict=True):
            records.extend((record["writer"], record["number"]) for record in follower.poll())
    for follower, records in zip(followers, seen, strict=True):
        records.extend((record["writer"], record["number"]) for record in follower.poll())
        follower.close()

    assert seen[0] == seen[1]
    assert sorted(seen[0]) == [(writer, number) for writer in range(2) for number in range(count)]


@pytest.mark.req("S004-51")
def test_the_oldest_archive_may_go_while_a_reader_holds_it(tmp_path: Path) -> None:
    """Its reader reads it to the end, the eleventh rotation removes it, and the rest is in order."""
    clock = FixedClock(START)
    log = InteractionLogger(tmp_path, clock=clock, limit=10)
    for number in range(11):
        log.record("anna", {"number": number})
        clock.advance(timedelta(seconds=number % 2))
    oldest, *others = open_all(tmp_path / "anna.jsonl")
    for number in range(11, 14):
        log.record("anna", {"number": number})

    assert not Path(oldest.name).exists()
    assert b'"number":0' in oldest.read()
    for file in (oldest, *others):
        file.close()
    assert [record["number"] for record in read_records(tmp_path, "anna")] == list(range(3, 14))


@pytest.mark.req("S004-50")
def test_archives_of_one_second_and_a_clock_that_goes_back_keep_the_order(tmp_path: Path) -> None:
    """Names stay unique and sort as they were made."""
    clock = FixedClock(START)
    log = InteractionLogger(tmp_path, clock=clock, limit=10)
    for number, seconds in enumerate([0, 0, 0, -3600, 0, 1, 7200]):
        clock.advance(timedelta(seconds=seconds))
        log.record("anna", {"writer": 0, "number": number})
    assert [number for _, number in _check(tmp_path)] == list(range(7))


@contextmanager
def _limited(what: int, soft: int) -> Iterator[None]:
    before = resource.getrlimit(what)
    resource.setrlimit(what, (soft, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(what, before)


@pytest.mark.req("S004-52")
def test_a_full_disk_keeps_no_half_record(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """At every size at which the room may end, the log holds whole records only, and goes on when there is room again."""
    log = InteractionLogger(tmp_path, clock=FixedClock(START))
    log.record("anna", {"writer": 0, "number": 0})
    size = (tmp_path / "anna.jsonl").stat().st_size
    for room in range(1, size, 13):
        with _limited(resource.RLIMIT_FSIZE, size + room):  # the kernel takes the first bytes of the write, as with a full disk
            log.record("anna", {"writer": 0, "number": 1})
        assert (tmp_path / "anna.jsonl").stat().st_size == size
    assert "was not logged" in caplog.text
    log.record("anna", {"writer": 0, "number": 1})
    assert _check(tmp_path) == [(0, 0), (0, 1)]


def _as_nobody(folder: Path, told: Any) -> None:
    """A process of another owner, for whom the folder is read-only."""
    os.setuid(65534)
    log = InteractionLogger(folder, clock=SystemClock(), limit=10)
    log.record("anna", {"number": 1})
    log.record("boris", {"number": 1})
    told.send("gone on")


@pytest.mark.req("S004-52")
@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_a_folder_of_another_owner_stops_nobody(tmp_path: Path) -> None:
    """Neither a live log that is not ours nor a folder that cannot be written: the caller goes on, the files stay."""
    InteractionLogger(tmp_path, clock=SystemClock()).record("anna", {"number": 0})
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    here, there = PROCESSES.Pipe()
    process = _started(_as_nobody, tmp_path, there)
    assert here.poll(30)
    assert here.recv() == "gone on"
    process.join(10)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.req("S004-52")
def test_without_a_free_descriptor_the_caller_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """EMFILE costs the record, not the answer; with descriptors again the log goes on without a gap."""
    log = InteractionLogger(tmp_path, clock=FixedClock(START))
    log.record("anna", {"writer": 0, "number": 0})
    with _limited(resource.RLIMIT_NOFILE, 3):
        log.record("anna", {"writer": 0, "number": 1})
    assert "Too many open files" in caplog.text
    log.record("anna", {"writer": 0, "number": 2})
    assert _check(tmp_path) == [(0, 0), (0, 2)]


def _bytes(folder: Path) -> int:
    """How many bytes stand there now; a file that is being moved meanwhile counts next time."""
    found = 0
    for path in list(folder.glob("anna.jsonl*")):
        with suppress(FileNotFoundError):
            found += path.stat().st_size
    return found


def _until(check: Any) -> None:
    for _ in range(3000):
        if check():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it did not come about in time")
