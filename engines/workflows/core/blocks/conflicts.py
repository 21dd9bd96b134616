"""Compares what a run proposes for its record with what people changed while it worked (S003-X10). Pure.

A conflict is a field that the run sets and somebody has set to something else since the run began. A change such as `+=` is none, because
it is computed from the present value; but it is one if the field holds something now that nothing can be added to, and did not before.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from engines.workflows.core.entities import find_field, find_field_name, list_field_names
from engines.workflows.core.field_values import compute_value, is_same
from engines.workflows.core.operations import Emitted
from orchestrator.engines.runs import RunFailed
from state.stored import JsonObject

Side = Literal["person", "process"]
PERSON: Final[Side] = "person"
PROCESS: Final[Side] = "process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record of the portal: its kind and its number as workflows write it."""

    kind: str
    number: str

    @property
    def key(self) -> str:
        """Its key, such as deal:481."""
        return f"{self.kind}:{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldConflict:
    """A field that the run and somebody else have changed differently."""

    key: str
    """Its name, as the run spells it first."""
    before: Any
    """The value when the run began."""
    person: Any
    """The value that it has now."""
    process: Any
    """The value that the run proposes."""

    def to_stored(self) -> JsonObject:
        """Return it as JSON data."""
        return {"key": self.key, "before": self.before, "person": self.person, "process": self.process}

    @classmethod
    def from_stored(cls, stored: JsonObject) -> "FieldConflict":
        """Return it from its JSON data."""
        return cls(key=stored["key"], before=stored["before"], person=stored["person"], process=stored["process"])


def find_conflicts(record: Record, before: JsonObject, now: JsonObject, operations: Sequence[Emitted]) -> list[FieldConflict]:
    """Return the fields in conflict, in the order in which the run changes them. `before` and `now` are the snapshots Input and Temp.

    Raises RunFailed for a change whose field could be several of the record's: of which one it writes over, nobody could be asked.
    """
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
    """Return the conflicts of these fields, which were found before. Raises RunFailed for one that the run does not change any more."""
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
    """Return the operations, None for one of a field that stays as it is, and where the run's value was chosen that value itself."""
    taken = {field_conflict.key: field_conflict for field_conflict in conflicts}
    own = set(_list_places(record, operations))
    found: list[Emitted | None] = []
    for place, one in enumerate(operations):
        name = find_field_name(taken, one.operation.attribute_key or "", record.kind) if place in own else None
        conflict = taken[name] if name is not None else None
        if conflict is None:
            found.append(one)
        elif choices.get(conflict.key) != PROCESS:
            found.append(None)
        else:
            operation = one.operation
            if operation.modify_operator != "=":
                value = {"modify_operator": "=", "modify_value": conflict.process}
                one = replace(one, operation=operation.model_copy(update=value))  # noqa: PLW2901 - the same operation, computed
            found.append(one)
    return found


def compute_changes(record: Record, before: JsonObject, operations: Sequence[Emitted]) -> dict[str, Any]:
    """Return the fields that the operations give other values than in `before`; those that cannot be computed are left out."""
    values = {key: _compute(changes, find_field(before, key, record.kind)) for key, changes in _list_changes(record, operations).items()}
    return {key: one for key, one in values.items() if one is not UNCOMPUTED and not is_same(one, find_field(before, key, record.kind))}


def has_changes(record: Record, operations: Sequence[Emitted]) -> bool:
    """Return whether any of the operations changes or deletes the record."""
    return next(_list_places(record, operations), None) is not None


def list_differences(before: JsonObject, now: JsonObject) -> dict[str, Any]:
    """Return the fields of `now` whose value is not that of `before`."""
    return {key: value for key, value in now.items() if not is_same(value, before.get(key))}


class _Uncomputed:
    """Stands for a value that cannot be computed."""


UNCOMPUTED: Final = _Uncomputed()


def _list_places(record: Record, operations: Sequence[Emitted]) -> Iterator[int]:
    """Yield the places of the operations on the record; behind one that makes a record under this number it is the name of that one."""
    for place, one in enumerate(operations):
        operation = one.operation
        if (operation.entity_type, operation.entity_id) != (record.kind, record.number):
            continue
        if operation.operation_type == "CreateEntity":
            return
        yield place


def _list_changes(record: Record, operations: Sequence[Emitted]) -> dict[str, list[Emitted]]:
    """Return the operations that change fields of the record, by field in the order of their first change, in whose spelling it stands."""
    found: dict[str, list[Emitted]] = {}
    for place in _list_places(record, operations):
        if key := operations[place].operation.attribute_key or "":
            found.setdefault(find_field_name(found, key, record.kind) or key, []).append(operations[place])
    return found


def _compute(changes: Sequence[Emitted], before: Any) -> Any:
    """Return the value of a field after all changes, `UNCOMPUTED` if one of those that count cannot be computed.

    What stands before the last `=` does not count: it may be that it can be computed from one value of the field and not from another.
    """
    value = before
    first = max((place for place, change in enumerate(changes) if change.operation.modify_operator == "="), default=0)
    for change in changes[first:]:
        operation = change.operation
        try:
            value = operation.modify_value if operation.modify_operator == "=" else compute_value(operation, value)
        except RunFailed:
            return UNCOMPUTED
    return value
