"""Computes how a call changes `agent_state`, what the model sees (S004-33 … S004-35, S004-72, S004-75, X5). Pure."""

import re
from collections.abc import Iterable, Mapping

from bitrix.catalogue.names import CRM
from orchestrator.domain.effect import CommandReport
from orchestrator.gate.call.effect import Call, Target
from orchestrator.gate.call.fields import find_value
from orchestrator.gate.call.targets import PRODUCT_ROW, as_id, find_entity_by_code, find_row_owner
from state.events.calls import StateChanges
from state.stored import JsonObject

_CURRENT = {
    "deal": "current_deal_id",
    "lead": "current_lead_id",
    "contact": "current_contact_id",
    "company": "current_company_id",
    "task": "current_task_id",
}
_LISTS = re.compile(r"(?:crm\.(?:deal|lead|contact|company|item)|tasks\.task)\.list", re.ASCII)
_LINKED = (("CONTACT_ID", "current_contact_id"), ("COMPANY_ID", "current_company_id"))


def build_changes(call: Call, result: object, total: int | None = None) -> StateChanges:
    """A single record, also the only one of a list, becomes the current one of its kind; after other lists there is none.

    Its product rows and links are part of a record; comments and activities are not, `done` names the record on which they stand.
    """
    if call.method.startswith("event."):
        return _build_event_changes(call, result)
    entity = find_entity(call)
    number = _find_record_id(call, result, entity)
    owner = _find_owner(call, result)
    objects: dict[str, int | None] = {}
    links: dict[str, list[str]] = {}
    if (record := _find_whole(call, owner)) is not None and record[0] in _CURRENT:
        objects[_CURRENT[record[0]]] = record[1]
    elif entity in _CURRENT and number and call.spec.verb in {"get", "add", "update"}:
        objects[_CURRENT[entity]] = number
        if call.spec.verb == "get":
            _add_links(objects, links, entity, number, _extract_record(result))
    elif entity in _CURRENT and _LISTS.fullmatch(call.method.lower()):
        row = _find_only_row(result, total)
        objects[_CURRENT[entity]] = _find_new_id(row) if row else None
        if row and objects[_CURRENT[entity]]:
            _add_links(objects, links, entity, objects[_CURRENT[entity]] or 0, row)
    return StateChanges(objects=objects, links=links, done=_describe_done(call, result, total, (entity, number), owner))


def _find_owner(call: Call, result: object) -> Target | None:
    """The record on which the call's activity, comment or product row stands; None if the call is about the record itself."""
    place = next((target for target in call.targets if target[0] != call.entity), None)
    if place is not None or call.lookup is None or not call.targets or call.targets[0][0] in _CURRENT:
        return place
    if call.entity == PRODUCT_ROW:
        return find_row_owner(call.targets[0], _extract_record(result), call.lookup.catalogue)
    number, kind = as_id(call.params.get("ownerId")), str(call.params.get("ownerTypeId") or "").lower()
    name = find_entity_by_code(kind, call.lookup.catalogue) if kind else ""
    return (name, number) if name and number is not None else None


def _find_whole(call: Call, owner: Target | None) -> Target | None:
    """Of a change of rows or links, the record that they are part of."""
    if call.reads_only:
        return None
    if call.spec.replaces:
        return next(iter(call.targets), None)
    return owner if call.entity == PRODUCT_ROW else None


def build_batch_changes(call: Call, reports: tuple[CommandReport, ...], results: JsonObject) -> StateChanges:
    """(S004-72, A9.) Several records of one kind leave none current; `done` sums up several commands."""
    won = [report for report in reports if report.status == "success"]
    by_key = {command.key: command for command in call.commands}
    parts = [build_changes(by_key[report.key], results.get(report.key)) for report in won]
    merged = StateChanges(
        objects={key: _find_common(part.objects[key] for part in parts if key in part.objects) for part in parts for key in part.objects},
        links={key: value for part in parts for key, value in part.links.items()},
        bindings=next((part.bindings for part in reversed(parts) if part.bindings is not None), None),
        bound=[item for part in parts for item in part.bound],
        unbound=[item for part in parts for item in part.unbound],
        done="batch: " + ", ".join(f"{report.key} {report.method}" for report in won) if won else "",
    )
    return merged if len(won) != 1 else merged.model_copy(update={"done": parts[0].done})


