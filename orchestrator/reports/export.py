"""Exports events as lines of JSON or CEF, which SIEM systems read (docs/journal.md)."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from orchestrator.domain.frozen import View
from orchestrator.reports.reading.journal_reader import Narrator, as_record, hide_secrets, scan_events, to_one_line, to_session_name
from orchestrator.reports.reading.sentences import describe_event
from state.clock import parse_iso
from state.events.base import type_names
from state.events.calls import OutcomeReconciled
from state.events.conversation import TurnFinished
from state.journal.store import Store, StoredEvent

FormatLine = Callable[[StoredEvent], str]
_HEADER: Final = "CEF:0|Sdelka|sdelka"
_VIA: Final = {"http": "api"}
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

NAMES: Final = {
    "MessageReceived": ("Message received", 1),
    "ModelAsked": ("Model asked", 1),
    "ModelAnswered": ("Model answered", 1),
    "ModelFailed": ("Model failed", 5),
    "PlanRecorded": ("Plan recorded", 2),
    "NameAsked": ("Choice offered", 1),
    "NameChosen": ("Choice made", 1),
    "StepRefused": ("Step refused by the gate", 5),
    "ConfirmationRequested": ("Confirmation requested", 3),
    "CardOpened": ("Whole card read", 2),
    "ConfirmationApproved": ("Confirmation approved", 4),
    "ConfirmationDenied": ("Confirmation denied", 4),
    "DecisionRefused": ("Decision refused", 5),
    "ConfirmationExpired": ("Confirmation expired", 3),
    "ConfirmationSuperseded": ("Confirmation superseded", 3),
    "CallStarted": ("Call started", 4),
    "CallSucceeded": ("Call succeeded", 3),
    "CallRefused": ("Call refused", 5),
    "CallOutcomeUnknown": ("Call outcome unknown", 8),
    "OutcomeReconciled": ("Unknown outcome looked up", 4),
    "TurnFinished": ("Turn finished", 1),
    "TurnResumed": ("Turn went on after its cards", 1),
    "ConversationCleared": ("Conversation cleared", 1),
    "PortalEventReceived": ("Portal event received", 1),
    "PortalLookFailed": ("Portal could not be read", 5),
    "RecordsSeen": ("Records looked at", 1),
    "BackupRestored": ("Backup restored", 7),
    "PersonErased": ("Person erased", 7),
    "EditAsked": ("New value asked for", 1),
    "EditClosed": ("Change of a card ended", 1),
    "ScheduleAdded": ("Schedule made", 3),
    "ScheduleFired": ("Moment of a schedule", 2),
    "SchedulePaused": ("Schedule paused", 4),
    "ScheduleResumed": ("Schedule resumed", 3),
    "ScheduleEnded": ("Schedule ended", 2),
    "BulkFrozen": ("Change of many records proposed", 1),
    "OrderAdded": ("Standing order given", 3),
    "OrderChanged": ("Standing order changed", 3),
    "OrderFired": ("Standing order carried out", 2),
    "OrderPutOff": ("Standing order put off", 2),
    "OrderPaused": ("Standing order paused", 4),
    "OrderResumed": ("Standing order resumed", 3),
    "OrderEnded": ("Standing order ended", 2),
    "ReportShown": ("Report shown", 1),
    "RecordsShown": ("Records of a report shown", 1),
    "ReminderSet": ("Reminder set", 1),
    "ReminderMoved": ("Reminder put off", 1),
    "ReminderFired": ("Reminder sent", 1),
    "ReminderDropped": ("Reminder dropped", 1),
    "DailySent": ("Daily message sent", 1),
    "PersonInvited": ("Person invited", 5),
    "InvitationRefused": ("Invitation refused", 5),
    "AccessAsked": ("Access asked for", 4),
    "PersonJoined": ("Person joined", 6),
    "PersonDismissed": ("Person dismissed", 6),
    "PersonReturned": ("Person returned", 6),
    "PreferenceSet": ("Preference set", 1),
    "ConsoleEntered": ("Console entered", 3),
    "PolicySaved": ("Policy saved", 6),
    "DenialReasonAsked": ("Reason of a denial asked for", 1),
    "DenialReasonGiven": ("Reason of a denial given", 1),
    "WritesFrozen": ("Writing frozen", 7),
    "WritesReleased": ("Writing allowed again", 7),
    "DefinitionSaved": ("Definition saved", 3),
    "DefinitionPublished": ("Definition published", 6),
    "DocumentChanged": ("Document added or removed", 6),
    "DefinitionSwitched": ("Definition switched on or off", 6),
    "MemoryWritten": ("Memory of a person written", 2),
    "MemoryCleared": ("Memory of a person cleared", 6),
    "BlockOpened": ("Block of a record opened", 2),
    "BlockResumed": ("Block of a record goes on", 2),
    "BlockConflicted": ("Block of a record in conflict", 4),
    "BlockResolved": ("Conflict of a block decided", 6),
    "BlockFinished": ("Block of a record finished", 2),
    "BlockFailed": ("Block of a record failed", 5),
    "BlockDismissed": ("Block of a record put aside", 2),
    "ConfirmationReopened": ("Confirmation waits again", 3),
    "BudgetWarned": ("Budget nearly used", 3),
    "LeadsAsked": ("Other leads asked", 1),
    "MessageEdited": ("Message edited", 1),
    "StopAsked": ("Stop asked for", 2),
    "RequestDropped": ("Request dropped", 2),
    "AnswerGiven": ("Answer given", 1),
    "RunStarted": ("Run started", 2),
    "NodeDone": ("Node of a run done", 1),
    "NodeFailed": ("Node of a run failed", 5),
    "RunWaits": ("Run waits", 1),
    "RunWoken": ("Run goes on", 1),
    "RunForgotten": ("Data of an ended run removed", 2),
    "RunFinished": ("Run ended", 2),
    "InputAwaited": ("Run waits for words in a chat", 1),
    "QuestionShown": ("Question of a run shown once more", 1),
    "AnswerDoubted": ("Answer or request, asked back", 1),
    "InputTaken": ("Run took the words of a chat", 1),
}
"""Name and severity (0 to 10); other types have their own name and 3."""
_SERIOUS: Final = {"D": 8, "M": 7, "C": 7, "N": 5}
"""Lowest severity by the class of the call."""
_OUTCOMES: Final = {
    "CallSucceeded": "success",
    "CallRefused": "failure",
    "StepRefused": "failure",
    "DecisionRefused": "failure",
    "ModelFailed": "failure",
    "PortalLookFailed": "failure",
    "CallOutcomeUnknown": "unknown",
    "ConfirmationApproved": "approved",
    "ConfirmationDenied": "denied",
    "ConfirmationExpired": "expired",
    "ConfirmationSuperseded": "superseded",
}


@dataclass(frozen=True, kw_only=True)
class EventFilter:
    """Empty `types`: all; `since` inclusive, `until` exclusive, ISO text or "" for no limit."""

    types: Sequence[str] = ()
    since: str = ""
    until: str = ""


class _Facts(View):
    """What a CEF line shows; "" for fields that the type lacks."""

    requested_by: str = ""
    approved_by: str = ""
    method: str = ""
    event: str = ""
    code: str = ""
    why: str = ""
    via: str = ""
    call_class: str = ""
    turn_id: str = ""
    effect_id: str = ""
    confirmation_id: str = ""
    target: str = ""


def export_events(store: Store, selection: EventFilter, line: FormatLine) -> Iterator[str]:
    for event in scan_events(store, selection.types):
        if selection.since <= event.ts and (not selection.until or event.ts < selection.until):
            yield line(event)


def format_json_line(event: StoredEvent) -> str:
    """Secrets are hidden; `hash` is that of the stored record."""
    return orjson.dumps(as_record(event)).decode()


def format_redacted_json_line(event: StoredEvent) -> str:
    """Without text of people and CRM values."""
    left_out = list_personal_fields(event.type)
    data = {name: value for name, value in hide_secrets(event.data).items() if name not in left_out}
    return orjson.dumps({**as_record(event), "data": data, "redacted": True}).decode()


def list_personal_fields(type_name: str) -> frozenset[str]:
    """Fields that may hold text of people."""
    return frozenset(type_names[type_name].blanks)


def build_cef_formatter(voice: Narrator, version: str) -> FormatLine:
    """With names of people and a sentence. `version` is this program's."""

    def line(event: StoredEvent) -> str:
        voice.remember_names(event)
        facts = _Facts.model_validate(event.data)
        words = {
            "suser": voice.find_name(facts.requested_by or event.actor),
            "duser": voice.find_name(facts.approved_by),
            "msg": describe_event(event, voice),
        }
        return _format_cef(event, facts, version, words)

    return line


