"""Describes every event as one sentence for operators; text of strangers is escaped, secrets are hidden."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from bitrix.client.batch import BatchError, parse_commands
from bitrix.client.portal_events import RECORDS
from orchestrator.domain.address import CHANNEL_WORDS
from orchestrator.reports.reading import feature_sentences
from orchestrator.reports.reading.damaged_records import UNREADABLE_TEXT, UnreadableEvent
from orchestrator.reports.reading.journal_reader import describe_gap, format_text, to_one_line
from orchestrator.reports.reading.narrator import Narrator
from state.journal.store import StoredEvent

_VALUE: Final = 80
_SHORT: Final = 10
WAYS: Final = {
    "button": "by button",
    "typed": "by a typed word",
    "api": "through the API",
    "model": "by the model",
    **CHANNEL_WORDS,
}
CLASSES: Final = {"R": "read", "W": "write", "D": "destructive", "C": "configuration", "M": "money", "N": "outward message"}
_TURN_ENDS: Final = {
    "answered": "answered",
    "waiting": "waits for a decision",
    "asked": "asked the person back",
    "limit": "stopped at the limit of iterations",
    "degraded": "went on without the model",
    "planned": "only planned (shadow mode)",
    "stopped": "was stopped",
    "failed": "failed",
    "budget": "ended without the model, the person's budget of the month is used up",
}
_STARTUP_PROBE: Final = "START"
"""The name that `portal_events.catch_up` uses; it is not imported here, since that module can reach the portal."""
_ACTIONS: Final = {"add": "added", "update": "changed", "delete": "deleted"}
_KINDS: Final = {"activity": "an activity", "item": "an element of a smart process"}
_VERDICTS: Final = {"done": "it was done", "not_done": "it was not done", "unclear": "it is still unclear"}

DescribeEvent = Callable[[StoredEvent, Narrator], str]


def describe_event(event: StoredEvent, voice: Narrator) -> str:
    """Return a sentence about the event; the type's name for events without a sentence of their own."""
    if isinstance(event, UnreadableEvent):
        return f"{event.type} {UNREADABLE_TEXT}"
    words = _DESCRIPTIONS.get(event.type)
    return words(event, voice) if words else event.type


def to_short_id(identity: Any) -> str:
    """Return the beginning of an id, enough to search for it."""
    return to_one_line(identity)[:_SHORT]


def describe_call(method: Any, params: Any, *, limit: int = 160) -> str:
    """Describe a call, "crm.deal.update id=481 OPPORTUNITY=150000"; a batch as its commands."""
    given = params if isinstance(params, Mapping) else {}
    commands = _parse_commands(given.get("cmd"))
    if commands:
        return to_one_line(f"{method} of {len(commands)}: " + "; ".join(describe_call(*command) for command in commands), limit=limit)
    parts = [f"{key}={_format_value(value)}" for key, value in _flatten_params(given)]
    return to_one_line(f"{method} {' '.join(parts)}".strip(), limit=limit)


