"""The changes that a step ends with, as one effect for the gate (one card a step).

All of an answer's operations are taken or none; they are submitted once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from engines.flows.core.definition import Agent
from orchestrator.domain.effect import BatchUnwritable, Outcome, write_batch
from orchestrator.domain.outputs import Notice
from orchestrator.domain.taint import NOWHERE, Origins, Value
from orchestrator.engines.runs import RunContext, RunEffect, RunFailed
from orchestrator.engines.shared.changes import MADE, explain_unmade, find_untold_reason
from orchestrator.engines.shared.model_json import is_alone
from state.stored import JsonObject

OPERATIONS: Final = "operations"
"""In an answer it proposes changes, in an output it says what became of them."""
MOST_OPERATIONS: Final = 50
"""As many as a batch of the portal takes."""
_LONGEST_COMMENT: Final = 300
_PROSE: Final[Origins] = frozenset({"prose"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    method: str
    params: JsonObject
    comment: str = ""


class OperationsUnfit(ValueError):
    """The operations cannot be taken; the message says why, in English, for the model and for operations staff."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The output with what became of its operations, and whether all were done (or planned)."""

    output: Value
    is_success: bool
    reason: Notice | None = None
    """Why they were not made, where no card tells it."""


def describe_operations(agent: Agent) -> str:
    """What the model is told of changes; "" for an agent that may propose none."""
    if not agent.effects:
        return ""
    return (
        "You may propose changes in the CRM: then answer with one JSON object that has, beside your other fields, the field operations: "
        f'a list of at most {MOST_OPERATIONS} objects {{"method": "…", "params": {{…}}, "comment": "why"}}. '
        f"Methods: {', '.join(agent.effects)}. "
        "An operation may name the record that the first one creates as $result[op01], the second as $result[op02]. "
        "A person decides about them afterwards, so never say that anything is done."
    )


def read_operations(agent: Agent, output: Value) -> Sequence[Operation]:
    """Raises OperationsUnfit."""
    raw_operations = output.data.get(OPERATIONS) if agent.effects else None
    if raw_operations is None:
        return ()
    if not is_alone(str(output.data.get("content", ""))):
        raise OperationsUnfit("operations stand among words, as if they were quoted; they are taken from one JSON object and nothing else")
    if not isinstance(raw_operations, list):
        raise OperationsUnfit("operations is no list")
    if len(raw_operations) > MOST_OPERATIONS:
        raise OperationsUnfit(f"there are {len(raw_operations)} operations, and {MOST_OPERATIONS} are allowed")
    allowed = {method.lower(): method for method in agent.effects}
    operations = [_read_operation(place, one, allowed) for place, one in enumerate(raw_operations, start=1)]
    try:
        _write_commands(operations)
    except BatchUnwritable as error:
        raise OperationsUnfit(f"an operation cannot be written: {error}") from None
    return operations


def _read_operation(place: int, raw: object, allowed: Mapping[str, str]) -> Operation:
    if not isinstance(raw, Mapping):
        raise OperationsUnfit(f"operation {place} is no object")
    method, params, comment = raw.get("method"), raw.get("params", {}), raw.get("comment", "")
    if not isinstance(method, str) or method.lower() not in allowed:
        raise OperationsUnfit(f"operation {place} has another method; allowed are {', '.join(allowed.values())}")
    if not isinstance(params, Mapping):
        raise OperationsUnfit(f"the params of operation {place} are no object")
    return Operation(
        method=allowed[method.lower()],
        params={str(name): param for name, param in params.items()},
        comment=str(comment or "")[:_LONGEST_COMMENT],
    )


async def submit_operations(ctx: RunContext, node: str, operations: Sequence[Operation], output: Value, caused_by: Origins) -> Done:
    """Raises RunSuspended while a person decides or must look; RunFailed if an outcome is not known, for nothing may follow on that."""
    outcome = await ctx.submit(node, _build_effect(operations, output.origins | caused_by))
    done = report_operations(operations, output, outcome)
    unknown = [str(one["method"]) for one in done.output.data[OPERATIONS] if one["status"] == "unknown"]
    if unknown:
        names = ", ".join(unknown)
        raise RunFailed("flow-outcome-unknown", f"{node}: it is not known whether {names} happened", methods=names)
    return done


def report_operations(operations: Sequence[Operation], output: Value, outcome: Outcome) -> Done:
    """Pure, so that whoever reads the journal of a run reads the same."""
    reports = _list_reports(operations, outcome)
    reported = Value({**output.data, OPERATIONS: reports}, output.origins | (_PROSE if outcome.foreign_text else NOWHERE))
    return Done(output=reported, is_success=all(report["status"] in MADE for report in reports), reason=find_untold_reason(outcome))


def _build_effect(operations: Sequence[Operation], origins: Origins) -> RunEffect:
    if len(operations) == 1:
        (only,) = operations
        return RunEffect(method=only.method, params={name: Value(one, origins) for name, one in only.params.items()}, comment=only.comment)
    cmd = _write_commands(operations)
    comment = "; ".join(dict.fromkeys(operation.comment for operation in operations if operation.comment))[:_LONGEST_COMMENT]
    return RunEffect(method="batch", params={"halt": 1, "cmd": Value(cmd, origins)}, comment=comment)


def _write_commands(operations: Sequence[Operation]) -> JsonObject:
    return write_batch({_name_command(place): (operation.method, operation.params) for place, operation in enumerate(operations)})


def _name_command(place: int) -> str:
    """In alphabetical order, so that the batch keeps it."""
    return f"op{place + 1:02}"


def _list_reports(operations: Sequence[Operation], outcome: Outcome) -> list[JsonObject]:
    commands = {command_report.key: command_report for command_report in outcome.commands}
    reports: list[JsonObject] = []
    for place, operation in enumerate(operations):
        command = commands.get(_name_command(place))
        status: str = "already" if outcome.already else outcome.status
        if command is not None and outcome.status == "succeeded":
            status = {"success": "succeeded", "error": "failed"}.get(command.status, command.status)
        report: JsonObject = {"method": operation.method, "status": status}
        if len(operations) == 1 and outcome.created:
            report = {**report, "created": outcome.created}
        error = command.error if command is not None else explain_unmade(outcome)
        reports.append({**report, "error": error} if error else report)
    return reports
