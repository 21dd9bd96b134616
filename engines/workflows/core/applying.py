"""Hands the operations of a workflow to the gate: the host's part after the engine has returned them (S003-18, S003-19, S003-71, S003-A6).

The operations of a run are one card, of at most as many commands as a batch of the portal takes; more of them are several cards, one after
another. Each is sent once: what was refused, failed or is not known is not tried again. All changes of a record are one command: were a
field set twice on one card, nobody could tell afterwards whether the first of the two had happened.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from engines.workflows.core.entities import ENTITIES, Entity, find_field_name
from engines.workflows.core.field_values import compute_value, refuse_computing
from engines.workflows.core.operations import Emitted
from engines.workflows.core.results import AtomicOperation
from orchestrator.domain.effect import BatchUnwritable, write_batch
from orchestrator.domain.outcome import COMPUTED_CHANGED, Outcome
from orchestrator.domain.outputs import Notice
from orchestrator.domain.taint import NOWHERE, Origins, Value
from orchestrator.engines.runs import RunContext, RunEffect, RunFailed
from orchestrator.engines.shared.changes import MADE, explain_unmade, find_untold_reason
from state.canonical import dumps
from state.stored import JsonObject

MOST_COMMANDS: Final = 50
"""How many commands one card has at most: as many as a batch of the portal takes."""
LARGEST_CARD: Final = 1_900_000
"""How many characters of JSON the commands of one card have at most: a little less than one value of a run."""
_READ: Final[Origins] = frozenset({"prose"})
_REFERENCE: Final = "$result["
_UNMADE: Final = "card-already-refused"
"""The reason of a call that was begun after a consent and certainly not made, because the program stopped."""
AWAY: Final = frozenset({"portal-unreadable", "portal-not-reached", "portal-wait", "portal-unread", "portal-no-answer"})
"""The reasons of calls and reads that were not made because the portal did not answer: nothing is known of the record then."""
Recheck = Callable[[int, Mapping[int, Emitted]], Awaitable[Mapping[int, Emitted]]]
"""Returns, for the number of a card that is not the first and its operations by place, those that shall be applied now."""


@dataclass(slots=True, kw_only=True)
class Command:
    """One call of the portal."""

    key: str
    method: str
    operations: dict[int, AtomicOperation]
    """What it does, by place among the operations of the run."""
    params: dict[str, Any]
    origins: Origins


@dataclass(slots=True, kw_only=True)
class Applied:
    """What became of the operations, in their order: {operation, method, status, error}; and what a person is to read of it."""

    found: dict[int, JsonObject] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)
    origins: Origins = NOWHERE

    @property
    def reports(self) -> list[JsonObject]:
        """What became of each operation, in their order."""
        return [self.found[place] for place in sorted(self.found)]


async def keep_all(_number: int, operations: Mapping[int, Emitted]) -> Mapping[int, Emitted]:
    """Return the operations: of a run on no record, which asks nobody whose value stays."""
    return operations


async def apply_operations(ctx: RunContext, operations: Sequence[Emitted], recheck: Recheck = keep_all) -> Applied:
    """Submit the operations and return what became of them.

    A card may wait for days. So what stands on the next one is written when it comes to that: `recheck` says which of its operations are
    left, and sums follow the records as they are then. Raises RunSuspended while a person decides, or must look whether they were done;
    RunFailed if they cannot be written as calls; if a consent was lost with the program, or the portal does not answer, so that a retry
    asks once more; or if it is not known of some of them whether they happened, for nothing may follow on that.
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
    for number, written in enumerate(cards, 1):
        is_later = number > 1 and not is_planned
        card = await _write_anew(ctx, written, operations, recheck, number=number, cards=len(cards)) if is_later else written
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
    """Return what the gate says of a later card that it would refuse: nothing of the set is sent then. The first card is judged at once."""
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
    """Raise RunFailed if the portal did not answer, or a record has changed behind the card, so that a retry writes the effect anew."""
    if outcome.status != "refused" or outcome.reason is None:
        return
    if outcome.reason.code in AWAY:
        raise RunFailed("workflow-operations-away", f"{node}: {outcome.detail}")
    if outcome.reason.code == COMPUTED_CHANGED:
        raise RunFailed("workflow-operations-moved", f"{node}: {outcome.detail}")


