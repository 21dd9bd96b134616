"""Puts schedules in words for a person. Pure."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from orchestrator.domain.actor import Actor
from orchestrator.domain.cron_lines import MOST_COUNTED, CronError, CronLine, find_shape
from orchestrator.domain.outputs import Notice
from orchestrator.language.date_format import When, format_when
from orchestrator.language.schedule_terms import TermsError, describe_line, parse_terms
from state.clock import parse_iso
from state.journal.schedule_index import FoundSchedule
from state.model.schedule_state import Schedule

NONE: Final = "none"
"""For an argument of a sentence that is left out."""
_LISTED: Final = 3
LONGEST_NAME: Final = 60
"""Characters of a name or note."""
_REASONS: Final[Mapping[str, str]] = {
    "unfinished": "schedule-why-unfinished",
    "definition_gone": "schedule-why-definition",
    "engine_gone": "schedule-why-engine",
    "failed": "schedule-why-failed",
    "restored": "schedule-why-restored",
    "owner_left": "schedule-why-owner",
    "not_allowed": "schedule-why-role",
}
"""The sentences for a `SkipReason` and for a `PauseReason`, except that a person paused it."""


NEVER: Final = Notice(code="schedule-bad-line", args={"fault": "never", "field": NONE, "written": "", "count": 0})


def format_moment(moment: str | datetime, actor: Actor, now: datetime) -> str:
    at = (parse_iso(moment) if isinstance(moment, str) else moment).astimezone(ZoneInfo(actor.time_zone))
    return format_when(When(at.date(), at, has_time=True), now=now, locale=actor.locale)


def describe_when(entry: Schedule, actor: Actor, now: datetime) -> Notice:
    """The usual cron lines in words, of others the next three moments."""
    if not entry.cron:
        return Notice(code="schedule-once", args={"moment": format_moment(entry.due, actor, now)})
    if (notice := describe_line(CronLine(entry.cron), entry.zone, reader_zone=actor.time_zone)) is not None:
        return notice
    moments = [format_moment(moment, actor, now) for moment in list_moments(entry, now, _LISTED)]
    return Notice(code="schedule-listed", args={"moments": "; ".join(moments) or entry.cron})


def list_moments(entry: Schedule, after: datetime, limit: int) -> list[datetime]:
    """At most `limit` moments after `after`; none if the zone is gone from this machine."""
    try:
        return parse_terms(None, entry.cron, entry.zone).list_moments(after, limit)
    except TermsError:
        return []


def describe_schedule(line: FoundSchedule, actor: Actor, now: datetime, *, note: str, who: str = "", mark: str = "") -> Notice:
    """`note` is shown as it is: clean it first. `who` names an owner other than the reader; `mark` tells namesakes apart."""
    entry = line.entry
    args = {
        "definition": entry.name[:LONGEST_NAME],
        "id": mark or NONE,
        "note": note[:LONGEST_NAME] or NONE,
        "who": who[:LONGEST_NAME] or NONE,
        "person": entry.owner,
        "when": describe_when(entry, actor, now).model_dump(),
        "what": _describe_state(entry, actor, now).model_dump(),
        "missed": min(entry.missed, MOST_COUNTED),
    }
    return Notice(code="schedule-line", args=args)


def _describe_state(entry: Schedule, actor: Actor, now: datetime) -> Notice:
    if entry.status == "paused":
        code = "schedule-paused-because" if entry.why in _REASONS else "schedule-paused"
        return Notice(code=code, args={"why": describe_reason(entry.why).model_dump()})
    moment = format_moment(entry.due, actor, now)
    if entry.skip_why:
        return Notice(code="schedule-next-after-skip", args={"moment": moment, "why": describe_reason(entry.skip_why).model_dump()})
    if not entry.cron or find_shape(CronLine(entry.cron)) is None:  # the moment is named already
        return Notice(code="schedule-word", args={"text": ""})
    return Notice(code="schedule-next", args={"moment": moment})


def build_added_notice(entry: Schedule, actor: Actor, now: datetime) -> Notice:
    when = describe_when(entry, actor, now).model_dump()
    moment = format_moment(entry.due, actor, now) if entry.cron else NONE
    return Notice(code="schedule-added", args={"definition": entry.name[:LONGEST_NAME], "when": when, "moment": moment})


def build_late_notice(entry: Schedule, missed: int, actor: Actor, now: datetime) -> Notice:
    """A run starts late because the bot did not work at its moment; `missed` later moments are left out."""
    if entry.resumed_at > entry.due:
        paused = {"definition": entry.name[:LONGEST_NAME], "moment": format_moment(entry.due, actor, now)}
        return Notice(code="schedule-late-resumed", args=paused)
    args = {
        "definition": entry.name[:LONGEST_NAME],
        "moment": format_moment(entry.due, actor, now),
        "missed": missed,
        "many": "yes" if missed >= MOST_COUNTED else "no",
    }
    return Notice(code="schedule-late", args=args)


def build_skip_notice(entry: Schedule, why: str, following: str, actor: Actor, now: datetime) -> Notice:
    args = {
        "definition": entry.name[:LONGEST_NAME],
        "moment": format_moment(entry.due, actor, now),
        "why": describe_reason(why).model_dump(),
        "next": format_moment(following, actor, now) if following else NONE,
    }
    return Notice(code="schedule-skipped", args=args)


def build_pause_notice(entry: Schedule, why: str, who: str = "") -> Notice:
    """`who` names the owner to others."""
    owner_args = {"who": who[:LONGEST_NAME] or NONE, "person": entry.owner}
    args = {"definition": entry.name[:LONGEST_NAME], "why": describe_reason(why).model_dump(), **owner_args}
    return Notice(code="schedule-was-paused", args=args)


def describe_reason(why: str) -> Notice:
    return Notice(code=_REASONS.get(why, "schedule-why-failed"))


def build_terms_notice(error: TermsError) -> Notice:
    if error.cron is not None:
        return _build_cron_notice(error.cron)
    return Notice(code="schedule-bad-terms", args={"fault": error.fault})


def _build_cron_notice(error: CronError) -> Notice:
    args = {"fault": error.fault, "field": error.field or NONE, "written": error.written[:LONGEST_NAME], "count": error.count}
    return Notice(code="schedule-bad-line", args=args)
