"""Morning digest and evening summary, at most one of each per person and day.

One commit sends a message and records its day, so no restart, process or changed preference repeats it.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, time, timedelta
from typing import Final, Literal, cast
from zoneinfo import ZoneInfo

from bitrix.errors import BitrixError, NoAccess, Refused
from bitrix.limits.limiter import Priority
from orchestrator.domain.actor import Actor
from orchestrator.domain.address import Address
from orchestrator.domain.message_views import DailyBody
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.features.daily import message_bodies
from orchestrator.features.daily.day_view import LEADING, DayView
from orchestrator.features.daily.message_bodies import People, build_agenda_body, build_daily_row, to_daily_preferences
from orchestrator.gate.call.portal_errors import CLOSED, find_error_kind
from orchestrator.language.work_calendar import EVENING, LATEST, MORNING, Slot, Workdays, find_next_slot
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from orchestrator.turns.turn import admit_actor, find_owner
from state.clock import generate_id
from state.events.daily import DailySent, find_last_day
from state.journal.store import InboxRow, StoreError, Timer

log = logging.getLogger(__name__)

What = Literal["digest", "evening"]
Receive = Callable[[Sequence[InboxRow]], Awaitable[object]]

TIMER: Final = "daily"
PLAN: Final = "daily_plan"
AGAIN: Final = timedelta(minutes=10)
_HOURS: Final[Mapping[What, time]] = {"digest": MORNING, "evening": EVENING}


class DailyMessages:
    """One instance per process."""

    def __init__(self, day: DayView, people: People, workdays: Workdays) -> None:
        self._day = day
        self._people = people
        self._workdays = workdays
        self._lacking = 0

    async def plan_timers(self, row: InboxRow, session: Session, tools: Tools) -> None:
        actor = find_owner(session, tools)
        timers = [self._build_timer(what, session, self._find_slot(what, actor, session)) for what in _HOURS]
        await session.commit(actor="system", timers=timers, inbox_done=[row.id])

    async def send_due(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """One commit sends the message and sets the next timer."""
        what = cast("What", row.body["what"])
        actor = find_owner(session, tools)
        slot = self._find_slot(what, actor, session)
        if actor is None or slot is None:  # the planner deletes the timer; if it missed the change, the choice may be back
            slot = Slot(day=session.now.date(), at=session.now + timedelta(days=1))
        if actor is None or slot.at > session.now:  # already sent, too late, or the person's time zone has changed
            await session.commit(actor="system", timers=[self._build_timer(what, session, slot)], inbox_done=[row.id])
            return
        try:
            body = await self._build_body(what, actor, slot, now=session.now, tools=tools)
        except (BitrixError, StoreError) as error:
            await self._reschedule(row, session, actor, what, slot=slot, error=error)
        except Exception:  # an error in one day's message must not end all those to come
            log.exception("a daily message cannot be made", extra={"action": "daily_failed", "session": session.key})
            await self._finish(row, session, actor, DailySent(what=what, day=slot.day.toordinal(), outcome="failed"))
        else:
            await self._finish(row, session, actor, DailySent(what=what, day=slot.day.toordinal()), body)

    async def _reschedule(self, row: InboxRow, session: Session, actor: Actor, what: What, *, slot: Slot, error: Exception) -> None:
        """If it is too late for the day, the person is told."""
        log.warning("a daily message is put off: %s", error, extra={"action": "daily_put_off", "session": session.key})
        later = Slot(day=slot.day, at=session.now + AGAIN)
        if isinstance(error, BitrixError) and later.at >= slot.at + LATEST:
            await self._finish(
                row, session, actor, DailySent(what=what, day=slot.day.toordinal(), outcome="failed"), DailyBody(what="lost")
            )
            return
        await session.commit(actor="system", timers=[self._build_timer(what, session, later)], inbox_done=[row.id])

    async def show_today(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """Only in a private chat."""
        actor = await admit_actor(row, session, tools)
        if actor is None:
            return
        now = session.now
        if Address.parse(session.key).is_group:  # in a group everybody would read the person's own deals
            outbox_row = outbox.build_reply_row(session.key, build_reply(Notice(code="today-elsewhere")), now)
        else:
            try:
                agenda = await self._day.load(actor, now, priority=Priority.INTERACTIVE)
            except BitrixError as error:
                log.warning("/today cannot be read: %s", error, extra={"action": "today_unread", "session": session.key})
                outbox_row = outbox.build_reply_row(session.key, build_reply(_explain_failure(error)), now)
            else:
                outbox_row = build_daily_row(
                    session.key, build_agenda_body("today", agenda, now.astimezone(ZoneInfo(actor.time_zone)).date()), now
                )
        await session.commit(actor=actor.key, outbox=[outbox_row], inbox_done=[row.id])

    async def _build_body(self, what: What, actor: Actor, slot: Slot, *, now: datetime, tools: Tools) -> DailyBody:
        if what == "digest":
            agenda = await self._day.load(actor, now, priority=Priority.BULK)
            return build_agenda_body(what, agenda, slot.day)
        return await tools.store.read(message_bodies.build_summary, actor, self._people.list_people(), slot)

    async def _finish(self, row: InboxRow, session: Session, actor: Actor, event: DailySent, body: DailyBody | None = None) -> None:
        outbox_rows = [build_daily_row(session.key, body, session.now)] if body is not None else []
        following = self._find_slot(event.what, actor, session, last=event.day)
        await session.commit(
            event, actor="system", outbox=outbox_rows, timers=[self._build_timer(event.what, session, following)], inbox_done=[row.id]
        )

    def _find_slot(self, what: What, actor: Actor | None, session: Session, *, last: int = 0) -> Slot | None:
        """None if the person gets no such message. `last` is the ordinal of the day just sent."""
        if actor is None:
            return None
        wishes = to_daily_preferences(self._people.resolve_preferences(actor.key))
        if not (wishes.digest if what == "digest" else wishes.evening and actor.role in LEADING):
            return None
        known = max(last, find_last_day(session.state, what))
        self._warn_of_missing_days(session.now)
        return find_next_slot(session.now, _HOURS[what], actor.time_zone, workdays=self._workdays, last=known)

    def _warn_of_missing_days(self, now: datetime) -> None:
        """Without moved days off, a digest may come on a day off."""
        lacking = self._workdays.find_unlisted_year(now.date())
        if lacking and lacking != self._lacking:
            self._lacking = lacking
            log.warning(
                "data/holidays.yaml does not list yet which days off are moved in %s: only the holidays of every year are left out",
                lacking,
                extra={"action": "holidays_missing"},
            )

    def _build_timer(self, what: What, session: Session, slot: Slot | None) -> Timer:
        """Marked for deletion if `slot` is None."""
        at: datetime = (
            session.now if slot is None else max(slot.at, session.now)
        )  # never in the past: a timer with the same due time would count as a duplicate
        return Timer(
            id=f"{TIMER}:{what}:{session.key}", due_at=at, session=session.key, kind=TIMER, body={"what": what}, delete=slot is None
        )


class DailyPlanner:
    """Finds whose timers must be set again. Remembers in memory only."""

    def __init__(self, people: People) -> None:
        self._people = people
        self._known: Mapping[str, object] = {}

    async def run(self, receive: Receive, now: datetime) -> None:
        """Everybody at the first run. Raises StoreError."""
        present = {
            person.key: (to_daily_preferences(self._people.resolve_preferences(person.key)), person.time_zone, person.role)
            for person in self._people.list_people()
        }
        changed = [key for key in dict.fromkeys([*present, *self._known]) if present.get(key) != self._known.get(key)]
        if changed:
            await receive([_build_plan_row(key, now) for key in changed])
        self._known = present


def _build_plan_row(key: str, now: datetime) -> InboxRow:
    row_id = generate_id()
    actor = {"key": "system", "name": "system"}
    return InboxRow(id=row_id, source=f"{PLAN}:{row_id}", session=key, lane="express", kind=PLAN, actor=actor, body={}, received_at=now)


def _explain_failure(error: BitrixError) -> Notice:
    kind = find_error_kind(error.code, error.detail)
    if kind in CLOSED:
        return Notice(code="today-closed", args={"why": kind})
    return Notice(code="today-refused" if isinstance(error, Refused | NoAccess) else "today-unreachable")
