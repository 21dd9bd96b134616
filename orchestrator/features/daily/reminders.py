"""Reminders in a person's own chat: set, due, put off, dropped, listed. Each is an event and a durable timer of one commit. Ring 2.

They come in by the performer of effects of kind `schedule`, as inbox rows; nothing else sets one.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.features.daily.message_bodies import build_reminder_row
from orchestrator.features.daily.ports import BuildUrl
from orchestrator.language.date_format import When, format_when
from orchestrator.language.work_calendar import MORNING, to_utc
from orchestrator.runtime import outbox
from orchestrator.runtime.session import Session
from orchestrator.runtime.turn import Tools, admit_actor
from state.events.daily import ReminderDropped, ReminderFired, ReminderMoved, ReminderSet, list_reminders
from state.journal.store import InboxRow, OutboxRow, Timer

TIMER: Final = "reminder"
SET: Final = "reminder_set"
PRESS: Final = "reminder"
LATE: Final = timedelta(minutes=1)
"""Later than this is said: the bot was not running."""
HOUR: Final = timedelta(hours=1)
MAX_LISTED: Final = 20

Entry = Mapping[str, Any]

_ANSWERS: Final = {"dropped": "toast-reminder-dropped", "moved": "toast-reminder-moved"}


class Reminders:
    """See the module docstring. Remembers nothing."""

    def __init__(self, url_of: BuildUrl) -> None:
        """`url_of` leads to the card of a record."""
        self._url_of = url_of

    async def set_reminder(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """Set the reminder that the gate let through, once, and show its moment as it is kept. Raises StoreError."""
        body, actor = row.body, _find_owner(session, tools)
        if actor is None or body["effect_id"] in list_reminders(dict(session.state)):
            await session.commit(actor="system", inbox_done=[row.id])
            return
        event = ReminderSet(effect_id=body["effect_id"], due_ts=body["due_ts"], text=body["text"], target=body["target"])
        told = self._build_row(event.effect_id, event.model_dump(), session, actor, what="set")
        await session.commit(
            event, actor=actor.key, outbox=[told], timers=[_build_timer(event.effect_id, event.due_ts, session)], inbox_done=[row.id]
        )

    async def send_due(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """Remind, once; of somebody who may not use the bot any more nothing is left to be told. Raises StoreError."""
        known, actor = row.body["reminder"], _find_owner(session, tools)
        entry = list_reminders(dict(session.state)).get(known)
        if entry is None or actor is None or entry["status"] != "waits":
            await session.commit(actor="system", timers=[_build_timer(known, None, session)], inbox_done=[row.id])
            return
        if _get_due_time(entry) > session.now:  # put off after this input was made
            await session.commit(actor="system", timers=[_build_timer(known, entry["due_ts"], session)], inbox_done=[row.id])
            return
        late = session.now - _get_due_time(entry)
        told = self._build_row(known, entry, session, actor, what="late" if late > LATE else "due")
        event = ReminderFired(effect_id=known, late=int(late.total_seconds()))
        await session.commit(event, actor="system", outbox=[told], timers=[_build_timer(known, None, session)], inbox_done=[row.id])

    async def apply_button(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """A button of a reminder: an hour later, tomorrow morning, or not any more. Raises StoreError."""
        actor = await admit_actor(row, session, tools)
        if actor is None:
            return
        known, action = str(row.body["reminder"]), row.body["action"]
        entry = list_reminders(dict(session.state)).get(known)
        if entry is None or actor.key != session.key:
            told = _build_toast(row, session, Notice(code="toast-reminder-gone"))
            await session.commit(actor="system", outbox=told, inbox_done=[row.id])
        elif action == "drop":
            event = ReminderDropped(effect_id=known, by=actor.key)
            await self._commit_change(row, session, actor, event, entry=entry, due_ts=None)
        else:
            later = session.now + HOUR if action == "hour" else _find_tomorrow_morning(session.now, actor.time_zone)
            due_ts = int(later.timestamp())
            await self._commit_change(row, session, actor, ReminderMoved(effect_id=known, due_ts=due_ts), entry=entry, due_ts=due_ts)

    async def show_reminders(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """The command /reminders: what waits, the next first, each with its button. Raises StoreError."""
        actor = await admit_actor(row, session, tools)
        if actor is None:
            return
        mine = list_reminders(dict(session.state)) if actor.key == session.key else {}  # in a group nobody reads another's
        waits = sorted(((known, entry) for known, entry in mine.items() if entry["status"] == "waits"), key=lambda item: item[1]["due_ts"])
        items = [self._build_item(known, entry, session, actor) for known, entry in waits[:MAX_LISTED]]
        body = {"what": "list" if actor.key == session.key else "elsewhere", "items": items, "more": max(0, len(waits) - MAX_LISTED)}
        await session.commit(actor=actor.key, outbox=[build_reminder_row(session.key, body, session.now, key="")], inbox_done=[row.id])

    async def _commit_change(
        self,
        row: InboxRow,
        session: Session,
        actor: Actor,
        event: ReminderDropped | ReminderMoved,
        *,
        entry: Entry,
        due_ts: int | None,
    ) -> None:
        """One commit: the event, the timer, the message that was pressed as it stands now, and the answer to the press."""
        known, what = event.effect_id, "dropped" if due_ts is None else "moved"
        kept = entry if due_ts is None else {**entry, "due_ts": due_ts}
        told = [
            self._build_row(known, kept, session, actor, what=what, pressed=row.body),
            *_build_toast(row, session, Notice(code=_ANSWERS[what])),
        ]
        await session.commit(event, actor=actor.key, outbox=told, timers=[_build_timer(known, due_ts, session)], inbox_done=[row.id])

    def _build_row(self, known: str, entry: Entry, session: Session, actor: Actor, *, what: str, pressed: Entry | None = None) -> OutboxRow:
        """A message of its own for what is set and what is due; a press changes the message that it was made on."""
        place = str((pressed or {}).get("place") or "") or f"{what[0]}{entry['due_ts']}"
        body = {"what": what, **self._build_item(known, entry, session, actor), "place": place}
        return build_reminder_row(session.key, body, session.now, key=f"reminder:{known}:{place}" if place != "list" else "")

    def _build_item(self, known: str, entry: Entry, session: Session, actor: Actor) -> dict[str, Any]:
        target, at = str(entry.get("target") or ""), _get_due_time(entry).astimezone(ZoneInfo(actor.time_zone))
        today = session.now.astimezone(at.tzinfo).date()
        return {
            "reminder": known,
            "text": entry["text"],
            "when": format_when(When(at.date(), at, has_time=True), now=session.now, locale=actor.locale),
            "hour": f"{at:%H:%M}" if at.date() == today else "",
            "url": self._url_of(target, actor) if target else "",
        }


def _build_toast(row: InboxRow, session: Session, notice: Notice) -> list[OutboxRow]:
    """The answer to the press, if it was one."""
    callback = str(row.body.get("callback_id") or "")
    return [outbox.build_toast_row(session.key, callback, notice, session.now)] if callback else []


def _find_owner(session: Session, tools: Tools) -> Actor | None:
    return tools.refresh_actor(Actor(key=session.key, name=session.key))


def _get_due_time(entry: Entry) -> datetime:
    return datetime.fromtimestamp(entry["due_ts"], UTC)


def _find_tomorrow_morning(now: datetime, zone: str) -> datetime:
    return to_utc(now.astimezone(ZoneInfo(zone)).date() + timedelta(days=1), MORNING, zone)


def _build_timer(known: str, due_ts: int | None, session: Session) -> Timer:
    """The one timer of a reminder; None takes it away. No words of the person stand in it."""
    at = session.now if due_ts is None else datetime.fromtimestamp(due_ts, UTC)
    return Timer(id=f"{TIMER}:{known}", due_at=at, session=session.key, kind=TIMER, body={"reminder": known}, delete=due_ts is None)
