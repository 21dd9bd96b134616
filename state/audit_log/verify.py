"""Verifies audit logs: the hash chain, each archive byte by byte, and the log's end against the head stored in the lock file. Read-only.

The offset in a finding counts the bytes of the file; for a record inside an archive it counts those of the unpacked text, and the finding
says so.
"""

import io
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import orjson

from state.audit_log.archives import (
    HEADER,
    ArchiveEntry,
    Ledger,
    Segment,
    build_ledger_path,
    list_logs,
    list_segments,
    pack_text,
    read_ledger,
)
from state.audit_log.chain import FIELD, NOTHING, Head, Link, find_ends, parse_link
from state.audit_log.log_files import build_archive_lock_path, build_lock_path, hold_shared_lock, parse_head, resolve_log
from state.audit_log.records import parse_user
from state.findings import Finding, FindingKind

_TRAILER = 8


@dataclass(frozen=True, kw_only=True)
class _Files:
    """All files of one log, read into memory at one moment."""

    log: Path
    parts: tuple[tuple[Segment | None, bytes], ...]
    """(segment, or None for the live file; its bytes), oldest first."""
    head: Head | None
    ledger: Ledger | None
    """The list of the log's archives; None if it is damaged, in which case no finding depends on it."""
    troubles: tuple[Finding, ...]


def verify_logs(folder: Path) -> Iterator[Finding]:
    """Yield a finding for everything in `folder` that is damaged, cut, missing or out of order. Intact logs yield nothing."""
    if not folder.is_dir():
        return
    for log in list_logs(folder):
        yield from verify_log(log)


def verify_log(log: Path) -> Iterator[Finding]:
    """Yield the findings about one log, archives included."""
    place = parse_user(log)
    try:
        files = _read_files(log)
    except (OSError, TimeoutError) as error:
        yield Finding(kind="unreadable", place=place, why=f"the log cannot be read: {error}", file=log.name)
        return
    yield from files.troubles
    walk = _LogChecker(place, files)
    for segment, data in files.parts:
        name = segment.path.name if segment else files.log.name
        text = data
        if segment and segment.is_packed:
            text, findings = unpack_archive(data, name=name, place=place, known=files.ledger.archives.get(name) if files.ledger else None)
            yield from findings or _check_unlisted(files, segment, text)
        yield from walk.check_file(text, name, packed=segment is not None and segment.is_packed)
    yield from walk.check_end()


def _check_unlisted(files: _Files, segment: Segment, text: bytes) -> Iterator[Finding]:
    """Yield a finding if the ledger (the list of the log's archives) does not list the archive `segment`.

    No finding is yielded if the archive is being compressed or removed, or was made before the program kept ledgers. `text` is its unpacked
    content.
    """
    ledger, name = files.ledger, segment.path.name
    if ledger is None or not ledger.archives or name in ledger.archives or segment.path.with_suffix("").exists():
        return
    found = find_ends(io.BytesIO(text))
    if found is not None and found[1].n >= ledger.first:
        why = "the ledger knows no archive of this name: it was renamed or put here"
        yield Finding(kind="inconsistent", place=parse_user(files.log), why=why, file=name, seq=found[0].n)


def unpack_archive(data: bytes, *, name: str, place: str, known: ArchiveEntry | None) -> tuple[bytes, list[Finding]]:
    """Return the content of an archive as far as it can be unpacked, and the findings about its bytes.

    `name` is the archive's file name and `place` the log's user, both for the findings. `known` is the entry for the archive in the list of
    archives, with the checksum that the bytes should have; None if there is no entry.
    """
    text, trouble = _inflate(data)
    if trouble is None and known is not None and sha256(data).hexdigest() != known.sha256:
        offset = _find_difference(data, pack_text(text))
        trouble = ("damaged", offset, "its bytes are not those that were written, though they unpack")
    if trouble is None:
        return text, []
    kind, offset, why = trouble
    return text, [Finding(kind=kind, place=place, why=why, file=name, offset=offset)]


def _inflate(data: bytes) -> tuple[bytes, tuple[FindingKind, int, str] | None]:
    header = data[: len(HEADER)]
    if header != HEADER:
        if HEADER.startswith(header):
            return b"", ("cut", len(data), "the archive ends within its header")
        offset = _find_difference(header, HEADER)
        return _inflate_raw(data)[0], ("damaged", offset, "the header of the archive is not as we write it")
    text, end = _inflate_raw(data)
    if end is None:
        return text, ("cut", len(data), "the archive ends too early")
    if end < 0:
        return text, ("damaged", _find_break(data), "the archive cannot be unpacked from here on")
    trailer = data[end : end + _TRAILER]
    wanted = zlib.crc32(text).to_bytes(4, "little") + (len(text) & 0xFFFFFFFF).to_bytes(4, "little")
    if len(trailer) < _TRAILER:
        return text, ("cut", len(data), "the archive ends within its checksum")
    if trailer != wanted:
        return text, ("damaged", end + _find_difference(trailer, wanted), "content and checksum of the archive differ")
    if len(data) > end + _TRAILER:
        return text, ("damaged", end + _TRAILER, "something was added behind the end of the archive")
    return text, None


