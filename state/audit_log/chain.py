"""The hash chain of an audit log: each record carries its number, the hash of the previous record and its own hash.

Reads and writes no file.

A line ends in `,"chain":{"n":17,"prev":"<64 hex>","hash":"<64 hex>"}}`; the hash is the SHA-256 of all bytes of the line before `,"hash"`.
"""

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import NamedTuple

FIELD = "chain"
NOTHING = "0" * 64
"""The `prev` of the first record."""

_TAIL = re.compile(rb',"chain":\{"n":([1-9]\d{0,14}),"prev":"([0-9a-f]{64})","hash":"([0-9a-f]{64})"\}\}\n\Z')
_LONGEST_TAIL = 14 + 15 + 9 + 64 + 10 + 64 + 4
_AFTER_HASHED = len(',"hash":"') + 64 + len('"}}\n')


class Link(NamedTuple):
    """The place of one record in the hash chain: its number, the hash of the record before it, and its own hash."""

    n: int
    prev: str
    hash: str


class Head(NamedTuple):
    """The end of a log: number `n` and `hash` of its last record, and the `size` in bytes of the live file (the one written to)."""

    n: int
    hash: str
    size: int


EMPTY = Head(0, NOTHING, 0)


def add_link(record: bytes, head: Head) -> tuple[bytes, Head]:
    """Return the line for `record` as the one that follows `head` (the end of the log so far), and the new head.

    `record` is a JSON object with at least one key; the line has the member "chain" in addition. The `size` of the new head is still that
    of `head`: the caller sets it after writing the line.
    """
    n = head.n + 1
    hashed = b'%b,"chain":{"n":%d,"prev":"%b"' % (record.rstrip(b"\n")[:-1], n, head.hash.encode())
    own = sha256(hashed).hexdigest()
    return b'%b,"hash":"%b"}}\n' % (hashed, own.encode()), Head(n, own, head.size)


def parse_link(line: bytes) -> Link | None:
    """Return the link (number and hashes) at the end of a complete line, if the line's bytes match its hash; None for every other line."""
    found = _TAIL.search(line, max(0, len(line) - _LONGEST_TAIL))
    if found is None or sha256(line[:-_AFTER_HASHED]).hexdigest().encode() != found[3]:
        return None
    return Link(int(found[1]), found[2].decode(), found[3].decode())


def move_head(head: Head, lines: Iterable[bytes]) -> Head:
    """Return the head, that is, number and hash of the log's last record, after the lines that were written since `head` was stored.

    A line counts if its record follows the last one: with the next number and with the hash of that record in its link. All other lines are
    skipped. The `size` of the result is that of `head`.
    """
    for line in lines:
        link = parse_link(line)
        if link is not None and (link.n, link.prev) == (head.n + 1, head.hash):
            head = Head(link.n, link.hash, head.size)
    return head


def find_ends(lines: Iterable[bytes]) -> tuple[Link, Link] | None:
    """Return the links (number and hashes) of the first and the last numbered record in `lines`; None if no line has a link."""
    first = last = None
    for line in lines:
        link = parse_link(line)
        if link is not None:
            first, last = first or link, link
    return (first, last) if first and last else None