def build_redacted_cef_formatter(version: str) -> FormatLine:
    """Without names and sentences."""
    return lambda event: _format_cef(event, _Facts.model_validate(event.data), version, {})


def _format_cef(event: StoredEvent, facts: _Facts, version: str, words: Mapping[str, str]) -> str:
    name, severity = NAMES.get(event.type, (event.type, 3))
    severity = max([severity, *(_SERIOUS.get(letter, 0) for letter in facts.call_class)])
    head = "|".join([_HEADER, *(_escape_header(part) for part in (version, event.type, name)), str(severity)])
    fields: dict[str, object] = {
        "rt": int(parse_iso(event.ts).timestamp() * 1000),
        "externalId": event.id,
        "suid": facts.requested_by or event.actor,
        "duid": facts.approved_by if event.type == "CallStarted" else "",
        "act": facts.method or facts.event,
        "outcome": _find_outcome(event),
        "reason": facts.code or facts.why,
        "app": _VIA.get(facts.via, facts.via),
        "cat": facts.call_class,
        **words,
        **_build_custom_fields(event, facts),
    }
    extension = " ".join(f"{key}={_escape_value(value)}" for key, value in fields.items() if value not in ("", None))
    return f"{head}|{extension}"


def _build_custom_fields(event: StoredEvent, facts: _Facts) -> dict[str, object]:
    """cs1 with cs1Label and so on: values for which CEF has no field."""
    texts = (
        ("cs1", "session", to_session_name(event.stream)),
        ("cs2", "turn", facts.turn_id),
        ("cs3", "effect", facts.effect_id),
        ("cs4", "card", facts.confirmation_id),
        ("cs5", "hash", event.hash),
        ("cs6", "record", facts.target),
        ("cn1", "seq", event.seq),
    )
    return {key: value for name, label, told in texts if told for key, value in ((f"{name}Label", label), (name, told))}


def _find_outcome(event: StoredEvent) -> str:
    match event.type:
        case "OutcomeReconciled":
            return {"done": "success", "not_done": "failure"}.get(OutcomeReconciled.from_data(event.data).verdict, "unknown")
        case "TurnFinished":
            return TurnFinished.from_data(event.data).reason
        case _:
            return _OUTCOMES.get(event.type, "")


def _escape_header(text: str) -> str:
    return _UNSAFE.sub(" ", to_one_line(text)).replace("\\", "\\\\").replace("|", "\\|")


def _escape_value(value: object) -> str:
    """Escapes backslash, equals sign, line breaks and other control characters."""
    text = str(value).replace("\\", "\\\\").replace("=", "\\=").replace("\r\n", "\n").replace("\n", "\\n").replace("\r", "\\r")
    return _UNSAFE.sub(lambda hit: f"\\\\x{ord(hit[0]):02x}", text)
