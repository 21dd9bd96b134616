"""The check of audit logs: whole logs give nothing, every changed, cut or missing byte is named."""

import gzip
import os
import time
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from state.audit_log.archives import build_ledger_path, find_segments, pack_text
from state.audit_log.chain import EMPTY, add_link
from state.audit_log.interaction_log import InteractionLogger, read_records
from state.audit_log.log_files import build_lock_path
from state.audit_log.verify import verify_logs
from state.findings import Finding
from tests.fixed_clock import FixedClock

START = datetime(2026, 11, 21, 22, 48, tzinfo=UTC)
NAME = "anna.jsonl"


def written(folder: Path, count: int, *, limit: int = 10_000, keep: int = 10, first: int = 0) -> Path:
    """A log with so many records, packed to the last."""
    log = InteractionLogger(folder, clock=FixedClock(START), limit=limit, keep=keep)
    for number in range(first, first + count):
        log.record("anna", {"number": number, "user_message": "подними сумму", "answer": os.urandom(4).hex()})
    assert log.close(10)
    return folder / NAME


def archive(folder: Path, index: int = 0) -> Path:
    """One of the archives, oldest first."""
    return sorted(folder.glob("*.gz"), key=lambda path: (len(path.name), path.name))[index]


def found(folder: Path) -> list[Finding]:
    return list(verify_logs(folder))


def kinds(folder: Path) -> list[str]:
    return [finding.kind for finding in found(folder)]


@pytest.mark.req("S004-49", "S004-50", "S004-51")
def test_a_good_log_gives_nothing_through_rotations_and_removed_archives(tmp_path: Path) -> None:
    """Numbers go on over files; where the oldest archives were removed the chain begins later, and that is recorded."""
    assert found(tmp_path / "nowhere") == []
    written(tmp_path, 40, limit=900)
    numbers = [record["chain"]["n"] for record in read_records(tmp_path, "anna")]

    assert found(tmp_path) == []
    assert len(list(tmp_path.glob("*.gz"))) == 10
    assert numbers == list(range(numbers[0], 41))
    assert numbers[0] > 1


@pytest.mark.slow
def test_every_flipped_byte_of_a_log_is_named(tmp_path: Path) -> None:
    """Whichever byte of whichever record changes, the file and the record that begins there are named."""
    path = written(tmp_path, 2)
    data = path.read_bytes()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for offset in range(len(data)):
        for bit in (1 << offset % 8,):
            path.write_bytes(data[:offset] + bytes([data[offset] ^ bit]) + data[offset + 1 :])
            named = [finding for finding in found(tmp_path) if finding.kind != "note"]
            assert named, (offset, bit)
            begins = max(start for start in starts if start <= offset)
            places = {finding.offset for finding in named if finding.file == NAME}
            assert begins in places or any(place is not None and place >= begins for place in places), (offset, bit, named)


@pytest.mark.slow
def test_every_cut_of_a_log_is_named(tmp_path: Path) -> None:
    """Also one exactly behind a record, which leaves a whole chain: the head in the lock file tells."""
    path = written(tmp_path, 2)
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        (finding,) = found(tmp_path)
        assert finding.kind in {"cut", "damaged"}, length
        assert finding.file == NAME
        assert finding.offset is not None
        assert length - 400 < finding.offset <= length


@pytest.mark.slow
def test_every_flipped_or_cut_byte_of_an_archive_is_named(tmp_path: Path) -> None:
    """Header bytes that gzip ignores and paddings that change no text are no exception."""
    written(tmp_path, 6, limit=900)
    path = archive(tmp_path)
    data = path.read_bytes()
    for offset in range(len(data)):
        for bit in (1 << offset % 8,):
            path.write_bytes(data[:offset] + bytes([data[offset] ^ bit]) + data[offset + 1 :])
            first = found(tmp_path)[0]
            assert (first.kind, first.file) == ("damaged", path.name) or first.kind == "cut", (offset, first)
            assert first.offset is not None
            if offset < 10:
                assert first.offset == offset
    for length in range(len(data)):
        path.write_bytes(data[:length])
        first = found(tmp_path)[0]
        assert (first.kind, first.file, first.offset) == ("cut", path.name, length)
    path.write_bytes(data + b"x")
    assert (found(tmp_path)[0].kind, found(tmp_path)[0].offset) == ("damaged", len(data))


