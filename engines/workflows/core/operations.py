"""The operations that runes, scripts and models write (S003-17, S003-49, S003-X9), and all that a tuum publishes (S003-11, S003-34)."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, get_args

from pydantic import ValidationError

from engines.workflows.core.entities import ENTITIES
from engines.workflows.core.results import AtomicOperation, OperationType
from engines.workflows.core.rune_types import AUTHOR
from orchestrator.domain.taint import Origins, Value
from orchestrator.domain.value_faults import describe_fault
from orchestrator.engines.shared.block_marks import restore_data
from orchestrator.engines.shared.left_out import list_null_fields
from state.stored import JsonObject

MOST_OPERATIONS: Final = 500
"""Ten cards of fifty."""
_OPERATIONS: Final = frozenset(get_args(OperationType))


class OperationUnfit(ValueError):
    """What should be an operation is none; the message says what is wrong with it, in English."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Emitted:
    """An operation with where what it holds comes from."""

    operation: AtomicOperation
    origins: Origins
    left_out: tuple[str, ...] = ()
    """Fields for which no value came, which are not written."""

    def to_stored(self) -> JsonObject:
        operation = self.operation.model_dump(mode="json", by_alias=True, exclude_none=True)
        left_out = {"left_out": list(self.left_out)} if self.left_out else {}
        return {"operation": operation, "origins": sorted(self.origins), **left_out}

    @classmethod
    def from_stored(cls, stored: JsonObject) -> "Emitted":
        operation = AtomicOperation.model_validate(stored["operation"])
        return cls(operation=operation, origins=frozenset(stored["origins"]), left_out=tuple(stored.get("left_out", ())))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    operations: tuple[Emitted, ...]
    left_out: tuple[str, ...]


def judge_nulls(emitted: Emitted) -> Emitted:
    """Where anything in the operation is a model's, null is no value but a missing one."""
    if "model" not in emitted.origins or emitted.left_out:
        return emitted
    operation = emitted.operation
    missing = [operation.attribute_key] if operation.attribute_key and operation.modify_value is None else []
    missing += list_null_fields(operation.initial_attributes or {})
    return replace(emitted, left_out=tuple(missing)) if missing else emitted


def leave_out(operations: Iterable[Emitted]) -> Sorted:
    """Drop fields without a value. What would only make such a record goes, with what changes it."""
    remaining: list[Emitted] = []
    left_out: list[str] = []
    unmade: set[tuple[str, str]] = set()
    for emitted in operations:
        operation, record = emitted.operation, (emitted.operation.entity_type, emitted.operation.entity_id)
        left_out += emitted.left_out
        if operation.operation_type == "CreateEntity" and emitted.left_out:
            fields = {name: field for name, field in (operation.initial_attributes or {}).items() if name not in emitted.left_out}
            operation = operation.model_copy(update={"initial_attributes": fields})
            if not fields:
                unmade.add(record)
        if record in unmade:
            left_out += [operation.attribute_key] if operation.attribute_key else []
        elif operation.operation_type == "CreateEntity" or not emitted.left_out:
            remaining.append(Emitted(operation=operation, origins=emitted.origins))
    return Sorted(operations=tuple(remaining), left_out=tuple(dict.fromkeys(left_out)))


def read_operation(raw: object) -> AtomicOperation:
    """Strip the id of a record. Raises OperationUnfit."""
    if not isinstance(raw, Mapping):
        raise OperationUnfit("an operation is an object")
    read: Mapping[str, object] = restore_data(raw)
    entity = read.get("entityId")
    is_number = isinstance(entity, int) and not isinstance(entity, bool)
    fields = {**read, "entityId": str(entity).strip()} if is_number or isinstance(entity, str) else read
    try:
        operation = AtomicOperation.model_validate(dict(fields))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(one) for one in first["loc"])
        raise OperationUnfit(f"{place}: {describe_fault(first)}") from None
    if problem := _find_problem(operation):
        raise OperationUnfit(problem)
    return operation


