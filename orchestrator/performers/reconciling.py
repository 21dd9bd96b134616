"""Did a call of unknown outcome happen? Reads the portal and compares; never writes, and says "unclear" rather than guess.

Adds are found by their ORIGIN_ID mark; updates are done when every field has its new value, and not done when every field still has its old
one; a delete is done when the record is gone. Each command of a batch is looked at alone; a mixed answer is told key by key.
"""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Literal

from bitrix.client import BitrixClient
from bitrix.errors import Refused
from bitrix.names import CRM, list_origin_fields
from orchestrator.gate.effects import Call
from orchestrator.gate.fields import find_value, to_field_key
from orchestrator.gate.ports import Reconciled, Records
from orchestrator.messages import CommandReport
from orchestrator.performers.state_changes import build_changes

_LISTS = {**{kind: f"crm.{kind}.list" for kind in CRM.values()}, "activity": "crm.activity.list"}


_STATUS: Final[Mapping[str, Literal["success", "not_run", "unknown"]]] = {"done": "success", "not_done": "not_run", "unclear": "unknown"}


async def reconcile(call: Call, before: Mapping[str, Any], client: BitrixClient, records: Records) -> Reconciled:
    """See the module docstring; raises BitrixError when the portal cannot be read."""
    if not call.commands:
        return await _reconcile_call(call, before, client, records)
    seen = [(command, await _reconcile_call(command, before, client, records)) for command in call.commands if not command.reads_only]
    verdicts = {item.verdict for _, item in seen}
    detail = "; ".join(f"{command.key} {command.method}: {item.verdict}" for command, item in seen)
    reports = tuple(CommandReport(key=command.key, method=command.method, status=_STATUS[item.verdict]) for command, item in seen)
    return Reconciled(verdict=verdicts.pop() if len(verdicts) == 1 else "unclear", detail=detail, commands=reports)


async def _reconcile_call(call: Call, before: Mapping[str, Any], client: BitrixClient, records: Records) -> Reconciled:
    if call.spec.verb == "add" and call.spec.marked:
        return await _reconcile_marked_add(call, client)
    own = call.targets[:1] and call.targets[0][0] == call.entity and not call.unknown_target
    if call.spec.verb == "update" and own:
        return await _reconcile_update(call, before, records)
    if call.spec.verb == "delete" and own and _removes_the_record(call):
        gone = (await records.load_records(call.targets[:1]))[call.targets[0]] is None
        return Reconciled(verdict="done" if gone else "not_done", detail="the record is gone" if gone else "the record is still there")
    return Reconciled(verdict="unclear", detail=f"{call.method} leaves no mark that could be looked for")


def _removes_the_record(call: Call) -> bool:
    """Not a part of it: crm.deal.contact.items.delete leaves the deal where it is."""
    family = call.method.rpartition(".")[0]
    entity = call.entities.get(call.entity)
    return family == "crm.item" or (entity is not None and family == entity.get.rpartition(".")[0])


async def _reconcile_marked_add(call: Call, client: BitrixClient) -> Reconciled:
    """The record with the mark of this call. Filters that a list does not know may be dropped, so the mark is looked at in the rows."""
    in_items = call.spec.entity == "item"
    mark = {name: call.params["fields"][name] for name in list_origin_fields(in_items=in_items)}
    method = "crm.item.list" if in_items else _LISTS.get(call.spec.entity)
    if method is None:
        return Reconciled(verdict="unclear", detail=f"{call.method} cannot be looked for by its mark")
    params: dict[str, Any] = {"filter": {f"={name}": value for name, value in mark.items()}, "select": ["id" if in_items else "ID", *mark]}
    if in_items:
        params["entityTypeId"] = call.params["entityTypeId"]
    result = (await client.call(method, params, repeatable=True)).result
    rows = result["items"] if in_items else result
    if not rows:
        return Reconciled(verdict="not_done", detail="no record carries the mark of this call")
    carrying = [row for row in rows if all(row.get(name) == value for name, value in mark.items())]
    if not carrying:
        return Reconciled(verdict="unclear", detail=f"{method} gave records without the mark: it does not look for marks")
    number = int(carrying[0].get("ID") or carrying[0].get("id"))
    return Reconciled(verdict="done", detail=f"found as {number}", changes=build_changes(call, number))


async def _reconcile_update(call: Call, before: Mapping[str, Any], records: Records) -> Reconciled:
    target = call.targets[0]
    try:
        record = (await records.load_records([target]))[target]
    except Refused as error:
        return Reconciled(verdict="unclear", detail=str(error))
    wanted = call.params.get(call.spec.fields_at) if call.spec.fields_at else None
    if record is None or not isinstance(wanted, Mapping) or not wanted:
        return Reconciled(verdict="unclear", detail="the record or the fields cannot be compared")
    old = before.get(f"{target[0]}:{target[1]}") or {}
    is_now = {key: find_value(record, key, target[0]) for key in wanted}
    was = {key: find_value(old, key, target[0]) for key in wanted}
    changed = {key: value for key, value in wanted.items() if not is_same_meaning(was[key], value)}
    shown = {to_field_key(key, target[0]) for key in record}
    if not changed or not shown.issuperset(to_field_key(key, target[0]) for key in changed):
        return Reconciled(verdict="unclear", detail="the new values equal the old ones, or the record does not show them")
    if all(is_same_meaning(is_now[key], value) for key, value in changed.items()):
        return Reconciled(verdict="done", detail="the record has the new values", changes=build_changes(call, result=True))
    if all(is_same_meaning(is_now[key], was[key]) for key in changed):
        return Reconciled(verdict="not_done", detail="the record still has the old values")
    return Reconciled(verdict="unclear", detail="the record has neither the old nor the new values")


def is_same_meaning(left: Any, right: Any) -> bool:
    """Whether two values of the portal mean the same: "120000.00" and 120000, "481" and 481, a date with and without its time."""
    if left == right:
        return True
    empty: tuple[Any, ...] = (None, "", "0", 0, [])
    if left in empty or right in empty:
        return left in empty and right in empty
    try:
        return Decimal(str(left)) == Decimal(str(right))
    except InvalidOperation:
        first, second = str(left), str(right)
        return _to_day(first) == _to_day(second) if _is_pure_day(first) or _is_pure_day(second) else first == second


def _is_pure_day(text: str) -> bool:
    return len(text) == len("2026-12-01") and text[4:5] == "-"


def _to_day(text: str) -> str:
    return text[:10]