def _inflate_raw(data: bytes) -> tuple[bytes, int | None]:
    """Return the content as far as it unpacks, and the offset in `data` at which the compressed part ends.

    The offset is None if the compressed part is cut off, and -1 if it is damaged.
    """
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        text = stream.decompress(data[len(HEADER) :])
    except zlib.error:
        return _inflate_partly(data)[0], -1
    return text, len(data) - len(stream.unused_data) if stream.eof else None


def _inflate_partly(data: bytes) -> tuple[bytes, int]:
    """Unpack byte by byte; return the content and the offset of the first byte that cannot be unpacked."""
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    text = bytearray()
    for offset in range(len(HEADER), len(data)):
        try:
            text += stream.decompress(data[offset : offset + 1])
        except zlib.error:
            return bytes(text), offset
    return bytes(text), len(data)


def _find_break(data: bytes) -> int:
    return _inflate_partly(data)[1]


def _find_difference(one: bytes, other: bytes) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((offset for offset, (a, b) in pairs if a != b), min(len(one), len(other)))


def _read_files(log: Path) -> _Files:
    """Read all files as of one moment: nobody writes, renames or compresses files while they are read into memory."""
    with ExitStack() as locks:
        locks.enter_context(hold_shared_lock(build_archive_lock_path(log)))
        locks.enter_context(hold_shared_lock(build_lock_path(log)))
        place = resolve_log(log)
        segments = list_segments(place)
        troubles: list[Finding] = []
        ledger: Ledger | None
        try:
            ledger = read_ledger(place)
        except ValueError as error:
            ledger = None
            troubles.append(Finding(kind="damaged", place=parse_user(log), why=str(error), file=build_ledger_path(log).name, offset=0))
        if build_ledger_path(place).with_suffix(".damaged").exists():
            why = "the ledger was damaged once, and begun anew with the archives that were there; this is a copy of it"
            troubles.append(
                Finding(kind="note", place=parse_user(log), why=why, file=build_ledger_path(place).with_suffix(".damaged").name)
            )
        head, trouble = _read_head(place)
        troubles += trouble
        parts: list[tuple[Segment | None, bytes]] = [(segment, segment.path.read_bytes()) for segment in segments]
        if place.exists():
            parts.append((None, place.read_bytes()))
    return _Files(log=log, parts=tuple(parts), head=head, ledger=ledger, troubles=tuple(troubles))


def _read_head(log: Path) -> tuple[Head | None, list[Finding]]:
    path = build_lock_path(log)
    text = path.read_bytes() if path.exists() else b""
    head = parse_head(text)
    if head is None and text:
        return None, [
            Finding(
                kind="damaged",
                place=parse_user(log),
                why="the head in the lock file is damaged; the records themselves are checked by their own chain",
                file=path.name,
                offset=0,
            )
        ]
    return head, []


class _BadLine(NamedTuple):
    """A line of a log file that a finding is about, with its place. Usually the line is not a valid record of the chain.

    If the file is an archive, `packed` is True and `offset` counts in the unpacked text.
    """

    file: str
    offset: int
    packed: bool
    whole: bool
    """Whether the line ends with a newline."""
    readable: bool
    """Whether the line is a whole JSON record that only lacks number and hash."""


