"""Defines which fields of the portal's records are watched (their changes are reported), and compares two snapshots of one record."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bitrix.catalogue.catalogue import Entity
from orchestrator.gate.call import fields

Values = Mapping[str, str]
_MAX_VALUE: Final = 250
SUM: Final = "OPPORTUNITY"
CURRENCY: Final = "CURRENCY_ID"
CLOSED: Final = "CLOSED"


@dataclass(frozen=True, kw_only=True)
class WatchedFields:
    """The fields of one kind of record whose changes are reported, and the names of its owner, author and stage fields.

    `fields` lists them in the order in which changes are reported.
    """

    fields: tuple[str, ...]
    owner: str
    changed_by: str = "MODIFY_BY_ID"
    created_by: str = "CREATED_BY_ID"
    stage: str = ""


KINDS: Final = {
    "deal": WatchedFields(
        fields=("STAGE_ID", "CATEGORY_ID", SUM, CURRENCY, "ASSIGNED_BY_ID", "CLOSEDATE", "TITLE", CLOSED),
        owner="ASSIGNED_BY_ID",
        stage="STAGE_ID",
    ),
    "lead": WatchedFields(fields=("STATUS_ID", SUM, CURRENCY, "ASSIGNED_BY_ID", "TITLE"), owner="ASSIGNED_BY_ID", stage="STATUS_ID"),
    "item": WatchedFields(
        fields=("STAGE_ID", "CATEGORY_ID", SUM, CURRENCY, "ASSIGNED_BY_ID", "CLOSEDATE", "TITLE"),
        owner="ASSIGNED_BY_ID",
        stage="STAGE_ID",
    ),
    "task": WatchedFields(
        fields=("STATUS", "DEADLINE", "RESPONSIBLE_ID", "TITLE"),
        owner="RESPONSIBLE_ID",
        changed_by="CHANGED_BY",
        created_by="CREATED_BY",
        stage="STATUS",
    ),
}
"""The watched fields of each kind of record; contacts and companies are missing because they have no stage and no sum to report."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """A changed field; `before` is None when the record is seen for the first time and its earlier value is unknown."""

    field: str
    before: str | None
    after: str


def parse_kind(target: str) -> str:
    """Return the kind of the record called `target`: "deal" for "deal:481", "item" for "item:177:5"."""
    return target.partition(":")[0]


def find_watched_fields(target: str) -> WatchedFields | None:
    """Return the watched fields of the record's kind; None for kinds that are not watched."""
    return KINDS.get(parse_kind(target))


def extract_values(entity: str, record: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of the record's watched fields as text, by field name (STAGE_ID).

    `entity` gives the kind of record. The fields of `record` may be spelled STAGE_ID or stageId.
    """
    watched = KINDS[parse_kind(entity)]
    found = {name: fields.find_value(record, name, entity) for name in watched.fields}
    return {name: _to_text(value) for name, value in found.items()}


def compare_values(entity: Entity, before: Values | None, now: Values) -> tuple[Change, ...]:
    """Return the watched fields whose values differ between two snapshots of a record.

    If `before` is None, the current stage and sum are returned as changes. A change of currency is returned as a change of the sum. A deal
    that enters a final stage changes its field CLOSED, too; this is left out if the stage is reported.
    """
    watched = KINDS[entity.name]
    told = [name for name in watched.fields if name != CURRENCY]
    if before is None:
        shown = (watched.stage, SUM)
        return tuple(Change(field=name, before=None, after=now[name]) for name in told if name in shown and now.get(name))
    found = [name for name in told if any(not _is_same(entity, one, before, now) for one in ((SUM, CURRENCY) if name == SUM else (name,)))]
    if watched.stage in found and CLOSED in found:
        found.remove(CLOSED)
    return tuple(Change(field=name, before=before.get(name, ""), after=now.get(name, "")) for name in found)


def read_employee_id(entity: str, record: Mapping[str, Any], name: str) -> int:
    """Return the employee id in the field `name`; 0 if the field holds none."""
    number = fields.parse_number(fields.find_value(record, name, entity))
    return int(number) if number is not None and number > 0 else 0


def list_owners(target: str, *looks: Values | None) -> Iterator[int]:
    """Yield the ids of the employees who are or were responsible for the record, each once. `looks` are snapshots of the record."""
    watched = find_watched_fields(target)
    found = [look.get(watched.owner, "") for look in looks if look is not None] if watched else []
    yield from (int(owner) for owner in dict.fromkeys(found) if owner.isascii() and owner.isdecimal() and int(owner))


def _is_same(entity: Entity, name: str, before: Values, now: Values) -> bool:
    if name not in before:
        return True  # not watched yet when the earlier snapshot was made
    info = fields.find_field_info(entity, name)
    return fields.is_same_value(now.get(name, ""), before[name], kind=info.kind if info else "text")


def _to_text(value: Any) -> str:
    if isinstance(value, bool):
        return "Y" if value else "N"
    text = str(value).strip() if isinstance(value, str | int | float) else ""
    return "".join(char for char in text if char.isprintable())[:_MAX_VALUE]
