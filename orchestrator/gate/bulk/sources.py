"""Which single calls a change of many records consists of, before anything is judged."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from difflib import get_close_matches
from itertools import cycle
from typing import Any, Final

from bitrix.catalogue.catalogue import Method
from orchestrator.domain.actor import Actor
from orchestrator.domain.bulk import CHANGE_ALL, CHANGEABLE, HAND_OVER, KINDS, PLACE, RecordKind, find_record_kind
from orchestrator.domain.effect import Effect
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import Call, Refuse, Target
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.params import build_refusal
from orchestrator.gate.call.ports import Rejected, TooMany
from orchestrator.gate.call.reasons import refuse
from orchestrator.gate.decide.decide import evaluate
from orchestrator.gate.decide.fetch_facts import fetch_facts
from orchestrator.gate.normalize.normalize import normalize
from state.stored import JsonObject

_NUMBERS: Final = ("ID", "id")
_SUMS: Final = frozenset({"OPPORTUNITY", "opportunity"})
_MOST_NEAR: Final = 5


HANDED: Final = ("deals", "leads", "tasks", "contacts", "companies", "activities")


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """One call to judge. `record` is what it is about, `row` how the portal has it."""

    method: str
    params: JsonObject
    record: Target
    row: JsonObject
    expected: JsonObject = field(default_factory=dict)
    """Values that it must have still, of an undo."""
    is_filled: bool = False
    """Words of the record stand in the call."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidates:
    verb: str
    entity: str
    rows: Sequence[Candidate]
    former: int = 0
    """Whose records go to others, who are told."""
    matched: int = 0
    """Where only the first are taken, how many there are."""
    sorted_by: str = ""


async def list_candidates(call: Call, actor: Actor, deps: GateDeps) -> Candidates | Refuse:
    """Raises BitrixError and Refusal."""
    if call.method == CHANGE_ALL:
        return await _list_filtered(call.params, actor, deps)
    if call.method == HAND_OVER:
        return await _list_handed(call.params, actor, deps)
    return await _list_undone(str(call.params["run"]), str(call.params.get("record") or ""), actor, deps)


def _find_kind(name: str) -> RecordKind:
    """Raises Refusal, which names those that there are."""
    kind = find_record_kind(name)
    if kind is None:
        raise build_refusal("gate-param-invalid", param="of", expected=f"one of {', '.join(CHANGEABLE)}")
    return kind


async def _list_filtered(params: JsonObject, actor: Actor, deps: GateDeps) -> Candidates | Refuse:
    kind, values, added = _find_kind(str(params["of"])), params.get("fields") or {}, params.get("add")
    if bool(values) == bool(added):
        raise build_refusal("gate-param-invalid", param="fields", expected="what changes in each record, or `add`, what is made for each")
    if not params.get("filter"):
        raise build_refusal("gate-param-invalid", param="filter", expected="a condition: nothing is changed in all records of a portal")
    found = await _read_rows(kind, params["filter"], actor, deps)
    if isinstance(found, Refuse):
        return found
    rows = _take_first(found, params, kind)
    if added:
        spec = _find_addition(str(added["method"]), deps)
        candidates = Candidates(verb="add", entity=spec.entity, rows=[_build_addition(spec, added["fields"], kind, row) for row in rows])
    else:
        candidates = Candidates(verb="update", entity=kind.entity, rows=[_build_update(kind, row, values) for row in rows])
    return replace(candidates, matched=len(found), sorted_by=_name_order(params)) if len(rows) < len(found) else candidates


