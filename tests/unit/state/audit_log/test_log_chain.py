"""What the writer goes on from: after kills, cuts, lost lock files and old logs; and that it never waits for packing."""

import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from state.audit_log import archives, log_files, packing
from state.audit_log.follower import Follower
from state.audit_log.interaction_log import InteractionLogger, list_users, read_records
from state.audit_log.log_files import build_lock_path, parse_head, write_head
from state.audit_log.verify import verify_logs
from tests.fixed_clock import FixedClock

START = datetime(2026, 11, 21, 22, 48, tzinfo=UTC)


@pytest.fixture
def log(tmp_path: Path) -> InteractionLogger:
    """Three to four records fill a file."""
    return InteractionLogger(tmp_path, clock=FixedClock(START), limit=900)


def filled(log: InteractionLogger, first: int, last: int) -> None:
    for number in range(first, last + 1):
        log.record("anna", {"number": number})
    assert log.close(10)


def places(folder: Path) -> list[tuple[int, int]]:
    return [(record["number"], record["chain"]["n"]) for record in read_records(folder, "anna")]


def kinds(folder: Path) -> list[str]:
    return [finding.kind for finding in verify_logs(folder)]


@pytest.mark.req("S004-49")
@pytest.mark.parametrize("records", [1, 2, 3, 4, 5])
def test_a_kill_between_line_and_head_changes_nothing(
    tmp_path: Path, log: InteractionLogger, records: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file may be ahead of its head, by one record or after a power cut by several, also over a rotation: the next one follows."""
    monkeypatch.setattr(log_files, "write_head", lambda lock, head: None)
    filled(log, 1, records)
    assert kinds(tmp_path) == (["missing"] if records > 1 else [])  # never a head: that is not what a kill leaves
    monkeypatch.undo()
    filled(log, records + 1, records + 2)
    monkeypatch.setattr(log_files, "write_head", lambda lock, head: None)
    filled(log, records + 3, records + 4)
    assert kinds(tmp_path) == []
    monkeypatch.undo()
    filled(log, records + 5, records + 5)

    assert places(tmp_path) == [(number, number) for number in range(1, records + 6)]
    assert kinds(tmp_path) == []


def test_the_gap_of_a_cut_log_stays_visible(tmp_path: Path, log: InteractionLogger) -> None:
    """A file shorter than its head is gone on with from the head: the missing numbers are named from then on."""
    filled(log, 1, 3)
    path = tmp_path / "anna.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0])
    assert kinds(tmp_path) == ["cut"]
    filled(log, 4, 9)

    assert places(tmp_path) == [(1, 1), *((number, number) for number in range(4, 10))]
    (finding,) = verify_logs(tmp_path)
    assert (finding.kind, finding.seq, finding.offset) == ("missing", 2, len(lines[0]))
    assert "records 2 to 3" in finding.why


def test_a_log_removed_under_the_writer_leaves_a_gap(tmp_path: Path, log: InteractionLogger) -> None:
    """The live file deleted by hand: the next record has the next number all the same."""
    filled(log, 1, 2)
    (tmp_path / "anna.jsonl").unlink()
    filled(log, 3, 3)
    assert places(tmp_path) == [(3, 3)]
    assert [(finding.kind, finding.seq) for finding in verify_logs(tmp_path)] == [("missing", 1)]


@pytest.mark.parametrize("live", ["live", "just rotated"])
def test_a_lost_lock_file_does_not_break_the_chain(tmp_path: Path, log: InteractionLogger, live: str) -> None:
    """The last number is found in the live file, or in the newest archive where that is empty."""
    filled(log, 1, 4)
    build_lock_path(tmp_path / "anna.jsonl").unlink()
    if live == "just rotated":
        (tmp_path / "anna.jsonl").unlink()
    last = len(places(tmp_path))
    filled(log, 5, 5)
    assert places(tmp_path)[-1] == (5, last + 1)
    assert kinds(tmp_path) == []


def test_heads_are_written_in_one_length_and_others_are_none(tmp_path: Path) -> None:
    """So that no kill leaves half of one, and rubbish is never taken for one."""
    texts = []
    for head in (log_files.Head(1, "0" * 64, 1), log_files.Head(10**14, "f" * 64, 10**13)):
        with log_files.hold_lock(tmp_path / "lock") as lock:
            write_head(lock, head)
            assert log_files.read_head(lock) == head
        texts.append((tmp_path / "lock").read_bytes())
    assert {len(text) for text in texts} == {160}
    assert [parse_head(text) for text in (b"", b"{}", b"[1]", b'{"n":"x","hash":"","size":1}', texts[0][:50])] == [None] * 5


@pytest.mark.req("S004-50", "S004-52")
def test_nobody_waits_for_packing(tmp_path: Path, log: InteractionLogger, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a packer that hangs records go on; when it gets on, or at the next start, everything is packed."""
    hanging, packed = threading.Event(), archives.pack_text

    def hangs(text: bytes) -> bytes:
        assert hanging.wait(30)
        return packed(text)

    monkeypatch.setattr(archives, "pack_text", hangs)
    for number in range(1, 13):
        log.record("anna", {"number": number})
    assert not log.close(0.01)
    assert list(tmp_path.glob("*.gz")) == []
    assert places(tmp_path) == [(number, number) for number in range(1, 13)]
    hanging.set()
    assert log.close(10)
    assert len(list(tmp_path.glob("*.gz"))) == 3
    assert kinds(tmp_path) == []


def test_what_a_dead_process_left_unpacked_the_next_start_packs(
    tmp_path: Path, log: InteractionLogger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a record having to come first."""
    monkeypatch.setattr(packing.Packer, "pack", lambda self, path, keep: None)
    filled(log, 1, 9)
    monkeypatch.undo()
    assert list(tmp_path.glob("*.gz")) == []
    assert kinds(tmp_path) == []
    assert InteractionLogger(tmp_path, clock=FixedClock(START)).close(10)
    assert len(list(tmp_path.glob("*.gz"))) == 2
    assert kinds(tmp_path) == []


def test_a_follower_begins_with_the_last_and_survives_an_erasure(tmp_path: Path, log: InteractionLogger) -> None:
    """A log that is not there yet, several rotations between two looks, half a line, a log that begins anew."""
    follower = Follower(tmp_path / "anna.jsonl")
    tmp_path.joinpath("x").mkdir()
    assert list(follower.poll()) == []
    filled(log, 1, 9)
    assert [record["number"] for record in follower.poll()] == list(range(1, 10))
    late = Follower(tmp_path / "anna.jsonl", last=2)
    assert [record["number"] for record in late.poll()][-1] == 9
    with (tmp_path / "anna.jsonl").open("ab") as file:
        file.write(b'{"half')
    assert list(follower.poll()) == []
    filled(log, 10, 12)
    assert [record["number"] for record in follower.poll()] == [10, 11, 12]
    for path in tmp_path.glob("*anna*"):
        path.unlink()
    assert list(follower.poll()) == []
    filled(log, 13, 13)
    assert [record["number"] for record in follower.poll()] == [13]
    for each in (follower, late):
        each.close()


def test_everybody_with_a_log_is_known(tmp_path: Path, log: InteractionLogger) -> None:
    """Also those whose ids no file name can carry, and those of whom only archives are left."""
    for user in ("tg:1007", "", "Анна", "a/b", "\ud800"):
        log.record(user, {"number": 1})
    assert set(list_users(tmp_path)) == {"tg:1007", "", "Анна", "a/b", "%ed%a0%80"}
    assert list_users(tmp_path / "nowhere") == []


def test_a_follower_is_not_fooled_by_the_moment_after_a_rotation(tmp_path: Path, log: InteractionLogger) -> None:
    """The new live file is empty for an instant: what was written since lies in the file before it."""
    follower = Follower(tmp_path / "anna.jsonl")
    filled(log, 1, 3)
    assert len(list(follower.poll())) == 3
    filled(log, 4, 8)
    live = tmp_path / "anna.jsonl"
    live.rename(tmp_path / "anna.jsonl.20261122T000000Z")
    live.touch()
    assert [record["number"] for record in follower.poll()] == [4, 5, 6, 7, 8]
    follower.close()
