"""Tells by code what a turn changed without a card: the model's own sentence is never relied on."""

import logging
from dataclasses import dataclass
from typing import Final

from bitrix.client.batch import BatchError, Command, parse_commands, restore_keys
from orchestrator.domain.actor import Actor
from orchestrator.domain.address import parse_target
from orchestrator.domain.card_view import Preview, PreviewLine, PreviewPart
from orchestrator.domain.effect import CommandReport, EffectOutcome, Outcome, Pending
from orchestrator.domain.outputs import Notice, Reply, Text
from orchestrator.gate.call import critical_fields, fields
from orchestrator.gate.call.effect import Call, Facts, Target
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.multifields import Step
from orchestrator.gate.call.portal_errors import explain_portal_error
from orchestrator.gate.call.ports import Names
from orchestrator.gate.call.serialization import StoredOrder, build_doubt_args, decode_call
from orchestrator.gate.call.targets import as_id
from orchestrator.gate.normalize.merge_multifields import find_steps, walk_commands
from orchestrator.gate.preview.call_labels import build_call_label, build_read_label
from orchestrator.gate.preview.format_values import EMPTY, UNKNOWN, format_multifield
from orchestrator.gate.preview.old_texts import shorten_line
from orchestrator.gate.preview.preview import preview_for
from orchestrator.gate.preview.record_titles import find_new_title
from orchestrator.language.denials import says_none, says_unable
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import Locale, format_number, quote, trim_text
from orchestrator.replies.turn_outcome import ALREADY_DONE, MAX_NAMED, is_batch_refused, is_made_without_card
from orchestrator.sessions.turn_context import Context
from state.journal.store import EffectRow
from state.stored import JsonObject

_SINGLE: Final = frozenset({"id", "taskid"})
_TOLD_BY: Final = {"portal-error-missing": says_none, "portal-error-method": says_unable}
"""Errors by the sentences that tell the same."""


def add_failed_reads(reply: Reply, context: Context, deps: GateDeps) -> Reply:
    """Unless the command was read again, or the answer says itself that there is no such thing."""
    outcomes = [item for item in context.outcomes.values() if isinstance(item, Outcome)]
    lines = [
        _build_failure_line(command, outcome, context, deps)
        for number, outcome in enumerate(outcomes)
        for command in _list_failed(outcome, deps)
        if not any(_has_read(other, command) for other in outcomes[number + 1 :])
    ]
    text = " ".join(part.text for part in reply.parts if isinstance(part, Text)) if not reply.confirmations else ""
    lines = [line for line in lines if not _is_told(line, text)]
    return reply.model_copy(update={"notices": (*reply.notices, *lines)}) if lines else reply


def _is_told(line: Notice, text: str) -> bool:
    says_so = _TOLD_BY.get(line.args["error"]["code"])
    return says_so is not None and says_so(text)


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


def _build_failure_line(command: Command, outcome: Outcome, context: Context, deps: GateDeps) -> Notice:
    """Such as «Не выполнено: чтение сделки №481 — такой записи нет»."""
    report = next(report for report in outcome.commands if report.key == command.key)
    spec, number = deps.catalogue.find(command.method), _find_number(command.params)
    label = build_read_label(command.method, spec.verb if spec else "other", spec.entity if spec else "")
    name = format_number(number, context.actor.locale) if number else ""
    notice = explain_portal_error(report.error, method=command.method, reference=outcome.effect_id[:8])
    args = {**label, "effect_id": outcome.effect_id, "name": name, "named": bool(name), "state": report.status}
    return Notice(code="made-not", args={**args, "error": notice.model_dump(mode="json")})


log = logging.getLogger(__name__)

MAX_VALUE: Final = 600
"""Characters; the record has all of it."""
_WORDS: Final = load_lexicon("card_fields")
_YOU: Final = _WORDS.read_titles("you")
_WAS_ADDED: Final = _WORDS.read_titles("was_added")
_WAS_REMOVED: Final = _WORDS.read_titles("was_removed")
_PLACES: Final = frozenset({"deal", "lead", "contact", "company", "task"})
_PERSON_NAME: Final = frozenset({"NAME", "LAST_NAME"})


