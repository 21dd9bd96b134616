from collections.abc import Mapping
from typing import Final

from bitrix.client.batch import BatchError, parse_commands
from bitrix.client.portal_events import RECORDS
from orchestrator.domain.address import CHANNEL_WORDS
from orchestrator.domain.card_view import Preview
from orchestrator.domain.effect import CommandReport
from orchestrator.engines.base import PlanStep
from orchestrator.reports.reading import feature_sentences, order_sentences, run_sentences
from orchestrator.reports.reading.damaged_records import UNREADABLE_TEXT, UnreadableEvent
from orchestrator.reports.reading.journal_reader import (
    Narrator,
    bind_reader,
    describe_failed_cost,
    describe_fallback,
    describe_gap,
    format_words,
    to_one_line,
)
from state.events import calls, confirmations, conversation, people, portal, talking, transfer
from state.journal.store import StoredEvent
from state.stored import JsonObject

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
"""As in `portal_events.catch_up`, which is not imported because it can reach the portal."""
_ACTIONS: Final = {"add": "added", "update": "changed", "delete": "deleted"}
_KINDS: Final = {"activity": "an activity", "item": "an element of a smart process"}
_VERDICTS: Final = {"done": "it was done", "not_done": "it was not done", "unclear": "it is still unclear"}


def describe_event(event: StoredEvent, voice: Narrator) -> str:
    """The type's name if it has no sentence."""
    if isinstance(event, UnreadableEvent):
        return f"{event.type} {UNREADABLE_TEXT}"
    words = _DESCRIPTIONS.get(event.type)
    return words(voice, event) if words else event.type


def to_short_id(identity: object) -> str:
    return to_one_line(identity)[:_SHORT]


def describe_call(method: object, params: object, *, limit: int = 160) -> str:
    """Such as "crm.deal.update id=481 OPPORTUNITY=150000"; for a batch its commands."""
    call_params = params if isinstance(params, Mapping) else {}
    commands = _parse_commands(call_params.get("cmd"))
    if commands:
        return to_one_line(f"{method} of {len(commands)}: " + "; ".join(describe_call(*command) for command in commands), limit=limit)
    parts = [f"{key}={to_one_line(value, limit=_VALUE)}" for key, value in _flatten_params(call_params)]
    return to_one_line(f"{method} {' '.join(parts)}".strip(), limit=limit)


def _parse_commands(cmd: object) -> list[tuple[str, JsonObject]]:
    """(method, parameters); empty if it cannot be parsed."""
    try:
        return [(command.method, command.params) for command in parse_commands(cmd)] if cmd else []
    except (BatchError, ValueError):
        return []


def _flatten_params(params: JsonObject) -> list[tuple[str, object]]:
    nested = [value for name in ("fields", "params") if isinstance(value := params.get(name), Mapping)]
    outer = [(key, value) for key, value in params.items() if not (key in {"fields", "params"} and isinstance(value, Mapping))]
    return outer + [item for part in nested for item in part.items()]


def describe_changes(preview: Preview) -> str:
    """Such as "Sum: 120 000 → 150 000; Stage: …"; for a batch record by record."""
    parts = []
    for item in preview.items or (preview,):
        lines = [f"{line.name}: {line.before or '—'} → {line.after}" for line in item.lines]
        title = f"«{item.title}» " if item.title else ""
        if lines:
            parts.append(title + "; ".join(lines))
    return to_one_line(" | ".join(parts), limit=300)


