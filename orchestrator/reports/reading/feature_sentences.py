"""Sentences for operators about people, daily messages, freezing, budgets, leads, cards and definitions."""

from datetime import UTC, date, datetime
from typing import Final

from orchestrator.domain.address import CHANNEL_WORDS
from orchestrator.reports.reading.journal_reader import Narrator, bind_reader, format_words, to_one_line
from state.events import blocks, budgets, cards, console, daily, definitions, documents, freezing, leads, memory, people
from state.journal.store import StoredEvent


def _describe_invitation(voice: Narrator, person_invited: people.PersonInvited, _event: StoredEvent) -> str:
    whom = f"employee {person_invited.bitrix_user_id}, role {person_invited.role}, until {person_invited.expires_at}"
    return f"{voice.format_person(person_invited.by)} made a link ({people.build_invitation_key(person_invited.fingerprint)}) for {whom}"


def _describe_invitation_refusal(voice: Narrator, invitation_refused: people.InvitationRefused, _event: StoredEvent) -> str:
    return f"{voice.format_person(invitation_refused.person)} brought a link that is of no use: {invitation_refused.why}"


def _describe_access_request(voice: Narrator, access_asked: people.AccessAsked, event: StoredEvent) -> str:
    return f"{voice.format_person(access_asked.person, access_asked.name, gone=event.erased)} asked for access"


def _describe_joining(voice: Narrator, person_joined: people.PersonJoined, event: StoredEvent) -> str:
    how = f"by link {people.build_invitation_key(person_joined.fingerprint)} of" if person_joined.fingerprint else "let in by"
    who = voice.format_person(person_joined.person, person_joined.name, gone=event.erased)
    return f"{who} joined as {person_joined.role}, employee {person_joined.bitrix_user_id}, {how} {voice.format_person(person_joined.by)}"


def _describe_dismissal(voice: Narrator, dismissal: people.PersonDismissed, _event: StoredEvent) -> str:
    why = "the portal lists them as dismissed" if dismissal.why == "portal" else f"removed by {voice.format_person(dismissal.by)}"
    return f"{voice.format_person(dismissal.person)} lost access: {why}"


def _describe_return(voice: Narrator, person_returned: people.PersonReturned, _event: StoredEvent) -> str:
    return f"{voice.format_person(person_returned.person)} has access again: the portal lists them as working"


def _describe_login(voice: Narrator, console_entered: console.ConsoleEntered, _event: StoredEvent) -> str:
    return f"{voice.format_person(console_entered.person)} logged in to the console"


def _describe_policy(voice: Narrator, policy_saved: console.PolicySaved, event: StoredEvent) -> str:
    return f"{voice.format_person(policy_saved.person, policy_saved.name, gone=event.erased)} saved the policy file in the console"


def _describe_preference(voice: Narrator, preference: people.PreferenceSet, event: StoredEvent) -> str:
    return f"{voice.format_person(preference.person)} set {preference.preference} to {format_words(event, preference.value, limit=40)}"


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


def _describe_reminder_set(voice: Narrator, reminder_set: daily.ReminderSet, event: StoredEvent) -> str:
    words = format_words(event, reminder_set.text, limit=80)
    return f"{voice.format_person(event.actor)} is to be reminded at {_format_due(reminder_set.due_ts)}: {words}"


def _describe_reminder_moved(_voice: Narrator, reminder_moved: daily.ReminderMoved, _event: StoredEvent) -> str:
    return f"the reminder is put off to {_format_due(reminder_moved.due_ts)}"


def _describe_reminder_sent(_voice: Narrator, reminder_fired: daily.ReminderFired, _event: StoredEvent) -> str:
    return f"reminded, {reminder_fired.late} seconds late" if reminder_fired.late else "reminded"


def _describe_reminder_dropped(voice: Narrator, reminder_dropped: daily.ReminderDropped, _event: StoredEvent) -> str:
    return f"{voice.format_person(reminder_dropped.by)} dropped the reminder"


def _describe_daily_message(_voice: Narrator, daily_sent: daily.DailySent, _event: StoredEvent) -> str:
    what = "morning digest" if daily_sent.what == "digest" else "evening summary"
    day = date.fromordinal(daily_sent.day).isoformat()
    return f"the {what} of {day} was sent" if daily_sent.outcome == "sent" else f"the {what} of {day} was given up"


def _format_due(due_ts: int) -> str:
    return datetime.fromtimestamp(due_ts, UTC).strftime("%Y-%m-%d %H:%MZ")


