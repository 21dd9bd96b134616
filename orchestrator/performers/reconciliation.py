"""Finds out whether a call of unknown outcome happened, by reading the portal. It never writes, and returns "unclear" instead of a guess.

The record of an add is found by the mark (ORIGIN_ID) that the bot wrote into it. An update is done if all fields have their new values, and
not done if all have their old values. A delete is done if the record is gone. The commands of a batch are checked one by one. For an add
without a mark, `find_traces` looks for records with the same text that were created at that time. They are only a hint for the person who
decides. The portal's clock may differ from ours, so its times are first corrected by the present time that the portal reports.
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
from orchestrator.domain.outcome import CommandReport
from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import BeforeImage, Call
from orchestrator.gate.call.fields import find_value, to_field_key
from orchestrator.gate.call.ports import Reconciled
from orchestrator.performers.state_changes import build_changes
from state.canonical import to_storable
from state.stored import JsonObject

_DAY: Final = len("2026-12-01")
CLASSIC_LISTS: Final[Mapping[str, str]] = {**{kind: f"crm.{kind}.list" for kind in CRM.values()}, "activity": "crm.activity.list"}
"""The methods of the classic family that list records, by the kind of record."""


_STATUS: Final[Mapping[str, Literal["success", "not_run", "unknown"]]] = {"done": "success", "not_done": "not_run", "unclear": "unknown"}


async def reconcile(call: Call, before: BeforeImage, client: BitrixClient, records: PortalReader) -> Reconciled:
    """Return whether `call` happened: "done", "not_done" or "unclear". Raises BitrixError if the portal cannot be read.

    `before` contains the records as they were before the call. A batch is unclear if its commands have different verdicts.
    """
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
    """Return whether a delete removes its target record.

    A counterexample is crm.deal.contact.items.delete, which leaves the deal in place.
    """
    family = call.method.rpartition(".")[0]
    entity = call.entities.get(call.entity)
    return family == "crm.item" or (entity is not None and family == entity.get.rpartition(".")[0])


async def _reconcile_marked_add(call: Call, client: BitrixClient) -> Reconciled:
    """Search for the record with this call's mark and return whether it exists.

    The portal may ignore an unknown filter, so the mark is compared in the returned rows too.
    """
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
    """Return the fields and values by which the record of an add is found again; None if it gets none, as one of a smart process."""
    written = call.params.get(call.spec.fields_at)
    names = list_origin_fields(in_items=call.spec.entity == "item")
    if not call.spec.marked or not isinstance(written, Mapping) or any(name not in written for name in names):
        return None
    return {name: written[name] for name in names}


async def _reconcile_update(call: Call, before: BeforeImage, records: PortalReader) -> Reconciled:
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


def is_same_meaning(left: object, right: object) -> bool:
    """Return whether the portal treats two values as the same.

    Examples are "120000.00" and 120000, "481" and 481, None and "", a date and the same date with a time.
    """
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
"""How much earlier than the call a record may have been created: clocks drift, and an answer with the portal's time takes a while."""
LATEST: Final = timedelta(minutes=2)
"""How much later than the call a record may have been created; the Bitrix24 cloud aborts requests after a minute."""
_BOXES: Final = ("tasks", "items")


@dataclass(frozen=True, kw_only=True)
class _TraceQuery:
    """How to look for the record that an add created.

    `method` and `params` are the call that lists records of this kind. `made_at` is the field of a listed record with its time of creation,
    and `same` are the field values that it must have.
    """

    method: str
    params: JsonObject
    made_at: str
    same: JsonObject


async def find_traces(call: Call, since: datetime, client: BitrixClient) -> str:
    """Return a sentence such as "probably done: found 77" that names the records which `call` probably created; "" for none.

    `since` is when the call was sent. Raises BitrixError.
    """
    found = [call_trace for leaf in call.leaves for call_trace in await _find_call_traces(leaf, since, client)]
    return f"probably done: {', '.join(found)}" if found else ""


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
    """Return how far the portal's clock is ahead of ours; None if this cannot be calculated.

    `time` is the part of an answer that tells the portal's time; the answer was received at `now`.
    """
    told = time.get("date_finish") or time.get("date_start")
    try:
        moment = datetime.fromisoformat(str(told))
    except ValueError:
        return None
    return moment - now if moment.tzinfo is not None else None


def _build_query(call: Call) -> _TraceQuery | None:
    """Return how to look for the record that this add created.

    Return None for other calls, and for a command of a batch that refers to the result of another command.
    """
    written = call.params.get(call.spec.fields_at) if call.spec.fields_at else call.params
    if not isinstance(written, Mapping) or call.references:
        return None
    match call.method:
        case "crm.timeline.comment.add":
            owner = {name: written.get(name) for name in ("ENTITY_ID", "ENTITY_TYPE")}
            params = {"filter": owner, "order": {"ID": "DESC"}, "select": ["ID", "COMMENT", "CREATED", "ENTITY_ID"]}
            return _TraceQuery(
                method="crm.timeline.comment.list", params=params, made_at="CREATED", same={"COMMENT": written.get("COMMENT")}
            )
        case "crm.activity.todo.add":
            owner = {"OWNER_TYPE_ID": written.get("ownerTypeId"), "OWNER_ID": written.get("ownerId")}
            params = {"filter": owner, "order": {"ID": "DESC"}, "select": ["ID", "SUBJECT", "DESCRIPTION", "CREATED", *owner]}
            texts = {"SUBJECT": written.get("title"), "DESCRIPTION": written.get("description")}
            alike = {name: text for name, text in texts.items() if text}
            return _TraceQuery(method="crm.activity.list", params=params, made_at="CREATED", same={**owner, **alike}) if alike else None
        case "tasks.task.add":
            wanted = {name: fields.find_value(written, name, "task") for name in ("TITLE", "RESPONSIBLE_ID")}
            params = {"filter": wanted, "order": {"ID": "DESC"}, "select": ["ID", "TITLE", "RESPONSIBLE_ID", "CREATED_DATE"]}
            return _TraceQuery(method="tasks.task.list", params=params, made_at="CREATED_DATE", same=wanted)
        case _:
            return None


def _is_trace(row: JsonObject, where: _TraceQuery, since: datetime) -> bool:
    """Return whether a row has the values that the call wrote, and was created at about `since` (in the portal's time).

    The portal may have ignored the filter of the query, so every value is compared here.
    """
    try:
        made = datetime.fromisoformat(str(fields.find_value(row, where.made_at)))
    except ValueError:
        return False
    if made.tzinfo is None or not since - SLACK <= made <= since + LATEST:
        return False
    return all(_to_plain(fields.find_value(row, name)) == _to_plain(value) for name, value in where.same.items())


def _to_plain(value: object) -> str:
    return " ".join(str(value if value is not None else "").split())


def _extract_rows(result: object) -> Iterator[JsonObject]:
    """Yield the rows of a list answer, under whichever key the portal nests them; none for a malformed answer."""
    if isinstance(result, Mapping):
        result = next((result[box] for box in _BOXES if box in result), [])
    yield from (row for row in result if isinstance(row, Mapping)) if isinstance(result, Sequence) and not isinstance(result, str) else ()
