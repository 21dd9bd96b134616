"""Every event as one sentence that ops can read. Ring 2, pure; text of strangers is drawn safely, secrets are hidden."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from bitrix.batch import BatchError, parse_commands
from bitrix.events import RECORDS
from orchestrator.reports import words_daily, words_editing, words_freezing, words_leads, words_people
from orchestrator.reports.people import Voice
from orchestrator.reports.reading import gone, one_line, said
from orchestrator.reports.unreadable import CANNOT, Unreadable
from state.store import StoredEvent

_VALUE: Final = 80
_SHORT: Final = 10
WAYS: Final = {
    "button": "by button",
    "typed": "by a typed word",
    "api": "through the API",
    "http": "through the API",
    "cli": "in the terminal",
    "model": "by the model",
}
CLASSES: Final = {"R": "read", "W": "write", "D": "destructive", "C": "configuration", "M": "money", "N": "outward message"}
_ENDS: Final = {
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
_OWN_LOOK: Final = "START"
"""As `portal_events.catching_up` calls it, which is not loaded here: it could reach the portal."""
_DID: Final = {"add": "added", "update": "changed", "delete": "deleted"}
_KINDS: Final = {"activity": "an activity", "item": "an element of a smart process"}
_VERDICTS: Final = {"done": "it was done", "not_done": "it was not done", "unclear": "it is still unclear"}

Words = Callable[[StoredEvent, Voice], str]


def in_words(event: StoredEvent, voice: Voice) -> str:
    """What happened; an event without a sentence of its own is named."""
    if isinstance(event, Unreadable):
        return f"{event.type} {CANNOT}"
    words = _WORDS.get(event.type)
    return words(event, voice) if words else event.type


def short(identity: Any) -> str:
    """The beginning of an id, enough to ask for it."""
    return one_line(identity)[:_SHORT]


def call_in_words(method: Any, params: Any, *, limit: int = 160) -> str:
    """ "crm.deal.update id=481 OPPORTUNITY=150000", a batch as its commands."""
    given = params if isinstance(params, Mapping) else {}
    commands = _commands(given.get("cmd"))
    if commands:
        return one_line(f"{method} of {len(commands)}: " + "; ".join(call_in_words(*command) for command in commands), limit=limit)
    parts = [f"{key}={_value(value)}" for key, value in _flat(given)]
    return one_line(f"{method} {' '.join(parts)}".strip(), limit=limit)


def _commands(cmd: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """The commands of a batch; nothing for what is none or cannot be read."""
    try:
        return [(command.method, command.params) for command in parse_commands(cmd)] if cmd else []
    except (BatchError, ValueError):
        return []


def _flat(params: Mapping[str, Any]) -> list[tuple[str, Any]]:
    inner = [(key, value) for name in ("fields", "params") for key, value in _mapping(params.get(name)).items()]
    return [(key, value) for key, value in params.items() if not (key in {"fields", "params"} and isinstance(value, Mapping))] + inner


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _value(value: Any) -> str:
    return one_line(value, limit=_VALUE)


def changes_in_words(preview: Mapping[str, Any]) -> str:
    """ "Sum: 120 000 → 150 000; Stage: …" of a card; of a batch, by record."""
    items: Sequence[Mapping[str, Any]] = preview.get("items") or [preview]
    told = []
    for item in items:
        lines = [f"{line.get('name', '')}: {line.get('before') or '—'} → {line.get('after', '')}" for line in item.get("lines") or ()]
        title = f"«{item['title']}» " if item.get("title") else ""
        if lines:
            told.append(title + "; ".join(lines))
    return one_line(" | ".join(told), limit=300)


def seconds_in_words(seconds: float) -> str:
    """ "0.4 s", "3 min 5 s", "2 h 10 min", "3 d 4 h"."""
    if 0 <= seconds < 0.05:  # noqa: PLR2004 - what would be shown as nothing
        return "under 0.1 s"
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.1f} s"
    for size, unit, smaller, small in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if seconds >= size:
            rest = int(seconds % size // smaller)
            return f"{int(seconds // size)} {unit}" + (f" {rest} {small}" if rest else "")
    return f"{seconds:.1f} s"


def _message(event: StoredEvent, voice: Voice) -> str:
    who = voice.person(event.actor)
    text = said(event, "text", limit=300)
    quoted = ", with text of somebody else" if event.data.get("quoted") else ""
    match event.data.get("origin", "typed"):
        case "typed" | "voice":
            return f"{who} asked: {text}{quoted}"
        case "portal":
            return f"a change in the portal began a turn: {text}"
        case _:
            answered = f" {text}" if text else ""
            return f"{who} chose an answer{answered}{quoted}"


def _answered(event: StoredEvent, voice: Voice) -> str:
    del voice
    data = event.data
    model = one_line(data.get("model"), limit=60) or "the model"
    tokens = f"{data.get('prompt_tokens', 0)}+{data.get('completion_tokens', 0)} tokens"
    return f"the model answered ({model}, iteration {data['iteration']}, {tokens}, {float(data.get('seconds') or 0):.1f} s)"


def _model_failed(event: StoredEvent, voice: Voice) -> str:
    del voice
    return f"the model failed: {said(event, 'reason')}"


def _plan(event: StoredEvent, voice: Voice) -> str:
    del voice
    if event.erased:
        return f"the model proposed {gone(event)} (mode {event.data.get('mode', '?')})"
    steps = event.data.get("steps") or []
    listed = "; ".join(call_in_words(step.get("method", "?"), step.get("params")) for step in steps)
    only = "" if event.data.get("executed", True) else ", only recorded"
    many = f"{len(steps)} step{'' if len(steps) == 1 else 's'}"
    return f"the model proposed {many} (mode {event.data.get('mode', '?')}{only}): {listed or 'nothing'}"


def _name_asked(event: StoredEvent, voice: Voice) -> str:
    del voice
    options = ", ".join(one_line(option.get("label"), limit=60) for option in event.data.get("options") or ())
    return f"the person was asked which one “{said(event, 'reference')}” is: {options}"


def _name_chosen(event: StoredEvent, voice: Voice) -> str:
    label = said(event, "label") or one_line(event.data.get("value"))
    return f"{voice.person(event.actor)} chose {label} for “{said(event, 'reference')}”"


def _step_refused(event: StoredEvent, voice: Voice) -> str:
    why = one_line(event.data.get("detail")) or voice.say(event.data["code"])
    return f"refused before sending, {_sent(event)}: {why} [{event.data['code']}]"


def _decision_refused(event: StoredEvent, voice: Voice) -> str:
    data = event.data
    what = "approval" if data["approve"] else "denial"
    way = WAYS.get(data["via"], data["via"])
    return f"the {what} of card {data['confirmation_id']} by {voice.person(data['by'])} {way} did not count: {voice.code(data['code'])}"


def _requested(event: StoredEvent, voice: Voice) -> str:
    data = event.data
    why = "; ".join(voice.reasons(data.get("reasons"))) or gone(event)
    what = gone(event) or changes_in_words(data.get("preview") or {}) or call_in_words(data["method"], data.get("params"))
    again = f", instead of card {short(data['replaces'])}" if data.get("replaces") else ""
    hands = ", a second person must approve" if data.get("four_eyes") else ", two taps" if data.get("taps", 1) > 1 else ""
    return f"card {short(data['confirmation_id'])}{again}: {data['method']}: {what}; asked because: {why or 'the rules say so'}{hands}"


def _approved(event: StoredEvent, voice: Voice) -> str:
    data = event.data
    who = voice.person(data["approved_by"], data.get("approved_by_name", ""))
    return f"card {short(data['confirmation_id'])} approved by {who} {WAYS.get(data['via'], one_line(data['via']))}"


def _denied(event: StoredEvent, voice: Voice) -> str:
    data = event.data
    who = voice.person(data["denied_by"], data.get("denied_by_name", ""))
    why = f": {said(event, 'reason')}" if data.get("reason") else ""
    return f"card {short(data['confirmation_id'])} denied by {who} {WAYS.get(data['via'], one_line(data['via']))}{why}"


def _expired(event: StoredEvent, voice: Voice) -> str:
    del voice
    return f"card {short(event.data['confirmation_id'])} expired: nobody decided in time"


def _superseded(event: StoredEvent, voice: Voice) -> str:
    return f"card {short(event.data['confirmation_id'])} closed, it no longer fits: {voice.say(event.data['why'])}"


def _started(event: StoredEvent, voice: Voice) -> str:
    data = event.data
    by = f", approved by {voice.person(data['approved_by'])}" if data.get("approved_by") else ""
    return f"call {short(data['effect_id'])} started: {_sent(event)}{by}"


def _sent(event: StoredEvent) -> str:
    return f"{call_in_words(event.data['method'], event.data.get('params'))} {gone(event)}".strip()


def _succeeded(event: StoredEvent, voice: Voice) -> str:
    del voice
    data = event.data
    took = seconds_in_words(float(data.get("seconds") or 0))
    if data.get("call_class") == "R":
        total = f", {data['total']} found" if data.get("total") is not None else ""
        return f"read {_sent(event)}{total} ({took})"
    failed = [f"{one_line(item['key'])} {item['status']}" for item in data.get("commands") or () if item["status"] != "success"]
    parts = f", but not: {', '.join(failed)}" if failed else ""
    unchanged = f", the portal left as they were: {one_line(', '.join(data['unchanged']))}" if data.get("unchanged") else ""
    return f"call {short(data['effect_id'])} succeeded ({took}){parts}{unchanged}"


def _refused(event: StoredEvent, voice: Voice) -> str:
    return f"call {short(event.data['effect_id'])} did not happen: {refusal_in_words(event.data, voice)}"


def refusal_in_words(data: Mapping[str, Any], voice: Voice) -> str:
    """Why a call was turned down: the portal's words, or ours."""
    code = str(data.get("code") or "")
    words = one_line(data.get("detail")) or (voice.say(code, data.get("args")) if code else "")
    return f"{words} [{one_line(code)}]" if code and words != code else words or "no reason given"


