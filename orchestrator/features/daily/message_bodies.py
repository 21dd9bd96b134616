"""Bodies of daily messages and reminders."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Final, Protocol

from bitrix.limits.limiter import Priority
from orchestrator.directory.agenda import Agenda
from orchestrator.domain.actor import Actor
from orchestrator.domain.card_view import Preview, PreviewPart
from orchestrator.domain.effect import EffectRecord
from orchestrator.domain.message_views import AgendaSection, CallGroup, CallLine, DailyBody, ReminderBody
from orchestrator.gate.call.permissions import find_visible_users
from orchestrator.language.work_calendar import Slot, to_utc
from orchestrator.sessions import outbox
from state.clock import format_iso
from state.events.calls import CallSucceeded, OutcomeReconciled
from state.events.fold import list_open_confirmations
from state.journal.journal import load_state
from state.journal.pages import iterate_scan
from state.journal.store import OutboxRow, Store, StoredEvent
from state.model.card import Card
from state.model.session_state import SessionState


@dataclass(frozen=True, kw_only=True)
class DailyPreferences:
    digest: bool = False
    evening: bool = False


def to_daily_preferences(chosen: Mapping[str, str]) -> DailyPreferences:
    """A preference that is not stored counts as off."""
    return DailyPreferences(digest=chosen.get("digest") == "on", evening=chosen.get("evening") == "on")


class People(Protocol):
    def list_people(self) -> Sequence[Actor]: ...

    def resolve_preferences(self, key: str) -> Mapping[str, str]:
        """A missing one has its default value."""


class Nobody:
    def list_people(self) -> Sequence[Actor]:
        return ()

    def resolve_preferences(self, key: str) -> Mapping[str, str]:
        del key
        return {}


class ReadAgenda(Protocol):
    async def __call__(self, actor: Actor, now: datetime, *, team: Sequence[int], priority: Priority) -> Agenda:
        """With counts for each employee in `team` (portal user ids). May raise BitrixError."""


class BuildUrl(Protocol):
    def __call__(self, target: str, actor: Actor) -> str:
        """ "" if the record has no page."""


LINES: Final = 5
"""More changes of one person are only counted."""
OPEN: Final = 10
_DAYS: Final = 7
"""Of the journal, for chats with waiting cards."""
_DAY_MS: Final = 86_400_000
_TRACES: Final = ("CallSucceeded", "OutcomeReconciled", "ConfirmationRequested", "CallStarted")


def build_summary(store: Store, lead: Actor, everybody: Sequence[Actor], slot: Slot) -> DailyBody:
    """For those whose records the lead may see. May raise StoreError."""
    users = find_visible_users(lead)
    team = {actor.key: actor.name for actor in everybody if actor.key == lead.key or users is None or actor.bitrix_user_id in users}
    since = to_utc(slot.day, time.min, lead.time_zone)
    events = list(_scan_since(store, int(since.timestamp() * 1000) - _DAYS * _DAY_MS))
    changed = _collect_changes(store, [event for event in events if event.ts >= format_iso(since)], team)
    streams = dict.fromkeys([*(f"session:{key}" for key in team), *(event.stream for event in events if event.actor in team)])
    states = [load_state(store, stream)[0] for stream in streams]
    waiting = [
        _build_waiting_line(entry, team) for state in states for entry in list_open_confirmations(state) if entry.requested_by in team
    ]
    unknown = [line for state in states for line in _find_unknown(store, state, team)]
    return DailyBody(
        what="evening",
        day=slot.day.isoformat(),
        people=[_trim_lines(changed[key], LINES, name=team[key]) for key in team if changed.get(key)],
        waiting=_trim_lines(waiting, OPEN),
        unknown=_trim_lines(unknown, OPEN),
    )


def _scan_since(store: Store, milliseconds: int) -> Iterator[StoredEvent]:
    """Return the events about calls and cards that were recorded since `milliseconds` (counted from 1970).

    An event id begins with the time of the event, so the scan can start at that time.
    """
    digits = f"{milliseconds:012x}"
    return iterate_scan(store.scan, _TRACES, f"{digits[:8]}-{digits[8:]}")


def _collect_changes(store: Store, events: Sequence[StoredEvent], team: Mapping[str, str]) -> dict[str, list[CallLine]]:
    """By person key, oldest first."""
    lines_by_person: dict[str, dict[str, CallLine]] = {}
    for effect_id in filter(None, map(_find_done_change, events)):
        effect = _read_effect(store, effect_id)
        if effect.call is not None and effect.call.kind == "bitrix" and effect.requested_by in team:
            lines_by_person.setdefault(effect.requested_by, {}).setdefault(
                effect_id, CallLine(named=effect.named, method=effect.call.method)
            )
    return {key: list(lines.values()) for key, lines in lines_by_person.items()}


def _find_done_change(event: StoredEvent) -> str:
    """Effect id of a success, or of a check with the verdict "done"; else ""."""
    if event.type == CallSucceeded.__name__ and (done := CallSucceeded.from_data(event.data)).call_class != "R":
        return done.effect_id
    if event.type == OutcomeReconciled.__name__ and (seen := OutcomeReconciled.from_data(event.data)).verdict == "done":
        return seen.effect_id
    return ""


def _read_effect(store: Store, effect_id: str) -> EffectRecord:
    row = store.find_effect(effect_id)
    return EffectRecord.model_validate(row.call) if row is not None else EffectRecord()


def _find_unknown(store: Store, state: SessionState, team: Mapping[str, str]) -> Iterator[CallLine]:
    for effect in (_read_effect(store, effect_id) for effect_id in state.unknown):
        if effect.call is not None and effect.requested_by in team:
            yield CallLine(who=team[effect.requested_by], named=effect.named, method=effect.call.method)


def _build_waiting_line(entry: Card, team: Mapping[str, str]) -> CallLine:
    """Details are for those who decide."""
    preview = Preview.model_validate(entry.preview or {})
    fields = preview.model_dump(include={"verb", "entity", "title", "url", "count"}, exclude_unset=True)
    heading = Preview(**fields, items=[PreviewPart()] * len(preview.items), lines=())
    return CallLine(who=team[entry.requested_by], preview=heading, method=entry.method, until=entry.expires_at)


def _trim_lines(lines: Sequence[CallLine], most: int, **whose: str) -> CallGroup:
    return CallGroup(**whose, count=len(lines), lines=lines[:most], more=max(0, len(lines) - most))


MAX_ROWS = {"digest": 10, "today": 30}
"""Count and sum cover all rows."""


def build_daily_row(session: str, body: DailyBody, now: datetime) -> OutboxRow:
    return outbox.build_row(session, "daily", body.to_json(), now, key="")


def build_reminder_row(session: str, body: ReminderBody, now: datetime, *, key: str) -> OutboxRow:
    """Edits the earlier message with the same `key`."""
    return outbox.build_row(session, "reminder", body.to_json(), now, key=key)


def build_agenda_body(what: str, agenda: Agenda, day: date) -> DailyBody:
    """`what` is "digest" or "today"."""
    most = MAX_ROWS[what]
    tables = [(notice, table.model_copy(update={"rows": table.rows[:most]})) for notice, table in agenda.sections]
    return DailyBody(
        what=what,
        day=day.isoformat(),
        sections=[AgendaSection(code=notice.code, table=table.model_dump(mode="json")) for notice, table in tables],
        team=agenda.team,
        unread=agenda.unread,
        without_user=agenda.without_user,
    )
