"""The lists of the portal that are mirrored: how each is asked, and how its changes are found."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bitrix.bulk.lists import LISTS, IdList, IdQuery
from bitrix.client.batch import Command
from orchestrator.mirror.parse_rows import (
    ParseRow,
    parse_activity,
    parse_call,
    parse_deal,
    parse_invoice,
    parse_lead,
    parse_move,
    parse_task,
)

INVOICES: Final = 31
TELEPHONY: Final = IdList("ID", "ID", has_sort=True)
MONTHS_FIRST: Final = 13
"""Of the history so many are read before the rest: this month and the same of last year."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Source:
    """`part` is the name in `MirrorState.parts`, `kind` that in `state.mirror.rows`."""

    part: str
    kind: str
    method: str
    parse: ParseRow
    ids: IdList
    select: tuple[str, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    changed: str = ""
    """The field that says when a row was changed; "" if rows only come."""

    @property
    def fields_kind(self) -> str:
        """The kind whose list fields are mirrored; "" if none."""
        return self.kind if self.kind in {"deal", "lead"} else ""

    def build_query(self, more: tuple[str, ...] = (), conditions: Mapping[str, Any] | None = None) -> IdQuery:
        """All of them, page after page; `conditions` may hold the bounds of the id."""
        params = self._build_params(more, None)
        return IdQuery(self.method, {**params, "filter": dict(conditions or {})}, self.ids)

    def build_page(self, key: str, more: tuple[str, ...] = (), conditions: Mapping[str, Any] | None = None) -> Command:
        """The first page, with the count of all that fulfil the conditions."""
        order = {"SORT": self.ids.query_field, "ORDER": "ASC"} if self.ids.has_sort else {"order": {self.ids.query_field: "ASC"}}
        return Command(key, self.method, {**self._build_params(more, conditions), **order, "start": 0})

    def build_count(self, key: str, conditions: Mapping[str, Any] | None = None) -> Command:
        """The ids of the first page, and the count."""
        select = {} if self.ids.has_sort else {"select": [self.ids.query_field]}
        return Command(key, self.method, {**self._build_params((), conditions), **select, "start": 0})

    def _build_params(self, more: tuple[str, ...], conditions: Mapping[str, Any] | None) -> dict[str, Any]:
        params = dict(self.params)
        if self.select:
            params["select"] = [*self.select, *more]
        if conditions:  # an empty map would be sent as a list with one empty entry
            params["FILTER" if self.ids.has_sort else "filter"] = dict(conditions)
        return params


def _split(names: str) -> tuple[str, ...]:
    return tuple(names.split())


_DEAL_FIELDS: Final = _split(
    "ID CATEGORY_ID STAGE_ID STAGE_SEMANTIC_ID ASSIGNED_BY_ID COMPANY_ID CONTACT_ID LEAD_ID SOURCE_ID TYPE_ID CURRENCY_ID OPPORTUNITY"
    " PROBABILITY DATE_CREATE DATE_MODIFY MOVED_TIME LAST_ACTIVITY_TIME CLOSEDATE"
)
_LEAD_FIELDS: Final = _split(
    "ID STATUS_ID STATUS_SEMANTIC_ID ASSIGNED_BY_ID COMPANY_ID SOURCE_ID CURRENCY_ID OPPORTUNITY DATE_CREATE"
    " DATE_MODIFY MOVED_TIME DATE_CLOSED"
)
_ACTIVITY_FIELDS: Final = _split(
    "ID OWNER_TYPE_ID OWNER_ID TYPE_ID PROVIDER_ID RESPONSIBLE_ID DIRECTION CREATED START_TIME DEADLINE COMPLETED LAST_UPDATED"
)
_TASK_FIELDS: Final = _split("ID RESPONSIBLE_ID CREATED_BY STATUS REAL_STATUS CREATED_DATE CHANGED_DATE DEADLINE CLOSED_DATE")
_INVOICE_FIELDS: Final = _split(
    "id categoryId stageId assignedById companyId parentId2 sourceId currencyId opportunity createdTime updatedTime movedTime closedate"
)
_MOVE_FIELDS: Final = _split("ID TYPE_ID OWNER_ID CREATED_TIME CATEGORY_ID STAGE_ID STAGE_SEMANTIC_ID")

DEALS: Final = Source(
    part="deals",
    kind="deal",
    method="crm.deal.list",
    parse=parse_deal,
    ids=LISTS["crm.deal.list"],
    select=_DEAL_FIELDS,
    changed="DATE_MODIFY",
)
LEADS: Final = Source(
    part="leads",
    kind="lead",
    method="crm.lead.list",
    parse=parse_lead,
    ids=LISTS["crm.lead.list"],
    select=_LEAD_FIELDS,
    changed="DATE_MODIFY",
)
ACTIVITIES: Final = Source(
    part="activities",
    kind="activity",
    method="crm.activity.list",
    parse=parse_activity,
    ids=LISTS["crm.activity.list"],
    select=_ACTIVITY_FIELDS,
    changed="LAST_UPDATED",
)
CALLS: Final = Source(part="calls", kind="call", method="voximplant.statistic.get", parse=parse_call, ids=TELEPHONY)
TASKS: Final = Source(
    part="tasks",
    kind="task",
    method="tasks.task.list",
    parse=parse_task,
    ids=LISTS["tasks.task.list"],
    select=_TASK_FIELDS,
    changed="CHANGED_DATE",
)
INVOICE_ITEMS: Final = Source(
    part="invoices",
    kind=f"item:{INVOICES}",
    method="crm.item.list",
    parse=parse_invoice,
    ids=LISTS["crm.item.list"],
    select=_INVOICE_FIELDS,
    params={"entityTypeId": INVOICES},
    changed="updatedTime",
)
HISTORY: Final = Source(
    part="history",
    kind="move",
    method="crm.stagehistory.list",
    parse=parse_move,
    ids=LISTS["crm.stagehistory.list"],
    select=_MOVE_FIELDS,
    params={"entityTypeId": 2},
)
SOURCES: Final = (DEALS, LEADS, ACTIVITIES, CALLS, TASKS, INVOICE_ITEMS)
"""In the order in which they are loaded; the history comes after them."""
