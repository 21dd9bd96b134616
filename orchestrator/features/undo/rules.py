"""Plans an undo from the present records, or tells why it is impossible. Pure.

If somebody changed one of the written fields, nothing is undone.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from bitrix.catalogue.catalogue import Catalogue, Method
from bitrix.client.batch import MAX_COMMANDS, BatchError, Command, build_cmd
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import fields, multifields
from orchestrator.gate.call.effect import Target
from orchestrator.gate.call.kept_files import build_former_value, list_file_ids
from orchestrator.gate.call.list_comparison import is_same_list
from orchestrator.gate.call.multifields import Element, Step
from orchestrator.gate.call.replaced_lists import find_list_change, to_written_rows
from orchestrator.gate.normalize.merge_multifields import find_steps
from orchestrator.gate.undo.undo_policy import UndoPart, find_task_state
from state.clock import parse_iso
from state.stored import JsonObject

Record = JsonObject
Records = Mapping[Target, Record | None]
_MEANT_WITH: Final = {"opportunity": "CURRENCY_ID", "stageid": "CATEGORY_ID"}
_STEPS: Final = 2
"""State changes of a task that lead back."""
_MOMENTS: Final = (
    ("DATE_CREATE", "DATE_MODIFY", "LAST_ACTIVITY_TIME"),
    ("CREATED_TIME", "UPDATED_TIME", "LAST_ACTIVITY_TIME"),
    ("CREATED_DATE", "CHANGED_DATE", "ACTIVITY_DATE"),
    ("CREATED", "LAST_UPDATED"),
)
"""Made, and changed last, in three spellings."""
_EDITORS: Final = (("CREATED_BY_ID", "MODIFY_BY_ID"), ("CREATED_BY", "UPDATED_BY"))
_SETTLES_WITHIN: Final = timedelta(minutes=1)
"""Changes so soon may be the portal's own."""
_COMMENT: Final = "comment"
_NEW_STATES: Final = frozenset({"", "1", "2"})


@dataclass(frozen=True, kw_only=True)
class RestoreCall:
    method: str
    params: JsonObject
    targets: tuple[Target, ...]


@dataclass(frozen=True, kw_only=True)
class ChangedField:
    part: UndoPart
    name: str
    now: object
    as_before: bool = False
    """Somebody restored it by hand."""


@dataclass(frozen=True, kw_only=True)
class Conflict:
    fields: tuple[ChangedField, ...]


@dataclass(kw_only=True)
class _PartResult:
    """Calls as (method, parameters)."""

    calls: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    changed: list[ChangedField] = field(default_factory=list)


def plan_restore(parts: Sequence[UndoPart], records: Records, catalogue: Catalogue) -> RestoreCall | Conflict | Notice:
    """The last part first. Never raises."""
    gone = next((part.target for part in parts if records.get(part.target) is None), None)
    if gone is not None:
        return Notice(code="undo-gone", args={"entity": gone[0].partition(":")[0], "id": gone[1]})
    results: list[_PartResult] = []
    for part in reversed(parts):
        back = _restore_part(part, records[part.target] or {}, catalogue)
        if isinstance(back, Notice):
            return back
        results.append(back)
    changed = tuple(changed_field for back in results for changed_field in back.changed)
    calls = [call for back in results for call in back.calls]
    others = tuple(changed_field for changed_field in changed if not changed_field.as_before)
    if others or (changed and calls):
        return Conflict(fields=others or changed)
    if not calls:
        return Notice(code="undo-already-so" if changed else "undo-nothing")
    targets = tuple(part.target for part in parts)
    if len(calls) == 1:
        return RestoreCall(method=calls[0][0], params=calls[0][1], targets=targets)
    return _build_batch(calls, targets, chained=len(parts) == 1 or any(part.is_consequence for part in parts))


def _build_batch(calls: Sequence[tuple[str, dict[str, object]]], targets: tuple[Target, ...], *, chained: bool) -> RestoreCall | Notice:
    """One card for all. `chained` calls stop at the first error."""
    commands = [Command(f"u{number:02}", method, params) for number, (method, params) in enumerate(calls)]
    if len(commands) > MAX_COMMANDS:
        return Notice(code="undo-none")
    try:
        return RestoreCall(method="batch", params={"halt": int(chained), "cmd": build_cmd(commands)}, targets=targets)
    except BatchError:
        return Notice(code="undo-none")


def _restore_part(part: UndoPart, record: Record, catalogue: Catalogue) -> _PartResult | Notice:
    if part.call.spec.leads_to:
        return _restore_state(part, record, catalogue)
    if part.call.spec.verb == "add":
        return _restore_add(part, record)
    if part.call.spec.replaces:
        return _restore_list(part, record)
    return _restore_fields(part, record)


