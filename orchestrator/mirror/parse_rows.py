"""Turns rows of the portal's lists into rows of the mirror: numbers, moments and codes; words are dropped here."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from state.mirror.money import parse_hundredths
from state.mirror.rows import ActivityRow, CallRow, ChoiceRow, DealRow, ItemRow, LeadRow, MoveRow, TaskRow

PortalRow = Mapping[str, Any]
_YES: Final = frozenset({"Y", "1", 1})
_ENTITY_TYPES: Final = {"LEAD": 1, "DEAL": 2, "CONTACT": 3, "COMPANY": 4}
_DAY: Final = 10
"""Characters of "2026-11-30". A day is never moved to another zone."""


def parse_number(value: object) -> int | None:
    """None for empty and 0 too: no record has that id."""
    try:
        return int(str(value)) or None
    except ValueError:
        return None


def parse_moment(value: object) -> int | None:
    """Seconds since 1970 of an ISO time; one without an offset is UTC."""
    try:
        return int(datetime.fromisoformat(str(value)).timestamp()) if value else None
    except (ValueError, OverflowError):
        return None


def parse_code(value: object) -> str | None:
    return str(value) if value not in (None, "", False) else None


def _parse_day(value: object) -> str | None:
    text = str(value or "")[:_DAY]
    return text if len(text) == _DAY and text[4] == "-" else None


def _parse_semantics(value: object) -> str:
    return str(value) if value in ("S", "F") else "P"


def parse_deal(row: PortalRow) -> DealRow:
    created = parse_moment(row.get("DATE_CREATE")) or 0
    return DealRow(
        id=int(row["ID"]),
        funnel=parse_number(row.get("CATEGORY_ID")) or 0,
        stage=str(row.get("STAGE_ID") or ""),
        semantics=_parse_semantics(row.get("STAGE_SEMANTIC_ID")),
        person=parse_number(row.get("ASSIGNED_BY_ID")),
        company=parse_number(row.get("COMPANY_ID")),
        contact=parse_number(row.get("CONTACT_ID")),
        lead=parse_number(row.get("LEAD_ID")),
        source=parse_code(row.get("SOURCE_ID")),
        type=parse_code(row.get("TYPE_ID")),
        currency=parse_code(row.get("CURRENCY_ID")),
        amount=parse_hundredths(row.get("OPPORTUNITY")),
        probability=parse_number(row.get("PROBABILITY")),  # a portal writes 0 for "not filled in"
        created=created,
        modified=parse_moment(row.get("DATE_MODIFY")) or created,
        moved=parse_moment(row.get("MOVED_TIME")),
        active=parse_moment(row.get("LAST_ACTIVITY_TIME")),
        expected=_parse_day(row.get("CLOSEDATE")),
    )


def parse_lead(row: PortalRow) -> LeadRow:
    created = parse_moment(row.get("DATE_CREATE")) or 0
    semantics = _parse_semantics(row.get("STATUS_SEMANTIC_ID"))
    modified = parse_moment(row.get("DATE_MODIFY")) or created
    moved = parse_moment(row.get("MOVED_TIME"))
    return LeadRow(
        id=int(row["ID"]),
        stage=str(row.get("STATUS_ID") or ""),
        semantics=semantics,
        person=parse_number(row.get("ASSIGNED_BY_ID")),
        company=parse_number(row.get("COMPANY_ID")),
        source=parse_code(row.get("SOURCE_ID")),
        currency=parse_code(row.get("CURRENCY_ID")),
        amount=parse_hundredths(row.get("OPPORTUNITY")),
        created=created,
        modified=modified,
        moved=moved,
        closed=None if semantics == "P" else parse_moment(row.get("DATE_CLOSED")) or moved or modified,
    )


def parse_invoice(row: PortalRow) -> ItemRow:
    created = parse_moment(row.get("createdTime")) or 0
    return ItemRow(
        type=31,
        id=int(row["id"]),
        funnel=parse_number(row.get("categoryId")) or 0,
        stage=parse_code(row.get("stageId")),
        person=parse_number(row.get("assignedById")),
        company=parse_number(row.get("companyId")),
        deal=parse_number(row.get("parentId2")),
        source=parse_code(row.get("sourceId")),
        currency=parse_code(row.get("currencyId")),
        amount=parse_hundredths(row.get("opportunity")),
        created=created,
        modified=parse_moment(row.get("updatedTime")) or created,
        moved=parse_moment(row.get("movedTime")),
        expected=_parse_day(row.get("closedate")),
    )


def parse_activity(row: PortalRow) -> ActivityRow:
    created = parse_moment(row.get("CREATED")) or 0
    return ActivityRow(
        id=int(row["ID"]),
        owner_type=parse_number(row.get("OWNER_TYPE_ID")) or 0,
        owner=parse_number(row.get("OWNER_ID")) or 0,
        type=parse_number(row.get("TYPE_ID")) or 0,
        provider=parse_code(row.get("PROVIDER_ID")),
        person=parse_number(row.get("RESPONSIBLE_ID")),
        direction=parse_number(row.get("DIRECTION")),
        created=created,
        started=parse_moment(row.get("START_TIME")),
        deadline=parse_moment(row.get("DEADLINE")),
        is_done=int(row.get("COMPLETED") in _YES),
        modified=parse_moment(row.get("LAST_UPDATED")) or created,
    )


def parse_call(row: PortalRow) -> CallRow:
    entity = _ENTITY_TYPES.get(str(row.get("CRM_ENTITY_TYPE") or "").upper())
    return CallRow(
        id=int(row["ID"]),
        person=parse_number(row.get("PORTAL_USER_ID")),
        direction=parse_number(row.get("CALL_TYPE")) or 0,
        code=parse_code(row.get("CALL_FAILED_CODE")),
        seconds=parse_number(row.get("CALL_DURATION")) or 0,
        started=parse_moment(row.get("CALL_START_DATE")) or 0,
        owner_type=entity,
        owner=parse_number(row.get("CRM_ENTITY_ID")) if entity else None,
    )


def parse_task(row: PortalRow) -> TaskRow:
    created = parse_moment(row.get("createdDate")) or 0
    return TaskRow(
        id=int(row["id"]),
        person=parse_number(row.get("responsibleId")),
        author=parse_number(row.get("createdBy")),
        status=parse_number(row.get("realStatus") or row.get("status")) or 0,
        created=created,
        modified=parse_moment(row.get("changedDate")) or created,
        deadline=parse_moment(row.get("deadline")),
        done=parse_moment(row.get("closedDate")),
    )


def parse_move(row: PortalRow) -> MoveRow:
    return MoveRow(
        id=int(row["ID"]),
        deal=parse_number(row.get("OWNER_ID")) or 0,
        type=parse_number(row.get("TYPE_ID")) or 0,
        funnel=parse_number(row.get("CATEGORY_ID")) or 0,
        stage=str(row.get("STAGE_ID") or ""),
        semantics=_parse_semantics(row.get("STAGE_SEMANTIC_ID")),
        entered=parse_moment(row.get("CREATED_TIME")) or 0,
    )


def parse_choices(kind: str, row: PortalRow, fields: tuple[str, ...]) -> list[ChoiceRow]:
    """One row for each value of a list field; nothing for an empty one."""
    number = int(row["ID"])
    choices: list[ChoiceRow] = []
    for field in fields:
        value = row.get(field)
        values = list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else [value]
        choices += [ChoiceRow(kind, number, field, code) for code in dict.fromkeys(map(_parse_choice, values)) if code is not None]
    return choices


def _parse_choice(value: object) -> str | None:
    if isinstance(value, bool):
        return "1" if value else "0"
    return None if value is None or value == "" or isinstance(value, list | Mapping) else str(value)


ParseRow = Callable[[PortalRow], tuple[Any, ...]]