def _add_left(applied: Applied, cards: Sequence[Sequence[Command]], status: str, error: str) -> None:
    """Report all operations of these cards as not done."""
    commands = [command for card in cards for command in card]
    applied.found |= {place: _report(one, status, error) for command in commands for place, one in command.operations.items()}


async def _write_anew(
    ctx: RunContext, card: Sequence[Command], operations: Sequence[Emitted], recheck: Recheck, *, number: int, cards: int
) -> list[Command]:
    """Return the commands of a card behind the first as they are now, none if nothing is left of it. Raises RunFailed naming the card."""
    places = sorted(place for command in card for place in command.operations)
    try:
        left = await recheck(number, {place: operations[place] for place in places})
        return await _Commands(ctx, card=number).write(left)
    except RunFailed as error:
        raise RunFailed("workflow-card-unwritten", f"card {number} of {cards}: {error.detail}", number=number, cards=cards) from None


def _build_effect(card: Sequence[Command], number: int, cards: int) -> RunEffect:
    """Return one call, or a batch that stops at its first error.

    Raises RunFailed for what cannot be written as a call, or not be kept: all cards are built before the first one is handed on.
    """
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
    written = {command.key: Value(cmd[command.key], command.origins) for command in card}
    return RunEffect(method="batch", params={"halt": 1, "cmd": written}, comment=comment, is_computed=is_computed)


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
    told = {"operation": f"{operation.operation_type} {operation.entity_type} {operation.entity_id}", "status": status}
    return {**told, **({"error": error} if error else {}), **({"created": created} if created else {})}