def _take_first(rows: Sequence[JsonObject], params: JsonObject, kind: RecordKind) -> Sequence[JsonObject]:
    """As many as the step wants, in its order; records without a value come last. Raises Refusal."""
    order, limit = params.get("order") or {}, params.get("limit") or 0
    if not order and not limit:
        return rows
    if not (order and limit):
        raise build_refusal("gate-param-invalid", param="limit", expected='given with "order", which says which records are the first')
    ((name, direction),) = order.items()
    if rows and not fields.has_field(rows[0], name, kind.entity):
        raise build_refusal("gate-param-invalid", param="order", expected=f"a field of the record, not {name}")
    if name in _SUMS and len({fields.find_value(row, "CURRENCY_ID", kind.entity) for row in rows}) > 1:
        raise build_refusal("gate-param-invalid", param="order", expected="of one currency: name CURRENCY_ID in the filter")
    valued = [(_build_rank(fields.find_value(row, name, kind.entity)), row) for row in rows]
    known = sorted(
        (one for one in valued if one[0] is not None), key=lambda one: one[0] or (0, Decimal(0), ""), reverse=_is_falling(direction)
    )
    return [row for _, row in (*known, *(one for one in valued if one[0] is None))][:limit]


def _build_rank(value: object) -> tuple[int, Decimal, str] | None:
    """Numbers by their size, all else as text: so are dates, which the portal writes with the year in front."""
    if value in (None, ""):
        return None
    number = fields.parse_number(value)
    return (0, number, "") if number is not None else (1, Decimal(0), str(value))


def _is_falling(direction: object) -> bool:
    return str(direction).upper() == "DESC"


def _name_order(params: JsonObject) -> str:
    ((name, direction),) = params["order"].items()
    return f"{'-' if _is_falling(direction) else ''}{name}"


async def _list_handed(params: JsonObject, actor: Actor, deps: GateDeps) -> Candidates | Refuse:
    """Of each kind its open records, and all contacts and companies, in turn to the people named."""
    candidates: list[Candidate] = []
    for name in params.get("what") or HANDED:
        kind = KINDS[name]
        rows = await _read_rows(kind, {kind.owner: params["from"], **kind.open_only}, actor, deps)
        if isinstance(rows, Refuse):
            return rows
        owners = cycle(params["to"])
        candidates += [_build_update(kind, row, {kind.owner: next(owners)}) for row in rows]
        if len(candidates) > deps.policy.bulk.most:
            return build_too_many(len(candidates), deps)
    return Candidates(verb="handover", entity="", rows=candidates, former=params["from"])


async def _list_undone(run: str, record: str, actor: Actor, deps: GateDeps) -> Candidates | Refuse:
    """The old values of what a run has written; a record that has other values since is left out later."""
    done = await deps.bulk.read_run(run)
    if done is None:
        return refuse("gate-bulk-gone")
    updates = [item for item in done.list_items() if item.before and record in {"", item.record}]
    calls = [(item, normalize_leaf(item.method, item.params, actor, deps)) for item in updates]
    targets = [call.targets[0] for _, call in calls if isinstance(call, Call) and call.targets]
    records = await deps.records.load_records(targets) if targets else {}
    rows: list[Candidate] = []
    for item, call in calls:
        if not isinstance(call, Call) or not call.targets:
            continue
        params = {**item.params, (call.spec.fields_at or "fields"): dict(item.before)}
        row = records.get(call.targets[0]) or {}
        expected = call.written_fields
        rows.append(Candidate(method=item.method, params=params, record=call.targets[0], row=row, expected=expected, is_filled=True))
    return Candidates(verb="undo", entity="", rows=rows)


def build_too_many(count: int, deps: GateDeps) -> Refuse:
    return refuse("gate-bulk-many", count=count, limit=deps.policy.bulk.most)