def _unknown(event: StoredEvent, voice: Voice) -> str:
    del voice
    return f"call {short(event.data['effect_id'])} ended without an answer, its outcome is unknown: {said(event, 'detail')}"


def _reconciled(event: StoredEvent, voice: Voice) -> str:
    del voice
    detail = f" ({said(event, 'detail')})" if event.data.get("detail") else ""
    return f"a look at the portal for call {short(event.data['effect_id'])}: {_VERDICTS[event.data['verdict']]}{detail}"


def _finished(event: StoredEvent, voice: Voice) -> str:
    del voice
    text = said(event, "text", limit=300)
    ended = _ENDS.get(event.data["reason"], event.data["reason"])
    return f"the turn {ended}: {text}" if text else f"the turn {ended}"


def _cleared(event: StoredEvent, voice: Voice) -> str:
    return f"{voice.person(event.data['by'])} began anew (/new)"


def _portal_event(event: StoredEvent, voice: Voice) -> str:
    del voice
    return portal_event_in_words(event.data)


def portal_event_in_words(data: Mapping[str, Any]) -> str:
    """ "the portal posted: a deal was changed (deal:481)"; what the bot told itself at its start is said to be that."""
    name, target = str(data["event"]), one_line(data.get("target"))
    kind, did = RECORDS.get(name, ("", None))
    if name == _OWN_LOOK:
        return f"the bot, at its start, saw that {target} is not as it knew it"
    if not kind or not did:
        return f"the portal posted {one_line(name)} {target}".strip()
    thing = _KINDS.get(kind, f"a {kind}")
    return f"the portal posted: {thing} was {_DID[did]}{f' ({target})' if target else ''}"