class _Commands:
    """Writes operations as calls of the portal: those of all cards before the first of them is sent, later those of one card."""

    def __init__(self, ctx: RunContext, *, card: int = 1) -> None:
        self._ctx, self._card = ctx, card
        self._first = (card - 1) * MOST_COMMANDS
        """The number of the first command."""
        self._commands: list[Command] = []
        self._place = 0
        """The place of the operation that is being written."""
        self._made: dict[tuple[str, str], str] = {}
        """The key of the command that makes a record, by its kind and its name."""
        self._changing: dict[tuple[str, str], Command] = {}
        """The command that changes a record."""
        self._fields: dict[tuple[str, str], dict[str, Any]] = {}
        """The fields of records that were read for `+=`, and as earlier operations leave them."""
        self._origins: dict[tuple[str, str], Origins] = {}
        """Where those fields come from."""
        self._read_records: set[tuple[str, str]] = set()

    async def write(self, operations: Mapping[int, Emitted]) -> list[Command]:
        for self._place, one in operations.items():
            operation, record = one.operation, (one.operation.entity_type, one.operation.entity_id)
            _refuse_references(operation)
            match operation.operation_type:
                case "CreateEntity":
                    if record in self._made:
                        raise RunFailed("workflow-operations-twice", f"{operation.entity_id} is made twice", name=operation.entity_id)
                    self._forget(record)
                    self._note_fields(record, dict(operation.initial_attributes or {}), one.origins)
                    self._made[record] = self._add(one, self._entity(one).build_add_params(operation.initial_attributes or {})).key
                case "ModifyEntity":
                    await self._modify(one)
                case "DeleteEntity":
                    self._changing.pop(record, None)  # what changes the record afterwards must come after it, and fail
                    self._add(one, self._name_record(one))
        return self._commands

    async def _modify(self, one: Emitted) -> None:
        operation, record = one.operation, (one.operation.entity_type, one.operation.entity_id)
        key = operation.attribute_key or ""
        value, origins = operation.modify_value, one.origins
        if operation.modify_operator != "=":
            known = await self._read(record, one)
            name = find_field_name(known, key, record[0])
            if name is None and record not in self._made:  # without the value before, a text that is added would replace it
                raise refuse_computing(operation)
            value = compute_value(operation, known[name] if name is not None else None)
            origins |= self._origins[record]
        self._note_fields(record, {find_field_name(self._fields.get(record, {}), key, record[0]) or key: value}, origins)
        entity = self._entity(one)
        if (command := self._changing.get(record)) is None:
            self._changing[record] = self._add(one, {**self._name_record(one), entity.fields_parameter: {key: value}}, origins)
            return
        fields = command.params[entity.fields_parameter]
        fields[find_field_name(fields, key, record[0]) or key] = value
        command.operations[self._place] = operation
        command.origins |= origins

    def _forget(self, record: tuple[str, str]) -> None:
        """Forget the record of this number, because from here on it is the name of one that is made."""
        self._changing.pop(record, None)
        self._fields.pop(record, None)
        self._origins.pop(record, None)

    def _note_fields(self, record: tuple[str, str], fields: Mapping[str, Any], origins: Origins) -> None:
        self._fields.setdefault(record, {}).update(fields)
        self._origins[record] = self._origins.get(record, NOWHERE) | origins

    async def _read(self, record: tuple[str, str], one: Emitted) -> dict[str, Any]:
        """Return the fields of a record as they are now, and as earlier operations of this run leave them."""
        if record in self._read_records or record in self._made:
            return self._fields[record]
        entity = self._entity(one)
        node = self._name_reading(self._find_card(record))
        params = {entity.id_parameter: Value(one.operation.entity_id, one.origins)}
        outcome = await self._ctx.submit(node, RunEffect(method=entity.get_method, params=params, must_read=True))
        found = outcome.result
        if outcome.status == "planned":
            raise RunFailed("workflow-shadow-unread", f"{node} is not read in shadow mode")
        if outcome.status != "succeeded" or not isinstance(found, Mapping):
            raise RunFailed("workflow-record-unread", f"{node} was not read: {outcome.detail}", name=one.operation.entity_id)
        inner = found.get("task", found)
        fields = dict(inner) if isinstance(inner, Mapping) else {}
        self._read_records.add(record)
        earlier = {find_field_name(fields, key, record[0]) or key: value for key, value in self._fields.get(record, {}).items()}
        self._fields[record] = {**fields, **earlier}
        self._note_fields(record, {}, _READ)
        return self._fields[record]

    def _find_card(self, record: tuple[str, str]) -> int:
        """Return on which card the change of a record stands that is being written."""
        begun = self._changing.get(record)
        return (_find_number(begun.key) if begun is not None else self._first + len(self._commands)) // MOST_COMMANDS + 1

    def _name_reading(self, card: int) -> str:
        """Return the node that reads a record for this operation.

        As long as the card was not sent the record is read anew whenever the run goes on, be it days later, for others may have changed it;
        of one that was sent the last reading counts. What stands on later cards is only tried with a first one, before anything is sent.
        """
        number = 1
        while card == self._card and self._ctx.find_state(self._number_reading(number)) == "finished":
            number += 1
        is_sent = self._ctx.find_state(f"apply/{card}") != "new"
        return self._number_reading(number - 1 if is_sent and number > 1 else number)

    def _number_reading(self, number: int) -> str:
        return f"apply/before/{self._place}" if number == 1 else f"apply/before/{self._place}/{number}"

    def _entity(self, one: Emitted) -> Entity:
        return ENTITIES[one.operation.entity_type]

    def _name_record(self, one: Emitted) -> dict[str, Any]:
        """Return the parameter that names the record; one that this run makes is named by the command that makes it."""
        operation = one.operation
        made = self._made.get((operation.entity_type, operation.entity_id))
        if made is None:
            return {self._entity(one).id_parameter: operation.entity_id}
        if (self._first + len(self._commands)) // MOST_COMMANDS != _find_number(made) // MOST_COMMANDS:
            raise RunFailed("workflow-operations-many", "an operation names a record of another card", most=MOST_COMMANDS)
        return {self._entity(one).id_parameter: f"$result[{made}]{self._entity(one).made_id}"}

    def _add(self, one: Emitted, params: dict[str, Any], origins: Origins | None = None) -> Command:
        command = Command(
            key=f"op{self._first + len(self._commands):03}",
            method=self._entity(one).find_method(one.operation.operation_type),
            operations={self._place: one.operation},
            params=params,
            origins=one.origins if origins is None else origins,
        )
        self._commands.append(command)
        return command


def _find_number(key: str) -> int:
    return int(key.removeprefix("op"))


def _refuse_references(operation: AtomicOperation) -> None:
    """Raise RunFailed if a value of an operation names the result of another command: the portal would put that in its place."""
    if _REFERENCE in dumps([operation.entity_id, operation.initial_attributes, operation.attribute_key, operation.modify_value]):
        raise RunFailed("workflow-operations-unwritable", f"{operation.entity_type} {operation.entity_id}: a value holds {_REFERENCE}")
