"""Describes events as sentences for operators: people, daily messages, freezing and budgets, leads, edits of cards, definitions."""

from datetime import UTC, date, datetime
from typing import Final

from orchestrator.domain.address import CHANNEL_WORDS
from orchestrator.reports.reading.journal_reader import bind_reader, format_words, to_one_line
from orchestrator.reports.reading.narrator import Narrator
from state.events import blocks, budgets, cards, console, daily, definitions, documents, freezing, leads, memory, people
from state.journal.store import StoredEvent


def _describe_invitation(voice: Narrator, said: people.PersonInvited, _event: StoredEvent) -> str:
    whom = f"employee {said.bitrix_user_id}, role {said.role}, until {said.expires_at}"
    return f"{voice.format_person(said.by)} made a link ({people.build_invitation_key(said.fingerprint)}) for {whom}"


def _describe_invitation_refusal(voice: Narrator, said: people.InvitationRefused, _event: StoredEvent) -> str:
    return f"{voice.format_person(said.person)} brought a link that is of no use: {said.why}"


def _describe_access_request(voice: Narrator, said: people.AccessAsked, event: StoredEvent) -> str:
    return f"{voice.format_person(said.person, said.name, gone=event.erased)} asked for access"


def _describe_joining(voice: Narrator, said: people.PersonJoined, event: StoredEvent) -> str:
    how = f"by link {people.build_invitation_key(said.fingerprint)} of" if said.fingerprint else "let in by"
    who = voice.format_person(said.person, said.name, gone=event.erased)
    return f"{who} joined as {said.role}, employee {said.bitrix_user_id}, {how} {voice.format_person(said.by)}"


def _describe_dismissal(voice: Narrator, said: people.PersonDismissed, _event: StoredEvent) -> str:
    why = "the portal lists them as dismissed" if said.why == "portal" else f"removed by {voice.format_person(said.by)}"
    return f"{voice.format_person(said.person)} lost access: {why}"


def _describe_return(voice: Narrator, said: people.PersonReturned, _event: StoredEvent) -> str:
    return f"{voice.format_person(said.person)} has access again: the portal lists them as working"


def _describe_login(voice: Narrator, said: console.ConsoleEntered, _event: StoredEvent) -> str:
    return f"{voice.format_person(said.person)} logged in to the console"


def _describe_policy(voice: Narrator, said: console.PolicySaved, event: StoredEvent) -> str:
    return f"{voice.format_person(said.person, said.name, gone=event.erased)} saved the policy file in the console"


def _describe_preference(voice: Narrator, said: people.PreferenceSet, event: StoredEvent) -> str:
    return f"{voice.format_person(said.person)} set {said.preference} to {format_words(event, said.value, limit=40)}"


PEOPLE_DESCRIPTIONS: Final = {
    **bind_reader(people.PersonInvited, _describe_invitation),
    **bind_reader(people.InvitationRefused, _describe_invitation_refusal),
    **bind_reader(people.AccessAsked, _describe_access_request),
    **bind_reader(people.PersonJoined, _describe_joining),
    **bind_reader(people.PersonDismissed, _describe_dismissal),
    **bind_reader(people.PersonReturned, _describe_return),
    **bind_reader(people.PreferenceSet, _describe_preference),
    **bind_reader(console.ConsoleEntered, _describe_login),
    **bind_reader(console.PolicySaved, _describe_policy),
}


def _describe_reminder_set(voice: Narrator, said: daily.ReminderSet, event: StoredEvent) -> str:
    words = format_words(event, said.text, limit=80)
    return f"{voice.format_person(event.actor)} is to be reminded at {_format_due(said.due_ts)}: {words}"


def _describe_reminder_moved(_voice: Narrator, said: daily.ReminderMoved, _event: StoredEvent) -> str:
    return f"the reminder is put off to {_format_due(said.due_ts)}"


def _describe_reminder_sent(_voice: Narrator, said: daily.ReminderFired, _event: StoredEvent) -> str:
    return f"reminded, {said.late} seconds late" if said.late else "reminded"


def _describe_reminder_dropped(voice: Narrator, said: daily.ReminderDropped, _event: StoredEvent) -> str:
    return f"{voice.format_person(said.by)} dropped the reminder"


def _describe_daily_message(_voice: Narrator, said: daily.DailySent, _event: StoredEvent) -> str:
    what = "morning digest" if said.what == "digest" else "evening summary"
    day = date.fromordinal(said.day).isoformat()
    return f"the {what} of {day} was sent" if said.outcome == "sent" else f"the {what} of {day} was given up"


def _format_due(due_ts: int) -> str:
    return datetime.fromtimestamp(due_ts, UTC).strftime("%Y-%m-%d %H:%MZ")