DAILY_DESCRIPTIONS: Final = {
    **bind_reader(daily.ReminderSet, _describe_reminder_set),
    **bind_reader(daily.ReminderMoved, _describe_reminder_moved),
    **bind_reader(daily.ReminderFired, _describe_reminder_sent),
    **bind_reader(daily.ReminderDropped, _describe_reminder_dropped),
    **bind_reader(daily.DailySent, _describe_daily_message),
}


def _describe_freeze(voice: Narrator, freeze: freezing.WritesFrozen, event: StoredEvent) -> str:
    why = f": {format_words(event, freeze.reason)}" if freeze.reason else ""
    return f"{voice.format_person(freeze.by, freeze.by_name)} froze all writing to the portal {_format_channel(freeze.via)}{why}"


def _describe_release(voice: Narrator, release: freezing.WritesReleased, _event: StoredEvent) -> str:
    return f"{voice.format_person(release.by, release.by_name)} let writing to the portal start again {_format_channel(release.via)}"


def _format_channel(via: object) -> str:
    return CHANNEL_WORDS.get(str(via), to_one_line(via))


def _describe_reopening(_voice: Narrator, confirmation_reopened: freezing.ConfirmationReopened, _event: StoredEvent) -> str:
    card = to_one_line(confirmation_reopened.confirmation_id)[:10]
    return f"card {card} waits again: its approved call did not start, since writing is frozen; nothing was sent"


def _describe_budget_warning(voice: Narrator, budget_warned: budgets.BudgetWarned, event: StoredEvent) -> str:
    month = f"{budget_warned.month // 100}-{budget_warned.month % 100:02d}"
    return f"{voice.format_person(event.actor)} was told that {budget_warned.percent} % of the budget of {month} is used"


def _describe_document(voice: Narrator, change: documents.DocumentChanged, _event: StoredEvent) -> str:
    return f"{voice.format_person(change.by, change.by_name)} {change.what} the document {to_one_line(change.path)}"


FREEZING_DESCRIPTIONS: Final = {
    **bind_reader(freezing.WritesFrozen, _describe_freeze),
    **bind_reader(freezing.WritesReleased, _describe_release),
    **bind_reader(freezing.ConfirmationReopened, _describe_reopening),
    **bind_reader(budgets.BudgetWarned, _describe_budget_warning),
    **bind_reader(documents.DocumentChanged, _describe_document),
}


def _describe_reason_question(voice: Narrator, reason_asked: leads.DenialReasonAsked, _event: StoredEvent) -> str:
    return f"{voice.format_person(reason_asked.by)} wants to deny card {reason_asked.confirmation_id} of {reason_asked.home} with a reason"


def _describe_reason(voice: Narrator, reason_given: leads.DenialReasonGiven, _event: StoredEvent) -> str:
    return f"{voice.format_person(reason_given.by)} wrote why card {reason_given.confirmation_id} is denied"


def _describe_other_leads(voice: Narrator, leads_asked: leads.LeadsAsked, _event: StoredEvent) -> str:
    who = ", ".join(voice.format_person(key) for key in leads_asked.told) or "nobody, since none may decide"
    return f"card {leads_asked.confirmation_id} is shown to {who} from now on"


LEADS_DESCRIPTIONS: Final = {
    **bind_reader(leads.DenialReasonAsked, _describe_reason_question),
    **bind_reader(leads.DenialReasonGiven, _describe_reason),
    **bind_reader(leads.LeadsAsked, _describe_other_leads),
}


_EDIT_ENDS = {"replaced": "a new card took its place", "cancelled": "all stays as it was", "late": "somebody had decided meanwhile"}


def _describe_edit_question(voice: Narrator, edit_asked: cards.EditAsked, _event: StoredEvent) -> str:
    what = f"a new value of {edit_asked.code}" if edit_asked.code else "which value to change"
    return f"{voice.format_person(edit_asked.by)} was asked for {what} on card {edit_asked.confirmation_id}"


def _describe_edit_end(_voice: Narrator, edit_closed: cards.EditClosed, _event: StoredEvent) -> str:
    return f"the change of card {edit_closed.confirmation_id} ended: {_EDIT_ENDS[edit_closed.how]}"


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


def _describe_saved_definition(voice: Narrator, definition_saved: definitions.DefinitionSaved, event: StoredEvent) -> str:
    what = _SAVINGS[definition_saved.what].format(version=definition_saved.version, name=_format_definition(definition_saved))
    return f"{_format_author(voice, definition_saved, event)} {what} {_format_ending(definition_saved, event)}"


