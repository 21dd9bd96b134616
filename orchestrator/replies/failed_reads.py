"""Names the failed reads of a batch: the model's answer may speak as if all had been read."""

from typing import Final

from bitrix.client.batch import BatchError, Command, parse_commands, restore_keys
from orchestrator.domain.effect import Outcome
from orchestrator.domain.outputs import Notice, Reply
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.portal_errors import explain_portal_error
from orchestrator.gate.call.targets import as_id
from orchestrator.gate.preview.call_labels import build_read_label
from orchestrator.language.text import format_number
from orchestrator.sessions.turn_context import Context
from state.stored import JsonObject

_SINGLE: Final = frozenset({"id", "taskid"})


def add_failed_reads(reply: Reply, context: Context, deps: GateDeps) -> Reply:
    outcomes = [item for item in context.outcomes.values() if isinstance(item, Outcome)]
    lines = [
        _build_line(command, outcome, context, deps)
        for number, outcome in enumerate(outcomes)
        for command in _list_failed(outcome, deps)
        if not any(_has_read(other, command) for other in outcomes[number + 1 :])
    ]
    return reply.model_copy(update={"notices": (*reply.notices, *lines)}) if lines else reply


def _list_failed(outcome: Outcome, deps: GateDeps) -> list[Command]:
    failed = {report.key for report in outcome.commands if report.status != "success"}
    return [command for command in _parse(outcome) if command.key in failed and _is_read(command, deps)] if failed else []


def _is_read(command: Command, deps: GateDeps) -> bool:
    spec = deps.catalogue.find(command.method)
    return spec is not None and set(spec.classes) <= {"R"}


def _parse(outcome: Outcome) -> tuple[Command, ...]:
    try:
        return restore_keys(parse_commands(outcome.call.get("cmd")))
    except (BatchError, ValueError):
        return ()


def _has_read(outcome: Outcome, command: Command) -> bool:
    if outcome.status != "succeeded":
        return False
    if outcome.commands:
        won = {report.key for report in outcome.commands if report.status == "success"}
        return any(_is_same(one.method, one.params, command) for one in _parse(outcome) if one.key in won)
    return _is_same(outcome.method, outcome.call, command)


def _is_same(method: str, params: JsonObject, command: Command) -> bool:
    number = _find_number(command.params)
    if method.lower() != command.method.lower():
        return False
    return _find_number(params) == number if number else str(params.get("filter") or {}) == str(command.params.get("filter") or {})


def _find_number(params: JsonObject) -> int:
    return next((as_id(value) or 0 for name, value in params.items() if name.lower() in _SINGLE), 0)


def _build_line(command: Command, outcome: Outcome, context: Context, deps: GateDeps) -> Notice:
    """Such as «Не выполнено: чтение сделки №481 — такой записи нет»."""
    report = next(report for report in outcome.commands if report.key == command.key)
    spec, number = deps.catalogue.find(command.method), _find_number(command.params)
    label = build_read_label(command.method, spec.verb if spec else "other", spec.entity if spec else "")
    name = format_number(number, context.actor.locale) if number else ""
    notice = explain_portal_error(report.error, method=command.method, reference=outcome.effect_id[:8])
    args = {**label, "effect_id": outcome.effect_id, "name": name, "named": bool(name), "state": report.status}
    return Notice(code="made-not", args={**args, "error": notice.model_dump(mode="json")})