def _parse_commands(cmd: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the commands of a batch; none if it is not a batch or cannot be parsed."""
    try:
        return [(command.method, command.params) for command in parse_commands(cmd)] if cmd else []
    except (BatchError, ValueError):
        return []


def _flatten_params(params: Mapping[str, Any]) -> list[tuple[str, Any]]:
    inner = [(key, value) for name in ("fields", "params") for key, value in _to_mapping(params.get(name)).items()]
    return [(key, value) for key, value in params.items() if not (key in {"fields", "params"} and isinstance(value, Mapping))] + inner


def _to_mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _format_value(value: Any) -> str:
    return to_one_line(value, limit=_VALUE)


def describe_changes(preview: Mapping[str, Any]) -> str:
    """Describe the changes of a card, "Sum: 120 000 → 150 000; Stage: …"; for a batch, record by record."""
    items: Sequence[Mapping[str, Any]] = preview.get("items") or [preview]
    told = []
    for item in items:
        lines = [f"{line.get('name', '')}: {line.get('before') or '—'} → {line.get('after', '')}" for line in item.get("lines") or ()]
        title = f"«{item['title']}» " if item.get("title") else ""
        if lines:
            told.append(title + "; ".join(lines))
    return to_one_line(" | ".join(told), limit=300)


def format_seconds(seconds: float) -> str:
    """Format a duration: "0.4 s", "3 min 5 s", "2 h 10 min", "3 d 4 h"."""
    if 0 <= seconds < 0.05:  # noqa: PLR2004 - what would be shown as nothing
        return "under 0.1 s"
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.1f} s"
    for size, unit, smaller, small in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if seconds >= size:
            rest = int(seconds % size // smaller)
            return f"{int(seconds // size)} {unit}" + (f" {rest} {small}" if rest else "")
    return f"{seconds:.1f} s"


def _describe_message(event: StoredEvent, voice: Narrator) -> str:
    who = voice.format_person(event.actor)
    text = format_text(event, "text", limit=300)
    quoted = ", with text of somebody else" if event.data.get("quoted") else ""
    match event.data.get("origin", "typed"):
        case "typed" | "voice":
            return f"{who} asked: {text}{quoted}"
        case "portal":
            return f"a change in the portal began a turn: {text}"
        case _:
            answered = f" {text}" if text else ""
            return f"{who} chose an answer{answered}{quoted}"


def _describe_answer(event: StoredEvent, voice: Narrator) -> str:
    del voice
    data = event.data
    model = to_one_line(data.get("model"), limit=60) or "the model"
    tokens = f"{data.get('prompt_tokens', 0)}+{data.get('completion_tokens', 0)} tokens"
    return f"the model answered ({model}, iteration {data['iteration']}, {tokens}, {float(data.get('seconds') or 0):.1f} s)"


def _describe_model_failure(event: StoredEvent, voice: Narrator) -> str:
    del voice
    return f"the model failed: {format_text(event, 'reason')}"


def _describe_plan(event: StoredEvent, voice: Narrator) -> str:
    del voice
    if event.erased:
        return f"the model proposed {describe_gap(event)} (mode {event.data.get('mode', '?')})"
    steps = event.data.get("steps") or []
    listed = "; ".join(describe_call(step.get("method", "?"), step.get("params")) for step in steps)
    only = "" if event.data.get("executed", True) else ", only recorded"
    many = f"{len(steps)} step{'' if len(steps) == 1 else 's'}"
    return f"the model proposed {many} (mode {event.data.get('mode', '?')}{only}): {listed or 'nothing'}"


def _describe_name_question(event: StoredEvent, voice: Narrator) -> str:
    del voice
    options = ", ".join(to_one_line(option.get("label"), limit=60) for option in event.data.get("options") or ())
    return f"the person was asked which one “{format_text(event, 'reference')}” is: {options}"


def _describe_name_choice(event: StoredEvent, voice: Narrator) -> str:
    label = format_text(event, "label") or to_one_line(event.data.get("value"))
    return f"{voice.format_person(event.actor)} chose {label} for “{format_text(event, 'reference')}”"


def _describe_step_refusal(event: StoredEvent, voice: Narrator) -> str:
    why = to_one_line(event.data.get("detail")) or voice.render_sentence(event.data["code"])
    return f"refused before sending, {_describe_sent(event)}: {why} [{event.data['code']}]"


def _describe_decision_refusal(event: StoredEvent, voice: Narrator) -> str:
    data = event.data
    what = "approval" if data["approve"] else "denial"
    way = WAYS.get(data["via"], data["via"])
    who, why = voice.format_person(data["by"]), voice.describe_code(data["code"])
    return f"the {what} of card {data['confirmation_id']} by {who} {way} did not count: {why}"


def _describe_request(event: StoredEvent, voice: Narrator) -> str:
    data = event.data
    why = "; ".join(voice.describe_reasons(data.get("reasons"))) or describe_gap(event)
    what = describe_gap(event) or describe_changes(data.get("preview") or {}) or describe_call(data["method"], data.get("params"))
    again = f", instead of card {to_short_id(data['replaces'])}" if data.get("replaces") else ""
    hands = ", a second person must approve" if data.get("four_eyes") else ", two taps" if data.get("taps", 1) > 1 else ""
    return (
        f"card {to_short_id(data['confirmation_id'])}{again}: {data['method']}: {what}; asked because: {why or 'the rules say so'}{hands}"
    )


def _describe_approval(event: StoredEvent, voice: Narrator) -> str:
    data = event.data
    who = voice.format_person(data["approved_by"], data.get("approved_by_name", ""))
    return f"card {to_short_id(data['confirmation_id'])} approved by {who} {WAYS.get(data['via'], to_one_line(data['via']))}"


def _describe_denial(event: StoredEvent, voice: Narrator) -> str:
    data = event.data
    who = voice.format_person(data["denied_by"], data.get("denied_by_name", ""))
    why = f": {format_text(event, 'reason')}" if data.get("reason") else ""
    return f"card {to_short_id(data['confirmation_id'])} denied by {who} {WAYS.get(data['via'], to_one_line(data['via']))}{why}"


def _describe_expiry(event: StoredEvent, voice: Narrator) -> str:
    del voice
    return f"card {to_short_id(event.data['confirmation_id'])} expired: nobody decided in time"


def _describe_superseding(event: StoredEvent, voice: Narrator) -> str:
    return f"card {to_short_id(event.data['confirmation_id'])} closed, it no longer fits: {voice.render_sentence(event.data['why'])}"


def _describe_start(event: StoredEvent, voice: Narrator) -> str:
    data = event.data
    by = f", approved by {voice.format_person(data['approved_by'])}" if data.get("approved_by") else ""
    return f"call {to_short_id(data['effect_id'])} started: {_describe_sent(event)}{by}"


def _describe_sent(event: StoredEvent) -> str:
    return f"{describe_call(event.data['method'], event.data.get('params'))} {describe_gap(event)}".strip()


def _describe_success(event: StoredEvent, voice: Narrator) -> str:
    del voice
    data = event.data
    took = format_seconds(float(data.get("seconds") or 0))
    if data.get("call_class") == "R":
        total = f", {data['total']} found" if data.get("total") is not None else ""
        return f"read {_describe_sent(event)}{total} ({took})"
    failed = [f"{to_one_line(item['key'])} {item['status']}" for item in data.get("commands") or () if item["status"] != "success"]
    parts = f", but not: {', '.join(failed)}" if failed else ""
    unchanged = f", the portal left as they were: {to_one_line(', '.join(data['unchanged']))}" if data.get("unchanged") else ""
    return f"call {to_short_id(data['effect_id'])} succeeded ({took}){parts}{unchanged}"


def _describe_refused_call(event: StoredEvent, voice: Narrator) -> str:
    return f"call {to_short_id(event.data['effect_id'])} did not happen: {describe_refusal(event.data, voice)}"


def describe_refusal(data: Mapping[str, Any], voice: Narrator) -> str:
    """Return why a call was refused: in the portal's words, or in the bot's own."""
    code = str(data.get("code") or "")
    words = to_one_line(data.get("detail")) or (voice.render_sentence(code, data.get("args")) if code else "")
    return f"{words} [{to_one_line(code)}]" if code and words != code else words or "no reason given"


def _describe_unknown(event: StoredEvent, voice: Narrator) -> str:
    del voice
    return f"call {to_short_id(event.data['effect_id'])} ended without an answer, its outcome is unknown: {format_text(event, 'detail')}"


def _describe_reconciliation(event: StoredEvent, voice: Narrator) -> str:
    del voice
    detail = f" ({format_text(event, 'detail')})" if event.data.get("detail") else ""
    return f"a look at the portal for call {to_short_id(event.data['effect_id'])}: {_VERDICTS[event.data['verdict']]}{detail}"


def _describe_turn_end(event: StoredEvent, voice: Narrator) -> str:
    del voice
    text = format_text(event, "text", limit=300)
    ended = _TURN_ENDS.get(event.data["reason"], event.data["reason"])
    return f"the turn {ended}: {text}" if text else f"the turn {ended}"


def _describe_clearing(event: StoredEvent, voice: Narrator) -> str:
    return f"{voice.format_person(event.data['by'])} began anew (/new)"


def _describe_posted_event(event: StoredEvent, voice: Narrator) -> str:
    del voice
    return describe_portal_event(event.data)


def describe_portal_event(data: Mapping[str, Any]) -> str:
    """Describe a portal event, "the portal posted: a deal was changed (deal:481)"; an event that the bot made at its start says so."""
    name, target = str(data["event"]), to_one_line(data.get("target"))
    kind, did = RECORDS.get(name, ("", None))
    if name == _STARTUP_PROBE:
        return f"the bot, at its start, saw that {target} is not as it knew it"
    if not kind or not did:
        return f"the portal posted {to_one_line(name)} {target}".strip()
    thing = _KINDS.get(kind, f"a {kind}")
    return f"the portal posted: {thing} was {_ACTIONS[did]}{f' ({target})' if target else ''}"


def _describe_look_failure(event: StoredEvent, voice: Narrator) -> str:
    del voice
    return f"the portal could not be read: {format_text(event, 'reason')} (try {event.data['tries']})"


def _describe_sighting(event: StoredEvent, voice: Narrator) -> str:
    records = event.data.get("records") or {}
    gone = event.data.get("gone") or []
    told = [voice.format_person(chat) for chat in event.data.get("told") or ()]
    parts = [f"looked at {', '.join(to_one_line(target) for target in sorted(records)) or 'nothing'}"]
    if gone:
        parts.append(f"gone: {', '.join(to_one_line(target) for target in gone)}")
    if told:
        parts.append(f"told: {', '.join(told)}")
    return to_one_line("; ".join(parts), limit=300)


def _describe_erasure(event: StoredEvent, voice: Narrator) -> str:
    data = event.data
    left = f", {data['remains']} places still hold something" if data.get("remains") else ""
    what = f"{data['keys']} keys, {to_one_line('; '.join(data['removed']))}"
    return f"{voice.format_person(data['person'])} was erased by {voice.format_person(data['by'])}: {what}{left}"


def _describe_restore(event: StoredEvent, voice: Narrator) -> str:
    data = event.data
    left = f"{data['cards']} open cards, {data['unknown']} calls of unknown outcome, {data['set_aside']} inputs set aside"
    return f"the backup of {to_one_line(data['made_at'])} was restored by {voice.format_person(data['by'])}: {left}"


def _describe_given_answer(event: StoredEvent, voice: Narrator) -> str:
    del voice
    return f"an answer was given: {to_one_line(event.data['kind'])}"


_DESCRIPTIONS: Final[dict[str, DescribeEvent]] = {
    "AnswerGiven": _describe_given_answer,
    "MessageReceived": _describe_message,
    "ModelAnswered": _describe_answer,
    "ModelFailed": _describe_model_failure,
    "PlanRecorded": _describe_plan,
    "NameAsked": _describe_name_question,
    "NameChosen": _describe_name_choice,
    "StepRefused": _describe_step_refusal,
    "DecisionRefused": _describe_decision_refusal,
    "ConfirmationRequested": _describe_request,
    "ConfirmationApproved": _describe_approval,
    "ConfirmationDenied": _describe_denial,
    "ConfirmationExpired": _describe_expiry,
    "ConfirmationSuperseded": _describe_superseding,
    "CallStarted": _describe_start,
    "CallSucceeded": _describe_success,
    "CallRefused": _describe_refused_call,
    "CallOutcomeUnknown": _describe_unknown,
    "OutcomeReconciled": _describe_reconciliation,
    "TurnFinished": _describe_turn_end,
    "ConversationCleared": _describe_clearing,
    "PortalEventReceived": _describe_posted_event,
    "PortalLookFailed": _describe_look_failure,
    "RecordsSeen": _describe_sighting,
    "BackupRestored": _describe_restore,
    "PersonErased": _describe_erasure,
    **feature_sentences.DAILY_DESCRIPTIONS,
    **feature_sentences.EDITING_DESCRIPTIONS,
    **feature_sentences.FREEZING_DESCRIPTIONS,
    **feature_sentences.LEADS_DESCRIPTIONS,
    **feature_sentences.PEOPLE_DESCRIPTIONS,
}