class _LogChecker:
    """Walks one log from its oldest record to its newest, and reports each record that does not continue the chain."""

    def __init__(self, place: str, files: _Files) -> None:
        self._place = place
        self._files = files
        self._n = files.ledger.first - 1 if files.ledger else 0
        self._hash = files.ledger.prev if files.ledger else NOTHING
        self._begun = False
        self._aside: Link | None = None
        """A record that repeats an earlier number; if the next record follows it, the walk continues from it."""
        self._bare = 0
        self._bad: list[_BadLine] = []
        self._end = ("", 0)

    def check_file(self, text: bytes, name: str, *, packed: bool) -> Iterator[Finding]:
        """Continue the check with the content of the next file, and yield the findings about its lines.

        `packed` says that the file `name` is an archive, of which `text` is the unpacked content.
        """
        offset = 0
        for line in io.BytesIO(text):
            link = parse_link(line)
            if link is None:
                self._add_bad_line(line, _BadLine(name, offset, packed, line.endswith(b"\n"), readable=False))
            elif link.prev == self._hash and link.n == self._n + 1 and not self._bad:
                self._step(link)
            else:
                yield from self._check_out_of_order(link, _BadLine(name, offset, packed, whole=True, readable=True))
            if link is not None and self._files.head is not None and link.n == self._files.head.n and link.hash != self._files.head.hash:
                yield self._build_finding(
                    "inconsistent", "this is not the record that the head in the lock file tells of", (name, offset), link.n
                )
            offset += len(line)
        self._end = (name, offset)

    def check_end(self) -> Iterator[Finding]:
        """Yield the findings about the end of the log, which must be the record that the head in the lock file names."""
        head = self._files.head
        missing = head.n - self._n if head else 0
        if self._bad:
            yield self._build_bad_end(missing)
        elif missing > 0 and not self._files.parts:
            yield self._build_finding(
                "missing", "all files of the log are gone, only its head is left", (self._files.log.name, None), self._n + 1
            )
        elif missing > 0:
            yield self._build_finding("cut", f"{_format_records(self._n + 1, self._n + missing)} gone from the end", self._end, self._n + 1)
        if head is None and self._n > 1 and all(trouble.kind == "note" for trouble in self._files.troubles):
            why = "the head of the log is gone, so that nobody can tell whether its end is"
            yield self._build_finding("missing", why, (build_lock_path(self._files.log).name, None), self._n)
        if self._bare:
            why = f"{self._bare} records are unchained, from before numbering began: whether they were changed cannot be told"
            yield self._build_finding("note", why, (self._files.log.name, None), None)

    def _step(self, link: Link) -> None:
        self._begun, self._aside = True, None
        self._n, self._hash = link.n, link.hash
        self._bad = []

    def _add_bad_line(self, line: bytes, bad: _BadLine) -> None:
        readable = _is_record(line)
        if readable and not self._begun and (self._files.ledger is None or self._files.ledger.first == 1) and not self._bad:
            self._bare += 1
        else:
            self._bad.append(bad._replace(readable=readable))

    def _check_out_of_order(self, link: Link, at: _BadLine) -> Iterator[Finding]:
        """Yield the findings about an intact record that does not directly follow the last accepted one.

        `link` holds the record's number and hashes, `at` says where it is. Also decides whether the check continues from this record or
        still from the last accepted one.
        """
        gap = link.n - self._n - 1
        where = (at.file, at.offset)
        if self._aside and (link.prev, link.n) == (self._aside.hash, self._aside.n + 1):
            self._step(link)
        elif not self._begun and (gap < 0 or (self._files.ledger is None and not self._bad)):
            self._step(link)  # one archive more than the ledger keeps, or no ledger that says where the log begins
        elif gap < 0:
            yield self._build_finding("inconsistent", f"the number {link.n} stands here again", where, link.n)
            self._aside = link
        else:
            yield self._describe_gap(link, gap, at)
            self._step(link)

    def _describe_gap(self, link: Link, gap: int, at: _BadLine) -> Finding:
        """Build the finding about the gap of `gap` missing numbers between the last accepted record and a later one.

        `link` holds the number and hashes of the later record. If `gap` is 0, its number is right, but extra lines stand before it or its
        previous hash is wrong.
        """
        if self._bad and gap:
            return self._build_damage(gap)
        if self._bad and link.prev == self._hash:
            return self._build_surplus()
        if not gap:
            return self._build_finding("inconsistent", f"record {link.n} does not follow the one before it", (at.file, at.offset), link.n)
        present = {segment.path.name for segment, _ in self._files.parts if segment}
        archives = self._files.ledger.archives.items() if self._files.ledger else ()
        gone = next((name for name, entry in archives if entry.first == self._n + 1 and name not in present), None)
        why = f"{_format_records(self._n + 1, link.n - 1)} missing{' with their archive' if gone else ' in front of this one'}"
        return self._build_finding("missing", why, (gone, None) if gone else (at.file, at.offset), self._n + 1)

    def _build_damage(self, gap: int) -> Finding:
        first = self._bad[0]
        why = f"{_format_records(self._n + 1, self._n + gap)} not as written{_format_bad_line(first)}"
        return self._build_finding("damaged", why, (first.file, first.offset), self._n + 1)

    def _build_surplus(self) -> Finding:
        """Build the finding about extra lines: no record is missing, but between two records, or at the end, stand lines without a number.

        Such a line is a record that lacks a valid number, or half a record.
        """
        first = self._bad[0]
        forged = any(bad.readable for bad in self._bad)
        kind: FindingKind = "inconsistent" if forged else "note"
        why = "a record without a number stands among numbered ones" if forged else "half a record, which its writer never finished"
        return self._build_finding(kind, f"{why}{_format_bad_line(first)}; no numbered one is missing", (first.file, first.offset), None)

    def _build_bad_end(self, missing: int) -> Finding:
        if missing <= 0:
            return self._build_surplus()
        if self._bad[-1].whole:
            return self._build_damage(missing)
        first = self._bad[0]
        why = f"the log ends in the middle of record {self._n + 1}{_format_bad_line(first)}; its head says {self._n + missing}"
        return self._build_finding("cut", why, (first.file, first.offset), self._n + 1)

    def _build_finding(self, kind: FindingKind, why: str, where: tuple[str, int | None], seq: int | None) -> Finding:
        return Finding(kind=kind, place=self._place, why=why, file=where[0], offset=where[1], seq=seq)


def _is_record(line: bytes) -> bool:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return isinstance(found, dict) and FIELD not in found and line.endswith(b"\n")


def _format_records(first: int, last: int) -> str:
    return f"record {first} is" if first == last else f"records {first} to {last} are"


def _format_bad_line(bad: _BadLine) -> str:
    return " (the offset counts in the unpacked text)" if bad.packed else ""