def _look_failed(event: StoredEvent, voice: Voice) -> str:
    del voice
    return f"the portal could not be read: {said(event, 'reason')} (try {event.data['tries']})"


def _seen(event: StoredEvent, voice: Voice) -> str:
    records = event.data.get("records") or {}
    gone = event.data.get("gone") or []
    told = [voice.person(chat) for chat in event.data.get("told") or ()]
    parts = [f"looked at {', '.join(one_line(target) for target in sorted(records)) or 'nothing'}"]
    if gone:
        parts.append(f"gone: {', '.join(one_line(target) for target in gone)}")
    if told:
        parts.append(f"told: {', '.join(told)}")
    return one_line("; ".join(parts), limit=300)


def _erased(event: StoredEvent, voice: Voice) -> str:
    data = event.data
    left = f", {data['remains']} places still hold something" if data.get("remains") else ""
    what = f"{data['keys']} keys, {one_line('; '.join(data['removed']))}"
    return f"{voice.person(data['person'])} was erased by {voice.person(data['by'])}: {what}{left}"


def _restored(event: StoredEvent, voice: Voice) -> str:
    data = event.data
    left = f"{data['cards']} open cards, {data['unknown']} calls of unknown outcome, {data['set_aside']} inputs set aside"
    return f"the backup of {one_line(data['made_at'])} was restored by {voice.person(data['by'])}: {left}"


def _given(event: StoredEvent, voice: Voice) -> str:
    del voice
    return f"an answer was given: {one_line(event.data['kind'])}"


_WORDS: Final[dict[str, Words]] = {
    "AnswerGiven": _given,
    "MessageReceived": _message,
    "ModelAnswered": _answered,
    "ModelFailed": _model_failed,
    "PlanRecorded": _plan,
    "NameAsked": _name_asked,
    "NameChosen": _name_chosen,
    "StepRefused": _step_refused,
    "DecisionRefused": _decision_refused,
    "ConfirmationRequested": _requested,
    "ConfirmationApproved": _approved,
    "ConfirmationDenied": _denied,
    "ConfirmationExpired": _expired,
    "ConfirmationSuperseded": _superseded,
    "CallStarted": _started,
    "CallSucceeded": _succeeded,
    "CallRefused": _refused,
    "CallOutcomeUnknown": _unknown,
    "OutcomeReconciled": _reconciled,
    "TurnFinished": _finished,
    "ConversationCleared": _cleared,
    "PortalEventReceived": _portal_event,
    "PortalLookFailed": _look_failed,
    "RecordsSeen": _seen,
    "BackupRestored": _restored,
    "PersonErased": _erased,
    **words_daily.WORDS,
    **words_editing.WORDS,
    **words_freezing.WORDS,
    **words_leads.WORDS,
    **words_people.WORDS,
}
