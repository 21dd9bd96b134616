"""Compares what a run proposes for its record with what people changed meanwhile (S003-X10)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from engines.workflows.core.entities import compute_value, find_field, find_field_name, is_same, list_field_names
from engines.workflows.core.operations import Emitted
from orchestrator.engines.runs import RunFailed
from state.stored import JsonObject

Side = Literal["person", "process"]
PERSON: Final[Side] = "person"
PROCESS: Final[Side] = "process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    kind: str
    number: str

    @property
    def key(self) -> str:
        return f"{self.kind}:{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldConflict:
    key: str
    before: Any
    person: Any
    process: Any

    def to_stored(self) -> JsonObject:
        return {"key": self.key, "before": self.before, "person": self.person, "process": self.process}

    @classmethod
    def from_stored(cls, stored: JsonObject) -> "FieldConflict":
        return cls(key=stored["key"], before=stored["before"], person=stored["person"], process=stored["process"])


def find_conflicts(record: Record, before: JsonObject, now: JsonObject, operations: Sequence[Emitted]) -> list[FieldConflict]:
    """Return conflicts in the order of the run's changes. Raises RunFailed for a change whose field is ambiguous."""
    field_conflicts: list[FieldConflict] = []
    for key, changes in _list_changes(record, operations).items():
        if key not in now and len(names := list_field_names(now, key, record.kind)) > 1:
            raise RunFailed("workflow-field-doubtful", f"{key} may be {' or '.join(names)} of {record.key}", name=key)
        old, present = find_field(before, key, record.kind), find_field(now, key, record.kind)
        if is_same(old, present):
            continue
        proposed = _compute(changes, old)
        if proposed is UNCOMPUTED:
            continue  # it is refused when it is to be written
        if any(change.operation.modify_operator == "=" for change in changes):
            if is_same(proposed, present):
                continue
        elif _compute(changes, present) is not UNCOMPUTED:
            continue
        field_conflicts.append(FieldConflict(key=key, before=old, person=present, process=proposed))
    return field_conflicts


def build_conflicts(
    record: Record, before: JsonObject, now: JsonObject, operations: Sequence[Emitted], keys: Iterable[str]
) -> list[FieldConflict]:
    """Rebuild conflicts found before. Raises RunFailed for a field that the run no longer changes."""
    changes = _list_changes(record, operations)
    field_conflicts: list[FieldConflict] = []
    for key in keys:
        name, old = find_field_name(changes, key, record.kind), find_field(before, key, record.kind)
        proposed = _compute(changes[name], old) if name is not None else UNCOMPUTED
        if proposed is UNCOMPUTED:
            raise RunFailed("workflow-operations-uncomputed", f"what {key} becomes cannot be computed any more", name=key)
        field_conflicts.append(FieldConflict(key=key, before=old, person=find_field(now, key, record.kind), process=proposed))
    return field_conflicts


def choose_operations(
    record: Record, operations: Sequence[Emitted], conflicts: Iterable[FieldConflict], choices: Mapping[str, str]
) -> list[Emitted | None]:
    """None where the field stays, the computed value where the run's was chosen."""
    by_key = {field_conflict.key: field_conflict for field_conflict in conflicts}
    own = set(_list_places(record, operations))
    chosen: list[Emitted | None] = []
    for place, emitted in enumerate(operations):
        name = find_field_name(by_key, emitted.operation.attribute_key or "", record.kind) if place in own else None
        conflict = by_key[name] if name is not None else None
        if conflict is None:
            chosen.append(emitted)
        elif choices.get(conflict.key) != PROCESS:
            chosen.append(None)
        else:
            operation = emitted.operation
            if operation.modify_operator != "=":
                value = {"modify_operator": "=", "modify_value": conflict.process}
                emitted = replace(emitted, operation=operation.model_copy(update=value))  # noqa: PLW2901 - the same operation, computed
            chosen.append(emitted)
    return chosen


def compute_changes(record: Record, before: JsonObject, operations: Sequence[Emitted]) -> dict[str, Any]:
    """Return the changed fields; those that cannot be computed are left out."""
    values = {key: _compute(changes, find_field(before, key, record.kind)) for key, changes in _list_changes(record, operations).items()}
    return {key: one for key, one in values.items() if one is not UNCOMPUTED and not is_same(one, find_field(before, key, record.kind))}


def has_changes(record: Record, operations: Sequence[Emitted]) -> bool:
    return next(_list_places(record, operations), None) is not None


def list_differences(before: JsonObject, now: JsonObject) -> dict[str, Any]:
    return {key: value for key, value in now.items() if not is_same(value, before.get(key))}


class _Uncomputed:
    pass


UNCOMPUTED: Final = _Uncomputed()


def _list_places(record: Record, operations: Sequence[Emitted]) -> Iterator[int]:
    """Behind the creation of a record under this number it means the new one."""
    for place, emitted in enumerate(operations):
        operation = emitted.operation
        if (operation.entity_type, operation.entity_id) != (record.kind, record.number):
            continue
        if operation.operation_type == "CreateEntity":
            return
        yield place


def _list_changes(record: Record, operations: Sequence[Emitted]) -> dict[str, list[Emitted]]:
    by_field: dict[str, list[Emitted]] = {}
    for place in _list_places(record, operations):
        if key := operations[place].operation.attribute_key or "":
            by_field.setdefault(find_field_name(by_field, key, record.kind) or key, []).append(operations[place])
    return by_field


def _compute(changes: Sequence[Emitted], before: Any) -> Any:
    """Return `UNCOMPUTED` if a change from the last `=` on cannot be computed."""
    value = before
    first = max((place for place, change in enumerate(changes) if change.operation.modify_operator == "="), default=0)
    for change in changes[first:]:
        operation = change.operation
        try:
            value = operation.modify_value if operation.modify_operator == "=" else compute_value(operation, value)
        except RunFailed:
            return UNCOMPUTED
    return value