@dataclass(frozen=True, kw_only=True)
class _Change:
    """A call, or one command of a batch."""

    call: Call
    part: PreviewPart
    before: JsonObject | None = None
    """As far as stored; None for a new record."""
    report: CommandReport | None = None
    """None for a call that is no batch."""


async def add_made_lines(reply: Reply, context: Context, deps: GateDeps) -> Reply:
    """Before the sentence that nothing need be asked again. Raises StoreError."""
    lines = [line for row in await _list_made(context) for line in await _build_lines(row, context, deps)]
    if not lines:
        return reply
    more = [Notice(code="made-more", args={"count": len(lines) - MAX_NAMED})] if len(lines) > MAX_NAMED else []
    place = next((number for number, notice in enumerate(reply.notices) if notice.code in ALREADY_DONE), 0)
    notices = (*reply.notices[:place], *lines[:MAX_NAMED], *more, *reply.notices[place:])
    return reply.model_copy(update={"notices": notices})


async def _list_made(context: Context) -> list[EffectRow]:
    # What waits for a person has a card, and so does what comes of it.
    ran = [slot for slot in context.untold_steps if not isinstance(context.outcomes.get(slot), Pending)]
    effect_rows = [await context.find_effect(slot) for slot in ran]
    return [row for row in effect_rows if row is not None and (is_made_without_card(row) or is_batch_refused(row))]


async def _build_lines(row: EffectRow, context: Context, deps: GateDeps) -> list[Notice]:
    """Or the stored short description if this fails."""
    order, outcome = StoredOrder.from_data(row.call), EffectOutcome.model_validate(row.outcome or {})
    try:
        changes = await _show_changes(order, outcome, context, deps)
    except Exception:  # the change is made: the person must learn of it, whatever of it cannot be read
        log.exception("a change cannot be shown", extra={"action": "made_line_failed", "effect_id": row.effect_id})
        bare = {"name": "", "named": False, "valued": False, "target": "", "url": ""}
        return [Notice(code="made-unshown", args={**build_doubt_args(row.effect_id, row.call), **bare})]
    return [_build_line(change, row.effect_id, outcome.created, context.actor, deps.names) for change in changes]


async def _show_changes(order: StoredOrder, outcome: EffectOutcome, context: Context, deps: GateDeps) -> list[_Change]:
    """Raises BitrixError."""
    call = decode_call(order.call, deps.catalogue)
    facts = Facts(records={parse_target(name): record for name, record in order.before.items()})
    preview = await preview_for(context.actor, call, facts, deps.names, now=context.now)
    if not call.commands:
        return [_Change(call=call, part=preview, before=critical_fields.find_current_record(call, facts))]
    reports = {report.key: report for report in map(CommandReport.model_validate, outcome.commands)}
    return [
        _Change(call=leaf, part=part, before=critical_fields.find_current_record(leaf, then), report=reports.get(leaf.key))
        for (leaf, then), part in zip(walk_commands(call, facts), preview.items, strict=True)
        if not leaf.reads_only
    ]


