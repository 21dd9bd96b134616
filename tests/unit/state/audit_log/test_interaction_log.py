"""The audit log: every record once and whole, archives in order, no trouble for anybody."""

import gzip
import logging
import multiprocessing
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from state.audit_log import archives as log_archives
from state.audit_log import interaction_log, log_files
from state.audit_log.interaction_log import DamagedArchive, InteractionLogger, build_file_name, build_log_path, read_records
from state.clock import SystemClock
from tests.fixed_clock import FixedClock

START = datetime(2026, 11, 21, 22, 48, tzinfo=UTC)


def logger(folder: Path, *, limit: int = 320, keep: int = 10, clock: FixedClock | None = None) -> InteractionLogger:
    """A logger with a small limit: three to four of the records below fill a file."""
    return InteractionLogger(folder, clock=clock or FixedClock(START), limit=limit, keep=keep)


def numbers(folder: Path, user: str = "anna") -> list[int]:
    """The `n` of every record, in the order they are read."""
    return [record["n"] for record in read_records(folder, user)]


def archives(folder: Path, log: str = "anna.jsonl") -> list[str]:
    """Everything of that log besides the live file."""
    return sorted(path.name for path in folder.iterdir() if path.name.startswith(f"{log}."))


@pytest.mark.req("S004-7", "S004-43", "S004-44", "S004-45", "S004-46", "S004-47", "S004-48", "S004-53")
def test_a_record_is_one_line_with_all_it_was_given(tmp_path: Path) -> None:
    """Input, blocks, requests, answers and state come back from `<user>.jsonl`, with time and user in front."""
    entry = {
        "user_message": "Поставь сделке 17\nсумму",
        "blocks": {"THOUGHT": "…", "ASSISTANT": "Готово"},
        "requests": [{"method": "crm.deal.update", "params": {"id": 17}}],
        "answers": [{"result": True}],
        "state": {"objects": {"current_deal_id": 17}},
    }
    logger(tmp_path / "logs", limit=10_000).record("anna", entry)
    [line] = (tmp_path / "logs" / "anna.jsonl").read_bytes().splitlines()
    [record] = read_records(tmp_path / "logs", "anna")

    assert list(orjson.loads(line))[:2] == ["timestamp", "user"]
    assert record == {"timestamp": "2026-11-21T22:48:00.000000Z", "user": "anna", **entry}
    assert list(read_records(tmp_path / "logs", "boris")) == []


@pytest.mark.req("S004-50", "S004-51", "S004-79")
def test_a_full_log_becomes_an_archive_and_ten_are_kept(tmp_path: Path) -> None:
    """No file outgrows the limit; the newest ten archives stay, named by UTC time, and nothing newer is lost."""
    clock = FixedClock(START)
    log = logger(tmp_path, clock=clock)
    for number in range(60):
        log.record("anna", {"n": number, "text": "x" * 20})
        clock.advance(timedelta(seconds=1))
    names = archives(tmp_path)
    kept = numbers(tmp_path)

    assert len(names) == 10
    assert all(name.endswith(".gz") for name in names)
    assert names[-1] == "anna.jsonl.20261121T224857Z.gz"
    assert kept == list(range(kept[0], 60))
    assert 25 < kept[0] < 35
    assert all(len(gzip.decompress((tmp_path / name).read_bytes())) <= 320 for name in names)


@pytest.mark.req("S004-50")
def test_the_limit_is_five_mebibytes_and_rotation_comes_before_the_record_that_would_exceed_it(tmp_path: Path) -> None:
    """Exactly full is not too full; one byte more begins a new file."""
    log = InteractionLogger(tmp_path, clock=FixedClock(START))
    log.record("anna", {"n": 0})
    size = (tmp_path / "anna.jsonl").stat().st_size
    (tmp_path / "anna.jsonl").write_bytes(b"x" * (5 * 1024 * 1024 - size - 1) + b"\n")
    log.record("anna", {"n": 1})
    assert archives(tmp_path) == []
    log.record("anna", {"n": 2})

    assert archives(tmp_path) == ["anna.jsonl.20261121T224800Z.gz"]
    assert (tmp_path / "anna.jsonl").stat().st_size == size


