from dataclasses import dataclass
from typing import Literal

FindingKind = Literal["damaged", "cut", "missing", "unreadable", "inconsistent", "note"]
"""cut: the end is gone; missing: a piece or file is gone; unreadable: it does not open; inconsistent: intact, but two places contradict
each other; note: no fault.
"""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """`place` is a stream or log; `file` and `offset` (bytes) are its place on disk."""

    kind: FindingKind
    place: str
    why: str
    file: str = ""
    offset: int | None = None
    seq: int | None = None
