"""Verifies the hash chain of one stream on the raw rows: no gaps, right hashes, known event types.

It reads every record, so it is optimized for speed.
"""

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
"""At most this many findings are kept per stream; further ones would say the same."""

LEAP = 10_000
"""The number of records that are verified between two progress reports."""

ID_LENGTH, TS_LENGTH = 36, 27
"""The lengths of every id and time. A record's text can then be split into columns in only one way, so they need not be quoted."""


@dataclass(kw_only=True)
class Chain:
    """The progress of verifying one stream: the last record that was verified, and the findings so far."""

    stream: str
    seq: int = 0
    hash: str = ""
    ts: bytes = b""
    """When the last verified record was written, as its column has it."""
    findings: list[Finding] = field(default_factory=list)
    set_back: int = 0
    """How often the clock went back from one record to the next."""
    meant: bytes = b""
    """The hash that the last record with a wrong hash should have had."""
    newer: int = 0
    """The number of records written by a newer program."""

    def add(self, kind: FindingKind, seq: int, why: str, *, of: str = "") -> None:
        """Add a finding about the record `seq` of the stream.

        If `of` is not "", the finding is about that part of the stream instead, such as "head" (its separately stored end).
        """
        if len(self.findings) < MOST:
            self.findings.append(Finding(kind=kind, place=f"{of} of {self.stream}" if of else self.stream, seq=seq, why=why))


def check_next(chain: Chain, raw: RawReader) -> Iterator[int]:
    """Verify all records that follow the last one verified in `chain`, and update `chain`.

    Yields the number of records read since the previous yield, for reports of progress.
    """
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
    """Yield a function that gets the next record and returns whether the record is intact and follows the one before it.

    SQLite calls the function within its query, which costs half of fetching each row. When the block ends, `chain` is moved past the
    records for which the function returned True. If the function raises, the query fails, and the caller verifies these records one by one.
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
        found = sha256(join((head, begin, data, b',"id":"', id_, number % seq, ts, end))).hexdigest()
        if found != hash_ or seq != at + 1 or len(id_) != ID_LENGTH or len(ts) != TS_LENGTH:
            return False
        if ts < last_ts:
            set_back += 1
        at, head, last_ts = seq, hash_.encode(), ts
        return True

    yield sound
    chain.seq, chain.hash, chain.ts = at, head.decode(), last_ts
    chain.set_back += set_back


def verify_rows(chain: Chain, pages: Iterable[list[Record]]) -> Iterator[int]:
    """Verify fetched rows, which may be damaged in any way, and add to `chain` a finding for each row that is not as it was written.

    Yields the number of rows after each page.
    """
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
    """Return the beginning and the end of the text over which a record's hash is computed.

    These parts depend only on the record's type (`name`), version and actor. For an unknown type or version the end is empty, so that the
    hash does not match and `_inspect` examines the record.
    """
    known = name in type_names and version <= type_names[name].V
    return b'{"actor":%b,"data":' % orjson.dumps(actor), b'","type":%b,"v":%d}' % (orjson.dumps(name), version) if known else b""


def _inspect(chain: Chain, row: Record, *, at: int, head: bytes) -> tuple[int, bytes]:
    """Examine a record that failed the fast check, and add a finding to `chain` if it is wrong.

    `at` is the number it should have, `head` the hash of the record before it. Returns the number and hash that the next record must
    follow.
    """
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
    """Return the hash that the record should have if it follows a record with the hash `head`; b"" if its text cannot be decoded."""
    seq, id_, ts, type_, version, actor, data, _ = row
    try:
        record = RecordHead(stream, seq, id_.decode(), ts.decode(), type_.decode(), version, actor.decode())
        return hash_record(head.decode(), record_text(record, data.decode())).encode()
    except UnicodeDecodeError:
        return b""