def chained(count: int, *, torn_after: int = 0) -> bytes:
    """Lines as an earlier writer may have left them, half a record behind one of them."""
    lines, head = b"", EMPTY
    for number in range(1, count + 1):
        line, head = add_link(b'{"timestamp":"t","user":"anna","number":%d}' % number, head)
        lines += line + (b'{"timestamp":"t","us\n' if number == torn_after else b"")
    return lines


def test_records_that_are_gone_moved_or_added_are_named(tmp_path: Path) -> None:
    """Each way to forge a log leaves its own trace: removed, swapped, doubled, put in between, rewritten with new hashes."""
    path = written(tmp_path, 6)
    lines = path.read_bytes().splitlines(keepends=True)
    forged, _ = add_link(b'{"timestamp":"t","user":"anna","number":7}', EMPTY)
    cases: dict[str, tuple[list[bytes], tuple[str, int | None, int | None]]] = {
        "removed": ([*lines[:2], *lines[4:]], ("missing", len(b"".join(lines[:2])), 3)),
        "doubled": ([*lines[:3], lines[1], *lines[3:]], ("inconsistent", len(b"".join(lines[:3])), 2)),
        "swapped": ([lines[0], lines[2], lines[1], *lines[3:]], ("missing", len(lines[0]), 2)),
        "forged": ([*lines[:3], b'{"user":"anna"}\n', *lines[3:]], ("inconsistent", len(b"".join(lines[:3])), None)),
        "anew": ([forged, *lines[1:]], ("inconsistent", len(forged), 2)),
        "headless": ([*lines[1:]], ("missing", 0, 1)),
    }
    for name, (content, expected) in cases.items():
        path.write_bytes(b"".join(content))
        first = found(tmp_path)[0]
        assert (first.kind, first.offset, first.seq) == expected, name


def test_a_removed_archive_is_named_by_its_file(tmp_path: Path) -> None:
    """The oldest, one in the middle, the live file, and all of them."""
    written(tmp_path, 8, limit=900)
    kept = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for path in [*sorted(tmp_path.glob("*.gz")), tmp_path / NAME]:
        path.unlink()
        first = found(tmp_path)[0]
        assert first.kind == ("cut" if path.name == NAME else "missing")
        assert path.name in (NAME, first.file)
        path.write_bytes(kept[path])
    assert found(tmp_path) == []
    for path in [*tmp_path.glob("*.gz"), tmp_path / NAME]:
        path.unlink()
    (gone,) = found(tmp_path)
    assert (gone.kind, gone.seq) == ("missing", 1)


def test_a_forged_end_does_not_fit_the_head(tmp_path: Path) -> None:
    """A whole chain made anew by somebody who forgot the lock file, and a lock file that is gone or changed."""
    path = written(tmp_path, 4)
    true = path.read_bytes()
    path.write_bytes(chained(4))
    assert kinds(tmp_path) == ["inconsistent"]
    path.write_bytes(true)
    build_lock_path(path).write_bytes(b"x" * 160)
    assert [(finding.kind, finding.file) for finding in found(tmp_path)] == [("damaged", ".anna.jsonl.lock")]
    build_lock_path(path).unlink()
    assert kinds(tmp_path) == ["missing"]


def test_half_a_record_between_whole_ones_is_a_note(tmp_path: Path) -> None:
    """What a crash left half was never acknowledged: it is named, and nothing is missing."""
    (tmp_path / NAME).write_bytes(chained(3, torn_after=2))
    build_lock_path(tmp_path / NAME).write_bytes(b"")
    assert kinds(tmp_path) == ["note", "missing"]  # the second: no head was written by this test


def test_old_logs_without_numbers_are_good_up_to_where_numbering_began(tmp_path: Path) -> None:
    """Records of schema 1 load, are followed by numbered ones, and the check says how many it cannot vouch for."""
    old = b"".join(b'{"timestamp":"2026-11-20T00:00:00.000000Z","user":"anna","v":1,"number":%d}\n' % number for number in range(3))
    (tmp_path / "anna.jsonl.20261120T000000Z.gz").write_bytes(gzip.compress(old))
    (tmp_path / NAME).write_bytes(old)
    assert kinds(tmp_path) == ["damaged", "note"]  # that archive was packed by another hand
    (tmp_path / "anna.jsonl.20261120T000000Z.gz").write_bytes(pack_text(old))
    assert kinds(tmp_path) == ["note"]
    written(tmp_path, 3, first=3)
    (note,) = found(tmp_path)

    assert note.kind == "note"
    assert "6 records are unchained" in note.why
    assert [record.get("chain", {}).get("n") for record in read_records(tmp_path, "anna")] == [None] * 6 + [1, 2, 3]


