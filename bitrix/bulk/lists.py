from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from bitrix.client import php_query
from bitrix.errors import OutcomeUnknown, Unreadable

PAGE = 50
"""Rows per page, fixed for all v2 lists."""


@dataclass(frozen=True, slots=True)
class IdList:
    query_field: str
    row_field: str
    result_key: str = ""
    repeats: bool = False
    has_sort: bool = False
    """It is asked with FILTER, SORT and ORDER, as telephony is."""


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
        "crm.stagehistory.list": IdList("ID", "ID", result_key="items"),
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


_OURS = frozenset({"filter", "order", "select", "start"})


class IdQuery:
    """Raises ValueError for an order other than by id, `start`, an OR at the top of the filter, or bounds that are not numbers."""

    def __init__(self, method: str, params: Mapping[str, Any], ids: IdList) -> None:
        _refuse_unsupported(params, ids)
        conditions = dict(params.get("filter") or {})
        self.floor = _parse_bound(conditions.pop(f">{ids.query_field}", 0))
        ceiling = conditions.pop(f"<={ids.query_field}", None)
        self.ceiling = None if ceiling is None else _parse_bound(ceiling)
        self.ids = ids
        box = "FILTER" if ids.has_sort else "filter"
        params_left = {name: value for name, value in params.items() if name not in _OURS}
        if conditions:
            params_left[box] = conditions
        if select := _parse_select(params.get("select"), ids.query_field):
            params_left["select"] = select
        base = f"{method}?{php_query.build({**params_left, 'start': -1})}"
        self._rising = f"{base}&{_build_order(ids, 'ASC')}"
        self._falling = f"{base}&{_build_order(ids, 'DESC')}"
        self._above = php_query.build({box: {f">{ids.query_field}": ""}})
        self._upto = php_query.build({box: {f"<={ids.query_field}": ""}})
        self._row_path = f"{f'[{ids.result_key}]' if ids.result_key else ''}[{PAGE - 1}][{ids.row_field}]"

    def build_pages(self, after: int, upto: int | None, count: int, *, prefix: str = "p") -> dict[str, str]:
        """Each page begins where the one before ended; `prefix` tells the lists of one batch apart."""
        cmd: dict[str, str] = {}
        start: int | str = after
        for number in range(count):
            key = f"{prefix}{number:02}"
            cmd[key] = f"{self._rising}&{self._build_filter(start, upto)}"
            start = quote(f"$result[{key}]{self._row_path}", safe="")
        return cmd

    def build_last_page(self) -> str:
        return f"{self._falling}&{self._build_filter(self.floor, self.ceiling)}"

    def _build_filter(self, after: int | str, upto: int | None) -> str:
        return f"{self._above}{after}" if upto is None else f"{self._above}{after}&{self._upto}{upto}"


def _refuse_unsupported(params: Mapping[str, Any], ids: IdList) -> None:
    for name in params:
        if name == "start" or (name.lower() in _OURS and name not in _OURS):
            msg = f"a list that is read to its end takes no {name!r}"
            raise ValueError(msg)
    conditions = params.get("filter") or {}
    if not isinstance(conditions, Mapping) or "logic" in conditions:
        msg = "the filter must be a map of conditions that all hold; put an OR inside of it"
        raise ValueError(msg)
    order = params.get("order") or {}
    if not isinstance(order, Mapping) or any(name != ids.query_field or str(way).upper() != "ASC" for name, way in order.items()):
        msg = f"a list is walked in the order of its {ids.query_field}, rising"
        raise ValueError(msg)


def _build_order(ids: IdList, way: str) -> str:
    return php_query.build({"SORT": ids.query_field, "ORDER": way} if ids.has_sort else {"order": {ids.query_field: way}})


def _parse_bound(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):  # OverflowError: infinity
        msg = "a bound of the id must be a whole number"
        raise ValueError(msg) from None


def _parse_select(value: Any, name: str) -> Sequence[Any]:
    names = list(value.values()) if isinstance(value, Mapping) else [value] if isinstance(value, str) else list(value or ())
    return names if not names or name in names or "*" in names else [*names, name]
