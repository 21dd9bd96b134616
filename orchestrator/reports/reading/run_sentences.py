"""Sentences for operators about runs and schedules."""

from typing import Final

from orchestrator.reports.reading.journal_reader import (
    Narrator,
    bind_reader,
    describe_failed_cost,
    describe_fallback,
    describe_gap,
    format_words,
    to_one_line,
)
from state.events import runs, schedules
from state.journal.store import StoredEvent

_WAITS: Final = {"input": "an answer to question", "effect": "the decision about call", "timer": "", "run": "the end of"}
_WORDS: Final = 120
_SKIPS: Final = {
    "unfinished": "the run before it is not over",
    "definition_gone": "there is no such definition",
    "engine_gone": "its engine is not there",
    "failed": "each attempt to start it failed",
}
_PAUSES: Final = {
    **_SKIPS,
    "restored": "a backup brought it back",
    "owner_left": "its owner has no access any more",
    "not_allowed": "its owner may not start such runs any more",
}


def _describe_start(voice: Narrator, run_started: runs.RunStarted, event: StoredEvent) -> str:
    version = f" version {run_started.version}" if run_started.version else ""
    parent = f", started by {run_started.parent}" if run_started.parent else ""
    title = f" “{to_one_line(run_started.title)}”" if run_started.title else ""
    what = f"{to_one_line(run_started.definition)}{title}{version} ({to_one_line(run_started.engine)}, mode {run_started.mode})"
    return f"the run of {what} began for {voice.format_person(event.actor)}, shown in {to_one_line(run_started.home)}{parent}"


def _describe_done(_voice: Narrator, node_done: runs.NodeDone, event: StoredEvent) -> str:
    tokens = node_done.prompt_tokens + node_done.completion_tokens
    who = to_one_line(node_done.model) + describe_fallback(node_done.provider, node_done.failed_before)
    answer = f", {who} answered with {tokens} tokens in {node_done.seconds:.1f} s" if node_done.model else ""
    gave = "a large value" if node_done.output_blob and node_done.output is None else format_words(event, node_done.output, limit=_WORDS)
    again = f" (attempt {node_done.attempt})" if node_done.attempt > 1 else ""
    return f"node {to_one_line(node_done.node)} is done{again}{answer}" + (f": {gave}" if gave else "")


def _describe_failure(_voice: Narrator, node_failed: runs.NodeFailed, event: StoredEvent) -> str:
    why = format_words(event, node_failed.detail) or to_one_line(node_failed.code)
    return f"node {to_one_line(node_failed.node)} failed (attempt {node_failed.attempt}): {why}{describe_failed_cost(node_failed)}"


def _describe_wait(voice: Narrator, run_waits: runs.RunWaits, event: StoredEvent) -> str:
    if run_waits.node == runs.WHOLE:
        return f"{voice.format_person(run_waits.by)} paused the run"
    until = f" until {to_one_line(run_waits.until)}" if run_waits.until else ""
    words = format_words(event, run_waits.question, limit=_WORDS)
    question = f": {words}" if run_waits.on == "input" and words else ""
    what = f"{_WAITS.get(run_waits.on, '')} {to_one_line(run_waits.waits_for)}".strip()
    return f"node {to_one_line(run_waits.node)} waits{f' for {what}' if what else ''}{until}{question}"


def _describe_wake(voice: Narrator, run_woken: runs.RunWoken, event: StoredEvent) -> str:
    if run_woken.node == runs.WHOLE:
        return "the failed nodes are to run again" if run_woken.by == "retry" else "the run goes on after its pause"
    by = voice.format_person(run_woken.by) if ":" in run_woken.by else to_one_line(run_woken.by)
    came = describe_gap(event) if event.erased else to_one_line(run_woken.value, limit=_WORDS) if run_woken.value else ""
    return f"node {to_one_line(run_woken.node)} goes on: {by}" + (f", {came}" if came else "")


def _describe_end(voice: Narrator, run_finished: runs.RunFinished, _event: StoredEvent) -> str:
    by = f" by {voice.format_person(run_finished.by)}" if run_finished.by else ""
    return f"the run ended: {run_finished.status}{by}" + (f" ({to_one_line(run_finished.code)})" if run_finished.code else "")


def _describe_forgetting(_voice: Narrator, run_forgotten: runs.RunForgotten, _event: StoredEvent) -> str:
    return (
        f"the time for which the run is kept is over: it is in no list any more, and its large values ({run_forgotten.blobs}) are removed"
    )