def _restore_state(part: UndoPart, record: Record, catalogue: Catalogue) -> _PartResult | Notice:
    now, was, spec = find_task_state(record), find_task_state(part.old), part.call.spec
    if now == was:
        return _PartResult(changed=[ChangedField(part=part, name="STATUS", now=now, as_before=True)])
    if now not in spec.leads_to:
        return _PartResult(changed=[ChangedField(part=part, name="STATUS", now=now)])
    way = _find_transition(now, was, spec, catalogue)
    if way is None:
        return Notice(code="undo-none")
    return _PartResult(calls=[(method.name, {method.target[0]: part.target[1]}) for method in way])


def _find_transition(now: str, was: str, spec: Method, catalogue: Catalogue) -> tuple[Method, ...] | None:
    """The shortest one; None if there is none."""
    actions = [method for method in catalogue if method.leads_to and method.entity == spec.entity]
    ways: list[tuple[str, tuple[Method, ...]]] = [(now, ())]
    for _ in range(_STEPS):
        ways = [(action.leads_to[0], (*way, action)) for state, way in ways for action in actions if state in action.comes_from]
        methods = next((way for state, way in ways if state == was), None)
        if methods is not None:
            return methods
    return None


def _restore_add(part: UndoPart, record: Record) -> _PartResult | Notice:
    """Deletes the record, unless somebody worked on it."""
    back, call = _PartResult(), part.call
    for name, sent in call.written_fields.items():
        is_fixed = call.entity == _COMMENT and name == call.spec.author  # nobody can change it; a portal may have named the webhook's owner
        if is_fixed or name in part.unchanged or multifields.is_multifield(name) or not fields.has_field(record, name, call.entity):
            continue
        now = fields.find_value(record, name, call.entity)
        if not is_same_value(part, name, sent, now):
            back.changed.append(ChangedField(part=part, name=name, now=now))
    kind = {name: call.params[name] for name in ("entityTypeId",) if name in call.params}
    if not back.changed:
        if _is_worked_on(part, record):
            return Notice(code="undo-worked-on", args={"entity": part.target[0].partition(":")[0], "id": part.target[1]})
        back.calls.append((part.undo.name, {**kind, part.undo.target[0]: part.target[1]}))
    return back


def _is_worked_on(part: UndoPart, record: Record) -> bool:
    """In doubt the record counts as worked on."""
    if part.call.entity == "task" and find_task_state(record) not in _NEW_STATES:
        return True
    editors = [tuple(fields.find_value(record, name) for name in names) for names in _EDITORS]
    if any(maker and editor and str(maker) != str(editor) for maker, editor in editors):
        return True
    for names in _MOMENTS:
        created, *later = (fields.find_value(record, name) for name in names)
        if isinstance(created, str) and created:
            return any(isinstance(moment, str) and moment and not _is_soon_after(created, moment) for moment in later)
    return False


def _is_soon_after(created: str, moment: str) -> bool:
    try:
        return parse_iso(moment) - parse_iso(created) <= _SETTLES_WITHIN
    except ValueError:
        return moment == created


def _restore_list(part: UndoPart, record: Record) -> _PartResult | Notice:
    """A Notice if the former list is unknown."""
    change = find_list_change(part.call, part.old)
    if change is None or change.old is None:
        return Notice(code="undo-none")
    if is_same_list(change.new, change.old, change.kind):
        return _PartResult()
    now = record.get(change.name)
    rows = now if isinstance(now, list) else None
    if rows is None or not is_same_list(change.new, rows, change.kind):
        as_before = rows is not None and is_same_list(change.old, rows, change.kind)
        return _PartResult(changed=[ChangedField(part=part, name=change.name, now=now, as_before=as_before)])
    places = {*part.undo.target, part.undo.target_entity.removeprefix("@")}
    base = {name: value for name, value in part.call.params.items() if name in places}
    return _PartResult(calls=[(part.undo.name, {**base, change.name: to_written_rows(change.old)})])


def _restore_fields(part: UndoPart, record: Record) -> _PartResult:
    back, call = _PartResult(), part.call
    steps = find_steps(call, part.old)
    put: dict[str, object] = {}
    for name, sent in call.written_fields.items():
        known = call.spec.stands_for.get(name, name)
        if name in steps:
            _restore_phones(part, name, steps[name], record, put=put, back=back)
            continue
        was, now = fields.find_value(part.old, known, call.entity), fields.find_value(record, known, call.entity)
        if name in part.files and fields.has_field(record, known, call.entity):
            ids, files = list_file_ids(now), part.files[name]
            if ids == files.now:
                put[name] = build_former_value(was, files)
            else:
                back.changed.append(ChangedField(part=part, name=known, now=now, as_before=ids == list_file_ids(was)))
            continue
        if is_same_value(part, known, sent, was) or (name in part.unchanged and is_same_value(part, known, was, now)):
            continue
        if fields.has_field(record, known, call.entity) and is_same_value(part, known, sent, now):
            put[name] = "" if was is None or was is False else was  # `false` is how the portal says that there was none
            continue
        back.changed.append(ChangedField(part=part, name=known, now=now, as_before=is_same_value(part, known, was, now)))
    back.changed.extend(_check_companions(part, record, put))
    if put:
        back.calls.append(_build_update(part, put))
    return back


