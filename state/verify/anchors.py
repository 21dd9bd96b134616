"""Anchors (ring 1): where every stream and log stood at a moment, as one line to keep where the journal's writer cannot rewrite it.

A chain alone does not notice that its end is gone or that all of it was written anew; compared with an anchor it does.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from state.canonical import dumps, sha256
from state.clock import iso
from state.findings import Finding
from state.log_archives import logs_in
from state.log_locks import head_in, lock_path
from state.store import Store

VERSION = 1
Heads = Mapping[str, tuple[int, str]]


class NoAnchor(ValueError):
    """A file holds no anchor, or one that was changed."""


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """The heads of streams and logs (number and hash of the last record) at a moment."""

    at: str
    streams: Heads
    logs: Heads

    @property
    def digest(self) -> str:
        """One SHA-256 over all of it."""
        return sha256(dumps([self.at, self.streams, self.logs]))

    def line(self) -> str:
        """The anchor as one line of JSON."""
        return dumps({"anchor": VERSION, "at": self.at, "digest": self.digest, "streams": self.streams, "logs": self.logs})

    def short(self) -> str:
        """Only what proves a line that is kept elsewhere."""
        return dumps({"anchor": VERSION, "at": self.at, "digest": self.digest})


def taken(store: Store, logs: Path, now: datetime) -> Anchor:
    """Where everything stands now; StoreUnwritable where the database cannot be read."""
    return Anchor(at=iso(now), streams={stream: (seq, hash_) for stream, seq, hash_ in store.heads()}, logs=_log_heads(logs))


def read_anchors(text: str) -> list[Anchor]:
    """The anchors in a file, oldest first, whatever a syslog wrote before each; NoAnchor where there is none or one was changed."""
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        begin = line.find('{"anchor":')
        if begin >= 0:
            found.append(_read(line[begin:], number))
    whole = [anchor for anchor in found if anchor is not None]
    if not whole:
        raise NoAnchor("the file holds no anchor")
    return whole


def wanted(anchors: Sequence[Anchor]) -> dict[str, list[tuple[int, str]]]:
    """By stream: every record that an anchor names."""
    found: dict[str, list[tuple[int, str]]] = {}
    for anchor in anchors:
        for stream, head in anchor.streams.items():
            if head not in found.setdefault(stream, []):
                found[stream].append(head)
    return found


def log_findings(anchors: Sequence[Anchor], folder: Path) -> Iterator[Finding]:
    """Logs that stand behind an anchor, or elsewhere at its very number. That a log's own chain leads to its head is another check."""
    present = _log_heads(folder)
    for anchor in anchors:
        for name, (number, hash_) in anchor.logs.items():
            now, present_hash = present.get(name, (0, ""))
            if now < number:
                why = f"the log ends at {now}, it was anchored at {number}"
                yield Finding(kind="cut", place=name, seq=now + 1, why=why, file=str(folder / name))
            elif now == number and present_hash != hash_:
                why = f"record {number} is not the one that was anchored"
                yield Finding(kind="damaged", place=name, seq=number, why=why, file=str(folder / name))


def _read(text: str, number: int) -> Anchor | None:
    """None for a short one, which proves another line and cannot be checked alone."""
    try:
        held: dict[str, Any] = orjson.loads(text)
        if held["anchor"] > VERSION:
            raise NoAnchor(f"line {number} was written by a newer version of this program")
        if "streams" not in held:
            return None
        anchor = Anchor(at=held["at"], streams=_heads(held["streams"]), logs=_heads(held["logs"]))
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise NoAnchor(f"line {number} is no anchor: {error}") from None
    if anchor.digest != held["digest"]:
        raise NoAnchor(f"line {number} was changed: its digest does not fit")
    return anchor


def _heads(held: Any) -> Heads:
    return {str(name): (int(seq), str(hash_)) for name, (seq, hash_) in held.items()}


def _log_heads(folder: Path) -> dict[str, tuple[int, str]]:
    if not folder.is_dir():
        return {}
    found = {}
    for log in logs_in(folder):
        path = lock_path(log)
        head = head_in(path.read_bytes()) if path.exists() else None
        if head is not None:
            found[log.name] = (head.n, head.hash)
    return found
