"""Finds out whether a call of unknown outcome happened, by reading the portal; "unclear" instead of a guess.

An add is found by its mark (ORIGIN_ID), an update by its values, a delete by absence. Without a mark, `find_traces` only hints.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Final, Literal

from bitrix.bulk.lists import LISTS, extract_ids, extract_rows
from bitrix.catalogue.names import CRM, list_origin_fields
from bitrix.client.client import BitrixClient
from bitrix.errors import OutcomeUnknown, Refused
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.effect import CommandReport
from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import BeforeImage, Call
from orchestrator.gate.call.fields import find_value, to_field_key
from orchestrator.gate.call.ports import Reconciled
from orchestrator.performers.state_changes import build_changes
from state.canonical import to_storable
from state.stored import JsonObject

_DAY: Final = len("2026-12-01")
CLASSIC_LISTS: Final[Mapping[str, str]] = {**{kind: f"crm.{kind}.list" for kind in CRM.values()}, "activity": "crm.activity.list"}


_STATUS: Final[Mapping[str, Literal["success", "not_run", "unknown"]]] = {"done": "success", "not_done": "not_run", "unclear": "unknown"}


async def reconcile(call: Call, before: BeforeImage, client: BitrixClient, records: PortalReader) -> Reconciled:
    """A batch with different verdicts is unclear. Raises BitrixError."""
    if not call.commands:
        return await _reconcile_call(call, before, client, records)
    seen = [(command, await _reconcile_call(command, before, client, records)) for command in call.commands if not command.reads_only]
    verdicts = {item.verdict for _, item in seen}
    detail = "; ".join(f"{command.key} {command.method}: {item.verdict}" for command, item in seen)
    reports = tuple(CommandReport(key=command.key, method=command.method, status=_STATUS[item.verdict]) for command, item in seen)
    return Reconciled(verdict=verdicts.pop() if len(verdicts) == 1 else "unclear", detail=detail, commands=reports)


async def _reconcile_call(call: Call, before: BeforeImage, client: BitrixClient, records: PortalReader) -> Reconciled:
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
    """Unlike crm.deal.contact.items.delete, which leaves the deal."""
    family = call.method.rpartition(".")[0]
    entity = call.entities.get(call.entity)
    return family == "crm.item" or (entity is not None and family == entity.get.rpartition(".")[0])


async def _reconcile_marked_add(call: Call, client: BitrixClient) -> Reconciled:
    """The mark is compared in the rows, too: portals may ignore unknown filters."""
    in_items = call.spec.entity == "item"
    mark = find_mark(call)
    if mark is None:
        return Reconciled(verdict="unclear", detail=f"{call.method} leaves no mark that could be looked for")
    method = "crm.item.list" if in_items else CLASSIC_LISTS.get(call.spec.entity)
    if method is None:
        return Reconciled(verdict="unclear", detail=f"{call.method} cannot be looked for by its mark")
    params: dict[str, object] = {
        "filter": {f"={name}": value for name, value in mark.items()},
        "select": ["id" if in_items else "ID", *mark],
    }
    if in_items:
        params["entityTypeId"] = call.params["entityTypeId"]
    answer = await client.call(method, params, repeatable=True)
    try:
        rows = extract_rows(answer.result)
        numbers = extract_ids(rows, LISTS[method].row_field)
    except OutcomeUnknown as error:  # it was a read: from an answer that is no list of records nothing can be concluded
        return Reconciled(verdict="unclear", detail=str(error))
    if not rows:
        return Reconciled(verdict="not_done", detail="no record carries the mark of this call")
    carrying = [number for number, row in zip(numbers, rows, strict=True) if all(row.get(name) == value for name, value in mark.items())]
    if not carrying:
        return Reconciled(verdict="unclear", detail=f"{method} gave records without the mark: it does not look for marks")
    return Reconciled(verdict="done", detail=f"found as {carrying[0]}", changes=build_changes(call, carrying[0]))


def find_mark(call: Call) -> dict[str, object] | None:
    """None if the record gets no mark."""
    written_fields = call.params.get(call.spec.fields_at)
    names = list_origin_fields(in_items=call.spec.entity == "item")
    if not call.spec.marked or not isinstance(written_fields, Mapping) or any(name not in written_fields for name in names):
        return None
    return {name: written_fields[name] for name in names}


async def _reconcile_update(call: Call, before: BeforeImage, records: PortalReader) -> Reconciled:
    target = call.targets[0]
    try:
        record = (await records.load_records([target]))[target]
    except Refused as error:
        return Reconciled(verdict="unclear", detail=str(error))
    new_values = call.params.get(call.spec.fields_at) if call.spec.fields_at else None
    if record is None or not isinstance(new_values, Mapping) or not new_values:
        return Reconciled(verdict="unclear", detail="the record or the fields cannot be compared")
    old = before.get(f"{target[0]}:{target[1]}") or {}
    is_now = {key: find_value(record, key, target[0]) for key in new_values}
    was = {key: find_value(old, key, target[0]) for key in new_values}
    changed = {key: value for key, value in new_values.items() if not is_same_meaning(was[key], value)}
    visible_keys = {to_field_key(key, target[0]) for key in record}
    if not changed or not visible_keys.issuperset(to_field_key(key, target[0]) for key in changed):
        return Reconciled(verdict="unclear", detail="the new values equal the old ones, or the record does not show them")
    if all(is_same_meaning(is_now[key], value) for key, value in changed.items()):
        return Reconciled(verdict="done", detail="the record has the new values", changes=build_changes(call, result=True))
    if all(is_same_meaning(is_now[key], was[key]) for key in changed):
        return Reconciled(verdict="not_done", detail="the record still has the old values")
    return Reconciled(verdict="unclear", detail="the record has neither the old nor the new values")


def is_same_meaning(left: object, right: object) -> bool:
    """ "120000.00" is 120000, None is "", a date is the same date with a time."""
    if left == right:
        return True
    empty: tuple[object, ...] = (None, "", "0", 0, [])
    if left in empty or right in empty:
        return left in empty and right in empty
    try:
        return Decimal(str(left)) == Decimal(str(right))
    except InvalidOperation:
        first, second = str(left), str(right)
        return first[:_DAY] == second[:_DAY] if _is_pure_day(first) or _is_pure_day(second) else first == second


def _is_pure_day(text: str) -> bool:
    return len(text) == _DAY and text[4:5] == "-"


SLACK: Final = timedelta(seconds=30)
"""How much earlier a record may be created: clocks drift, answers take time."""
LATEST: Final = timedelta(minutes=2)
"""How much later; the cloud aborts requests after a minute."""
_BOXES: Final = ("tasks", "items")


@dataclass(frozen=True, kw_only=True)
class _TraceQuery:
    """How to look for a created record: `same` are values that it must have."""

    method: str
    params: JsonObject
    made_at: str
    same: JsonObject


async def find_traces(call: Call, since: datetime, client: BitrixClient) -> str:
    """Such as "probably done: found 77"; "" for none. Raises BitrixError."""
    traces = [call_trace for leaf in call.leaves for call_trace in await _find_call_traces(leaf, since, client)]
    return f"probably done: {', '.join(traces)}" if traces else ""


async def _find_call_traces(call: Call, since: datetime, client: BitrixClient) -> list[str]:
    where = _build_query(call)
    if where is None:
        return []
    answer = await client.call(where.method, where.params, repeatable=True)
    ahead = _calculate_clock_offset(answer.time, client.now())
    if ahead is None:
        return []
    traces = [row for row in _extract_rows(to_storable(answer.result)) if _is_trace(row, where, since + ahead)]
    place = f"{call.key}: " if call.key else ""
    return [f"{place}found {number}" for row in traces if (number := fields.find_value(row, "ID"))]


def _calculate_clock_offset(time: JsonObject, now: datetime) -> timedelta | None:
    """None if unknown; the answer with `time` was received at `now`."""
    portal_time = time.get("date_finish") or time.get("date_start")
    try:
        moment = datetime.fromisoformat(str(portal_time))
    except ValueError:
        return None
    return moment - now if moment.tzinfo is not None else None


def _build_query(call: Call) -> _TraceQuery | None:
    """None for other calls, and for commands that refer to others."""
    written_fields = call.params.get(call.spec.fields_at) if call.spec.fields_at else call.params
    if not isinstance(written_fields, Mapping) or call.references:
        return None
    match call.method:
        case "crm.timeline.comment.add":
            owner = {name: written_fields.get(name) for name in ("ENTITY_ID", "ENTITY_TYPE")}
            params = {"filter": owner, "order": {"ID": "DESC"}, "select": ["ID", "COMMENT", "CREATED", "ENTITY_ID"]}
            return _TraceQuery(
                method="crm.timeline.comment.list", params=params, made_at="CREATED", same={"COMMENT": written_fields.get("COMMENT")}
            )
        case "crm.activity.todo.add":
            owner = {"OWNER_TYPE_ID": written_fields.get("ownerTypeId"), "OWNER_ID": written_fields.get("ownerId")}
            params = {"filter": owner, "order": {"ID": "DESC"}, "select": ["ID", "SUBJECT", "DESCRIPTION", "CREATED", *owner]}
            texts = {"SUBJECT": written_fields.get("title"), "DESCRIPTION": written_fields.get("description")}
            alike = {name: text for name, text in texts.items() if text}
            return _TraceQuery(method="crm.activity.list", params=params, made_at="CREATED", same={**owner, **alike}) if alike else None
        case "tasks.task.add":
            same_values = {name: fields.find_value(written_fields, name, "task") for name in ("TITLE", "RESPONSIBLE_ID")}
            params = {"filter": same_values, "order": {"ID": "DESC"}, "select": ["ID", "TITLE", "RESPONSIBLE_ID", "CREATED_DATE"]}
            return _TraceQuery(method="tasks.task.list", params=params, made_at="CREATED_DATE", same=same_values)
        case _:
            return None


def _is_trace(row: JsonObject, where: _TraceQuery, since: datetime) -> bool:
    """`since` is in the portal's time; values are compared since a filter may be ignored."""
    try:
        created_at = datetime.fromisoformat(str(fields.find_value(row, where.made_at)))
    except ValueError:
        return False
    if created_at.tzinfo is None or not since - SLACK <= created_at <= since + LATEST:
        return False
    return all(_to_plain(fields.find_value(row, name)) == _to_plain(value) for name, value in where.same.items())


def _to_plain(value: object) -> str:
    return " ".join(str(value if value is not None else "").split())


def _extract_rows(result: object) -> Iterator[JsonObject]:
    """Under whichever key; none for a malformed answer."""
    if isinstance(result, Mapping):
        result = next((result[box] for box in _BOXES if box in result), [])
    yield from (row for row in result if isinstance(row, Mapping)) if isinstance(result, Sequence) and not isinstance(result, str) else ()