def _check_companions(part: UndoPart, record: Record, put: JsonObject) -> Iterator[ChangedField]:
    """With another currency an old sum would mean something else."""
    entity = part.call.entity
    written_keys = {fields.to_field_key(name, entity) for name in part.call.written_fields}
    for name in put:
        other = _MEANT_WITH.get(fields.to_field_key(name, entity), "")
        if (
            not other
            or fields.to_field_key(other, entity) in written_keys
            or not (fields.has_field(part.old, other, entity) and fields.has_field(record, other, entity))
        ):
            continue
        now = fields.find_value(record, other, entity)
        if not is_same_value(part, other, fields.find_value(part.old, other, entity), now):
            yield ChangedField(part=part, name=other, now=now)


def _restore_phones(part: UndoPart, name: str, steps: Sequence[Step], record: Record, *, put: dict[str, object], back: _PartResult) -> None:
    """Adds to `put`, or to `back.changed`."""
    kinds = {step.kind for step in steps}
    before = [element for element in multifields.parse_elements(part.old) if element.kind in kinds]
    present = [element for element in multifields.parse_elements(record) if element.kind in kinds]
    if not steps:
        return
    if _count_keys(present) != _count_keys(multifields.apply_steps(steps, before)):
        values, again = "; ".join(one.value for one in present), _count_keys(present) == _count_keys(before)
        back.changed.append(ChangedField(part=part, name=name, now=values, as_before=again))
        return
    inverse = [undone for step in steps if (undone := _invert_step(step, present)) is not None]
    put[name] = multifields.build_value(inverse, in_items=part.call.method.startswith("crm.item."), new=False)


def _invert_step(step: Step, present: Sequence[Element]) -> Step | None:
    if step.verb == "remove" and step.old is not None:
        return Step(verb="add", kind=step.kind, value=step.old.value, value_type=step.old.value_type)
    if step.verb == "edit" and step.old is not None:
        now = next((one for one in present if one.id == step.old.id), None)
        return Step(verb="edit", kind=step.kind, value=step.old.value, value_type=step.old.value_type, old=now) if now else None
    key = Element(id="", kind=step.kind, value=step.value).key
    now = next((one for one in present if one.key == key), None)
    return Step(verb="remove", kind=step.kind, old=now) if now else None


def _count_keys(elements: Sequence[Element]) -> Counter[tuple[str, str]]:
    return Counter(element.key for element in elements)


def _build_update(part: UndoPart, put: JsonObject) -> tuple[str, dict[str, object]]:
    """As (method, parameters)."""
    call, undo = part.call, part.undo
    if undo.name == call.spec.name:
        base = {name: value for name, value in call.params.items() if name != undo.fields_at and name not in put}
        params = (
            {**base, undo.fields_at: dict(put)} if undo.fields_at else {name: put.get(name, value) for name, value in call.params.items()}
        )
        return undo.name, params
    own = {call.spec.stands_for.get(name, name): value for name, value in put.items()}
    at = {undo.fields_at: own} if undo.fields_at else own
    return undo.name, {undo.target[0]: part.target[1], **at}


def is_same_value(part: UndoPart, name: str, sent: object, now: object) -> bool:
    """False if unsure: better undo nothing than overwrite a change."""
    info = fields.find_field_info(part.call.entities.get(part.call.entity), name)
    kind = info.kind if info else "text"
    if fields.is_same_value(sent, now, kind=kind):
        return True
    match kind:
        case "text" | "prose":
            return isinstance(sent, str) and isinstance(now, str) and sent.split() == now.split()
        case "date":
            return fields.is_same_value(sent, now, kind="datetime")
        case "datetime":
            known = _trim_to_precision(str(sent))
            return bool(known) and str(now).startswith(known)
        case _:
            return False


def _trim_to_precision(text: str) -> str:
    """Times with a UTC offset are not compared: the portal's zone is unknown here."""
    plain = text.strip().replace(" ", "T")
    day, _, clock = plain.partition("T")
    if len(day) != len("2026-12-01") or any(sign in clock for sign in "+-Z"):
        return ""
    return f"{day}T{clock[: len('10:00')]}" if clock else day
