"""Performs effects of kind `schedule`: reminders become inbox rows of the person's chat.

`source` is unique, so storing again changes nothing.
"""

from datetime import timedelta
from typing import Any, Final

from orchestrator.gate.call import run_schedules
from orchestrator.gate.call.effect import BeforeImage, Call
from orchestrator.gate.call.ports import CallResult, Reconciled, Rejected, Succeeded, Unknown
from orchestrator.gate.call.reminders import CHANGES, MARK, MOVE, PERSON, WHICH
from orchestrator.performers.run_schedules import CheckStart, FindTitle, RunSchedulePerformer, find_no_title
from state.clock import Clock, format_iso, generate_id, parse_iso
from state.events.daily import ReminderSet, list_reminders
from state.journal.async_store import AsyncStore
from state.journal.journal import load_state
from state.journal.pages import iterate_events
from state.journal.store import InboxRow, Lane, Store, StoreError

KIND: Final = "reminder_set"
CHANGED: Final = "reminder_changed"
LANE: Final[Lane] = "express"
MOST: Final = 100
_OVER: Final = timedelta(minutes=1)


class SchedulePerformer:
    portal = ""
    is_application = True

    def __init__(self, store: AsyncStore, clock: Clock, check: CheckStart, find_title: FindTitle = find_no_title) -> None:
        self._store = store
        self._clock = clock
        self._runs = RunSchedulePerformer(store, clock, check, find_title)

    async def read_before(self, call: Call) -> BeforeImage | Rejected:
        """Rejected if a schedule of runs cannot be made. Never raises."""
        return await self._runs.read_before(call) if call.method == run_schedules.ADD else {}

    async def execute(self, call: Call) -> CallResult:
        if call.method in CHANGES:
            return await self._change_reminder(call)
        return await (self._runs.execute(call) if call.method == run_schedules.ADD else self._set_reminder(call))

    async def _change_reminder(self, call: Call) -> CallResult:
        """Unknown if the database fails."""
        session = str(call.params[PERSON])
        due = parse_iso(call.params["at"]) if call.method == MOVE else None
        if due is not None and due < self._clock.now() - _OVER:
            return Rejected(code="reminder-past", detail=f"{call.params['at']} is over: ask the person for another moment", sent=False)
        try:
            waiting_id = await self._store.read(_find_waiting, session, str(call.params[WHICH]))
            if waiting_id is None:
                return Rejected(code="reminder-gone", detail="no waiting reminder of this person has that id", sent=False)
            body = {"reminder": waiting_id, "due_ts": int(due.timestamp()) if due is not None else None}
            await self._store.put_inbox([self._build_input(call, session, CHANGED, body)])
        except StoreError as error:
            return Unknown(detail=f"the store did not say whether the change of the reminder is kept: {error}")
        done = f"moved to {format_iso(due)}" if due is not None else "removed"
        return Succeeded(result=True, entity="reminder", note=f"{done}; code shows the person its time and text")

    async def _set_reminder(self, call: Call) -> CallResult:
        """Rejected for a time that is over or too many reminders; unknown if the database fails."""
        due, session = parse_iso(call.params["at"]), str(call.params[PERSON])
        if due < self._clock.now() - _OVER:
            return Rejected(code="reminder-past", detail=f"{call.params['at']} is over: ask the person for another moment", sent=False)
        try:
            if await self._store.read(_count_waiting, session) >= MOST:
                return Rejected(code="reminder-too-many", detail=f"{MOST} reminders wait already", sent=False)
            await self._store.put_inbox([self._build_row(call, session, int(due.timestamp()))])
        except StoreError as error:
            return Unknown(detail=f"the store did not say whether the reminder is kept: {error}")
        return Succeeded(result=True, entity="reminder", note=f"set for {format_iso(due)}; code shows the person its time and text")

    async def reconcile(self, call: Call, before: BeforeImage) -> Reconciled:
        """Never unclear. Raises StoreError."""
        if call.method == run_schedules.ADD:
            return await self._runs.reconcile(call, before)
        session, known = str(call.params[PERSON]), str(call.params[MARK])
        if call.method in CHANGES:
            changed = await self._store.read(_is_changed, session, call)
            return Reconciled(verdict="done" if changed else "not_done", detail="the change is kept" if changed else "no change is kept")
        is_stored = await self._store.read(_is_kept, session, known)
        return Reconciled(
            verdict="done" if is_stored else "not_done", detail="the reminder is kept" if is_stored else "no such reminder is kept"
        )

    def _build_row(self, call: Call, session: str, due_ts: int) -> InboxRow:
        known = str(call.params[MARK])
        body = {"effect_id": known, "due_ts": due_ts, "text": call.params["text"], "target": call.params.get("record", "")}
        return self._build_input(call, session, KIND, body)

    def _build_input(self, call: Call, session: str, kind: str, body: dict[str, Any]) -> InboxRow:
        return InboxRow(
            id=generate_id(),
            source=f"reminder:{call.params[MARK]}",
            session=session,
            lane=LANE,
            kind=kind,
            actor={"key": session, "name": session},
            body=body,
            received_at=self._clock.now(),
        )


def _find_waiting(store: Store, session: str, which: str) -> str | None:
    state, _ = load_state(store, f"session:{session}")
    entry = list_reminders(state).get(which)
    return which if entry is not None and entry.status == "waits" else None


def _is_changed(store: Store, session: str, call: Call) -> bool:
    rows = store.list_waiting_inbox(session, LANE, 1000)
    if any(row.kind == CHANGED and row.source == f"reminder:{call.params[MARK]}" for row in rows):
        return True
    waiting_id = _find_waiting(store, session, str(call.params[WHICH]))
    if call.method != MOVE:
        return waiting_id is None
    state, _ = load_state(store, f"session:{session}")
    return waiting_id is not None and list_reminders(state)[waiting_id].due_ts == int(parse_iso(call.params["at"]).timestamp())


def _count_waiting(store: Store, session: str) -> int:
    state, _ = load_state(store, f"session:{session}")
    return sum(entry.status == "waits" for entry in list_reminders(state).values())


def _is_kept(store: Store, session: str, known: str) -> bool:
    if any(row.kind == KIND and row.body["effect_id"] == known for row in store.list_waiting_inbox(session, LANE, 1000)):
        return True
    events = iterate_events(store, f"session:{session}")
    return any(event.type == "ReminderSet" and ReminderSet.from_data(event.data).effect_id == known for event in events)
