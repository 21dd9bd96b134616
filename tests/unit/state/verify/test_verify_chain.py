"""The chain of a stream over its bare rows: each way in which a record can differ from what was written."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from state.clock import generate_id
from state.journal import journal
from state.journal.journal import RecordHead
from state.sql import build_sqlite_url
from state.sql.raw_records import open_raw
from state.verify.chain import Chain, check_next, verify_rows

STREAM = "session:tg:1"
Rows = list[tuple[int, bytes, bytes, bytes, int, bytes, bytes, bytes]]


def rows(count: int = 5, *, type_: str = "MessageReceived", v: int = 1, actor: str = 'an "actor"') -> Rows:
    """A sound chain, as the database gives it."""
    made: Rows = []
    head = ""
    for seq in range(1, count + 1):
        record = RecordHead(STREAM, seq, generate_id(), f"2026-11-21T12:00:0{seq}.000000Z", type_, v, actor)
        data = '{"text":"Ромашка"}'
        head = journal.hash_record(head, journal.record_text(record, data))
        made.append((seq, record.id.encode(), record.ts.encode(), type_.encode(), v, actor.encode(), data.encode(), head.encode()))
    return made


def looked_at(found: Rows) -> Chain:
    """The chain after these rows, two at a time."""
    chain = Chain(stream=STREAM)
    pages = [found[at : at + 2] for at in range(0, len(found), 2)]
    assert sum(verify_rows(chain, pages)) == len(found)
    return chain


def stored(found: Rows, path: Path) -> str:
    """The address of a database with these rows, which takes whatever they are."""
    names = "seq, id, ts, type, v, actor, data, hash"
    places = ", ".join("CAST(? AS TEXT)" if number not in {0, 4} else "?" for number in range(8))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE events (stream, {names})")
        connection.executemany(f"INSERT INTO events VALUES ('{STREAM}', {places})", found)  # noqa: S608 - ours
    return build_sqlite_url(path)


def gone_through(found: Rows, folder: Path) -> Chain:
    """The chain after a database with these rows."""
    chain = Chain(stream=STREAM)
    with open_raw(stored(found, folder / "some.db")) as raw:
        assert sum(check_next(chain, raw)) == len(found)
    return chain


def put(found: Rows, number: int, **columns: object) -> Rows:
    """The rows with other values in one of them."""
    names = ("seq", "id", "ts", "type", "v", "actor", "data", "hash")
    row = tuple(columns.get(name, value) for name, value in zip(names, found[number], strict=True))
    return [*found[:number], row, *found[number + 1 :]]  # type: ignore[list-item]


def test_a_sound_chain_is_whole() -> None:
    """Also in pages, and from the middle on."""
    whole = rows()
    chain = looked_at(whole)
    later = Chain(stream=STREAM, seq=2, hash=whole[1][-1].decode())
    list(verify_rows(later, [whole[2:]]))

    assert (chain.seq, chain.hash, chain.findings, chain.set_back) == (5, whole[-1][-1].decode(), [], 0)
    assert (later.seq, later.findings) == (5, [])


CHANGES: dict[str, tuple[Callable[[Rows], Rows], list[tuple[str, int]]]] = {
    "another text": (lambda all_: put(all_, 2, data='{"text":"Лютик"}'.encode()), [("damaged", 3)]),
    "another actor": (lambda all_: put(all_, 2, actor=b"b"), [("damaged", 3)]),
    "another moment": (lambda all_: put(all_, 2, ts=b"2026-11-21T12:00:04.000000Z"), [("damaged", 3)]),
    "another id": (lambda all_: put(all_, 2, id=generate_id().encode()), [("damaged", 3)]),
    "another hash": (lambda all_: put(all_, 2, hash=b"0" * 64), [("damaged", 3)]),
    "no text but bytes": (lambda all_: put(all_, 2, data=b"\xff"), [("damaged", 3)]),
    "another type of column": (lambda all_: put(all_, 2, data=7), [("damaged", 3)]),
    "no version": (lambda all_: put(all_, 2, v=None), [("damaged", 3)]),
    "two damages": (lambda all_: put(put(all_, 1, actor=b"b"), 3, actor=b"b"), [("damaged", 2), ("damaged", 4)]),
    "first gone": (lambda all_: all_[1:], [("missing", 1), ("damaged", 2)]),
    "middle gone": (lambda all_: all_[:2] + all_[3:], [("missing", 3)]),
    "exchanged": (lambda all_: [*all_[:1], all_[2], all_[1], *all_[3:]], [("missing", 2), ("missing", 4), ("missing", 3)]),
    "id with a quote": (lambda all_: put(all_, 2, id=b'x","y":"'), [("damaged", 3)]),
}


@pytest.mark.req("S004-13")
@pytest.mark.parametrize("name", [name for name in CHANGES if name not in {"exchanged", "first gone"}])
def test_each_change_is_named_where_it_is(name: str) -> None:
    """Once and at the record concerned; those behind it are whole and not named."""
    change, wanted = CHANGES[name]

    assert [(item.kind, item.seq) for item in looked_at(change(rows())).findings] == wanted


@pytest.mark.parametrize("leap", [1, 2, 10_000])
@pytest.mark.parametrize("name", ["nothing", *(name for name in CHANGES if name != "exchanged")])
def test_what_sqlite_goes_through_is_judged_alike(name: str, leap: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The quick way finds what the slow one finds, wherever one ends and the other begins, and stands where that stands."""
    monkeypatch.setattr("state.verify.chain.LEAP", leap)
    changed = CHANGES[name][0](rows()) if name in CHANGES else rows()
    slow, quick = looked_at(changed), gone_through(changed, tmp_path)

    assert [(item.kind, item.seq) for item in quick.findings] == [(item.kind, item.seq) for item in slow.findings]
    assert (quick.seq, quick.hash, quick.set_back, quick.newer) == (slow.seq, slow.hash, slow.set_back, slow.newer)


