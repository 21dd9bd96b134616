"""Which fields of records are watched, and how two snapshots differ."""

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
    """In the order in which changes are reported."""

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
"""Contacts and companies have no stage and no sum to report."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """`before` is None at first sight."""

    field: str
    before: str | None
    after: str


def parse_kind(target: str) -> str:
    return target.partition(":")[0]


def find_watched_fields(target: str) -> WatchedFields | None:
    return KINDS.get(parse_kind(target))


def extract_values(entity: str, record: Mapping[str, Any]) -> dict[str, str]:
    """By name (STAGE_ID), as text; `record` may spell stageId."""
    watched = KINDS[parse_kind(entity)]
    values = {name: fields.find_value(record, name, entity) for name in watched.fields}
    return {name: _to_text(value) for name, value in values.items()}


def compare_values(entity: Entity, before: Values | None, now: Values) -> tuple[Change, ...]:
    """At first sight stage and sum.

    A currency changes the sum; CLOSED is left out beside a changed stage.
    """
    watched = KINDS[entity.name]
    names = [name for name in watched.fields if name != CURRENCY]
    if before is None:
        first_reported = (watched.stage, SUM)
        return tuple(Change(field=name, before=None, after=now[name]) for name in names if name in first_reported and now.get(name))
    changed = [
        name for name in names if any(not _is_same(entity, one, before, now) for one in ((SUM, CURRENCY) if name == SUM else (name,)))
    ]
    if watched.stage in changed and CLOSED in changed:
        changed.remove(CLOSED)
    return tuple(Change(field=name, before=before.get(name, ""), after=now.get(name, "")) for name in changed)


def read_employee_id(entity: str, record: Mapping[str, Any], name: str) -> int:
    """0 if the field holds none."""
    number = fields.parse_number(fields.find_value(record, name, entity))
    return int(number) if number is not None and number > 0 else 0


def list_owners(target: str, *looks: Values | None) -> Iterator[int]:
    """Present and former ones, each once; `looks` are snapshots."""
    watched = find_watched_fields(target)
    owners = [look.get(watched.owner, "") for look in looks if look is not None] if watched else []
    yield from (int(owner) for owner in dict.fromkeys(owners) if owner.isascii() and owner.isdecimal() and int(owner))


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
