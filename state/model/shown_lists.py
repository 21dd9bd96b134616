from dataclasses import dataclass, field, replace
from typing import Any, Final

from state.stored import JsonObject

KEEP_ROWS: Final = 30
KEEP_IN_ANSWER: Final = 60
QUESTION: Final = "question"
PROPOSED: Final = "proposed"
"""The place of the changes that an answer proposed; no list that a person reads."""


@dataclass(frozen=True, slots=True)
class ShownRow:
    """`record` is a key ("deal:481", "" for none); customers may have written `label`."""

    record: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownList:
    """The first rows of `total`; `place` is a step ("2.1"), `QUESTION` or `PROPOSED`."""

    place: str
    total: int
    rows: tuple[ShownRow, ...]
    first: int = 1
    """A further page goes on counting."""
    method: str = ""
    """The call with which `by` can read on; "" for none."""
    params: JsonObject = field(default_factory=dict)
    by: str = ""
    limit: int = 0
    """So many rows of what the call reads are the list; 0 for all."""
    fields: tuple[str, ...] = ()
    """The columns that were shown."""

    @property
    def has_records(self) -> bool:
        return any(row.record for row in self.rows)

    @classmethod
    def from_stored(cls, data: JsonObject) -> "ShownList":
        rows = tuple(ShownRow(record, label) for record, label in data.get("rows", ()))
        call = {"method": data.get("method", ""), "params": data.get("params", {}), "by": data.get("by", "")}
        call |= {"fields": tuple(data.get("fields", ())), "limit": data.get("limit", 0)}
        return cls(place=data.get("place", ""), total=data.get("total", 0), rows=rows, first=data.get("first", 1), **call)

    def to_stored(self) -> dict[str, Any]:
        more = {"first": self.first if self.first > 1 else 0, "method": self.method, "params": self.params, "by": self.by}
        more |= {"fields": list(self.fields), "limit": self.limit}
        rows = [[row.record, row.label] for row in self.rows]
        return {"place": self.place, "total": self.total, "rows": rows, **{name: value for name, value in more.items() if value}}

    def join(self, before: "ShownList | None") -> "ShownList":
        """Put the rows of earlier pages in front, if this list continues them."""
        if before is None or self.first == 1 or before.first + len(before.rows) != self.first:
            return self
        if (before.method, before.params, before.by) != (self.method, self.params, self.by):
            return self
        rows = (*before.rows, *self.rows)[-KEEP_IN_ANSWER:]
        return replace(self, rows=rows, first=self.first + len(self.rows) - len(rows))


def find_last_shown(lists: list[ShownList]) -> ShownList | None:
    """Return the list that row numbers refer to."""
    read = [one for one in lists if one.place not in {PROPOSED, QUESTION}]
    return next((one for one in reversed(read) if one.has_records), read[-1] if read else None)


def find_question(lists: list[ShownList]) -> ShownList | None:
    return next((one for one in lists if one.place == QUESTION and one.has_records), None)
