"""Builds the bodies of daily messages: outbox rows of kind "daily" (digest, /today, evening summary) and "reminder".

The evening summary tells a lead, from the journal, what the bot changed today by person, what waits and what is unknown. Sends nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import date, datetime, time
from typing import Any, Final

from orchestrator.directory.agenda import Agenda
from orchestrator.domain.actor import Actor
from orchestrator.gate.call.permissions import find_visible_users
from orchestrator.language.work_calendar import Slot, to_utc
from orchestrator.runtime import outbox
from state.card import Card
from state.clock import format_iso
from state.events.fold import list_open_confirmations
from state.journal.journal import load_state
from state.journal.store import OutboxRow, Store, StoredEvent
from state.session_state import SessionState

LINES: Final = 5
"""How many changes of one person are listed; the others are counted."""
OPEN: Final = 10
_PAGE: Final = 1000
_DAYS: Final = 7
"""How many days back chats are searched for cards that may still wait."""
_DAY_MS: Final = 86_400_000
_DONE: Final = ("CallSucceeded", "OutcomeReconciled")
_TRACES: Final = (*_DONE, "ConfirmationRequested", "CallStarted")


def build_summary(store: Store, lead: Actor, everybody: Sequence[Actor], slot: Slot) -> dict[str, Any]:
    """Return the body of the summary for `lead` about the day of `slot` until now. May raise StoreError."""
    team = {person.key: person.name for person in everybody if _may_see(lead, person)}
    since = to_utc(slot.day, time.min, lead.time_zone)
    events = list(_scan_since(store, int(since.timestamp() * 1000) - _DAYS * _DAY_MS))
    changed = _collect_changes(store, [event for event in events if event.ts >= format_iso(since)], team)
    streams = dict.fromkeys([*(f"session:{key}" for key in team), *(event.stream for event in events if event.actor in team)])
    states = [load_state(store, stream)[0] for stream in streams]
    waiting = [
        _build_waiting_line(entry, team) for state in states for entry in list_open_confirmations(state) if entry.requested_by in team
    ]
    unknown = [line for state in states for line in _find_unknown(store, state, team)]
    return {
        "what": "evening",
        "day": slot.day.isoformat(),
        "people": [_build_person(team[key], changed[key]) for key in team if changed.get(key)],
        "waiting": _trim_lines(waiting),
        "unknown": _trim_lines(unknown),
    }


def _may_see(lead: Actor, person: Actor) -> bool:
    users = find_visible_users(lead)
    return person.key == lead.key or users is None or person.bitrix_user_id in users


def _scan_since(store: Store, milliseconds: int) -> Iterator[StoredEvent]:
    """Iterate over the events of changes since that moment; event ids begin with their time, so the scan can start there."""
    digits = f"{milliseconds:012x}"
    after = f"{digits[:8]}-{digits[8:]}"
    while page := store.scan(_TRACES, after=after, limit=_PAGE):
        yield from page
        after = page[-1].id


def _collect_changes(store: Store, events: Sequence[StoredEvent], team: Mapping[str, str]) -> dict[str, list[dict[str, Any]]]:
    """Return actor → changes the bot made for them, oldest first, each call once."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for event in events:
        data = event.data
        if event.type not in _DONE or data.get("call_class") == "R" or data.get("verdict", "done") != "done":
            continue
        row = store.find_effect(data["effect_id"])
        if row is None or row.call["call"]["kind"] != "bitrix" or row.call["requested_by"] not in team:
            continue
        found.setdefault(row.call["requested_by"], {}).setdefault(row.effect_id, _build_call_name(row.call))
    return {key: list(lines.values()) for key, lines in found.items()}


def _find_unknown(store: Store, state: SessionState, team: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for effect_id in state.unknown:
        row = store.find_effect(effect_id)
        if row is not None and row.call["requested_by"] in team:
            yield {"who": team[row.call["requested_by"]], **_build_call_name(row.call)}


def _build_waiting_line(entry: Card, team: Mapping[str, str]) -> dict[str, Any]:
    """Return the line of a card that nobody has decided yet."""
    return {
        "who": team[entry.requested_by],
        "preview": _build_heading(entry.preview or {}),
        "method": entry.method,
        "until": entry.expires_at,
    }


def _build_heading(preview: Mapping[str, Any]) -> dict[str, Any]:
    """Return only the heading of a card's preview; its lines are for those who decide."""
    kept = {key: preview[key] for key in ("verb", "entity", "title", "url", "count") if key in preview}
    return kept | {"items": [{}] * len(preview.get("items") or ()), "lines": []}


def _build_call_name(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the sentence that names a call."""
    return {"named": dict(call.get("named") or {}), "method": call["call"]["method"]}


def _build_person(name: str, lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"name": name, "count": len(lines), "lines": list(lines[:LINES]), "more": max(0, len(lines) - LINES)}


def _trim_lines(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"count": len(lines), "lines": list(lines[:OPEN]), "more": max(0, len(lines) - OPEN)}


MAX_ROWS = {"digest": 10, "today": 30}
"""How many rows of each list are shown; its count and sum cover all rows."""


def build_daily_row(session: str, body: Mapping[str, Any], now: datetime) -> OutboxRow:
    """Return the row of a digest, a summary or an answer to /today."""
    return outbox.build_row(session, "daily", body, now, key="")


def build_reminder_row(session: str, body: Mapping[str, Any], now: datetime, *, key: str) -> OutboxRow:
    """Return the row of a reminder; it edits the earlier message with that `key` in place."""
    return outbox.build_row(session, "reminder", body, now, key=key)


def build_agenda_body(what: str, agenda: Agenda, day: date) -> dict[str, Any]:
    """Return the body with the lists of a day, each cut to MAX_ROWS."""
    most = MAX_ROWS[what]
    tables = [
        (notice, table.model_copy(update={"rows": table.rows[:most], "shown": min(most, len(table.rows))}))
        for notice, table in agenda.sections
    ]
    return {
        "what": what,
        "day": day.isoformat(),
        "sections": [{"code": notice.code, "table": table.model_dump(mode="json")} for notice, table in tables],
        "team": [asdict(line) for line in agenda.team],
        "unread": list(agenda.unread),
        "without_user": agenda.without_user,
    }