@pytest.mark.req("S004-A8")
def test_archives_of_one_second_and_of_a_clock_going_back_stay_in_order(tmp_path: Path) -> None:
    """Names are unique, and sort as they were made."""
    clock = FixedClock(START)
    log = logger(tmp_path, limit=10, clock=clock)
    for number in range(4):
        log.record("anna", {"n": number})
    clock.advance(timedelta(hours=-1))
    log.record("anna", {"n": 4})
    clock.advance(timedelta(hours=2))
    log.record("anna", {"n": 5})

    assert archives(tmp_path) == [
        "anna.jsonl.20261121T224800Z-001.gz",
        "anna.jsonl.20261121T224800Z-002.gz",
        "anna.jsonl.20261121T224800Z-003.gz",
        "anna.jsonl.20261121T224800Z.gz",
        "anna.jsonl.20261121T234800Z.gz",
    ]
    assert numbers(tmp_path) == [0, 1, 2, 3, 4, 5]


def _write(folder: Path, writer: int, count: int) -> None:
    log = InteractionLogger(folder, clock=SystemClock(), limit=20_000, keep=1000)
    for number in range(count):
        log.record("anna", {"n": writer * count + number, "text": "я" * 200})


@pytest.mark.long
@pytest.mark.req("S004-49", "S004-A8", "S004-M5", "S004-M6")
def test_two_processes_on_one_user_lose_and_tear_nothing(tmp_path: Path) -> None:
    """Through many rotations every record is there once, and those of one writer in its order."""
    count = 300
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(tmp_path, writer, count)) for writer in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    seen = numbers(tmp_path)

    assert len(archives(tmp_path)) > 10
    assert sorted(seen) == list(range(2 * count))
    for writer in range(2):
        mine = [number for number in seen if number // count == writer]
        assert mine == sorted(mine)


HOSTILE = ["", ".", "..", "../../etc/passwd", "/etc/passwd", "a/b", "a\\b", "tg:-100:5", "Anna", "anna", "АННА", "a b", "a\nb"]
HOSTILE += ["%41", "%", "%%", "a.jsonl", "anna.jsonl.20261121T224800Z", "\x00", "\ud800", "x" * 5000, "x" * 5001, "é", "e\u0301", "~", "*"]


@pytest.mark.req("S004-A8")
def test_no_user_id_leaves_the_folder_or_meets_another(tmp_path: Path) -> None:
    """Whatever stands in an id, its file lies in the folder, is its own even where case is ignored, and is found again."""
    log = logger(tmp_path / "logs", limit=10)
    for number, user in enumerate(HOSTILE):
        log.record(user, {"n": number})
        log.record(user, {"n": number})

    assert [numbers(tmp_path / "logs", user) for user in HOSTILE] == [[number] * 2 for number in range(len(HOSTILE))]
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]
    assert len({build_log_path(tmp_path, user).name.lower() for user in HOSTILE}) == len(HOSTILE)


@settings(max_examples=50, deadline=None)
@given(st.text(), st.text())
def test_different_ids_have_different_names(one: str, other: str) -> None:
    """The name of a file is injective, in lower-case ASCII without a dot, and not too long for any file system."""
    assert (build_file_name(one) == build_file_name(other)) == (one == other)
    assert build_file_name(one).isascii()
    assert not set("./\\ ") & set(build_file_name(one))
    assert build_file_name(one) == build_file_name(one).lower()
    assert len(build_file_name(one)) <= 120


