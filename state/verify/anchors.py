"""An anchor is a line with the last record of every stream at one moment.

Kept elsewhere, it shows that a chain was cut off or rewritten.
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
    pass


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """The heads (seq and hash of the last record) of all streams at `at`."""

    at: str
    streams: Heads
    logs: Heads = field(default_factory=dict)
    """Older versions chained the logs; only the digest depends on them."""

    @property
    def digest(self) -> str:
        return hash_text(dumps([self.at, self.streams, self.logs]))

    def render_line(self) -> str:
        return dumps({"anchor": VERSION, "at": self.at, "digest": self.digest, "streams": self.streams, "logs": self.logs})

    def render_short(self) -> str:
        """Return time and digest: proof that the line of `render_line` is unchanged."""
        return dumps({"anchor": VERSION, "at": self.at, "digest": self.digest})


def take_anchor(store: Store, now: datetime) -> Anchor:
    """Raises StoreUnwritable."""
    return Anchor(at=format_iso(now), streams={stream: (seq, hash_) for stream, seq, hash_ in store.list_heads()})


def read_anchors(text: str) -> list[Anchor]:
    """Skip what a syslog wrote before. Raises NoAnchor for none or a changed one."""
    anchors = []
    for number, line in enumerate(text.splitlines(), start=1):
        begin = line.find('{"anchor":')
        if begin >= 0:
            anchors.append(_parse_anchor(line[begin:], number))
    whole = [anchor for anchor in anchors if anchor is not None]
    if not whole:
        raise NoAnchor("the file holds no anchor")
    return whole


def group_by_stream(anchors: Sequence[Anchor]) -> dict[str, list[tuple[int, str]]]:
    """Return heads by stream, each once."""
    heads_by_stream: dict[str, list[tuple[int, str]]] = {}
    for anchor in anchors:
        for stream, head in anchor.streams.items():
            if head not in heads_by_stream.setdefault(stream, []):
                heads_by_stream[stream].append(head)
    return heads_by_stream


def _parse_anchor(text: str, number: int) -> Anchor | None:
    """Return None for a line of `render_short`. Raises NoAnchor."""
    try:
        fields: dict[str, Any] = orjson.loads(text)
        if fields["anchor"] > VERSION:
            raise NoAnchor(f"line {number} was written by a newer version of this program")
        if "streams" not in fields:
            return None
        anchor = Anchor(at=fields["at"], streams=_parse_heads(fields["streams"]), logs=_parse_heads(fields["logs"]))
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise NoAnchor(f"line {number} is no anchor: {error}") from None
    if anchor.digest != fields["digest"]:
        raise NoAnchor(f"line {number} was changed: its digest does not fit")
    return anchor


def _parse_heads(heads: Any) -> Heads:
    return {str(name): (int(seq), str(hash_)) for name, (seq, hash_) in heads.items()}
