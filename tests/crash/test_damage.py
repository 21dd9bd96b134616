"""Damage on disk: whatever bit flips or end is cut, either it is named with its file, or all that the journal holds reads as before."""

import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.unit.verify_kit import STREAM, content, conversation, told, verified, written

SHORT_FLIPS, SHORT_CUTS = 24, 12
LONG_FLIPS, LONG_CUTS = 1200, 400
PAGE, HEADS = 4096, 12


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database of a conversation, whole and in one file."""
    path = tmp_path_factory.mktemp("sound") / "sdelka.db"
    conversation(path)
    assert told(verified(path).findings) == []
    return path


def copied(sound: Path, folder: Path, data: bytes) -> Path:
    """That database with other bytes, alone in a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path = folder / sound.name
    path.write_bytes(data)
    return path


def covered(held: dict[str, list[tuple[Any, ...]]]) -> dict[str, list[tuple[Any, ...]]]:
    """Without who works on a session and until when, and under which of their leases an effect was changed: nobody goes by it afterwards."""
    effects = [row[:5] + row[6:] for row in held["effects"]]
    leases = [(row[0], *row[4:]) for row in held["leases"]]
    return {**held, "effects": effects, "leases": leases}


def unnoticed(sound: Path, damaged: Path, what: str) -> list[str]:
    """Why this damage is not dealt with as it must be; nothing where it is."""
    found = verified(damaged).findings
    if found:
        return [f"{what}: {item.why} without a file" for item in found if item.kind != "note" and not item.file]
    try:
        same = covered(content(damaged)) == covered(content(sound))
    except (sqlite3.Error, UnicodeDecodeError) as error:
        return [f"{what}: unreadable and not named: {error}"]
    return [] if same else [f"{what}: changed and not named"]


