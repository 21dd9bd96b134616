"""What a check of journal, logs and archives has found (ring 1): one record for all of them, so that ops read one table."""

from dataclasses import dataclass
from typing import Literal

FindingKind = Literal["damaged", "cut", "missing", "unreadable", "inconsistent", "note"]
"""damaged: not as it was written; cut: the end is gone; missing: a piece between two others, or a whole file, is gone; unreadable: the
file or database does not open; inconsistent: whole, but two places contradict each other; note: nothing wrong, worth knowing."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing found. `place` is a stream or a user's log, `file` and `offset` (bytes) where it stands on disk, when that is known."""

    kind: FindingKind
    place: str
    why: str
    file: str = ""
    offset: int | None = None
    seq: int | None = None