def _describe_published_definition(voice: Narrator, definition_published: definitions.DefinitionPublished, event: StoredEvent) -> str:
    instead = f" instead of version {definition_published.replaced}" if definition_published.replaced else ""
    what = f"published version {definition_published.version} of {_format_definition(definition_published)}{instead}"
    return f"{_format_author(voice, definition_published, event)} {what} {_format_ending(definition_published, event)}"


def _describe_switched_definition(voice: Narrator, switch: definitions.DefinitionSwitched, event: StoredEvent) -> str:
    what = f"switched {_format_definition(switch)} {'on again' if switch.enabled else 'off, so that nothing begins with it,'}"
    return f"{_format_author(voice, switch, event)} {what} {_format_ending(switch, event)}"


def _format_author(voice: Narrator, definition_event: _AnyDefinition, event: StoredEvent) -> str:
    return voice.format_person(definition_event.by, definition_event.by_name, gone=event.erased)


def _format_definition(definition_event: _AnyDefinition) -> str:
    return f"{to_one_line(definition_event.kind)} {to_one_line(definition_event.definition)}"


def _format_ending(definition_event: _AnyDefinition, event: StoredEvent) -> str:
    note = f": {format_words(event, definition_event.note)}" if definition_event.note else ""
    digest = f", text {to_one_line(definition_event.digest)[:10]}" if definition_event.digest else ""
    return f"{_format_channel(definition_event.via)}{digest}{note}"


def _describe_written_memory(_voice: Narrator, memory_written: memory.MemoryWritten, event: StoredEvent) -> str:
    count = "entries of its memory" if event.erased else f"{len(memory_written.entries)} entries of its memory"
    channels = ", ".join(dict.fromkeys(to_one_line(str(one.get("channel", ""))) for one in memory_written.entries))
    where = f" in {channels}" if channels else ""
    return f"the flow {to_one_line(memory_written.definition)} kept {count}{where}, run {to_one_line(memory_written.run)}"


def _describe_cleared_memory(_voice: Narrator, memory_cleared: memory.MemoryCleared, _event: StoredEvent) -> str:
    return f"{to_one_line(memory_cleared.by)} made the flow {to_one_line(memory_cleared.definition)} forget this person"


def _describe_opened_block(voice: Narrator, block_opened: blocks.BlockOpened, event: StoredEvent) -> str:
    title = f" ({format_words(event, block_opened.title)})" if block_opened.title or event.erased else ""
    workflow = f"{to_one_line(block_opened.definition)} version {block_opened.version}"
    return (
        f"{voice.format_person(block_opened.by)} began the workflow {workflow} on this record{title}, run {to_one_line(block_opened.run)}"
    )


def _describe_resumed_block(_voice: Narrator, block_resumed: blocks.BlockResumed, _event: StoredEvent) -> str:
    return f"run {to_one_line(block_resumed.run)} goes on after its failure"


def _describe_conflict(_voice: Narrator, block_conflicted: blocks.BlockConflicted, event: StoredEvent) -> str:
    names = "" if event.erased else ": " + ", ".join(to_one_line(str(field.get("key", ""))) for field in block_conflicted.fields)
    return f"run {to_one_line(block_conflicted.run)} proposes other values for fields that were changed meanwhile{names}"


def _describe_choices(voice: Narrator, block_resolved: blocks.BlockResolved, _event: StoredEvent) -> str:
    choices = ", ".join(f"{to_one_line(key)}: {to_one_line(choice)}" for key, choice in block_resolved.choices.items())
    return f"{voice.format_person(block_resolved.by)} chose whose values stay{f' ({choices})' if choices else ''}"


def _describe_finished_block(_voice: Narrator, block_finished: blocks.BlockFinished, event: StoredEvent) -> str:
    what = (
        "" if event.erased else f" with {len(block_finished.operations)} operations and a text of {len(block_finished.raw_text)} characters"
    )
    return f"run {to_one_line(block_finished.run)} finished{what}"


def _describe_failed_block(_voice: Narrator, block_failed: blocks.BlockFailed, _event: StoredEvent) -> str:
    return f"run {to_one_line(block_failed.run)} failed: {to_one_line(block_failed.code)}"


def _describe_dismissed_block(voice: Narrator, block_dismissed: blocks.BlockDismissed, _event: StoredEvent) -> str:
    return f"a new run of {voice.format_person(block_dismissed.by)} put {to_one_line(block_dismissed.block)} aside"


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