async def _read_rows(kind: RecordKind, conditions: JsonObject, actor: Actor, deps: GateDeps) -> Sequence[JsonObject] | Refuse:
    """Of a list that is judged as any other: with the rights of the person and the portal's own field names."""
    select = ["*"] if kind.type_id else ["*", "UF_*"]
    type_id = {"entityTypeId": int(kind.type_id)} if kind.type_id else {}
    order = {"id": "ASC"} if kind.type_id else {"ID": "ASC"}
    proposed = {"filter": dict(conditions), "select": select, "order": order, **type_id}
    call = normalize_leaf(kind.list, proposed, actor, deps)
    if isinstance(call, Refuse):
        return call
    effect = Effect(method=kind.list, params=proposed)
    call, verdict = evaluate(call, mode="full", policy=deps.policy, actor=actor, facts=await fetch_facts(call, actor, deps), effect=effect)
    if isinstance(verdict, Refuse):
        return verdict
    most = deps.policy.bulk.most
    rows = await deps.bulk.read_records(call, most)
    if isinstance(rows, Rejected):
        return Refuse(reason=Notice(code=rows.code, args=dict(rows.args)), detail=rows.detail, foreign_text=rows.foreign_text)
    return build_too_many(rows.count, deps) if isinstance(rows, TooMany) else rows


def normalize_leaf(method: str, params: JsonObject, actor: Actor, deps: GateDeps, *, origin: str = "bulk") -> Call | Refuse:
    performer = deps.performers.get("bitrix")
    effect = Effect(method=method, params=params)
    return normalize(effect, catalogue=deps.catalogue, portal=performer.portal if performer else "", actor=actor, effect_id=origin)


def find_number(row: JsonObject) -> int:
    """0 for a row without a number."""
    text = str(next((row[name] for name in _NUMBERS if row.get(name) is not None), ""))
    return int(text) if text.isascii() and text.isdecimal() else 0


def _build_update(kind: RecordKind, row: JsonObject, values: JsonObject) -> Candidate:
    number = find_number(row)
    filled = {name: _fill(value, row, kind.entity) for name, value in values.items()}
    params = {**kind.build_target(number), "fields": filled}
    return Candidate(method=kind.update, params=params, record=(kind.entity, number), row=row, is_filled=filled != values)


def _find_addition(method: str, deps: GateDeps) -> Method:
    """Raises Refusal for what adds nothing, or reaches people outside."""
    spec = deps.catalogue.find(method)
    if spec is None or spec.verb != "add" or set(spec.classes) != {"W"}:
        raise build_refusal("gate-param-invalid", param="add.method", expected="a method that adds a record, such as tasks.task.add")
    return spec


def _build_addition(spec: Method, written: JsonObject, kind: RecordKind, row: JsonObject) -> Candidate:
    filled = {name: _fill(value, row, kind.entity) for name, value in written.items()}
    params = {spec.fields_at: filled} if spec.fields_at else filled
    return Candidate(method=spec.name, params=params, record=(kind.entity, find_number(row)), row=row, is_filled=filled != written)


def _fill(value: object, row: JsonObject, entity: str) -> Any:
    """Texts with the record's own values in place of "{FIELD}". Raises Refusal for a name that it does not have."""
    if isinstance(value, str):
        return PLACE.sub(lambda match: _read_place(match, row, entity), value)
    if isinstance(value, list):
        return [_fill(one, row, entity) for one in value]
    if isinstance(value, Mapping):
        return {name: _fill(one, row, entity) for name, one in value.items()}
    return value


def _read_place(match: re.Match[str], row: JsonObject, entity: str) -> str:
    if not fields.has_field(row, match[1], entity):
        near = get_close_matches(match[1].upper(), sorted(row), n=_MOST_NEAR, cutoff=0.4) or sorted(row)[:_MOST_NEAR]
        raise build_refusal("gate-bulk-place", param=match[0], near=", ".join(f"{{{name}}}" for name in near))
    found = fields.find_value(row, match[1], entity)
    return "" if found is None else str(found)


def list_own_values(call: Call, row: JsonObject) -> Iterator[tuple[str, object]]:
    """Of the fields that the call writes, those of the record."""
    for name in call.written_fields:
        if fields.has_field(row, name, call.entity):
            yield name, fields.find_value(row, name, call.entity)
