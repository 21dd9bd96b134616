"""Reminders in a private chat. Each step commits an event and a durable timer together.

The gate allows an effect of kind `schedule`, whose performer stores the row handled here.
"""

from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from orchestrator.domain.actor import Actor
from orchestrator.domain.address import Address
from orchestrator.domain.message_views import ReminderBody, ReminderItem
from orchestrator.domain.outputs import Notice
from orchestrator.features.daily.message_bodies import BuildUrl, build_reminder_row
from orchestrator.language.date_format import When, format_when
from orchestrator.language.work_calendar import MORNING, to_utc
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from orchestrator.turns.turn import admit_actor, find_owner
from state.events.daily import ReminderDropped, ReminderFired, ReminderMoved, ReminderSet, list_reminders
from state.journal.journal import load_state
from state.journal.store import InboxRow, OutboxRow, Timer
from state.model.session_state import Reminder

TIMER: Final = "reminder"
SET: Final = "reminder_set"
PRESS: Final = "reminder"
CHANGED: Final = "reminder_changed"
LATE: Final = timedelta(minutes=1)
"""A reminder sent later says so."""
HOUR: Final = timedelta(hours=1)
MAX_LISTED: Final = 20

_ANSWERS: Final = {"dropped": "toast-reminder-dropped", "moved": "toast-reminder-moved"}


