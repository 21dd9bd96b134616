from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from bitrix.errors import OutcomeUnknown, Unreadable

PAGE = 50
"""Rows per page, fixed for all v2 lists."""


@dataclass(frozen=True, slots=True)
class IdList:
    query_field: str
    row_field: str
    result_key: str = ""
    repeats: bool = False


_CLASSIC = IdList("ID", "ID")
# tasks.task.list sorts and filters by ID and answers `id`; looking for `ID` in its rows would read the first page forever. Lists that are
# not here (user.get, crm.status.list, …) are read by offset in the order of the portal or the caller.
LISTS: Mapping[str, IdList] = MappingProxyType(
    {
        "crm.lead.list": _CLASSIC,
        "crm.deal.list": _CLASSIC,
        "crm.contact.list": _CLASSIC,
        "crm.company.list": _CLASSIC,
        "crm.quote.list": _CLASSIC,
        "crm.activity.list": IdList("ID", "ID", repeats=True),  # once for each binding that a filter names
        "crm.item.list": IdList("id", "id", result_key="items"),
        "tasks.task.list": IdList("ID", "id", result_key="tasks"),
    }
)


def extract_rows(result: object) -> list[Any]:
    """The answer itself, or the only list in it. Raises `OutcomeUnknown` if there is none."""
    if isinstance(result, dict) and result and list(result) == [str(number) for number in range(len(result))]:
        return list(result.values())  # PHP writes a list so from which it has taken elements
    if isinstance(result, dict):
        lists = [value for value in result.values() if isinstance(value, list)]
        result = lists[0] if len(lists) == 1 else None
    if not isinstance(result, list):
        raise build_inconsistency_error("is not a list")
    return result


def extract_ids(rows: list[Any], id_field: str) -> list[int]:
    """Raises `OutcomeUnknown` if a row has no id."""
    try:
        return [int(row[id_field]) for row in rows]
    except (TypeError, KeyError, ValueError):
        raise build_inconsistency_error(f"has a row without a number under {id_field}") from None


def build_inconsistency_error(what: str) -> OutcomeUnknown:
    """For a list that may be incomplete or out of order; reading it again does not help."""
    return Unreadable(f"the portal's list {what}", transient=False)