@pytest.mark.req("S004-49")
def test_a_torn_tail_costs_no_other_record(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What a crashed writer left half is left out; the next record stands on a line of its own."""
    log = logger(tmp_path)
    log.record("anna", {"n": 1})
    with (tmp_path / "anna.jsonl").open("ab") as file:
        file.write(b'{"n": 2, "te')
    log.record("anna", {"n": 3})

    assert numbers(tmp_path) == [1, 3]
    assert "torn record" in caplog.text


def test_half_a_record_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """When the disk takes only part of a record, none of it stays and the next one is whole."""
    log = logger(tmp_path)
    log.record("anna", {"n": 1})
    write = os.write
    monkeypatch.setattr(interaction_log.os, "write", lambda descriptor, data: write(descriptor, data[:9]))
    log.record("anna", {"n": 2})
    monkeypatch.undo()
    log.record("anna", {"n": 3})

    assert (tmp_path / "anna.jsonl").read_bytes().count(b"\n") == 2
    assert numbers(tmp_path) == [1, 3]
    assert "no room for the whole record" in caplog.text


class Trouble(BaseModel):
    """Something that JSON does not know."""

    name: str


def test_nothing_is_too_strange_to_be_logged(tmp_path: Path) -> None:
    """Lone surrogates, endless numbers, sets, models and numbered keys are made readable instead of lost."""
    entry: dict[Any, Any] = {
        "n": 1,
        "surrogate": "a\ud800b",
        "big": 10**40,
        "model": Trouble(name="x"),
        "set": {1},
        7: {"when": START},
        "path": Path("a"),
        "list": [(1, "\ud800")],
    }
    logger(tmp_path, limit=9999).record("anna", entry)
    logger(tmp_path, limit=9999).record("anna", {"n": 2, "model": Trouble(name="x"), "set": frozenset({1})})
    first, second = read_records(tmp_path, "anna")

    assert (first["surrogate"], first["big"], first["list"]) == ("a?b", str(10**40), [[1, "?"]])
    assert (first["model"], first["set"], first["path"], first["7"]) == ({"name": "x"}, [1], "a", {"when": str(START)})
    assert (second["model"], second["set"]) == ({"name": "x"}, [1])


class Endless(dict[str, Any]):
    """A value that cannot be written at all."""

    def __init__(self) -> None:
        super().__init__()
        self["self"] = self


@pytest.mark.req("S004-52")
@pytest.mark.parametrize("trouble", ["file in the way", "log is a folder", "locked", "endless"])
def test_trouble_is_told_to_the_standard_log_only(
    tmp_path: Path, trouble: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No folder, no file, no lock, no way to write the value: the caller never notices, and the entry is not shown."""
    folder = tmp_path / "logs"
    folder.mkdir()
    monkeypatch.setattr(log_files, "LOCK_SECONDS", 0.01)
    entry: dict[str, Any] = {"secret": "Ромашка"}
    held: FileLock | None = None
    match trouble:
        case "file in the way":
            folder.rmdir()
            folder.write_text("")
        case "log is a folder":
            (folder / "anna.jsonl").mkdir()
        case "locked":
            held = FileLock(folder / ".anna.jsonl.lock")
            held.acquire()
        case _:
            entry["endless"] = Endless()
    with caplog.at_level(logging.ERROR):
        logger(folder, limit=10_000).record("anna", entry)
    if held is not None:
        held.release()

    assert "was not logged" in caplog.text
    assert "Ромашка" not in caplog.text


def test_an_interrupted_rotation_is_finished_by_the_next_writer(tmp_path: Path) -> None:
    """Renamed but not packed, half packed by this version or an older one, packed but not removed: all end as archives, none twice."""
    line = b'{"n": %d}\n'
    (tmp_path / "anna.jsonl.20261121T100000Z").write_bytes(line % 0)
    (tmp_path / "anna.jsonl.20261121T100000Z.gz").write_bytes(gzip.compress(line % 0))
    (tmp_path / "anna.jsonl.20261121T110000Z").write_bytes(line % 1)
    (tmp_path / "anna.jsonl.20261121T110000Z.gz.tmp").write_bytes(b"half")
    (tmp_path / "anna.jsonl.20261121T110000Z.gz.part").write_bytes(b"half")
    (tmp_path / "anna.jsonl").write_bytes(line % 2)
    assert numbers(tmp_path) == [0, 1, 2]
    logger(tmp_path).record("anna", {"n": 3})

    assert archives(tmp_path) == ["anna.jsonl.20261121T100000Z.gz", "anna.jsonl.20261121T110000Z.gz"]
    assert numbers(tmp_path) == [0, 1, 2, 3]


def test_the_log_goes_only_when_its_archive_is_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The order on disk: archive written, flushed, named, folder flushed, and only then the source removed."""
    trace: list[str] = []

    def fsync(descriptor: int) -> None:
        trace.append("fsync folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "fsync file")

    for name in ("rename", "unlink"):
        plain = getattr(Path, name)

        def traced(self: Path, *args: Any, plain: Any = plain, name: str = name, **more: Any) -> Any:
            trace.append(name)
            return plain(self, *args, **more)

        monkeypatch.setattr(Path, name, traced)
    monkeypatch.setattr(log_files.os, "fsync", fsync)
    log = logger(tmp_path, limit=10)
    log.record("anna", {"n": 0})
    log.record("anna", {"n": 1})

    assert trace == ["rename", "fsync file", "rename", "fsync folder", "unlink"]


def test_packing_that_fails_is_made_up_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Where the disk is full while a file is compressed, the record is there all the same, and the next one finishes the rotation."""
    log = logger(tmp_path, limit=10)
    log.record("anna", {"n": 0})

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(log_archives, "write_durably", full)
    log.record("anna", {"n": 1})
    assert "No space left on device" in caplog.text
    assert archives(tmp_path) == ["anna.jsonl.20261121T224800Z"]
    assert numbers(tmp_path) == [0, 1]
    monkeypatch.undo()
    log.record("anna", {"n": 2})

    assert all(name.endswith(".gz") for name in archives(tmp_path))
    assert len(archives(tmp_path)) == 2
    assert numbers(tmp_path) == [0, 1, 2]


def test_a_reader_sees_each_record_once_while_the_log_rotates(tmp_path: Path) -> None:
    """Files that are renamed, packed and removed behind an open reader are still read to their end."""
    log = logger(tmp_path, limit=200, keep=30)  # however quick the packing is, none is old enough to go
    for number in range(10):
        log.record("anna", {"n": number})
    reader = read_records(tmp_path, "anna")
    seen = [next(reader)["n"] for _ in range(3)]
    for number in range(10, 30):
        log.record("anna", {"n": number})
    seen += [record["n"] for record in reader]

    assert seen[:10] == list(range(10))
    assert seen == sorted(set(seen))
    assert numbers(tmp_path) == list(range(30))


@pytest.mark.slow
def test_a_rotation_between_looking_and_opening_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader looks again; one that never comes to rest is an error, not a shorter log."""
    log = logger(tmp_path, limit=10)
    log.record("anna", {"n": 0})
    looks: list[int] = []
    look = log_archives.list_segments

    def look_then_rotate(path: Path) -> list[log_archives.Segment]:
        found = look(path)
        if len(looks) < rotations:
            looks.append(1)
            monkeypatch.setattr(log_archives, "list_segments", look)
            log.record("anna", {"n": len(looks)})
            monkeypatch.setattr(log_archives, "list_segments", look_then_rotate)
        return found

    rotations = 3
    monkeypatch.setattr(log_archives, "list_segments", look_then_rotate)
    assert numbers(tmp_path) == [0, 1, 2, 3]

    rotations = 1000
    with pytest.raises(OSError, match="rotated faster"):
        numbers(tmp_path)


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    """A cut archive is an error that says which one, not a shorter log."""
    log = logger(tmp_path, limit=10)
    for number in range(3):
        log.record("anna", {"n": number})
    path = tmp_path / archives(tmp_path)[0]
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(DamagedArchive, match=r"anna\.jsonl\.20261121T224800Z\S*\.gz"):
        list(read_records(tmp_path, "anna"))
