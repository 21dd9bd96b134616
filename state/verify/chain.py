"""Verifies the hash chain of one stream on the raw rows; optimized for speed."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256

import orjson

from state.events.base import type_names
from state.findings import Finding, FindingKind
from state.journal.journal import RecordHead, hash_record, record_text
from state.sql.raw_records import RawReader, Record

MOST = 20

LEAP = 10_000

ID_LENGTH, TS_LENGTH = 36, 27
"""Lengths of every id and time: so a record's text splits in only one way."""


@dataclass(kw_only=True)
class Chain:
    stream: str
    seq: int = 0
    hash: str = ""
    ts: bytes = b""
    findings: list[Finding] = field(default_factory=list)
    set_back: int = 0
    meant: bytes = b""
    """What the last wrong hash should have been."""
    newer: int = 0

    def add(self, kind: FindingKind, seq: int, why: str, *, of: str = "") -> None:
        """About record `seq`, or about the part `of` the stream, such as "head"."""
        if len(self.findings) < MOST:
            self.findings.append(Finding(kind=kind, place=f"{of} of {self.stream}" if of else self.stream, seq=seq, why=why))


def check_next(chain: Chain, raw: RawReader) -> Iterator[int]:
    """Yields how many were read since."""
    whole = raw.is_sqlite
    while whole:
        begun = chain.seq
        with _pass_sound(chain) as sound:
            whole = raw.match_all(sound, chain.stream, after=begun, until=begun + LEAP)
        yield chain.seq - begun
        whole = whole and chain.seq == begun + LEAP
    # The rest is verified record by record: the end, or the first unsound record and everything after it.
    yield from verify_rows(chain, raw.read_records(chain.stream, chain.seq))


@contextmanager
def _pass_sound(chain: Chain) -> Iterator[Callable[..., bool]]:
    """Yield a function that tells whether the next record follows intact.

    SQLite calls it within its query, which halves the cost; if it raises, the caller verifies one by one.
    """
    quoted = orjson.dumps(chain.stream).replace(b"%", b"%%")
    number, join = b'","seq":%d,"stream":' + quoted + b',"ts":"', b"".join
    frames: dict[tuple[str, int, str], tuple[bytes, bytes]] = {}
    at, head, last_ts, set_back = chain.seq, chain.hash.encode(), chain.ts, 0

    def sound(  # noqa: PLR0913, PLR0917 - the columns, one by one: SQLite calls it so
        seq: int, id_: bytes, ts: bytes, type_: str, version: int, actor: str, data: bytes, hash_: str
    ) -> bool:
        nonlocal at, head, last_ts, set_back
        frame = frames.get((type_, version, actor))
        if frame is None:
            frame = frames[type_, version, actor] = _build_frame(type_, version, actor)
        begin, end = frame
        computed = sha256(join((head, begin, data, b',"id":"', id_, number % seq, ts, end))).hexdigest()
        if computed != hash_ or seq != at + 1 or len(id_) != ID_LENGTH or len(ts) != TS_LENGTH:
            return False
        if ts < last_ts:
            set_back += 1
        at, head, last_ts = seq, hash_.encode(), ts
        return True

    yield sound
    chain.seq, chain.hash, chain.ts = at, head.decode(), last_ts
    chain.set_back += set_back


def verify_rows(chain: Chain, pages: Iterable[list[Record]]) -> Iterator[int]:
    """Rows may be damaged in any way. Yields the rows of each page."""
    middle = b',"stream":' + orjson.dumps(chain.stream) + b',"ts":"'
    frames: dict[tuple[bytes, int, bytes], tuple[bytes, bytes]] = {}
    at, head, last_ts = chain.seq, chain.hash.encode(), chain.ts
    for page in pages:
        for seq, id_, ts, type_, version, actor, data, hash_ in page:
            at += 1
            try:
                frame = frames.get((type_, version, actor))
                if frame is None:
                    frame = frames[type_, version, actor] = _build_frame(type_.decode(), version, actor.decode())
                text = b'%b%b%b,"id":"%b","seq":%d%b%b%b' % (head, frame[0], data, id_, seq, middle, ts, frame[1])
                sound = sha256(text).hexdigest().encode() == hash_ and seq == at and len(id_) == ID_LENGTH and len(ts) == TS_LENGTH
            except (TypeError, ValueError, AttributeError):
                sound = False
            if not sound:
                at, head = _inspect(chain, (seq, id_, ts, type_, version, actor, data, hash_), at=at, head=head)
                last_ts = ts if isinstance(ts, bytes) else last_ts
                continue
            if ts < last_ts:
                chain.set_back += 1
            head, last_ts = hash_, ts
        chain.seq, chain.hash, chain.ts = at, head.decode("utf-8", "replace"), last_ts
        yield len(page)


def _build_frame(name: str, version: int, actor: str) -> tuple[bytes, bytes]:
    """For an unknown type or version the end is empty, so that the hash does not fit."""
    known = name in type_names and version <= type_names[name].V
    return b'{"actor":%b,"data":' % orjson.dumps(actor), b'","type":%b,"v":%d}' % (orjson.dumps(name), version) if known else b""


def _inspect(chain: Chain, row: Record, *, at: int, head: bytes) -> tuple[int, bytes]:
    """Return what the next record must follow."""
    seq, hash_ = row[0], row[-1]
    if not all(isinstance(value, bytes) for value in (*row[1:4], *row[5:])) or not isinstance(seq, int) or not isinstance(row[4], int):
        chain.add("damaged", at, "a column of the record is of another type than it was written with")
        return at, hash_ if isinstance(hash_, bytes) else b""
    if seq != at:
        more = f"records {at} to {seq - 1} are missing" if seq > at + 1 else f"record {at} is missing"
        chain.add("missing", at, f"{more}, {seq} stands in the place" if seq > at else f"record {seq} stands in the place of {at}")
        return seq, hash_
    computed = _hash_row(chain.stream, row, head)
    if computed == hash_:
        _note_newer(chain, row)
    elif chain.meant and _hash_row(chain.stream, row, chain.meant) == hash_:
        computed = b""  # the previous record is intact: only its stored hash was changed
    else:
        chain.add("damaged", at, "its hash does not fit its text and the record before it")
    chain.meant = computed
    return at, hash_


def _note_newer(chain: Chain, row: Record) -> None:
    name = row[3].decode()
    if name in type_names and row[4] <= type_names[name].V:
        return
    chain.newer += 1
    if chain.newer == 1:
        chain.add("unreadable", row[0], f"{name} v{row[4]} was written by a newer version of this program, which alone can read it")


def _hash_row(stream: str, row: Record, head: bytes) -> bytes:
    seq, id_, ts, type_, version, actor, data, _ = row
    try:
        record = RecordHead(stream, seq, id_.decode(), ts.decode(), type_.decode(), version, actor.decode())
        return hash_record(head.decode(), record_text(record, data.decode())).encode()
    except UnicodeDecodeError:
        return b""
