"""The rows that are written to the mirror: one class for each table, its fields the columns that the portal gives."""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple


class DealRow(NamedTuple):
    id: int
    funnel: int
    stage: str
    semantics: str
    person: int | None
    company: int | None
    contact: int | None
    lead: int | None
    source: str | None
    type: str | None
    currency: str | None
    amount: int | None
    probability: int | None
    created: int
    modified: int
    moved: int | None
    active: int | None
    expected: str | None


class LeadRow(NamedTuple):
    id: int
    stage: str
    semantics: str
    person: int | None
    company: int | None
    source: str | None
    currency: str | None
    amount: int | None
    created: int
    modified: int
    moved: int | None
    closed: int | None


class ItemRow(NamedTuple):
    type: int
    id: int
    funnel: int
    stage: str | None
    person: int | None
    company: int | None
    deal: int | None
    source: str | None
    currency: str | None
    amount: int | None
    created: int
    modified: int
    moved: int | None
    expected: str | None


class ActivityRow(NamedTuple):
    id: int
    owner_type: int
    owner: int
    type: int
    provider: str | None
    person: int | None
    direction: int | None
    created: int
    started: int | None
    deadline: int | None
    is_done: int
    modified: int


class CallRow(NamedTuple):
    id: int
    person: int | None
    direction: int
    code: str | None
    seconds: int
    started: int
    owner_type: int | None
    owner: int | None


class TaskRow(NamedTuple):
    id: int
    person: int | None
    author: int | None
    status: int
    created: int
    modified: int
    deadline: int | None
    done: int | None


class MoveRow(NamedTuple):
    id: int
    deal: int
    type: int
    funnel: int
    stage: str
    semantics: str
    entered: int


class ChoiceRow(NamedTuple):
    kind: str
    record: int
    field: str
    value: str


class StageRow(NamedTuple):
    kind: str
    funnel: int
    code: str
    sort: int
    semantics: str


class PersonRow(NamedTuple):
    id: int
    department: int | None
    is_active: int


class RateRow(NamedTuple):
    """`rate` is the price of one unit in the base currency, as decimal text."""

    currency: str
    rate: str
    is_base: int
    updated: str | None


BASED_TABLES: Final = ("deal", "item", "lead")
"""Those with a sum in the base currency."""


@dataclass(frozen=True, slots=True)
class RecordTable:
    """Where the rows of a kind of records lie; `type` is the entityTypeId of `item`, 0 for all others."""

    name: str
    row: type[tuple[Any, ...]]
    columns: tuple[str, ...]
    type: int = 0

    @property
    def where(self) -> str:
        return f"type = {self.type}" if self.type else "TRUE"


TABLES_BY_KIND: Final = {
    "deal": RecordTable("deal", DealRow, DealRow._fields),
    "lead": RecordTable("lead", LeadRow, LeadRow._fields),
    "activity": RecordTable("activity", ActivityRow, ActivityRow._fields),
    "call": RecordTable("call", CallRow, CallRow._fields),
    "task": RecordTable("task", TaskRow, TaskRow._fields),
    "move": RecordTable("move", MoveRow, MoveRow._fields),
}


def find_table(kind: str) -> RecordTable:
    """`kind` is "deal", "lead", "activity", "call", "task", "move", or "item:<type>". Raises KeyError."""
    name, _, number = kind.partition(":")
    return RecordTable("item", ItemRow, ItemRow._fields, int(number)) if name == "item" else TABLES_BY_KIND[kind]
