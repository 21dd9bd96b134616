"""Anchors: an anchor is a line of text with the number and hash of the last record of every event stream at one moment.

It is to be kept where nobody who can write the journal can change it. A hash chain alone does not show that its end was cut off
or that all of it was rewritten, but a comparison with an anchor does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from state.canonical import dumps, hash_text
from state.clock import format_iso
from state.journal.store import Store

VERSION = 1
Heads = Mapping[str, tuple[int, str]]


class NoAnchor(ValueError):
    """Raised if a file holds no anchor (a line with the last record of each stream), or one that was changed."""


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """The heads of all event streams at the time `at`, to compare the journal with later.

    A head is the number and hash of the last record.
    """

    at: str
    streams: Heads
    logs: Heads = field(default_factory=dict)
    """The last records of the audit logs, which older versions chained; only the digest depends on them."""

    @property
    def digest(self) -> str:
        """The SHA-256 over the time and all heads (last records) of the anchor, in hex."""
        return hash_text(dumps([self.at, self.streams, self.logs]))

    def render_line(self) -> str:
        """Return the anchor, with the heads (last records) of all streams, as one line of JSON."""
        return dumps({"anchor": VERSION, "at": self.at, "digest": self.digest, "streams": self.streams, "logs": self.logs})

    def render_short(self) -> str:
        """Return a line of JSON with only the time and the digest.

        It proves that the line of `render_line`, stored elsewhere, is unchanged.
        """
        return dumps({"anchor": VERSION, "at": self.at, "digest": self.digest})


def take_anchor(store: Store, now: datetime) -> Anchor:
    """Return an anchor: the number and hash of the last record that each stream has now.

    Raises StoreUnwritable if the database cannot be read.
    """
    return Anchor(at=format_iso(now), streams={stream: (seq, hash_) for stream, seq, hash_ in store.list_heads()})


def read_anchors(text: str) -> list[Anchor]:
    """Return the anchors in `text`, the content of a file with one on each line, in the order of the lines.

    What a syslog wrote before an anchor is skipped. Raises NoAnchor if there is no anchor or one was changed.
    """
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        begin = line.find('{"anchor":')
        if begin >= 0:
            found.append(_parse_anchor(line[begin:], number))
    whole = [anchor for anchor in found if anchor is not None]
    if not whole:
        raise NoAnchor("the file holds no anchor")
    return whole


def group_by_stream(anchors: Sequence[Anchor]) -> dict[str, list[tuple[int, str]]]:
    """Return by stream the heads that the anchors name, each once: number and hash of what was then the last record."""
    found: dict[str, list[tuple[int, str]]] = {}
    for anchor in anchors:
        for stream, head in anchor.streams.items():
            if head not in found.setdefault(stream, []):
                found[stream].append(head)
    return found


def _parse_anchor(text: str, number: int) -> Anchor | None:
    """Return the anchor (last record of each stream) in a line of a file; None for a line of `render_short`.

    Raises NoAnchor, naming the line's `number`, if the line is invalid or was changed.
    """
    try:
        held: dict[str, Any] = orjson.loads(text)
        if held["anchor"] > VERSION:
            raise NoAnchor(f"line {number} was written by a newer version of this program")
        if "streams" not in held:
            return None
        anchor = Anchor(at=held["at"], streams=_parse_heads(held["streams"]), logs=_parse_heads(held["logs"]))
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise NoAnchor(f"line {number} is no anchor: {error}") from None
    if anchor.digest != held["digest"]:
        raise NoAnchor(f"line {number} was changed: its digest does not fit")
    return anchor


def _parse_heads(held: Any) -> Heads:
    return {str(name): (int(seq), str(hash_)) for name, (seq, hash_) in held.items()}