DAILY_DESCRIPTIONS: Final = {
    **bind_reader(daily.ReminderSet, _describe_reminder_set),
    **bind_reader(daily.ReminderMoved, _describe_reminder_moved),
    **bind_reader(daily.ReminderFired, _describe_reminder_sent),
    **bind_reader(daily.ReminderDropped, _describe_reminder_dropped),
    **bind_reader(daily.DailySent, _describe_daily_message),
}


def _describe_freeze(voice: Narrator, said: freezing.WritesFrozen, event: StoredEvent) -> str:
    why = f": {format_words(event, said.reason)}" if said.reason else ""
    return f"{voice.format_person(said.by, said.by_name)} froze all writing to the portal {_format_channel(said.via)}{why}"


def _describe_release(voice: Narrator, said: freezing.WritesReleased, _event: StoredEvent) -> str:
    return f"{voice.format_person(said.by, said.by_name)} let writing to the portal start again {_format_channel(said.via)}"


def _format_channel(via: object) -> str:
    return CHANNEL_WORDS.get(str(via), to_one_line(via))


def _describe_reopening(_voice: Narrator, said: freezing.ConfirmationReopened, _event: StoredEvent) -> str:
    card = to_one_line(said.confirmation_id)[:10]
    return f"card {card} waits again: its approved call did not start, since writing is frozen; nothing was sent"


def _describe_budget_warning(voice: Narrator, said: budgets.BudgetWarned, event: StoredEvent) -> str:
    month = f"{said.month // 100}-{said.month % 100:02d}"
    return f"{voice.format_person(event.actor)} was told that {said.percent} % of the budget of {month} is used"


def _describe_document(voice: Narrator, said: documents.DocumentChanged, _event: StoredEvent) -> str:
    return f"{voice.format_person(said.by, said.by_name)} {said.what} the document {to_one_line(said.path)}"


FREEZING_DESCRIPTIONS: Final = {
    **bind_reader(freezing.WritesFrozen, _describe_freeze),
    **bind_reader(freezing.WritesReleased, _describe_release),
    **bind_reader(freezing.ConfirmationReopened, _describe_reopening),
    **bind_reader(budgets.BudgetWarned, _describe_budget_warning),
    **bind_reader(documents.DocumentChanged, _describe_document),
}


def _describe_reason_question(voice: Narrator, said: leads.DenialReasonAsked, _event: StoredEvent) -> str:
    return f"{voice.format_person(said.by)} wants to deny card {said.confirmation_id} of {said.home} with a reason"


def _describe_reason(voice: Narrator, said: leads.DenialReasonGiven, _event: StoredEvent) -> str:
    return f"{voice.format_person(said.by)} wrote why card {said.confirmation_id} is denied"


def _describe_other_leads(voice: Narrator, said: leads.LeadsAsked, _event: StoredEvent) -> str:
    who = ", ".join(voice.format_person(key) for key in said.told) or "nobody, since none may decide"
    return f"card {said.confirmation_id} is shown to {who} from now on"


LEADS_DESCRIPTIONS: Final = {
    **bind_reader(leads.DenialReasonAsked, _describe_reason_question),
    **bind_reader(leads.DenialReasonGiven, _describe_reason),
    **bind_reader(leads.LeadsAsked, _describe_other_leads),
}


_EDIT_ENDS = {"replaced": "a new card took its place", "cancelled": "all stays as it was", "late": "somebody had decided meanwhile"}


def _describe_edit_question(voice: Narrator, said: cards.EditAsked, _event: StoredEvent) -> str:
    what = f"a new value of {said.code}" if said.code else "which value to change"
    return f"{voice.format_person(said.by)} was asked for {what} on card {said.confirmation_id}"


def _describe_edit_end(_voice: Narrator, said: cards.EditClosed, _event: StoredEvent) -> str:
    return f"the change of card {said.confirmation_id} ended: {_EDIT_ENDS[said.how]}"


EDITING_DESCRIPTIONS: Final = {
    **bind_reader(cards.EditAsked, _describe_edit_question),
    **bind_reader(cards.EditClosed, _describe_edit_end),
}


_SAVINGS: Final = {
    "created": "saved version {version} of {name} as a new draft",
    "saved": "saved draft {version} of {name} anew",
    "rolled_back": "made draft {version} of {name} from an earlier version",
    "imported": "imported version {version} of {name} as a draft",
}
_AnyDefinition = definitions.DefinitionSaved | definitions.DefinitionPublished | definitions.DefinitionSwitched


def _describe_saved_definition(voice: Narrator, said: definitions.DefinitionSaved, event: StoredEvent) -> str:
    what = _SAVINGS[said.what].format(version=said.version, name=_format_definition(said))
    return f"{_format_author(voice, said, event)} {what} {_format_ending(said, event)}"


def _describe_published_definition(voice: Narrator, said: definitions.DefinitionPublished, event: StoredEvent) -> str:
    instead = f" instead of version {said.replaced}" if said.replaced else ""
    what = f"published version {said.version} of {_format_definition(said)}{instead}"
    return f"{_format_author(voice, said, event)} {what} {_format_ending(said, event)}"


