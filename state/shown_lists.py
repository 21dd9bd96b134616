"""The lists that a person saw in an answer, as the session's state and events keep them: numbered rows with the records they stand for."""

from dataclasses import dataclass
from typing import Any, Final

from state.stored import JsonObject

KEEP_ROWS: Final = 30
"""The most rows that are kept of a list."""
KEEP_IN_ANSWER: Final = 60
"""The most rows that are kept of all lists of one answer."""
QUESTION: Final = "question"
"""The place of the options of a question; its rows can be named by their numbers like those of a list."""
PROPOSED: Final = "proposed"
"""The place of the changes that an answer proposed, which is no list that a person reads."""


@dataclass(frozen=True, slots=True)
class ShownRow:
    """One row of a list: the key of its record ("deal:481"), "" if it stands for none, and its text, which customers may have written."""

    record: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownList:
    """A list as a person saw it. `total` is the number of rows of the whole list, of which `rows` are the first.

    `place` is the step of the turn that read the list ("2.1"), or `QUESTION` or `PROPOSED`.
    """

    place: str
    total: int
    rows: tuple[ShownRow, ...]

    @property
    def has_records(self) -> bool:
        """Whether any row stands for a record."""
        return any(row.record for row in self.rows)

    @classmethod
    def from_stored(cls, data: JsonObject) -> "ShownList":
        """Return the list from its JSON data."""
        rows = tuple(ShownRow(record, label) for record, label in data.get("rows", ()))
        return cls(place=data.get("place", ""), total=data.get("total", 0), rows=rows)

    def to_stored(self) -> dict[str, Any]:
        """Return the list as JSON data."""
        return {"place": self.place, "total": self.total, "rows": [[row.record, row.label] for row in self.rows]}


def find_last_shown(lists: list[ShownList]) -> ShownList | None:
    """Return the one of an answer's lists to which numbers of rows refer: the last one with records, else the last; None for none."""
    read = [one for one in lists if one.place not in {PROPOSED, QUESTION}]
    return next((one for one in reversed(read) if one.has_records), read[-1] if read else None)


def find_question(lists: list[ShownList]) -> ShownList | None:
    """Return the options of the question with which an answer ended, if they are records; None if there are none."""
    return next((one for one in lists if one.place == QUESTION and one.has_records), None)
