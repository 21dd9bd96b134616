"""A change of many records as one frozen file: what one approval covers, record by record."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from pydantic import Field

from orchestrator.domain.card_view import PreviewPart
from orchestrator.domain.frozen import View
from orchestrator.domain.outputs import Notice
from state.canonical import dumps, hash_text
from state.stored import JsonObject

BULK: Final = "bulk"
"""The kind of the effects that freeze such a file."""
BULK_ENGINE: Final = "bulk_changes"
"""Carries it out."""
CHANGE_ALL: Final = "change.all"
HAND_OVER: Final = "person.handover"
UNDO_ALL: Final = "bulk.undo"
MOST_RECORDS: Final = 5_000
"""More are refused: neither a person nor the portal copes with them."""
PART: Final = 50
"""As many as a batch has commands."""
SAMPLES: Final = 10
PROGRESS: Final = "progress"
"""The message of a run that says how far it is."""

PLACE: Final = re.compile(r"\{([A-Za-z][A-Za-z0-9_]{0,60})\}")
"""Stands for a field of each record in what the records get."""
_ITEMS: Final = "item:"
_LONGEST_TYPE: Final = 6


@dataclass(frozen=True, slots=True)
class RecordKind:
    """What can be changed at once: the list that finds such records, and the call that changes one."""

    entity: str
    list: str
    update: str
    id_param: str
    owner: str
    open_only: Mapping[str, object]
    """What a list of unfinished records asks for."""

    @property
    def type_id(self) -> str:
        """Of a smart process, else ""."""
        return self.entity.removeprefix(_ITEMS) if self.entity.startswith(_ITEMS) else ""

    def build_target(self, number: int) -> dict[str, object]:
        return {**({"entityTypeId": int(self.type_id)} if self.type_id else {}), self.id_param: number}


KINDS: Final[Mapping[str, RecordKind]] = {
    "deals": RecordKind("deal", "crm.deal.list", "crm.deal.update", "id", "ASSIGNED_BY_ID", {"CLOSED": "N"}),
    "leads": RecordKind("lead", "crm.lead.list", "crm.lead.update", "id", "ASSIGNED_BY_ID", {"STATUS_SEMANTIC_ID": "P"}),
    "contacts": RecordKind("contact", "crm.contact.list", "crm.contact.update", "id", "ASSIGNED_BY_ID", {}),
    "companies": RecordKind("company", "crm.company.list", "crm.company.update", "id", "ASSIGNED_BY_ID", {}),
    "tasks": RecordKind("task", "tasks.task.list", "tasks.task.update", "taskId", "RESPONSIBLE_ID", {"<REAL_STATUS": 5}),
    "activities": RecordKind("activity", "crm.activity.list", "crm.activity.update", "id", "RESPONSIBLE_ID", {"COMPLETED": "N"}),
}
CHANGEABLE: Final = (*(name for name in KINDS if name != "activities"), "item:N")
"""Activities only change hands with a person's other work."""


def find_record_kind(name: str) -> RecordKind | None:
    """By what a step counts: "deals", "item:177"."""
    number = name.removeprefix(_ITEMS)
    if name.startswith(_ITEMS) and number.isascii() and number.isdecimal() and len(number) <= _LONGEST_TYPE:
        return RecordKind(name, "crm.item.list", "crm.item.update", "id", "assignedById", {})
    return KINDS.get(name) if name in CHANGEABLE else None


class BulkItem(View):
    """One call on one record. `params` are as proposed, `essence` is that of the call as it would be sent."""

    key: str
    record: str = ""
    """Such as "deal:481"; of an add the record it is made for."""
    method: str
    params: JsonObject
    essence: str
    before: JsonObject = Field(default_factory=dict)
    """The fields that it writes, as the portal had them."""
    shown: PreviewPart = PreviewPart()
    amount: str = ""
    currency: str = ""
    since: str = ""
    """When the record was made."""


class LeftRecord(View):
    record: str
    title: str = ""
    why: Notice


def add_sums(items: Sequence[BulkItem]) -> dict[str, str]:
    """By currency."""
    sums: dict[str, Decimal] = {}
    for item in items:
        if item.amount:
            sums[item.currency] = sums.get(item.currency, Decimal(0)) + Decimal(item.amount)
    return {currency: f"{amount:f}" for currency, amount in sorted(sums.items())}


@dataclass(frozen=True, slots=True)
class BulkDone:
    """What a run that is over has done of its file."""

    file: "BulkFile"
    keys: frozenset[str]

    def list_items(self) -> list[BulkItem]:
        return [item for item in self.file.items if item.key in self.keys]


class BulkFile(View):
    title: str
    """In the language of who asked."""
    verb: str
    entity: str = ""
    """"" for records of several kinds."""
    items: Sequence[BulkItem] = ()
    notes: Sequence[BulkItem] = ()
    """Sent when all records are changed."""
    part_notes: Sequence[BulkItem] = ()
    """In their place to who got only some of theirs."""
    left: Sequence[LeftRecord] = ()
    sums: Mapping[str, str] = Field(default_factory=dict)
    """By currency, of the records that change."""
    matched: int = 0
    """Records that fit the condition, where only the first of them are taken; else 0."""
    sorted_by: str = ""
    """The field by which they are the first, with "-" in front if the largest comes first."""
    reasons: Sequence[Notice] = ()
    """Why single changes of it would ask a person."""
    taps: int = 1
    lead: bool = False
    four_eyes: bool = False

    def to_text(self) -> str:
        return dumps(self.model_dump(mode="json"))

    @property
    def of(self) -> str:
        """The only kind of record that its calls are about or make; "" for several."""
        kinds = {self.entity} if self.entity else {item.record.rpartition(":")[0] for item in self.items}
        return kinds.pop() if len(kinds) == 1 else ""

    @property
    def digest(self) -> str:
        """SHA-256 of the file: what the card shows and its approval covers."""
        return hash_text(self.to_text())

    def find_largest(self) -> BulkItem | None:
        """None where no record has a sum, or they are in several currencies."""
        priced = [item for item in self.items if item.amount]
        if not priced or len({item.currency for item in priced}) > 1:
            return None
        return max(priced, key=lambda item: Decimal(item.amount))

    def find_oldest(self) -> BulkItem | None:
        dated = [item for item in self.items if item.since]
        return min(dated, key=lambda item: item.since) if dated else None

    def list_samples(self) -> list[BulkItem]:
        """Spread over the file, the largest and the oldest record among them."""
        step = max(1, len(self.items) // SAMPLES)
        spread = [*self.items[::step][:SAMPLES]]
        extremes = [item for item in (self.find_largest(), self.find_oldest()) if item is not None and item not in spread]
        return [*spread[: SAMPLES - len(extremes)], *extremes]

    @property
    def calls(self) -> Sequence[BulkItem]:
        return (*self.items, *self.notes, *self.part_notes)

    def split(self) -> Iterator[Sequence[BulkItem]]:
        for start in range(0, len(self.items), PART):
            yield self.items[start : start + PART]

    def group_left(self) -> Mapping[str, Sequence[LeftRecord]]:
        """By the code of the reason."""
        groups: dict[str, list[LeftRecord]] = {}
        for one in self.left:
            groups.setdefault(one.why.code, []).append(one)
        return groups
