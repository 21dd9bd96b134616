"""Adds lines and buttons to a reply by code; the model's text stays as it is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from zoneinfo import ZoneInfo

from bitrix.catalogue.catalogue import Catalogue, Method
from bitrix.catalogue.names import CRM
from bitrix.client.batch import BatchError, Command, parse_commands
from orchestrator.directory.outcome_view import extract_rows
from orchestrator.domain.actor import Mode
from orchestrator.domain.address import Address
from orchestrator.domain.effect import Outcome
from orchestrator.domain.outputs import Action, Notice, Reply, Table, Text
from orchestrator.engines.base import TurnInput
from orchestrator.gate.call import fields, reminders
from orchestrator.gate.call.permissions import find_visible_users
from orchestrator.gate.call.targets import as_id
from orchestrator.language.date_format import When, format_when
from orchestrator.language.orders import gives_order
from orchestrator.language.request_words import asks_for_own, calls_own
from orchestrator.language.text import to_visible_line
from orchestrator.sessions.turn_context import Context
from state.clock import parse_iso
from state.stored import JsonObject

_OPERATORS = "!=<>@%*?~"
_SINGLE_RECORD_KEYS = ("ID", "TITLE", "NAME", "LAST_NAME", "PHONE", "EMAIL")
"""Such a filter looks for particular records."""
_KINDS: Final = ("contact", "company", "lead", "deal", "task", "other")
"""In the order in which they are told."""


def add_repeat_notice(reply: Reply, context: Context) -> Reply:
    repeats = [one for one in context.results if isinstance(one, Outcome) and one.repeat_of]
    if not repeats:
        return reply
    return reply.model_copy(update={"notices": (*reply.notices, Notice(code="repeats-not-sent", args={"count": len(repeats)}))})


def add_nothing_changed_notice(reply: Reply, context: Context) -> Reply:
    """The person ordered a change, and the turn proposed nothing."""
    if context.turn.is_resumed or reply.choices or context.proposed_steps or not gives_order(context.turn.text):
        return reply
    texts = [part.text for part in reply.parts if isinstance(part, Text)]
    if not texts or any("?" in text for text in texts):
        return reply
    return reply.model_copy(update={"notices": (*reply.notices, Notice(code="nothing-changed"))})


def add_own_only_notice(reply: Reply, context: Context, catalogue: Catalogue) -> Reply:
    """One sentence about all lists that the gate has limited, where records of others may be missing.

    Not where the person asked for their own, or the answer says that these are.
    """
    if context.actor.sees != "own" or not reply.parts:  # nothing is shown of a turn that was cut short
        return reply
    visible = frozenset(map(str, find_visible_users(context.actor) or ()))
    shown = {part.place for part in reply.parts if isinstance(part, Table)}
    is_clear = asks_for_own(context.turn.text) or any(calls_own(part.text) for part in reply.parts if isinstance(part, Text))
    reads = list(_list_reads(context, catalogue))
    narrowed = [
        read
        for number, read in enumerate(reads)
        if _is_narrowed(read, visible, is_clear=is_clear)
        and (read.place in shown or not (read.is_told or _is_lookup(read, reads[number + 1 :])))
    ]
    if not narrowed:
        return reply
    code = "only-own" if any(extract_rows(read.result) for read in narrowed) else "only-own-sought"
    notice = Notice(code=code, args={"kinds": _name_kinds(sorted({read.kind for read in narrowed}, key=_KINDS.index))})
    return reply.model_copy(update={"notices": (notice, *reply.notices)})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """A call of the turn, or one command of a batch, as it was proposed."""

    spec: Method
    kind: str
    params: JsonObject
    result: object
    place: str
    is_told: bool


def _list_reads(context: Context, catalogue: Catalogue) -> Iterator[_Read]:
    for slot, outcome in context.outcomes.items():
        if not isinstance(outcome, Outcome) or outcome.status != "succeeded" or slot not in context.proposed_steps:
            continue
        params = context.proposed_steps[slot].params
        calls = [(outcome.method, params, outcome.result)]
        if outcome.commands and outcome.call_class == "R":
            results = outcome.result if isinstance(outcome.result, Mapping) else {}
            calls = [(command.method, command.params, results.get(command.key)) for command in _parse_commands(params)]
        for method, call_params, result in calls:
            if (spec := catalogue.find(method)) is not None and result is not None:
                place = slot.partition("/")[2].replace("/", ".")
                kind = _find_kind(spec, call_params)
                yield _Read(spec=spec, kind=kind, params=call_params, result=result, place=place, is_told=context.is_told(slot))


def _parse_commands(params: JsonObject) -> Sequence[Command]:
    try:
        return parse_commands(params.get("cmd"))
    except BatchError:
        return ()


def _find_kind(spec: Method, params: JsonObject) -> str:
    kind = CRM.get(as_id(params.get("entityTypeId")) or 0, "") if spec.entity == "item" else spec.entity
    return kind if kind in _KINDS else _KINDS[-1]


def _is_narrowed(read: _Read, visible: frozenset[str], *, is_clear: bool) -> bool:
    """Not if only visible owners were asked for, or particular records were found; `is_clear`: nor if no others were named."""
    if read.spec.owner != "filter":
        return False
    owner, asked = fields.to_field_key(read.spec.owner_filter.lstrip(_OPERATORS)), read.params.get("filter")
    conditions = {key: value for key, value in asked.items() if _is_about(owner, key)} if isinstance(asked, Mapping) else {}
    if any(str(key).startswith("!") or not fields.parse_ids(value) <= visible for key, value in conditions.items()):
        return True
    if is_clear:
        return False
    names = (owner, *_SINGLE_RECORD_KEYS) if extract_rows(read.result) else (owner,)
    keys = frozenset(fields.to_field_key(name, read.spec.entity) for name in names)
    return not _has_any_key(asked, keys, read.spec.entity)


def _is_about(field_key: str, condition: object) -> bool:
    return fields.to_field_key(str(condition).lstrip(_OPERATORS)) == field_key


def _is_lookup(read: _Read, later: Sequence[_Read]) -> bool:
    """It found the one record that a later step is about."""
    link = frozenset({fields.to_field_key(f"{read.kind.upper()}_ID")})
    return len(extract_rows(read.result)) == 1 and any(
        (other.kind == read.kind and other.spec.verb == "get") or _has_any_key(other.params.get("filter"), link, other.spec.entity)
        for other in later
    )


def _name_kinds(kinds: Sequence[str]) -> Mapping[str, object]:
    """A notice in stored form: «контакты, лиды и сделки»."""
    *others, last = ({"code": "own-kind", "args": {"entity": kind}} for kind in kinds)
    names: Mapping[str, object] = last
    for number, other in enumerate(reversed(others)):
        names = {"code": "own-kinds" if number else "own-kinds-last", "args": {"first": other, "rest": names}}
    return names


def _has_any_key(filter_value: object, keys: frozenset[str], entity: str) -> bool:
    """At any depth; `keys` are normalized."""
    if isinstance(filter_value, Mapping):
        return any(
            fields.to_field_key(str(key).lstrip(_OPERATORS), entity) in keys or _has_any_key(value, keys, entity)
            for key, value in filter_value.items()
        )
    return isinstance(filter_value, list | tuple) and any(_has_any_key(item, keys, entity) for item in filter_value)


_TOLD_AS: Final = {reminders.ADD: "set", reminders.MOVE: "moved", reminders.CANCEL: "dropped"}


def add_reminder_lines(reply: Reply, context: Context, session: str) -> Reply:
    """Where no message of their own comes: a client that fetches its answers has no private chat."""
    if not Address.parse(session).is_pulled:
        return reply
    kept = [
        outcome
        for slot, outcome in context.outcomes.items()
        if isinstance(outcome, Outcome)
        and outcome.status == "succeeded"
        and outcome.method in _TOLD_AS
        and not outcome.repeat_of
        and not context.is_told(slot)
    ]
    lines = [Notice(code="reminder-told", args=_describe_reminder(outcome, context)) for outcome in kept]
    return reply.model_copy(update={"notices": (*lines, *reply.notices)}) if lines else reply


def _describe_reminder(outcome: Outcome, context: Context) -> Mapping[str, object]:
    moment, when = outcome.call.get("at"), ""
    if isinstance(moment, str):
        at = parse_iso(moment).astimezone(ZoneInfo(context.actor.time_zone))
        when = format_when(When(at.date(), at, has_time=True), now=context.now, locale=context.actor.locale)
    text = to_visible_line(outcome.call.get("text") or "")
    return {"what": _TOLD_AS[outcome.method], "when": when, "text": text, "texted": bool(text)}


def add_attachment_notice(reply: Reply, turn: TurnInput) -> Reply:
    if not turn.attached:
        return reply
    return reply.model_copy(update={"notices": (*reply.notices, Notice(code="attached-not-read", args={"kind": turn.attached}))})


FORWARD_BUTTON: Final = "forward"
FORWARD_REQUESTS: Final = ("lead", "task")
"""One button each under a forwarded text."""


def list_examples(mode: Mode) -> tuple[str, ...]:
    """Shadow mode sends nothing to the portal (S004-38)."""
    return ("example-task",) if mode == "shadow" else ("example-deals", "example-task", "example-sum")


def add_forward_buttons(reply: Reply, turn: TurnInput) -> Reply:
    """For a forwarded text without a request."""
    if turn.text or not turn.quoted or turn.origin not in {"typed", "voice"} or reply.choices or reply.confirmations:
        return reply
    actions = tuple(
        Action(words=(FORWARD_BUTTON, turn.turn_id, wish), label=Notice(code=f"button-make-{wish}")) for wish in FORWARD_REQUESTS
    )
    return reply.model_copy(update={"actions": (*reply.actions, *actions)})
