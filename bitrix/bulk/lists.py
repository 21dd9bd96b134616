"""Ring 1. What is known of list methods: those whose ids can be walked, and how the id is called. Source: the method pages."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from bitrix.errors import OutcomeUnknown

PAGE = 50
"""Rows of a page; fixed for the v2 lists (limits.md)."""


@dataclass(frozen=True, slots=True)
class IdList:
    """`asked` is the id in filter and order, `told` the id in rows: "more than this id" may be trusted in such a list.

    `result_key` is the name that the rows lie under; `repeats`: a row may come several times in a row.
    """

    query_field: str
    row_field: str
    result_key: str = ""
    repeats: bool = False


_CLASSIC = IdList("ID", "ID")
# tasks.task.list sorts and filters by ID and answers `id`; who looks for `ID` in its rows reads its first page for ever.
# Lists that are not here (user.get, crm.status.list, …) are read by offset in the order that the portal or the caller gives.
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
    """The rows of a list answer, bare or under one name of their own (`items`, `tasks`); `OutcomeUnknown` if there are none."""
    if isinstance(result, dict):
        lists = [value for value in result.values() if isinstance(value, list)]
        result = lists[0] if len(lists) == 1 else None
    if not isinstance(result, list):
        raise build_inconsistency_error("is not a list")
    return result


def extract_ids(rows: list[Any], told: str) -> list[int]:
    """The ids of `rows`; `OutcomeUnknown` if one has none."""
    try:
        return [int(row[told]) for row in rows]
    except (TypeError, KeyError, ValueError):
        raise build_inconsistency_error(f"has a row without a number under {told}") from None


def build_inconsistency_error(what: str) -> OutcomeUnknown:
    """The error for a list whose rows cannot be trusted to be all of them; asking again does not help."""
    return OutcomeUnknown(f"the portal's list {what}", transient=False)