def _find_problem(atomic_operation: AtomicOperation) -> str:
    """Return "" for a whole operation."""
    is_change = atomic_operation.operation_type == "ModifyEntity"
    if atomic_operation.operation_type == "CreateEntity" and not atomic_operation.initial_attributes:
        return "initialAttributes: a record that is made needs fields"
    if atomic_operation.operation_type != "CreateEntity" and atomic_operation.initial_attributes:
        return "initialAttributes: only a record that is made has them"
    if is_change and not (atomic_operation.attribute_key and atomic_operation.modify_operator):
        return "attributeKey and modifyOperator: a change needs both"
    if not is_change and (atomic_operation.attribute_key or atomic_operation.modify_operator or atomic_operation.modify_value is not None):
        return "attributeKey, modifyOperator, modifyValue: only a change has them"
    return ""


def read_operations(operations_value: Value) -> Iterable[Emitted]:
    """Raises OperationUnfit naming the place of a wrong one."""
    items: Any = operations_value.data
    if not isinstance(items, list):
        raise OperationUnfit("operations are a list")
    read: list[Emitted] = []
    for index, raw in enumerate(items):
        try:
            read.append(Emitted(operation=read_operation(raw), origins=operations_value.origins))
        except OperationUnfit as error:
            raise OperationUnfit(f"operation {index + 1}: {error}") from None
    return read


def name_kind(operation: AtomicOperation) -> str:
    """As `mayPropose` writes it: ModifyEntity deal."""
    return f"{operation.operation_type} {operation.entity_type}"


def check_proposals(operations: Iterable[AtomicOperation], may_propose: Collection[str] | None) -> None:
    """Raise OperationUnfit; None lets a tuum propose any."""
    for operation in operations:
        if may_propose is not None and name_kind(operation) not in may_propose:
            raise OperationUnfit(f"{name_kind(operation)} is not in mayPropose: {', '.join(may_propose) or 'nothing'}")


def list_written_kinds(raw_operations: list[object]) -> Iterator[str]:
    """Yield each kind once, without those that only a run will know."""
    kinds = dict.fromkeys((str(one.get("operationType")), str(one.get("entityType"))) for one in raw_operations if isinstance(one, Mapping))
    yield from (f"{operation} {entity}" for operation, entity in kinds if operation in _OPERATIONS and entity in ENTITIES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    raw_text: Value | None = None
    operations: Value | None = None


NO_ENDING: Final = Ending()


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    variables: Mapping[str, Value] = field(default_factory=dict)
    operations: tuple[Emitted, ...] = ()
    ending: Ending = NO_ENDING

    def find_origins(self) -> Origins:
        origins = AUTHOR
        for part in (*self.variables.values(), *self.operations, self.ending.raw_text, self.ending.operations):
            if part is not None and not part.origins <= origins:
                origins |= part.origins
        return origins

    def to_stored(self) -> JsonObject:
        stored: dict[str, JsonObject | list[JsonObject]] = {
            "variables": {name: variable.to_stored() for name, variable in self.variables.items()},
            "operations": [operation.to_stored() for operation in self.operations],
        }
        for name, value in (("raw_text", self.ending.raw_text), ("terminal", self.ending.operations)):
            if value is not None:
                stored[name] = value.to_stored()
        return stored

    @classmethod
    def from_stored(cls, stored: Value) -> "Published":
        """Where the run found text of strangers that nothing told of, all counts as theirs."""
        data = stored.data
        read = cls(
            variables={name: Value.from_stored(variable) for name, variable in data["variables"].items()},
            operations=tuple(Emitted.from_stored(operation) for operation in data["operations"]),
            ending=Ending(raw_text=_read(data.get("raw_text")), operations=_read(data.get("terminal"))),
        )
        hidden = stored.origins - read.find_origins()
        return read.add_origins(hidden) if hidden else read

    def add_origins(self, origins: Origins) -> "Published":
        ending = Ending(raw_text=_add(self.ending.raw_text, origins), operations=_add(self.ending.operations, origins))
        return Published(
            variables={name: Value(variable.data, variable.origins | origins) for name, variable in self.variables.items()},
            operations=tuple(replace(one, origins=one.origins | origins) for one in self.operations),
            ending=ending,
        )


def _read(stored: JsonObject | None) -> Value | None:
    return Value.from_stored(stored) if stored is not None else None


def _add(value: Value | None, origins: Origins) -> Value | None:
    return Value(value.data, value.origins | origins) if value is not None else None