def _describe_switched_definition(voice: Narrator, said: definitions.DefinitionSwitched, event: StoredEvent) -> str:
    what = f"switched {_format_definition(said)} {'on again' if said.enabled else 'off, so that nothing begins with it,'}"
    return f"{_format_author(voice, said, event)} {what} {_format_ending(said, event)}"


def _format_author(voice: Narrator, said: _AnyDefinition, event: StoredEvent) -> str:
    return voice.format_person(said.by, said.by_name, gone=event.erased)


def _format_definition(said: _AnyDefinition) -> str:
    return f"{to_one_line(said.kind)} {to_one_line(said.definition)}"


def _format_ending(said: _AnyDefinition, event: StoredEvent) -> str:
    note = f": {format_words(event, said.note)}" if said.note else ""
    digest = f", text {to_one_line(said.digest)[:10]}" if said.digest else ""
    return f"{_format_channel(said.via)}{digest}{note}"


def _describe_written_memory(_voice: Narrator, said: memory.MemoryWritten, event: StoredEvent) -> str:
    count = "entries of its memory" if event.erased else f"{len(said.entries)} entries of its memory"
    channels = ", ".join(dict.fromkeys(to_one_line(str(one.get("channel", ""))) for one in said.entries))
    where = f" in {channels}" if channels else ""
    return f"the flow {to_one_line(said.definition)} kept {count}{where}, run {to_one_line(said.run)}"


def _describe_cleared_memory(_voice: Narrator, said: memory.MemoryCleared, _event: StoredEvent) -> str:
    return f"{to_one_line(said.by)} made the flow {to_one_line(said.definition)} forget this person"


def _describe_opened_block(voice: Narrator, said: blocks.BlockOpened, event: StoredEvent) -> str:
    title = f" ({format_words(event, said.title)})" if said.title or event.erased else ""
    workflow = f"{to_one_line(said.definition)} version {said.version}"
    return f"{voice.format_person(said.by)} began the workflow {workflow} on this record{title}, run {to_one_line(said.run)}"


def _describe_resumed_block(_voice: Narrator, said: blocks.BlockResumed, _event: StoredEvent) -> str:
    return f"run {to_one_line(said.run)} goes on after its failure"


def _describe_conflict(_voice: Narrator, said: blocks.BlockConflicted, event: StoredEvent) -> str:
    names = "" if event.erased else ": " + ", ".join(to_one_line(str(one.get("key", ""))) for one in said.fields)
    return f"run {to_one_line(said.run)} proposes other values for fields that were changed meanwhile{names}"


def _describe_choices(voice: Narrator, said: blocks.BlockResolved, _event: StoredEvent) -> str:
    told = ", ".join(f"{to_one_line(key)}: {to_one_line(choice)}" for key, choice in said.choices.items())
    return f"{voice.format_person(said.by)} chose whose values stay{f' ({told})' if told else ''}"


def _describe_finished_block(_voice: Narrator, said: blocks.BlockFinished, event: StoredEvent) -> str:
    what = "" if event.erased else f" with {len(said.operations)} operations and a text of {len(said.raw_text)} characters"
    return f"run {to_one_line(said.run)} finished{what}"


def _describe_failed_block(_voice: Narrator, said: blocks.BlockFailed, _event: StoredEvent) -> str:
    return f"run {to_one_line(said.run)} failed: {to_one_line(said.code)}"


def _describe_dismissed_block(voice: Narrator, said: blocks.BlockDismissed, _event: StoredEvent) -> str:
    return f"a new run of {voice.format_person(said.by)} put {to_one_line(said.block)} aside"


BLOCK_DESCRIPTIONS: Final = {
    **bind_reader(blocks.BlockOpened, _describe_opened_block),
    **bind_reader(blocks.BlockResumed, _describe_resumed_block),
    **bind_reader(blocks.BlockConflicted, _describe_conflict),
    **bind_reader(blocks.BlockResolved, _describe_choices),
    **bind_reader(blocks.BlockFinished, _describe_finished_block),
    **bind_reader(blocks.BlockFailed, _describe_failed_block),
    **bind_reader(blocks.BlockDismissed, _describe_dismissed_block),
}
MEMORY_DESCRIPTIONS: Final = {
    **bind_reader(memory.MemoryWritten, _describe_written_memory),
    **bind_reader(memory.MemoryCleared, _describe_cleared_memory),
}
DEFINITION_DESCRIPTIONS: Final = {
    **bind_reader(definitions.DefinitionSaved, _describe_saved_definition),
    **bind_reader(definitions.DefinitionPublished, _describe_published_definition),
    **bind_reader(definitions.DefinitionSwitched, _describe_switched_definition),
}
