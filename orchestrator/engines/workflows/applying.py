"""Hands the operations of a workflow to the gate: the host's part after the engine has returned them (S003-18, S003-19, S003-71, S003-A6).

The operations of a run are one card, of at most as many commands as a batch of the portal takes; more of them are several cards, one after
another. Each is sent once: what was refused, failed or is not known is not tried again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, DecimalException, localcontext
from typing import Any, Final

from orchestrator.domain.effect import BatchUnwritable, write_batch
from orchestrator.domain.outcome import Outcome
from orchestrator.domain.outputs import Notice
from orchestrator.domain.taint import NOWHERE, Origins, Value
from orchestrator.engines.runs import RunContext, RunEffect, RunFailed
from orchestrator.engines.workflows.entities import ENTITIES, Entity
from orchestrator.engines.workflows.operations import Emitted
from orchestrator.engines.workflows.results import AtomicOperation
from orchestrator.expressions.placeholders import format_value
from state.stored import JsonObject

MOST_COMMANDS: Final = 50
"""How many commands one card has at most: as many as a batch of the portal takes."""
_READ: Final[Origins] = frozenset({"prose"})
_DIGITS: Final = 40
_DONE: Final = frozenset({"succeeded", "planned", "already"})


@dataclass(slots=True, kw_only=True)
class Command:
    """One call of the portal: changes of one record in a row are one call."""

    key: str
    method: str
    operations: list[AtomicOperation]
    params: dict[str, Any]
    origins: Origins


@dataclass(slots=True, kw_only=True)
class Applied:
    """What became of the operations, in their order: {operation, method, status, error}; and what a person is to read of it."""

    reports: list[JsonObject] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    origins: Origins = NOWHERE


async def apply_operations(ctx: RunContext, operations: Sequence[Emitted]) -> Applied:
    """Submit the operations and return what became of them.

    Raises RunSuspended while a person decides, or must look whether they were done; RunFailed if they cannot be written as calls, or if it
    is not known of some of them whether they happened, for nothing may follow on that.
    """
    applied = Applied()
    commands = await _Commands(ctx).write(operations)
    cards = [commands[start : start + MOST_COMMANDS] for start in range(0, len(commands), MOST_COMMANDS)]
    if len(cards) > 1 and (deleting := next((one for one in commands if one.operations[0].operation_type == "DeleteEntity"), None)):
        raise RunFailed("workflow-operations-many", f"{deleting.method} among more than {MOST_COMMANDS} operations", most=MOST_COMMANDS)
    stopped = False
    for number, card in enumerate(cards, 1):
        if stopped:
            applied.reports += [_report(one, "not_run") for command in card for one in command.operations]
            continue
        outcome = await ctx.submit(f"apply/{number}", _build_effect(card, number, len(cards)))
        _add_outcome(applied, card, outcome)
        if any(one["status"] == "unknown" for one in applied.reports):
            raise RunFailed("workflow-outcome-unknown", f"apply/{number}: it is not known which operations happened")
        stopped = any(one["status"] not in _DONE for one in applied.reports)
    return applied


def _build_effect(card: Sequence[Command], number: int, cards: int) -> RunEffect:
    """Return one call, or a batch that stops at its first error."""
    comment = f"{number}/{cards}" if cards > 1 else ""
    if len(card) == 1:
        (only,) = card
        return RunEffect(method=only.method, params={name: Value(one, only.origins) for name, one in only.params.items()}, comment=comment)
    try:
        cmd = write_batch({one.key: (one.method, one.params) for one in card})
    except BatchUnwritable as error:
        raise RunFailed("workflow-operations-unwritable", f"an operation cannot be written: {error}") from None
    return RunEffect(
        method="batch", params={"halt": 1, "cmd": {one.key: Value(cmd[one.key], one.origins) for one in card}}, comment=comment
    )


def _add_outcome(applied: Applied, card: Sequence[Command], outcome: Outcome) -> None:
    reports = {one.key: one for one in outcome.commands}
    for command in card:
        report = reports.get(command.key)
        status: str = "already" if outcome.already else outcome.status
        if report is not None and outcome.status == "succeeded":
            status = {"success": "succeeded", "error": "failed"}.get(report.status, report.status)
        error = report.error if report is not None else "" if status in _DONE else outcome.detail
        applied.reports += [_report(one, status, error, outcome.created if len(card) == 1 else "") for one in command.operations]
    if outcome.foreign_text:
        applied.origins |= _READ
    if outcome.status == "refused" and not outcome.already and outcome.reason is not None:
        applied.notices.append(outcome.reason)


def _report(operation: AtomicOperation, status: str, error: str = "", created: str = "") -> JsonObject:
    told = {"operation": f"{operation.operation_type} {operation.entity_type} {operation.entity_id}", "status": status}
    return {**told, **({"error": error} if error else {}), **({"created": created} if created else {})}


class _Commands:
    """Writes operations as calls of the portal."""

    def __init__(self, ctx: RunContext) -> None:
        self._ctx = ctx
        self._commands: list[Command] = []
        self._made: dict[tuple[str, str], str] = {}
        """The key of the command that makes a record, by its kind and its name."""
        self._fields: dict[tuple[str, str], dict[str, Any]] = {}
        """The fields of records that were read for `+=`, and as earlier operations leave them."""
        self._origins: dict[tuple[str, str], Origins] = {}

    async def write(self, operations: Sequence[Emitted]) -> list[Command]:
        for one in operations:
            operation, record = one.operation, (one.operation.entity_type, one.operation.entity_id)
            match operation.operation_type:
                case "CreateEntity":
                    if record in self._made:
                        raise RunFailed("workflow-operations-twice", f"{operation.entity_id} is made twice", name=operation.entity_id)
                    self._fields[record] = dict(operation.initial_attributes or {})
                    self._made[record] = self._add(one, self._entity(one).build_add_params(operation.initial_attributes or {}))
                case "ModifyEntity":
                    await self._modify(one)
                case "DeleteEntity":
                    self._add(one, self._name_record(one))
        return self._commands

    async def _modify(self, one: Emitted) -> None:
        operation, record = one.operation, (one.operation.entity_type, one.operation.entity_id)
        key = operation.attribute_key or ""
        value, origins = operation.modify_value, one.origins
        if operation.modify_operator != "=":
            known = await self._read(record, one)
            value = _compute(operation, known.get(key))
            origins |= self._origins.get(record, NOWHERE)
        self._fields.setdefault(record, {})[key] = value
        last = self._commands[-1] if self._commands else None
        entity = self._entity(one)
        if last is not None and last.operations[-1].operation_type == "ModifyEntity" and _is_same(last.operations[-1], operation):
            last.params[entity.fields_parameter][key] = value
            last.operations.append(operation)
            last.origins |= origins
            return
        self._add(one, {**self._name_record(one), entity.fields_parameter: {key: value}}, origins)

    async def _read(self, record: tuple[str, str], one: Emitted) -> dict[str, Any]:
        """Return the fields of a record as they are now, and as earlier operations of this run leave them."""
        if record in self._origins or record in self._made:
            return self._fields[record]
        entity = self._entity(one)
        node = f"apply/before/{one.operation.entity_type}-{one.operation.entity_id}"
        params = {entity.id_parameter: Value(one.operation.entity_id, one.origins)}
        outcome = await self._ctx.submit(node, RunEffect(method=entity.get_method, params=params, must_read=True))
        found = outcome.result
        if outcome.status != "succeeded" or not isinstance(found, Mapping):
            raise RunFailed("workflow-record-unread", f"{node} was not read: {outcome.detail}", name=one.operation.entity_id)
        inner = found.get("task", found)
        fields = dict(inner) if isinstance(inner, Mapping) else {}
        self._fields[record] = {**fields, **self._fields.get(record, {})}
        self._origins[record] = _READ
        return self._fields[record]

    def _entity(self, one: Emitted) -> Entity:
        return ENTITIES[one.operation.entity_type]

    def _name_record(self, one: Emitted) -> dict[str, Any]:
        """Return the parameter that names the record; one that this run makes is named by the command that makes it."""
        operation = one.operation
        made = self._made.get((operation.entity_type, operation.entity_id))
        if made is None:
            return {self._entity(one).id_parameter: operation.entity_id}
        if len(self._commands) // MOST_COMMANDS != int(made.removeprefix("op")) // MOST_COMMANDS:
            raise RunFailed("workflow-operations-many", "an operation names a record of another card", most=MOST_COMMANDS)
        return {self._entity(one).id_parameter: f"$result[{made}]"}

    def _add(self, one: Emitted, params: dict[str, Any], origins: Origins | None = None) -> str:
        key = f"op{len(self._commands):03}"
        method = self._entity(one).find_method(one.operation.operation_type)
        self._commands.append(
            Command(key=key, method=method, operations=[one.operation], params=params, origins=one.origins if origins is None else origins)
        )
        return key


def _is_same(one: AtomicOperation, other: AtomicOperation) -> bool:
    return (one.entity_type, one.entity_id) == (other.entity_type, other.entity_id)


def _compute(operation: AtomicOperation, before: Any) -> Any:
    """Return the value after an operation such as `+=` on the value before it; texts can only be added to. Raises RunFailed."""
    operator, change = operation.modify_operator, operation.modify_value
    left, right = _to_number(before), _to_number(change)
    if left is not None and right is not None:
        try:
            with localcontext() as precision:
                precision.prec = _DIGITS
                result = {"+=": left.__add__, "-=": left.__sub__, "*=": left.__mul__, "/=": left.__truediv__}[str(operator)](right)
        except DecimalException:
            raise _refuse(operation) from None
        return format(result.normalize(), "f")
    if operator == "+=" and isinstance(before, str | None) and isinstance(change, str):
        return f"{format_value(before)}{change}"
    raise _refuse(operation)


def _to_number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(str(value).strip())
    except DecimalException:
        return None
    return number if number.is_finite() else None


def _refuse(operation: AtomicOperation) -> RunFailed:
    key = operation.attribute_key or ""
    return RunFailed("workflow-operations-uncomputed", f"{key} {operation.modify_operator} cannot be computed", name=key)