def test_the_quick_way_goes_through_all_that_is_sound(tmp_path: Path) -> None:
    """Nothing is left for the slow one, whatever the actor's name, and the clock is compared from one leap to the next."""
    with open_raw(stored(rows(7, actor='é "%d" \\'), tmp_path / "some.db")) as raw:
        chain = Chain(stream=STREAM, ts=b"2027")
        assert list(check_next(chain, raw)) == [7]

    assert (chain.seq, chain.set_back, chain.findings) == (7, 1, [])


@pytest.mark.parametrize("name", ["exchanged", "first gone"])
def test_what_is_out_of_order_is_named(name: str) -> None:
    """The first finding is where the order breaks."""
    change, wanted = CHANGES[name]
    found = looked_at(change(rows())).findings

    assert (found[0].kind, found[0].seq) == wanted[0]


def test_the_cut_between_columns_cannot_be_moved(tmp_path: Path) -> None:
    """The same text cut into other columns is no sound record, although its hash fits."""
    seq, id_, ts, type_, v, actor, data, _ = rows(1, actor="a")[0]
    moved = b'x","id":"' + id_
    text = b'{"actor":"a","data":%b,"id":"%b","seq":1,"stream":"%b","ts":"%b","type":"%b","v":1}' % (
        data,
        moved,
        STREAM.encode(),
        ts,
        type_,
    )

    changed: Rows = [(seq, moved, ts, type_, v, actor, data, sha256(text).hexdigest().encode())]

    assert [item.kind for item in looked_at(changed).findings] == ["damaged"]
    assert [item.kind for item in gone_through(changed, tmp_path).findings] == ["damaged"]


def test_numbers_without_a_gap_are_part_of_the_chain(tmp_path: Path) -> None:
    """A chain that somebody joined anew around a record that he left out is noticed by its numbers."""
    first, second = rows(2)
    record = RecordHead(STREAM, 3, second[1].decode(), second[2].decode(), second[3].decode(), 1, second[5].decode())
    joined = journal.hash_record(first[-1].decode(), journal.record_text(record, second[6].decode()))

    found: Rows = [first, (3, *second[1:-1], joined.encode())]

    assert [(item.kind, item.seq) for item in looked_at(found).findings] == [("missing", 2)]
    assert [(item.kind, item.seq) for item in gone_through(found, tmp_path).findings] == [("missing", 2)]


def test_a_newer_record_is_named_once_and_the_chain_goes_on() -> None:
    """Whole, but nobody here can read it."""
    chain = looked_at(rows(type_="Unheard", v=3))

    assert [(item.kind, item.seq) for item in chain.findings] == [("unreadable", 1)]
    assert (chain.newer, chain.seq) == (5, 5)


def test_a_clock_that_went_back_is_counted() -> None:
    """It is no damage: numbers decide the order."""
    back = rows(2)
    record = RecordHead(STREAM, 3, generate_id(), "2026-11-20T12:00:00.000000Z", "MessageReceived", 1, "a")
    hash_ = journal.hash_record(back[-1][-1].decode(), journal.record_text(record, "{}"))
    chain = looked_at([*back, (3, record.id.encode(), record.ts.encode(), b"MessageReceived", 1, b"a", b"{}", hash_.encode())])

    assert (chain.set_back, chain.findings) == (1, [])