def spread(sound: Path, count: int) -> range:
    """About so many bytes, evenly over the whole file; the odd stride comes to another place of each page."""
    size = sound.stat().st_size
    return range(0, size, size // count | 1)


def flips(sound: Path, folder: Path, places: Iterable[int]) -> list[str]:
    """One bit in each of these bytes, another each time."""
    data, found = sound.read_bytes(), list[str]()
    for number, at in enumerate(places):
        changed = bytearray(data)
        changed[at] ^= 1 << number % 8
        found += unnoticed(sound, copied(sound, folder, bytes(changed)), f"bit {number % 8} of byte {at}")
    return found


def cuts(sound: Path, folder: Path, stride: int) -> list[str]:
    """The file ends early, at each multiple of `stride`."""
    data = sound.read_bytes()
    return [
        line
        for length in range(1, len(data), stride)
        for line in unnoticed(sound, copied(sound, folder, data[:length]), f"cut at {length}")
    ]


@pytest.mark.req("S004-13", "G2")
def test_a_flipped_bit_changes_nothing_or_is_named(sound: Path, tmp_path: Path) -> None:
    """A sample over the whole file."""
    assert flips(sound, tmp_path / "copy", spread(sound, SHORT_FLIPS)) == []


def test_a_cut_file_is_named(sound: Path, tmp_path: Path) -> None:
    """A sample over the whole file. Only what nothing lay on, such as the empty end of the last page, may be gone unnoticed."""
    assert cuts(sound, tmp_path / "copy", spread(sound, SHORT_CUTS).step) == []


@pytest.mark.crash_long
@pytest.mark.timeout(1_200)
def test_flipped_bits_all_over_change_nothing_or_are_named(sound: Path, tmp_path: Path) -> None:
    """LONG_FLIPS bytes evenly over the file: each page is hit about every 200 bytes, each time at another place of it."""
    assert flips(sound, tmp_path / "copy", spread(sound, LONG_FLIPS)) == []


@pytest.mark.crash_long
@pytest.mark.timeout(1_200)
def test_flipped_bits_in_the_heads_of_pages_change_nothing_or_are_named(sound: Path, tmp_path: Path) -> None:
    """Every byte of the file's head, and of the head of every page: its kind, how many records it has, where they begin, what follows it."""
    size = sound.stat().st_size
    heads = (page + at for page in range(0, size, PAGE) for at in range(HEADS))
    assert flips(sound, tmp_path / "copy", sorted({*range(100 + HEADS), *heads})) == []


@pytest.mark.crash_long
@pytest.mark.timeout(1_200)
def test_flipped_bits_in_effects_change_nothing_or_are_named(sound: Path, tmp_path: Path) -> None:
    """In the first and the last stored call and in their outcomes every seventh byte, and each of the last 24: the end of the digest."""
    data = sound.read_bytes()
    with closing(sqlite3.connect(sound)) as connection:
        kept = [row for (*row,) in connection.execute("SELECT call, outcome FROM effects WHERE outcome IS NOT NULL ORDER BY updated_at")]
    texts = [text.encode() for row in (kept[0], kept[-1]) for text in row]
    pieces = [text[at : at + 24] for text in texts for at in range(0, len(text) - 24, 7)]
    places = [data.find(piece) for piece in pieces] + [data.find(text[-24:]) + at for text in texts for at in range(24)]
    assert len(places) - places.count(-1) > 200  # some pieces lie on two pages
    assert flips(sound, tmp_path / "copy", [place for place in places if place >= 0]) == []


@pytest.mark.crash_long
@pytest.mark.timeout(1_200)
def test_cuts_all_over_are_named(sound: Path, tmp_path: Path) -> None:
    """LONG_CUTS lengths evenly over the file: some within every page."""
    assert cuts(sound, tmp_path / "copy", spread(sound, LONG_CUTS).step) == []


def test_a_damaged_record_is_named_with_stream_and_number(sound: Path, tmp_path: Path) -> None:
    """A letter changed within a record: the finding names the record whose hash no longer fits, and the file it lies in."""
    data = bytearray(sound.read_bytes())
    data[data.index(b'"mode":"full"') + 8] ^= 1
    path = copied(sound, tmp_path / "copy", bytes(data))
    with closing(sqlite3.connect(path)) as connection:
        changed = connection.execute('SELECT min(seq) FROM events WHERE data LIKE \'%"mode":"gull"%\'').fetchone()[0]
    found = [item for item in verified(path).findings if item.kind != "note"]
    assert [(item.kind, item.place, item.seq, item.file) for item in found] == [("damaged", STREAM, changed, str(path))]


@pytest.fixture
def in_log(sound: Path, tmp_path: Path) -> tuple[Path, list[tuple[str, int, str]]]:
    """The database with its last commits still in the write-ahead log, as a killed bot leaves it; and the heads before them."""
    live = copied(sound, tmp_path / "live", sound.read_bytes())
    with closing(sqlite3.connect(live)) as connection:
        heads = list(connection.execute("SELECT 'session:' || session, seq, hash FROM leases"))
        connection.execute("PRAGMA wal_autocheckpoint=0")
        for number in range(4):
            with connection:
                connection.execute("INSERT INTO \"values\" (key, value) VALUES (?, 'x')", (f"k{number}",))
        killed = tmp_path / "killed"
        shutil.copytree(live.parent, killed, ignore=shutil.ignore_patterns("*-shm"))
    return killed / live.name, heads


def test_a_damaged_write_ahead_log_is_named_with_its_file(in_log: tuple[Path, list[tuple[str, int, str]]]) -> None:
    """SQLite silently drops a frame that is not as it was written and all after it; the check says so before that happens."""
    path, _ = in_log
    log = path.with_name(f"{path.name}-wal")
    data = bytearray(log.read_bytes())
    assert told(verified(Path(shutil.copytree(path.parent, path.parent.parent / "sane")) / path.name).findings) == []
    data[32 + 24 + 200] ^= 4
    log.write_bytes(data)
    found = [item for item in verified(path).findings if item.kind != "note"]
    assert [(item.kind, item.file, item.offset) for item in found] == [("damaged", str(log), 32)]


def test_a_lost_write_ahead_log_is_a_cut_tail_against_an_anchor(sound: Path, tmp_path: Path) -> None:
    """The chain and its head end earlier together, so only the anchor knows."""
    live = copied(sound, tmp_path / "live", sound.read_bytes())
    with closing(sqlite3.connect(live)) as connection:
        key, seq, hash_ = connection.execute("SELECT session, seq, hash FROM leases WHERE seq > 5").fetchone()
        before = connection.execute("SELECT hash FROM events WHERE stream = ? AND seq = ?", (f"session:{key}", seq - 1)).fetchone()[0]
    anchors = {f"session:{key}": [(seq, hash_)]}
    assert told(verified(live, anchors).findings) == []
    with closing(sqlite3.connect(live)) as connection, connection:
        connection.execute("DELETE FROM events WHERE stream = ? AND seq = ?", (f"session:{key}", seq))
        connection.execute("UPDATE leases SET seq = ?, hash = ? WHERE session = ?", (seq - 1, before, key))

    chain = [item for item in verified(live).findings if item.place == f"session:{key}"]
    with_anchor = [item.kind for item in verified(live, anchors).findings if item.place == f"session:{key}"]
    assert (chain, with_anchor) == ([], ["cut"])


def test_a_snapshot_that_cannot_be_read_is_named(sound: Path, tmp_path: Path) -> None:
    """The bot does without it and makes a new one; the check says that it was damaged."""
    path = copied(sound, tmp_path / "copy", sound.read_bytes())
    written(path, "UPDATE snapshots SET state = replace(state, ':', '*')")
    assert [(item.kind, item.place) for item in verified(path).findings] == [("damaged", f"snapshot of {STREAM}")]