def test_an_archive_packed_with_another_zlib_is_the_ledgers_matter(tmp_path: Path) -> None:
    """The same text in other bytes is named where the ledger knows the archive."""
    written(tmp_path, 8, limit=900)
    path = archive(tmp_path)
    path.write_bytes(pack_text(gzip.decompress(path.read_bytes()))[:10] + gzip.compress(gzip.decompress(path.read_bytes()), 1)[10:])
    (finding,) = found(tmp_path)
    assert (finding.kind, finding.file) == ("damaged", path.name)


def test_a_full_file_is_checked_in_no_time(tmp_path: Path) -> None:
    """The live file of five megabytes in well below a second, also beside other work."""
    record = b'{"timestamp":"t","user":"anna","text":"%b"}' % ("слово " * 150).encode()
    lines, head = [], EMPTY
    for _ in range(2500):
        line, head = add_link(record, head)
        lines.append(line)
    (tmp_path / NAME).write_bytes(b"".join(lines))
    started = time.process_time()
    assert kinds(tmp_path) == ["missing"]
    assert time.process_time() - started < 0.25
    assert not any(find_segments(tmp_path).values())


def test_header_bytes_count_without_a_ledger_too(tmp_path: Path) -> None:
    """Archives from before the ledger: gzip ignores time and system in its header, the check does not."""
    written(tmp_path, 8, limit=900)
    (tmp_path / ".anna.jsonl.archives").unlink()
    path = archive(tmp_path)
    data = path.read_bytes()
    assert found(tmp_path) == []
    for offset in range(10):
        path.write_bytes(data[:offset] + bytes([data[offset] ^ 1]) + data[offset + 1 :])
        assert [(finding.kind, finding.file, finding.offset) for finding in found(tmp_path)] == [("damaged", path.name, offset)]


@pytest.mark.long
def test_every_flipped_byte_of_ledger_and_head_is_named_as_theirs(tmp_path: Path) -> None:
    """A flip in them accuses neither an archive nor the log, and none is silent."""
    path = written(tmp_path, 40, limit=900)
    for damaged in (build_ledger_path(path), build_lock_path(path)):
        data = damaged.read_bytes()
        for offset in range(0, len(data), 3):
            damaged.write_bytes(data[:offset] + bytes([data[offset] ^ 1 << offset % 8]) + data[offset + 1 :])
            assert [(item.kind, item.file) for item in found(tmp_path)] == [("damaged", damaged.name)], (damaged.name, offset)
        damaged.write_bytes(data)
    assert found(tmp_path) == []


def test_ledger_and_head_without_checksum_are_still_read(tmp_path: Path) -> None:
    """As an earlier program wrote them."""
    path = written(tmp_path, 8, limit=900)
    known = orjson.loads(build_ledger_path(path).read_bytes())
    del known["check"]
    build_ledger_path(path).write_bytes(orjson.dumps(known, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    head = orjson.loads(build_lock_path(path).read_bytes())
    del head["check"]
    build_lock_path(path).write_bytes(orjson.dumps(head).ljust(159) + b"\n")

    assert found(tmp_path) == []
    archive(tmp_path).unlink()
    assert kinds(tmp_path) == ["missing"]


def test_a_renamed_archive_is_named(tmp_path: Path) -> None:
    """Its records are all there, and in their order; its name is not one that the ledger knows."""
    written(tmp_path, 8, limit=900)
    path = archive(tmp_path)
    new = path.rename(path.with_name(path.name.replace("20261121", "20261120")))

    assert [(item.kind, item.file) for item in found(tmp_path)] == [("inconsistent", new.name)]


def test_a_log_goes_on_after_its_ledger_was_damaged(tmp_path: Path) -> None:
    """The next archive begins a ledger that knows those before it; what is left is a note about the damaged one."""
    path = written(tmp_path, 40, limit=900)
    build_ledger_path(path).write_bytes(b"{")
    written(tmp_path, 6, limit=900, first=40)

    assert kinds(tmp_path) == ["note"]