def _find_common(numbers: Iterable[int | None]) -> int | None:
    distinct = set(numbers)
    return distinct.pop() if len(distinct) == 1 else None


def find_entity(call: Call) -> str:
    """For crm.item.* by entityTypeId; "item" for an unknown one."""
    if call.spec.entity == "item":
        return CRM.get(_to_number(call.params.get("entityTypeId")) or 0, "item")
    return call.spec.entity


def find_created_target(call: Call, result: object) -> str:
    """Such as "deal:481" or "item:177:5"; "" for other calls and malformed answers."""
    entity = find_entity(call)
    number = _find_record_id(call, result, entity) if call.spec.verb == "add" else None
    kind = call.entity if entity == "item" and call.entity.startswith("item:") else entity
    return f"{kind}:{number}" if number else ""


def find_created_record(call: Call, result: object) -> Target | None:
    """None for other calls and malformed answers."""
    number = _find_new_id(result) if call.spec.verb == "add" and call.entity else None
    return (call.entity, number) if number else None


def _extract_record(result: object) -> JsonObject:
    if isinstance(result, Mapping):
        return next((inner for inner in map(result.get, ("item", "task", "productRow")) if isinstance(inner, Mapping)), result)
    return {}


def _find_record_id(call: Call, result: object, entity: str) -> int | None:
    if call.spec.verb == "add":
        return _find_new_id(result)
    return next((number for kind, number in call.targets if kind == entity), None)


def _find_new_id(result: object) -> int | None:
    record = _extract_record(result)
    return _to_number(record.get("id") or record.get("ID")) if record else _to_number(result)


def _find_only_row(result: object, total: int | None) -> JsonObject:
    """{} unless there is exactly one."""
    if isinstance(result, Mapping):
        result = next((value for value in result.values() if isinstance(value, list)), [])
    rows = result if isinstance(result, list) else []
    return rows[0] if len(rows) == 1 and total in {None, 1} and isinstance(rows[0], Mapping) else {}


def _to_number(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and value.isdecimal() else None


def _add_links(objects: dict[str, int | None], links: dict[str, list[str]], entity: str, number: int, record: JsonObject) -> None:
    linked = []
    for upper, current in _LINKED:
        other = _to_number(find_value(record, upper, entity))
        if other and current != _CURRENT[entity]:
            objects[current] = other
            linked.append(f"{upper.removesuffix('_ID').lower()}:{other}")
    if linked:
        links[f"{entity}:{number}"] = linked


def _describe_done(call: Call, result: object, total: int | None, record: tuple[str, int | None], owner: Target | None) -> str:
    if call.reads_only:
        return f"{call.method}: {total if total is not None else _count(result)}" if call.spec.verb == "list" else ""
    entity, number = record
    place = f" of {owner[0]}:{owner[1]}" if owner is not None else ""
    return f"{call.method} {entity} {number}{place}" if number else f"{call.method}{place}"


def _count(result: object) -> int:
    if isinstance(result, Mapping):
        result = next((value for value in result.values() if isinstance(value, list)), [])
    return len(result) if isinstance(result, list) else 0


def _build_event_changes(call: Call, result: object) -> StateChanges:
    pair = _build_binding(call.params)
    match call.method:
        case "event.get":
            return StateChanges(bindings=[_build_binding(row) for row in result] if isinstance(result, list) else [])
        case "event.bind" if result is True:
            return StateChanges(bound=[pair], done=f"event.bind {pair['event']}")
        case "event.unbind" if result is True or (isinstance(result, Mapping) and _to_number(result.get("count"))):
            return StateChanges(unbound=[pair], done=f"event.unbind {pair['event']}")
        case _:
            return StateChanges()


def _build_binding(row: JsonObject) -> dict[str, str]:
    return {"event": str(row.get("event", "")).upper(), "handler": str(row.get("handler", ""))}
