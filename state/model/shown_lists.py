"""The lists that a person saw in an answer, as the session's state and events keep them: numbered rows with the records they stand for."""

from dataclasses import dataclass, field, replace
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
    first: int = 1
    """The number of its first row; a further page of a list goes on with the numbers of the pages before it."""
    method: str = ""
    """The call with `params` that read the list for the person `by`, with which it can go on; "" for none."""
    params: JsonObject = field(default_factory=dict)
    by: str = ""

    @property
    def has_records(self) -> bool:
        """Whether any row stands for a record."""
        return any(row.record for row in self.rows)

    @classmethod
    def from_stored(cls, data: JsonObject) -> "ShownList":
        """Return the list from its JSON data."""
        rows = tuple(ShownRow(record, label) for record, label in data.get("rows", ()))
        call = {"method": data.get("method", ""), "params": data.get("params", {}), "by": data.get("by", "")}
        return cls(place=data.get("place", ""), total=data.get("total", 0), rows=rows, first=data.get("first", 1), **call)

    def to_stored(self) -> dict[str, Any]:
        """Return the list as JSON data."""
        more = {"first": self.first if self.first > 1 else 0, "method": self.method, "params": self.params, "by": self.by}
        rows = [[row.record, row.label] for row in self.rows]
        return {"place": self.place, "total": self.total, "rows": rows, **{name: value for name, value in more.items() if value}}

    def join(self, before: "ShownList | None") -> "ShownList":
        """Return the list with the rows of its earlier pages `before`, if it goes on with these; of many rows the last ones."""
        if before is None or self.first == 1 or before.first + len(before.rows) != self.first:
            return self
        if (before.method, before.params, before.by) != (self.method, self.params, self.by):
            return self
        rows = (*before.rows, *self.rows)[-KEEP_IN_ANSWER:]
        return replace(self, rows=rows, first=self.first + len(self.rows) - len(rows))


def find_last_shown(lists: list[ShownList]) -> ShownList | None:
    """Return the one of an answer's lists to which numbers of rows refer: the last one with records, else the last; None for none."""
    read = [one for one in lists if one.place not in {PROPOSED, QUESTION}]
    return next((one for one in reversed(read) if one.has_records), read[-1] if read else None)


def find_question(lists: list[ShownList]) -> ShownList | None:
    """Return the options of the question with which an answer ended, if they are records; None if there are none."""
    return next((one for one in lists if one.place == QUESTION and one.has_records), None)
