"""Prepares steps that read lists: takes grouping and limit out, and adds the fields that code needs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from orchestrator.engines.crm_agent.blocks import Step
from state.stored import JsonObject

GROUP_BY: Final = "group_by"
LIMIT: Final = "limit"
_MOST: Final = 500
_LONGEST: Final = 5
_ITEM_FIELDS: Final[Mapping[str, Sequence[str]]] = {
    "1": ("opportunity", "currencyId", "stageId"),
    "2": ("opportunity", "currencyId", "stageId", "categoryId"),
    "7": ("opportunity", "currencyId", "stageId"),
    "31": ("opportunity", "currencyId", "stageId", "categoryId"),
}
_FIELDS: Final[Mapping[str, Sequence[str]]] = {
    "crm.deal.list": ("ID", "TITLE", "OPPORTUNITY", "CURRENCY_ID", "STAGE_ID", "CATEGORY_ID"),
    "crm.lead.list": ("ID", "TITLE", "NAME", "LAST_NAME", "OPPORTUNITY", "CURRENCY_ID", "STATUS_ID"),
    "crm.contact.list": ("ID", "NAME", "LAST_NAME", "POST"),
    "crm.company.list": ("ID", "TITLE"),
    "crm.quote.list": ("ID", "TITLE", "OPPORTUNITY", "CURRENCY_ID", "STATUS_ID"),
    "crm.item.list": ("id", "title"),
    "tasks.task.list": ("ID", "TITLE"),
}
_TASK_FIELDS: Final = ("ID", "TITLE", "STATUS", "DEADLINE", "RESPONSIBLE_ID", "CREATED_DATE")
"""Read of tasks if the step selects nothing: the portal would give only ids."""


def split_group(step: Step) -> tuple[Step, str]:
    """ "" if the step names no field to group by."""
    by = step.params.get(GROUP_BY)
    if not isinstance(by, str) or not by.strip() or not step.method.lower().endswith(".list"):
        return step, ""
    return replace(step, params={name: value for name, value in step.params.items() if name != GROUP_BY}), by.strip()


def split_limit(step: Step) -> tuple[Step, int]:
    """0 for no limit.

    A limit that is no whole number above 0 stays in the step, where the gate refuses it.
    """
    limit = step.params.get(LIMIT)
    text = str(limit) if isinstance(limit, int | str) and not isinstance(limit, bool) else ""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < _LONGEST else 0
    if not 0 < number <= _MOST or not step.method.lower().endswith(".list"):
        return step, 0
    return replace(step, params={name: value for name, value in step.params.items() if name != LIMIT}), number


def complete_select(method: str, params: JsonObject, *, is_grouped: bool) -> JsonObject:
    """Add the fields that code needs to `select`."""
    name = method.lower()
    needed = _FIELDS.get(name)
    if needed is None:
        return params
    if name == "tasks.task.list" and "select" not in params:
        return {**params, "select": list(_TASK_FIELDS)}
    select = params.get("select")
    if not isinstance(select, list) or "*" in select:
        return params
    if is_grouped and name != "tasks.task.list":
        return {key: value for key, value in params.items() if key != "select"}
    if name == "crm.item.list":
        needed = (*needed, *_ITEM_FIELDS.get(str(params.get("entityTypeId")), ()))
    have = {_flatten(one) for one in select}
    return {**params, "select": [*select, *(one for one in needed if _flatten(one) not in have)]}


def _flatten(name: object) -> str:
    return str(name).replace("_", "").lower()