class Reminders:
    def __init__(self, url_of: BuildUrl) -> None:
        self._url_of = url_of

    async def set_reminder(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """A reminder that is set already is not set again."""
        event, actor = ReminderSet.from_data(row.body), find_owner(session, tools)
        if actor is None or event.effect_id in list_reminders(session.state):
            await session.commit(actor="system", inbox_done=[row.id])
            return
        entry = Reminder(due_ts=event.due_ts, text=event.text, target=event.target)
        outbox_row = self._build_row(event.effect_id, entry, session, actor, what="set")
        await session.commit(
            event, actor=actor.key, outbox=[outbox_row], timers=[_build_timer(event.effect_id, event.due_ts, session)], inbox_done=[row.id]
        )

    async def send_due(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """Once, unless it was moved or access is lost."""
        known, actor = row.body["reminder"], find_owner(session, tools)
        entry = list_reminders(session.state).get(known)
        if entry is None or actor is None or entry.status != "waits":
            await session.commit(actor="system", timers=[_build_timer(known, None, session)], inbox_done=[row.id])
            return
        if _get_due_time(entry) > session.now:  # moved after this input was created
            await session.commit(actor="system", timers=[_build_timer(known, entry.due_ts, session)], inbox_done=[row.id])
            return
        late = session.now - _get_due_time(entry)
        outbox_row = self._build_row(known, entry, session, actor, what="late" if late > LATE else "due")
        event = ReminderFired(effect_id=known, late=int(late.total_seconds()))
        await session.commit(event, actor="system", outbox=[outbox_row], timers=[_build_timer(known, None, session)], inbox_done=[row.id])

    async def apply_button(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """In an hour, tomorrow morning, or never."""
        actor = await admit_actor(row, session, tools)
        if actor is None:
            return
        known, action = str(row.body["reminder"]), row.body["action"]
        entry = list_reminders(session.state).get(known)
        if entry is None or actor.key != session.key:
            toast = _build_toast(row, session, Notice(code="toast-reminder-gone"))
            await session.commit(actor="system", outbox=toast, inbox_done=[row.id])
        elif action == "drop":
            event = ReminderDropped(effect_id=known, by=actor.key)
            await self._commit_change(row, session, actor, event, entry=entry, due_ts=None)
        else:
            later = session.now + HOUR if action == "hour" else _find_tomorrow_morning(session.now, actor.time_zone)
            due_ts = int(later.timestamp())
            await self._commit_change(row, session, actor, ReminderMoved(effect_id=known, due_ts=due_ts), entry=entry, due_ts=due_ts)

    async def apply_change(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """Nothing for a reminder that is gone."""
        known, due_ts = str(row.body["reminder"]), row.body["due_ts"]
        entry, actor = list_reminders(session.state).get(known), find_owner(session, tools)
        if entry is None or actor is None:
            await session.commit(actor="system", inbox_done=[row.id])
            return
        event = ReminderMoved(effect_id=known, due_ts=due_ts) if due_ts is not None else ReminderDropped(effect_id=known, by=actor.key)
        await self._commit_change(row, session, actor, event, entry=entry, due_ts=due_ts)

    async def show_reminders(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """Only in a private chat, and to a client that fetches its answers."""
        actor = await admit_actor(row, session, tools)
        if actor is None:
            return
        is_own = actor.key == session.key or Address.parse(session.key).is_pulled  # in a group nobody reads another's
        state = session.state if actor.key == session.key else (await tools.store.read(load_state, f"session:{actor.key}"))[0]
        mine = list_reminders(state) if is_own else {}
        waits = sorted(((known, entry) for known, entry in mine.items() if entry.status == "waits"), key=lambda item: item[1].due_ts)
        items = [self._build_item(known, entry, session, actor) for known, entry in waits[:MAX_LISTED]]
        what = "list" if is_own else "elsewhere"
        body = ReminderBody(what=what, items=items, more=max(0, len(waits) - MAX_LISTED))
        await session.commit(actor=actor.key, outbox=[build_reminder_row(session.key, body, session.now, key="")], inbox_done=[row.id])

    async def _commit_change(
        self,
        row: InboxRow,
        session: Session,
        actor: Actor,
        event: ReminderDropped | ReminderMoved,
        *,
        entry: Reminder,
        due_ts: int | None,
    ) -> None:
        """`due_ts` is in seconds since 1970, None if dropped."""
        known, what = event.effect_id, "dropped" if due_ts is None else "moved"
        reminder = entry if due_ts is None else entry.with_values(due_ts=due_ts)
        outbox_rows = [
            self._build_row(known, reminder, session, actor, what=what, place=str(row.body.get("place") or "")),
            *_build_toast(row, session, Notice(code=_ANSWERS[what])),
        ]
        await session.commit(event, actor=actor.key, outbox=outbox_rows, timers=[_build_timer(known, due_ts, session)], inbox_done=[row.id])

    def _build_row(self, known: str, entry: Reminder, session: Session, actor: Actor, *, what: str, place: str = "") -> OutboxRow:
        """`place` is the message to edit; "" or "list" for a new one."""
        place = place or f"{what[0]}{entry.due_ts}"
        body = ReminderBody(what=what, **self._build_item(known, entry, session, actor).to_json(), place=place)
        return build_reminder_row(session.key, body, session.now, key=f"reminder:{known}:{place}" if place != "list" else "")

    def _build_item(self, known: str, entry: Reminder, session: Session, actor: Actor) -> ReminderItem:
        at = _get_due_time(entry).astimezone(ZoneInfo(actor.time_zone))
        today = session.now.astimezone(at.tzinfo).date()
        return ReminderItem(
            reminder=known,
            text=entry.text,
            when=format_when(When(at.date(), at, has_time=True), now=session.now, locale=actor.locale),
            hour=f"{at:%H:%M}" if at.date() == today else "",
            url=self._url_of(entry.target, actor) if entry.target else "",
        )


def _build_toast(row: InboxRow, session: Session, notice: Notice) -> list[OutboxRow]:
    """Empty if the input was not a click."""
    callback = str(row.body.get("callback_id") or "")
    return [outbox.build_toast_row(session.key, callback, notice, session.now)] if callback else []


def _get_due_time(entry: Reminder) -> datetime:
    return datetime.fromtimestamp(entry.due_ts, UTC)


def _find_tomorrow_morning(now: datetime, zone: str) -> datetime:
    return to_utc(now.astimezone(ZoneInfo(zone)).date() + timedelta(days=1), MORNING, zone)


def _build_timer(known: str, due_ts: int | None, session: Session) -> Timer:
    """Has no words of the person. Deleted if `due_ts` is None."""
    at = session.now if due_ts is None else datetime.fromtimestamp(due_ts, UTC)
    return Timer(id=f"{TIMER}:{known}", due_at=at, session=session.key, kind=TIMER, body={"reminder": known}, delete=due_ts is None)