def _describe_listening(_voice: Narrator, input_awaited: runs.InputAwaited, _event: StoredEvent) -> str:
    takes = ", ".join(input_awaited.takes) or "a button"
    return f"{to_one_line(input_awaited.run)} waits here for {takes} (question {to_one_line(input_awaited.question_id)})"


def _describe_showing(_voice: Narrator, question_shown: runs.QuestionShown, _event: StoredEvent) -> str:
    return f"the question of node {to_one_line(question_shown.node)} is shown once more ({question_shown.number})"


def _describe_doubt(_voice: Narrator, doubt: runs.AnswerDoubted, _event: StoredEvent) -> str:
    return f"words for question {to_one_line(doubt.question_id)} of {to_one_line(doubt.run)} may be a request: the person is asked which"


def _describe_taking(_voice: Narrator, input_taken: runs.InputTaken, _event: StoredEvent) -> str:
    return f"question {to_one_line(input_taken.question_id)} of a run is not open here any more"


def _describe_adding(voice: Narrator, addition: schedules.ScheduleAdded, event: StoredEvent) -> str:
    when = f"at each moment of {to_one_line(addition.cron)} ({to_one_line(addition.zone)}), first at" if addition.cron else "at"
    by = f", made by {voice.format_person(addition.by)}" if addition.by else ""
    what = f"{to_one_line(addition.definition)} ({to_one_line(addition.engine)})"
    who = voice.format_person(event.actor)
    return f"the schedule {to_one_line(addition.schedule)} is to start {what} for {who} {when} {to_one_line(addition.due)}{by}"


def _describe_firing(_voice: Narrator, firing: schedules.ScheduleFired, _event: StoredEvent) -> str:
    late = f", {firing.late} seconds late" if firing.late else ""
    more = f"; {firing.missed} later moments passed meanwhile" if firing.missed else ""
    began = (
        f"started {to_one_line(firing.run)}"
        if firing.run
        else f"started nothing: {_SKIPS.get(firing.skipped, to_one_line(firing.skipped))}"
    )
    return f"the schedule {to_one_line(firing.schedule)}, due at {to_one_line(firing.due)}, {began}{late}{more}"


def _describe_schedule_pause(voice: Narrator, pause: schedules.SchedulePaused, _event: StoredEvent) -> str:
    if pause.why == "person":
        return f"{voice.format_person(pause.by)} paused the schedule {to_one_line(pause.schedule)}"
    return f"the schedule {to_one_line(pause.schedule)} is paused: {_PAUSES.get(pause.why, to_one_line(pause.why))}"


def _describe_resumption(voice: Narrator, resumed: schedules.ScheduleResumed, _event: StoredEvent) -> str:
    return f"{voice.format_person(resumed.by)} resumed the schedule {to_one_line(resumed.schedule)}, due at {to_one_line(resumed.due)}"


def _describe_schedule_end(voice: Narrator, schedule_ended: schedules.ScheduleEnded, _event: StoredEvent) -> str:
    how = f"{voice.format_person(schedule_ended.by)} cancelled it" if schedule_ended.why == "cancelled" else "it has no further moment"
    return f"the schedule {to_one_line(schedule_ended.schedule)} is over: {how}"


DESCRIPTIONS: Final = {
    **bind_reader(schedules.ScheduleAdded, _describe_adding),
    **bind_reader(schedules.ScheduleFired, _describe_firing),
    **bind_reader(schedules.SchedulePaused, _describe_schedule_pause),
    **bind_reader(schedules.ScheduleResumed, _describe_resumption),
    **bind_reader(schedules.ScheduleEnded, _describe_schedule_end),
    **bind_reader(runs.RunStarted, _describe_start),
    **bind_reader(runs.NodeDone, _describe_done),
    **bind_reader(runs.NodeFailed, _describe_failure),
    **bind_reader(runs.RunWaits, _describe_wait),
    **bind_reader(runs.RunWoken, _describe_wake),
    **bind_reader(runs.RunFinished, _describe_end),
    **bind_reader(runs.RunForgotten, _describe_forgetting),
    **bind_reader(runs.InputAwaited, _describe_listening),
    **bind_reader(runs.InputTaken, _describe_taking),
    **bind_reader(runs.QuestionShown, _describe_showing),
    **bind_reader(runs.AnswerDoubted, _describe_doubt),
}
