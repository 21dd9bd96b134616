"""The result type of all checks of journal, logs and archives: operators see the results of different checks in one list."""

from dataclasses import dataclass
from typing import Literal

FindingKind = Literal["damaged", "cut", "missing", "unreadable", "inconsistent", "note"]
"""damaged: not as it was written; cut: the end is gone; missing: a piece between two others, or a whole file, is gone; unreadable: the file
or database does not open; inconsistent: intact, but two places contradict each other; note: no fault, but worth knowing."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that a check found in a stream or a user's log, which `place` names.

    `file` and `offset` (bytes) say where on disk it is, if known.
    """

    kind: FindingKind
    place: str
    why: str
    file: str = ""
    offset: int | None = None
    seq: int | None = None
