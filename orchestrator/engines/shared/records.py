"""The kinds of records that a definition may work on."""

from typing import Final, Literal, get_args

RecordKind = Literal["deal", "lead", "contact", "company"]
RECORDS: Final[frozenset[str]] = frozenset(get_args(RecordKind))
"""The kinds of records that a workflow can work on."""