def _build_line(change: _Change, effect_id: str, created: str, actor: Actor, names: Names) -> Notice:
    """«Создана задача «Позвонить» №9001 — Крайний срок: пн, 23 ноября, 15:00; Исполнитель: вы»."""
    call, part = change.call, change.part
    is_new = part.verb == "add"
    target, number = _find_record("" if change.report is not None else created, call, is_new=is_new)
    place = part.record.partition(":")[0] if is_new and part.record not in {"", f"{target}:{number}"} else ""
    new = find_new_title(call) if place else part.title  # the title of the card is that of the place then
    title = new if is_new and not new.startswith("№") else ""  # an existing title stands in `call-named`
    formatted_number = format_number(number, actor.locale) if number else ""
    name = " ".join(filter(None, (quote(title, actor.locale) if title else "", formatted_number)))
    label = build_call_label(call, Preview.model_validate(part.to_json()).model_copy(update={"lines": []}))
    values = _format_values(change, title if place else part.title, actor)
    args = {
        **label,
        **({"title": "", "parts": "none"} if is_new else {}),
        "effect_id": effect_id,
        "target": target,
        "name": name,
        "named": bool(name),
        "place": place if place in _PLACES else "record" if place else "none",
        "place_title": quote(part.title, actor.locale) if place else "",
        "values": values,
        "valued": bool(values),
        "url": names.build_card_url(target, number, user=actor.bitrix_user_id or 0) if number else "",
    }
    if change.report is None or change.report.status == "success":
        return Notice(code="made", args=args)
    notice = explain_portal_error(change.report.error, method=call.method, reference=effect_id[:8])
    return Notice(code="made-not", args={**args, "state": change.report.status, "error": notice.model_dump(mode="json")})


def _find_record(created: str, call: Call, *, is_new: bool) -> Target | tuple[str, int]:
    """("", 0) if there is not exactly one."""
    kind, _, number = created.rpartition(":")
    if number.isdigit() and kind and kind != "comment":
        return kind, int(number)
    places = set(call.targets) if is_new else {*call.targets, *call.ties}
    return places.pop() if len(places) == 1 else ("", 0)


def _format_values(change: _Change, title: str, actor: Actor) -> str:
    """«Исполнитель: вы; Важность: 2»."""
    call, part = change.call, change.part
    lines = [line for line in part.lines if not _is_said_already(line, title, part, call)]
    if len(lines) == 1 and part.verb == "add" and _find_kind(lines[0], call) == "prose":
        return quote(_format_text(lines[0].after), actor.locale)
    return "; ".join(_format_line(line, change, actor) for line in lines)


def _is_said_already(line: PreviewLine, title: str, part: PreviewPart, call: Call) -> bool:
    """Only the record's name, or an empty value of a new record."""
    places = {path.rpartition(".")[2] for path in (*call.spec.target, call.spec.target_entity.removeprefix("@"))}
    if line.field in places:
        return True
    if part.verb != "add":
        return False
    is_name = part.entity == "contact" and line.field.upper() in _PERSON_NAME
    return is_name or line.after in {title, EMPTY}


def _format_line(line: PreviewLine, change: _Change, actor: Actor) -> str:
    if line.is_held:
        return f"{line.name}: {line.after}"
    call, kind = change.call, _find_kind(line, change.call)
    line = shorten_line(line, actor.locale, is_done=True)
    if kind == "multifield" and (steps := find_steps(call, change.before).get(line.field)):
        return f"{line.name}: {', '.join(_format_step(step, actor.locale, is_new=change.part.verb == 'add') for step in steps)}"
    new_value = call.written_fields.get(line.field)
    own = actor.bitrix_user_id is not None and fields.parse_ids(new_value) == {str(actor.bitrix_user_id)}
    after = _YOU[actor.locale] if own and kind == "user" else _format_text(line.after)
    before = "" if line.before in {UNKNOWN[actor.locale], EMPTY} else _format_text(line.before)
    return f"{line.name}: {before} → {after}" if before else f"{line.name}: {after}"


def _format_step(step: Step, locale: Locale, *, is_new: bool) -> str:
    value, was = format_multifield(step.kind, step.value), format_multifield(step.kind, step.old.value if step.old is not None else "")
    if step.verb == "edit":
        return f"{was} → {value}"
    text = _format_text(escape_text(was if step.verb == "remove" else value, locale=locale))
    if is_new:
        return text
    return (_WAS_REMOVED if step.verb == "remove" else _WAS_ADDED)[locale].format(value=text)


def _find_kind(line: PreviewLine, call: Call) -> str:
    info = fields.find_field_info(call.entities.get(call.entity), call.spec.stands_for.get(line.field, line.field))
    return info.kind if info is not None else ""


def _format_text(value: str) -> str:
    return trim_text(", ".join(value.split("\n")), limit=MAX_VALUE)