def format_seconds(seconds: float) -> str:
    """Such as "0.4 s", "3 min 5 s", "2 h 10 min" or "3 d 4 h"."""
    if 0 <= seconds < 0.05:  # noqa: PLR2004 - what would be shown as nothing
        return "under 0.1 s"
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.1f} s"
    for size, unit, smaller, small in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if seconds >= size:
            rest = int(seconds % size // smaller)
            return f"{int(seconds // size)} {unit}" + (f" {rest} {small}" if rest else "")
    return f"{seconds:.1f} s"


def _describe_message(voice: Narrator, message_received: conversation.MessageReceived, event: StoredEvent) -> str:
    who = voice.format_person(event.actor)
    text = format_words(event, message_received.text, limit=300)
    quoted = ", with text of somebody else" if message_received.quoted else ""
    match message_received.origin:
        case "typed" | "voice":
            return f"{who} asked: {text}{quoted}"
        case "portal":
            return f"a change in the portal began a turn: {text}"
        case _:
            answered = f" {text}" if text else ""
            return f"{who} chose an answer{answered}{quoted}"


def _describe_answer(_voice: Narrator, model_answered: conversation.ModelAnswered, _event: StoredEvent) -> str:
    model = (to_one_line(model_answered.model, limit=60) or "the model") + describe_fallback(
        model_answered.provider, model_answered.failed_before
    )
    tokens = f"{model_answered.prompt_tokens}+{model_answered.completion_tokens} tokens"
    return f"the model answered ({model}, iteration {model_answered.iteration}, {tokens}, {model_answered.seconds:.1f} s)"


def _describe_question_to_model(_voice: Narrator, model_asked: conversation.ModelAsked, _event: StoredEvent) -> str:
    where = f"at node {to_one_line(model_asked.node)}" if model_asked.node else f"iteration {model_asked.iteration}"
    return f"the model is asked ({where}, about {model_asked.prompt_tokens + model_asked.completion_tokens} tokens reserved)"


def _describe_model_failure(_voice: Narrator, model_failed: conversation.ModelFailed, event: StoredEvent) -> str:
    return f"the model failed: {format_words(event, model_failed.reason)}{describe_failed_cost(model_failed)}"


def _describe_plan(_voice: Narrator, plan_recorded: conversation.PlanRecorded, event: StoredEvent) -> str:
    if event.erased:
        return f"the model proposed {describe_gap(event)} (mode {plan_recorded.mode})"
    steps = [PlanStep.from_stored(step) for step in plan_recorded.steps]
    step_texts = "; ".join(describe_call(step.method or "?", step.params) for step in steps)
    only = "" if plan_recorded.executed else ", only recorded"
    many = f"{len(steps)} step{'' if len(steps) == 1 else 's'}"
    return f"the model proposed {many} (mode {plan_recorded.mode}{only}): {step_texts or 'nothing'}"


def _describe_name_question(_voice: Narrator, name_asked: conversation.NameAsked, event: StoredEvent) -> str:
    options = ", ".join(to_one_line(option.get("label"), limit=60) for option in name_asked.options)
    return f"the person was asked which one “{format_words(event, name_asked.reference)}” is: {options}"


def _describe_name_choice(voice: Narrator, name_chosen: conversation.NameChosen, event: StoredEvent) -> str:
    label = format_words(event, name_chosen.label) or to_one_line(name_chosen.value)
    return f"{voice.format_person(event.actor)} chose {label} for “{format_words(event, name_chosen.reference)}”"


def _describe_step_refusal(voice: Narrator, step_refused: conversation.StepRefused, event: StoredEvent) -> str:
    why = to_one_line(step_refused.detail) or voice.render_sentence(step_refused.code)
    return f"refused before sending, {_describe_sent(step_refused.method, step_refused.params, event)}: {why} [{step_refused.code}]"


def _describe_decision_refusal(voice: Narrator, refusal: confirmations.DecisionRefused, _event: StoredEvent) -> str:
    what = "approval" if refusal.approve else "denial"
    who, why = voice.format_person(refusal.by), voice.describe_code(refusal.code)
    return f"the {what} of card {refusal.confirmation_id} by {who} {WAYS.get(refusal.via, refusal.via)} did not count: {why}"


def _describe_request(voice: Narrator, request: confirmations.ConfirmationRequested, event: StoredEvent) -> str:
    why = "; ".join(voice.describe_reasons(request.reasons)) or describe_gap(event)
    what = describe_gap(event) or describe_changes(Preview.model_validate(request.preview)) or describe_call(request.method, request.params)
    again = f", instead of card {to_short_id(request.replaces)}" if request.replaces else ""
    hands = ", a second person must approve" if request.four_eyes else ", two taps" if request.taps > 1 else ""
    return (
        f"card {to_short_id(request.confirmation_id)}{again}: {request.method}: {what}; asked because: {why or 'the rules say so'}{hands}"
    )


def _describe_opening(voice: Narrator, card_opened: confirmations.CardOpened, _event: StoredEvent) -> str:
    return f"the rest of the long card {to_short_id(card_opened.confirmation_id)} opened by {voice.format_person(card_opened.by)}"


def _describe_approval(voice: Narrator, approval: confirmations.ConfirmationApproved, _event: StoredEvent) -> str:
    who = voice.format_person(approval.approved_by, approval.approved_by_name)
    return f"card {to_short_id(approval.confirmation_id)} approved by {who} {WAYS.get(approval.via, to_one_line(approval.via))}"


def _describe_denial(voice: Narrator, denial: confirmations.ConfirmationDenied, event: StoredEvent) -> str:
    who = voice.format_person(denial.denied_by, denial.denied_by_name)
    why = f": {format_words(event, denial.reason)}" if denial.reason else ""
    return f"card {to_short_id(denial.confirmation_id)} denied by {who} {WAYS.get(denial.via, to_one_line(denial.via))}{why}"


def _describe_expiry(_voice: Narrator, confirmation_expired: confirmations.ConfirmationExpired, _event: StoredEvent) -> str:
    return f"card {to_short_id(confirmation_expired.confirmation_id)} expired: nobody decided in time"


def _describe_superseding(voice: Narrator, superseding: confirmations.ConfirmationSuperseded, _event: StoredEvent) -> str:
    return f"card {to_short_id(superseding.confirmation_id)} closed, it no longer fits: {voice.render_sentence(superseding.why)}"


def _describe_start(voice: Narrator, call_started: calls.CallStarted, event: StoredEvent) -> str:
    by = f", approved by {voice.format_person(call_started.approved_by)}" if call_started.approved_by else ""
    return f"call {to_short_id(call_started.effect_id)} started: {_describe_sent(call_started.method, call_started.params, event)}{by}"


def _describe_sent(method: str, params: JsonObject, event: StoredEvent) -> str:
    return f"{describe_call(method, params)} {describe_gap(event)}".strip()


def _describe_success(_voice: Narrator, call_succeeded: calls.CallSucceeded, event: StoredEvent) -> str:
    took = format_seconds(call_succeeded.seconds)
    if call_succeeded.call_class == "R":
        total = f", {call_succeeded.total} found" if call_succeeded.total is not None else ""
        return f"read {_describe_sent(call_succeeded.method, call_succeeded.params, event)}{total} ({took})"
    commands = [CommandReport.model_validate(item) for item in call_succeeded.commands]
    failed = [f"{to_one_line(item.key)} {item.status}" for item in commands if item.status != "success"]
    parts = f", but not: {', '.join(failed)}" if failed else ""
    unmet = to_one_line(", ".join(call_succeeded.unchanged))
    unchanged = f", the portal does not hold what was sent: {unmet}" if unmet else ""
    return f"call {to_short_id(call_succeeded.effect_id)} succeeded ({took}){parts}{unchanged}"


def _describe_refused_call(voice: Narrator, call_refused: calls.CallRefused, _event: StoredEvent) -> str:
    return f"call {to_short_id(call_refused.effect_id)} did not happen: {describe_refusal(call_refused, voice)}"


def describe_refusal(call_refused: calls.CallRefused, voice: Narrator) -> str:
    """In the portal's words or the bot's, with the code in brackets."""
    code = call_refused.code
    words = to_one_line(call_refused.detail) or (voice.render_sentence(code, call_refused.args) if code else "")
    return f"{words} [{to_one_line(code)}]" if code and words != code else words or "no reason given"


def _describe_unknown(_voice: Narrator, call: calls.CallOutcomeUnknown, event: StoredEvent) -> str:
    return f"call {to_short_id(call.effect_id)} ended without an answer, its outcome is unknown: {format_words(event, call.detail)}"


def _describe_reconciliation(_voice: Narrator, outcome_reconciled: calls.OutcomeReconciled, event: StoredEvent) -> str:
    detail = f" ({format_words(event, outcome_reconciled.detail)})" if outcome_reconciled.detail else ""
    return f"a look at the portal for call {to_short_id(outcome_reconciled.effect_id)}: {_VERDICTS[outcome_reconciled.verdict]}{detail}"


def _describe_turn_end(_voice: Narrator, turn_finished: conversation.TurnFinished, event: StoredEvent) -> str:
    text = format_words(event, turn_finished.text, limit=300)
    ended = _TURN_ENDS.get(turn_finished.reason, turn_finished.reason)
    return f"the turn {ended}: {text}" if text else f"the turn {ended}"


def _describe_resumption(_voice: Narrator, _said: conversation.TurnResumed, _event: StoredEvent) -> str:
    return "the turn went on, since the last of its cards is decided"


def _describe_clearing(voice: Narrator, conversation_cleared: conversation.ConversationCleared, _event: StoredEvent) -> str:
    return f"{voice.format_person(conversation_cleared.by)} began anew (/new)"


def _describe_posted_event(_voice: Narrator, event_received: portal.PortalEventReceived, _event: StoredEvent) -> str:
    return describe_portal_event(event_received)


def describe_portal_event(event_received: portal.PortalEventReceived) -> str:
    """Such as "the portal posted: a deal was changed (deal:481)"."""
    target = to_one_line(event_received.target)
    kind, did = RECORDS.get(event_received.event, ("", None))
    if event_received.event == _STARTUP_PROBE:
        return f"the bot, at its start, saw that {target} is not as it knew it"
    if not kind or not did:
        return f"the portal posted {to_one_line(event_received.event)} {target}".strip()
    thing = _KINDS.get(kind, f"a {kind}")
    return f"the portal posted: {thing} was {_ACTIONS[did]}{f' ({target})' if target else ''}"


def _describe_look_failure(_voice: Narrator, look_failed: portal.PortalLookFailed, event: StoredEvent) -> str:
    return f"the portal could not be read: {format_words(event, look_failed.reason)} (try {look_failed.tries})"


def _describe_sighting(voice: Narrator, records_seen: portal.RecordsSeen, _event: StoredEvent) -> str:
    readers = [voice.format_person(chat) for chat in records_seen.told]
    parts = [f"looked at {', '.join(to_one_line(target) for target in sorted(records_seen.records)) or 'nothing'}"]
    if records_seen.gone:
        parts.append(f"gone: {', '.join(to_one_line(target) for target in records_seen.gone)}")
    if readers:
        parts.append(f"told: {', '.join(readers)}")
    return to_one_line("; ".join(parts), limit=300)


def _describe_erasure(voice: Narrator, person_erased: people.PersonErased, _event: StoredEvent) -> str:
    left = f", {person_erased.remains} places still hold something" if person_erased.remains else ""
    what = f"{person_erased.keys} keys, {to_one_line('; '.join(person_erased.removed))}"
    return f"{voice.format_person(person_erased.person)} was erased by {voice.format_person(person_erased.by)}: {what}{left}"


def _describe_restore(voice: Narrator, restore: transfer.BackupRestored, _event: StoredEvent) -> str:
    left = f"{restore.cards} open cards, {restore.unknown} calls of unknown outcome, {restore.set_aside} inputs set aside"
    return f"the backup of {to_one_line(restore.made_at)} was restored by {voice.format_person(restore.by)}: {left}"


def _describe_given_answer(_voice: Narrator, answer_given: talking.AnswerGiven, _event: StoredEvent) -> str:
    return f"an answer was given: {to_one_line(answer_given.kind)}"


_DESCRIPTIONS: Final = {
    **bind_reader(talking.AnswerGiven, _describe_given_answer),
    **bind_reader(conversation.MessageReceived, _describe_message),
    **bind_reader(conversation.ModelAsked, _describe_question_to_model),
    **bind_reader(conversation.ModelAnswered, _describe_answer),
    **bind_reader(conversation.ModelFailed, _describe_model_failure),
    **bind_reader(conversation.PlanRecorded, _describe_plan),
    **bind_reader(conversation.NameAsked, _describe_name_question),
    **bind_reader(conversation.NameChosen, _describe_name_choice),
    **bind_reader(conversation.StepRefused, _describe_step_refusal),
    **bind_reader(confirmations.DecisionRefused, _describe_decision_refusal),
    **bind_reader(confirmations.ConfirmationRequested, _describe_request),
    **bind_reader(confirmations.CardOpened, _describe_opening),
    **bind_reader(confirmations.ConfirmationApproved, _describe_approval),
    **bind_reader(confirmations.ConfirmationDenied, _describe_denial),
    **bind_reader(confirmations.ConfirmationExpired, _describe_expiry),
    **bind_reader(confirmations.ConfirmationSuperseded, _describe_superseding),
    **bind_reader(calls.CallStarted, _describe_start),
    **bind_reader(calls.CallSucceeded, _describe_success),
    **bind_reader(calls.CallRefused, _describe_refused_call),
    **bind_reader(calls.CallOutcomeUnknown, _describe_unknown),
    **bind_reader(calls.OutcomeReconciled, _describe_reconciliation),
    **bind_reader(conversation.TurnFinished, _describe_turn_end),
    **bind_reader(conversation.TurnResumed, _describe_resumption),
    **bind_reader(conversation.ConversationCleared, _describe_clearing),
    **bind_reader(portal.PortalEventReceived, _describe_posted_event),
    **bind_reader(portal.PortalLookFailed, _describe_look_failure),
    **bind_reader(portal.RecordsSeen, _describe_sighting),
    **bind_reader(transfer.BackupRestored, _describe_restore),
    **bind_reader(people.PersonErased, _describe_erasure),
    **feature_sentences.DAILY_DESCRIPTIONS,
    **feature_sentences.EDITING_DESCRIPTIONS,
    **feature_sentences.FREEZING_DESCRIPTIONS,
    **feature_sentences.DEFINITION_DESCRIPTIONS,
    **feature_sentences.MEMORY_DESCRIPTIONS,
    **feature_sentences.BLOCK_DESCRIPTIONS,
    **feature_sentences.LEADS_DESCRIPTIONS,
    **feature_sentences.PEOPLE_DESCRIPTIONS,
    **run_sentences.DESCRIPTIONS,
    **order_sentences.DESCRIPTIONS,
}
