"""Hands the operations of a workflow to the gate (S003-18, S003-19, S003-71, S003-A6).

Each card is sent once. All changes of a record are one command: were a field set twice on one card, nobody could tell whether the first
had happened.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from engines.workflows.core.entities import ENTITIES, Entity, compute_value, find_field_name, refuse_computing
from engines.workflows.core.operations import Emitted
from engines.workflows.core.results import AtomicOperation
from orchestrator.domain.effect import COMPUTED_CHANGED, BatchUnwritable, Outcome, write_batch
from orchestrator.domain.outputs import Notice
from orchestrator.domain.taint import NOWHERE, Origins, Value
from orchestrator.engines.runs import RunContext, RunEffect, RunFailed
from orchestrator.engines.shared.changes import MADE, explain_unmade, find_untold_reason
from state.canonical import dumps
from state.stored import JsonObject

MOST_COMMANDS: Final = 50
"""Commands on one card: as many as a batch of the portal takes."""
LARGEST_CARD: Final = 1_900_000
"""Characters of JSON on one card: a little less than one value of a run."""
_READ: Final[Origins] = frozenset({"prose"})
_REFERENCE: Final = "$result["
_UNMADE: Final = "card-already-refused"
"""The call was begun after a consent and certainly not made, because the program stopped."""
AWAY: Final = frozenset({"portal-unreadable", "portal-not-reached", "portal-wait", "portal-unread", "portal-no-answer"})
"""The portal did not answer, so nothing is known of the record."""
Recheck = Callable[[int, Mapping[int, Emitted]], Awaitable[Mapping[int, Emitted]]]
"""Filters the operations, by place, of the card with this number, which is not the first."""


@dataclass(slots=True, kw_only=True)
class Command:
    key: str
    method: str
    operations: dict[int, AtomicOperation]
    params: dict[str, Any]
    origins: Origins


@dataclass(slots=True, kw_only=True)
class Applied:
    """What became of the operations, by place: {operation, method, status, error}; and what a person reads of it."""

    found: dict[int, JsonObject] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)
    origins: Origins = NOWHERE

    @property
    def reports(self) -> list[JsonObject]:
        return [self.found[place] for place in sorted(self.found)]


async def keep_all(_number: int, operations: Mapping[int, Emitted]) -> Mapping[int, Emitted]:
    return operations


async def apply_operations(ctx: RunContext, operations: Sequence[Emitted], recheck: Recheck = keep_all) -> Applied:
    """Submit card by card; `recheck` filters later ones.

    Raises RunSuspended while a person decides; RunFailed if they cannot be written, the portal does not answer, or an outcome is not
    known.
    """
    applied = Applied()
    commands = await _Commands(ctx).write(dict(enumerate(operations)))
    cards = [commands[start : start + MOST_COMMANDS] for start in range(0, len(commands), MOST_COMMANDS)]
    if len(cards) > 1 and any(one.operation.operation_type == "DeleteEntity" for one in operations):
        raise RunFailed("workflow-operations-many", f"one of more than {MOST_COMMANDS} operations deletes", most=MOST_COMMANDS)
    for number, card in enumerate(cards, 1):
        _build_effect(card, number, len(cards))  # one that cannot be written keeps all of them from being handed on
    if (refused := await _find_refused(ctx, cards)) is not None:
        _add_left(applied, cards, "refused", refused.detail)
        applied.notices += [refused.reason] if refused.reason is not None else []
        return applied
    is_planned = False
    for number, planned_card in enumerate(cards, 1):
        is_later = number > 1 and not is_planned
        card = await _write_anew(ctx, planned_card, operations, recheck, number=number, cards=len(cards)) if is_later else planned_card
        if not card:
            continue
        outcome = await ctx.submit(f"apply/{number}", _build_effect(card, number, len(cards)))
        if outcome.reason is not None and outcome.reason.code == _UNMADE:
            raise RunFailed("workflow-operations-unmade", f"apply/{number}: {outcome.detail}")
        _raise_undone(f"apply/{number}", outcome)
        _add_outcome(applied, card, outcome)
        if any(report["status"] == "unknown" for report in applied.reports):
            raise RunFailed("workflow-outcome-unknown", f"apply/{number}: it is not known which operations happened")
        is_planned = outcome.status == "planned"
        if any(report["status"] not in MADE for report in applied.reports):
            _add_left(applied, cards[number:], "not_run", explain_unmade(outcome))
            break
    return applied


async def _find_refused(ctx: RunContext, cards: Sequence[Sequence[Command]]) -> Outcome | None:
    """Return the refusal of a later card, before anything of the set is sent."""
    if ctx.mode == "shadow":  # nothing is sent anyway
        return None
    for number, card in enumerate(cards[1:], 2):
        node = f"apply/tried/{number}"
        if ctx.find_state("apply/1") != "new" and ctx.find_state(node) != "finished":  # sent by an earlier program, which tried nothing
            return None
        outcome = await ctx.submit(node, replace(_build_effect(card, number, len(cards)), is_trial=True))
        _raise_undone(node, outcome)
        if outcome.status == "refused" and not outcome.already:
            return outcome
    return None


def _raise_undone(node: str, outcome: Outcome) -> None:
    """Raise RunFailed, so that a retry writes the effect anew."""
    if outcome.status != "refused" or outcome.reason is None:
        return
    if outcome.reason.code in AWAY:
        raise RunFailed("workflow-operations-away", f"{node}: {outcome.detail}")
    if outcome.reason.code == COMPUTED_CHANGED:
        raise RunFailed("workflow-operations-moved", f"{node}: {outcome.detail}")


def _add_left(applied: Applied, cards: Sequence[Sequence[Command]], status: str, error: str) -> None:
    commands = [command for card in cards for command in card]
    applied.found |= {place: _report(one, status, error) for command in commands for place, one in command.operations.items()}


async def _write_anew(
    ctx: RunContext, card: Sequence[Command], operations: Sequence[Emitted], recheck: Recheck, *, number: int, cards: int
) -> list[Command]:
    """Return the commands as they are now, none if nothing is left. Raises RunFailed naming the card."""
    places = sorted(place for command in card for place in command.operations)
    try:
        left = await recheck(number, {place: operations[place] for place in places})
        return await _Commands(ctx, card=number).write(left)
    except RunFailed as error:
        raise RunFailed("workflow-card-unwritten", f"card {number} of {cards}: {error.detail}", number=number, cards=cards) from None


def _build_effect(card: Sequence[Command], number: int, cards: int) -> RunEffect:
    """Return one call, or a batch that stops at its first error. Raises RunFailed."""
    comment = f"{number}/{cards}" if cards > 1 else ""
    is_computed = any(operation.modify_operator not in {None, "="} for command in card for operation in command.operations.values())
    if len(card) == 1:
        (only,) = card
        params = {name: Value(param, only.origins) for name, param in only.params.items()}
        return RunEffect(method=only.method, params=params, comment=comment, is_computed=is_computed)
    try:
        cmd = write_batch({command.key: (command.method, command.params) for command in card})
    except BatchUnwritable as error:
        raise RunFailed("workflow-operations-unwritable", f"an operation cannot be written: {error}") from None
    if (size := len(dumps(cmd))) > LARGEST_CARD:
        raise RunFailed("workflow-operations-unwritable", f"the commands of card {number} have {size} characters, and {LARGEST_CARD} fit")
    cmd_values = {command.key: Value(cmd[command.key], command.origins) for command in card}
    return RunEffect(method="batch", params={"halt": 1, "cmd": cmd_values}, comment=comment, is_computed=is_computed)


def _add_outcome(applied: Applied, card: Sequence[Command], outcome: Outcome) -> None:
    reports = {command_report.key: command_report for command_report in outcome.commands}
    for command in card:
        report = reports.get(command.key)
        status: str = "already" if outcome.already else outcome.status
        if report is not None and outcome.status == "succeeded":
            status = {"success": "succeeded", "error": "failed"}.get(report.status, report.status)
        error = report.error if report is not None else explain_unmade(outcome)
        created = outcome.created if len(card) == 1 else ""
        applied.found |= {place: _report(operation, status, error, created) for place, operation in command.operations.items()}
    if outcome.foreign_text:
        applied.origins |= _READ
    if (reason := find_untold_reason(outcome)) is not None:
        applied.notices.append(reason)


def _report(operation: AtomicOperation, status: str, error: str = "", created: str = "") -> JsonObject:
    report = {"operation": f"{operation.operation_type} {operation.entity_type} {operation.entity_id}", "status": status}
    return {**report, **({"error": error} if error else {}), **({"created": created} if created else {})}


class _Commands:
    """Writes operations as calls: of all cards before the first is sent, later of one card."""

    def __init__(self, ctx: RunContext, *, card: int = 1) -> None:
        self._ctx, self._card = ctx, card
        self._first = (card - 1) * MOST_COMMANDS
        self._commands: list[Command] = []
        self._place = 0
        self._made: dict[tuple[str, str], str] = {}
        """The command that makes a record, by its kind and its name."""
        self._changing: dict[tuple[str, str], Command] = {}
        self._fields: dict[tuple[str, str], dict[str, Any]] = {}
        self._origins: dict[tuple[str, str], Origins] = {}
        self._read_records: set[tuple[str, str]] = set()

    async def write(self, operations: Mapping[int, Emitted]) -> list[Command]:
        for self._place, emitted in operations.items():
            operation, record = emitted.operation, (emitted.operation.entity_type, emitted.operation.entity_id)
            _refuse_references(operation)
            match operation.operation_type:
                case "CreateEntity":
                    if record in self._made:
                        raise RunFailed("workflow-operations-twice", f"{operation.entity_id} is made twice", name=operation.entity_id)
                    self._forget(record)
                    self._note_fields(record, dict(operation.initial_attributes or {}), emitted.origins)
                    self._made[record] = self._add(emitted, self._entity(emitted).build_add_params(operation.initial_attributes or {})).key
                case "ModifyEntity":
                    await self._modify(emitted)
                case "DeleteEntity":
                    self._changing.pop(record, None)  # what changes the record afterwards must come after it, and fail
                    self._add(emitted, self._name_record(emitted))
        return self._commands

    async def _modify(self, emitted: Emitted) -> None:
        operation, record = emitted.operation, (emitted.operation.entity_type, emitted.operation.entity_id)
        key = operation.attribute_key or ""
        value, origins = operation.modify_value, emitted.origins
        if operation.modify_operator != "=":
            known = await self._read(record, emitted)
            name = find_field_name(known, key, record[0])
            if name is None and record not in self._made:  # without the value before, a text that is added would replace it
                raise refuse_computing(operation)
            value = compute_value(operation, known[name] if name is not None else None)
            origins |= self._origins[record]
        self._note_fields(record, {find_field_name(self._fields.get(record, {}), key, record[0]) or key: value}, origins)
        entity = self._entity(emitted)
        if (command := self._changing.get(record)) is None:
            self._changing[record] = self._add(emitted, {**self._name_record(emitted), entity.fields_parameter: {key: value}}, origins)
            return
        fields = command.params[entity.fields_parameter]
        fields[find_field_name(fields, key, record[0]) or key] = value
        command.operations[self._place] = operation
        command.origins |= origins

    def _forget(self, record: tuple[str, str]) -> None:
        self._changing.pop(record, None)
        self._fields.pop(record, None)
        self._origins.pop(record, None)

    def _note_fields(self, record: tuple[str, str], fields: Mapping[str, Any], origins: Origins) -> None:
        self._fields.setdefault(record, {}).update(fields)
        self._origins[record] = self._origins.get(record, NOWHERE) | origins

    async def _read(self, record: tuple[str, str], emitted: Emitted) -> dict[str, Any]:
        if record in self._read_records or record in self._made:
            return self._fields[record]
        entity = self._entity(emitted)
        node = self._name_reading(self._find_card(record))
        params = {entity.id_parameter: Value(emitted.operation.entity_id, emitted.origins)}
        outcome = await self._ctx.submit(node, RunEffect(method=entity.get_method, params=params, must_read=True))
        record_fields = outcome.result
        if outcome.status == "planned":
            raise RunFailed("workflow-shadow-unread", f"{node} is not read in shadow mode")
        if outcome.status != "succeeded" or not isinstance(record_fields, Mapping):
            raise RunFailed("workflow-record-unread", f"{node} was not read: {outcome.detail}", name=emitted.operation.entity_id)
        inner = record_fields.get("task", record_fields)
        fields = dict(inner) if isinstance(inner, Mapping) else {}
        self._read_records.add(record)
        earlier = {find_field_name(fields, key, record[0]) or key: value for key, value in self._fields.get(record, {}).items()}
        self._fields[record] = {**fields, **earlier}
        self._note_fields(record, {}, _READ)
        return self._fields[record]

    def _find_card(self, record: tuple[str, str]) -> int:
        begun = self._changing.get(record)
        return (_find_number(begun.key) if begun is not None else self._first + len(self._commands)) // MOST_COMMANDS + 1

    def _name_reading(self, card: int) -> str:
        """Name the node that reads a record."""
        number = 1
        while card == self._card and self._ctx.find_state(self._number_reading(number)) == "finished":
            number += 1
        is_sent = self._ctx.find_state(f"apply/{card}") != "new"
        return self._number_reading(number - 1 if is_sent and number > 1 else number)

    def _number_reading(self, number: int) -> str:
        return f"apply/before/{self._place}" if number == 1 else f"apply/before/{self._place}/{number}"

    def _entity(self, emitted: Emitted) -> Entity:
        return ENTITIES[emitted.operation.entity_type]

    def _name_record(self, emitted: Emitted) -> dict[str, Any]:
        operation = emitted.operation
        maker_key = self._made.get((operation.entity_type, operation.entity_id))
        if maker_key is None:
            return {self._entity(emitted).id_parameter: operation.entity_id}
        if (self._first + len(self._commands)) // MOST_COMMANDS != _find_number(maker_key) // MOST_COMMANDS:
            raise RunFailed("workflow-operations-many", "an operation names a record of another card", most=MOST_COMMANDS)
        return {self._entity(emitted).id_parameter: f"$result[{maker_key}]{self._entity(emitted).made_id}"}

    def _add(self, emitted: Emitted, params: dict[str, Any], origins: Origins | None = None) -> Command:
        command = Command(
            key=f"op{self._first + len(self._commands):03}",
            method=self._entity(emitted).find_method(emitted.operation.operation_type),
            operations={self._place: emitted.operation},
            params=params,
            origins=emitted.origins if origins is None else origins,
        )
        self._commands.append(command)
        return command


def _find_number(key: str) -> int:
    return int(key.removeprefix("op"))


def _refuse_references(operation: AtomicOperation) -> None:
    """Raise RunFailed if a value names the result of another command: the portal would put that in its place."""
    if _REFERENCE in dumps([operation.entity_id, operation.initial_attributes, operation.attribute_key, operation.modify_value]):
        raise RunFailed("workflow-operations-unwritable", f"{operation.entity_type} {operation.entity_id}: a value holds {_REFERENCE}")
