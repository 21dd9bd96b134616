"""Performs effects of kind `schedule`: reminders and schedules of runs become inbox rows of the person's chat.

`source` is unique, so storing again changes nothing.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, Final, Protocol
from uuid import uuid5

from orchestrator.domain.address import find_own_chat
from orchestrator.domain.outputs import Notice
from orchestrator.domain.run_inputs import MOST, ScheduleAdd
from orchestrator.gate.call import run_schedules
from orchestrator.gate.call.effect import BeforeImage, Call
from orchestrator.gate.call.ports import CallResult, Reconciled, Rejected, Succeeded, Unknown
from orchestrator.gate.call.reminders import CHANGES, MARK, MOVE, PERSON, TEXT, WHICH
from orchestrator.gate.call.run_schedules import ARG_ORIGINS, DEFINITION, TITLE
from orchestrator.language.schedule_terms import Terms, TermsError, check_moment, parse_terms
from state.clock import UUID_NAMESPACE, Clock, format_iso, generate_id, parse_iso
from state.events.daily import ReminderSet, list_reminders
from state.journal.async_store import AsyncStore
from state.journal.journal import load_state
from state.journal.pages import iterate_events
from state.journal.schedule_index import count_schedules
from state.journal.store import InboxRow, Lane, Store, StoreError

_CODES: Final = {
    "run-engine-gone": "schedule-refused-engine",
    "run-not-allowed": "schedule-refused-role",
    "run-owner-gone": "schedule-refused-owner",
}
"""All other reasons are about the definition."""


class CheckStart(Protocol):
    async def __call__(self, engine: str, definition: str, person: str) -> Notice | None:
        """None if they may."""


FindTitle = Callable[[str, str], Awaitable[str]]
""""" if it has none; may raise."""


async def find_no_title(_engine: str, _definition: str) -> str:
    return ""


class RunSchedulePerformer:
    def __init__(self, store: AsyncStore, clock: Clock, check: CheckStart, find_title: FindTitle = find_no_title) -> None:
        self._store = store
        self._clock = clock
        self._check, self._find_title = check, find_title

    async def read_before(self, call: Call) -> BeforeImage | Rejected:
        """Rejected if it cannot be made, so that nobody is asked; never raises."""
        if (refusal := await self._check_again(call)) is not None:
            return refusal
        try:
            title = await self._find_title(str(call.params["engine"]), str(call.params["definition"]))
        except Exception:  # noqa: BLE001 - the card names the key then
            title = ""
        return {DEFINITION: {TITLE: title}} if title else {}

    async def execute(self, call: Call) -> CallResult:
        """Unknown if the database fails."""
        if (refusal := await self._check_again(call)) is not None:
            return refusal
        try:
            await self._store.put_inbox([self._build_row(call)])
        except StoreError as error:
            return Unknown(detail=f"the store did not say whether the schedule is kept: {error}")
        first = _parse_terms(call).find_first(self._clock.now())
        moment = format_iso(first) if first is not None else ""
        schedule = build_schedule_id(str(call.params[MARK]))
        return Succeeded(
            result={"schedule": schedule, "next": moment},
            entity="schedule",
            note=f"first at {moment}; code shows the person when it starts, /schedules lists it",
        )

    async def _check_again(self, call: Call) -> Rejected | None:
        """Also if that cannot be read; never raises."""
        try:
            return await self._find_refusal(call)
        except Exception as error:  # noqa: BLE001 - whatever keeps the definitions from being read: nothing is stored then
            return Rejected(code="schedule-refused-unread", detail=f"it could not be checked: {error}", sent=False)

    async def _find_refusal(self, call: Call) -> Rejected | None:
        person = str(call.params[PERSON])
        try:
            terms = _parse_terms(call)
            check_moment(terms, self._clock.now())
        except TermsError as error:
            code = "schedule-refused-far" if error.fault == "far" else "schedule-refused-past"
            return Rejected(code=code, detail=str(error), sent=False)
        if terms.find_first(self._clock.now()) is None:
            return Rejected(code="schedule-refused-past", detail="cron: this line is not due any more", sent=False)
        if await self._store.read(count_schedules, person) >= MOST:
            return Rejected(code="schedule-refused-many", detail=f"{MOST} schedules of this person wait already", sent=False)
        engine, definition = str(call.params["engine"]), str(call.params["definition"])
        notice = await self._check(engine, definition, person)
        if notice is None:
            return None
        detail = f"runs of {definition} ({engine}) cannot be started for {person}: {notice.code}"
        return Rejected(code=_CODES.get(notice.code, "schedule-refused-definition"), detail=detail, sent=False)

    async def reconcile(self, call: Call, _before: BeforeImage) -> Reconciled:
        """Never unclear. Raises StoreError."""
        is_stored = await self._store.find_inbox(_build_source(call)) is not None
        return Reconciled(
            verdict="done" if is_stored else "not_done", detail="the schedule is kept" if is_stored else "no such schedule is kept"
        )

    def _build_row(self, call: Call) -> InboxRow:
        params, person = call.params, str(call.params[PERSON])
        origins = params.get(ARG_ORIGINS, {})
        schedule_add = ScheduleAdd(
            schedule=build_schedule_id(str(params[MARK])),
            engine=params["engine"],
            definition=params["definition"],
            args={name: {"data": value, "origins": list(origins[name])} for name, value in params.get("args", {}).items()},
            at=params.get("at"),
            cron=params.get("cron"),
            zone=params.get("zone") or "UTC",
            note=params.get("note", ""),
        )
        return schedule_add.to_row(
            find_own_chat(person), source=_build_source(call), actor={"key": person, "name": person}, now=self._clock.now()
        )


def build_schedule_id(effect_id: str) -> str:
    return str(uuid5(UUID_NAMESPACE, f"schedule:{effect_id}"))


def _build_source(call: Call) -> str:
    return f"schedule:{call.params[MARK]}"


def _parse_terms(call: Call) -> Terms:
    return parse_terms(call.params.get("at"), call.params.get("cron"), call.params.get("zone") or "UTC")


KIND: Final = "reminder_set"
CHANGED: Final = "reminder_changed"
LANE: Final[Lane] = "express"
MOST_REMINDERS: Final = 100
_OVER: Final = timedelta(minutes=1)


class SchedulePerformer:
    portal = ""
    is_application = True

    def __init__(self, store: AsyncStore, clock: Clock, check: CheckStart, find_title: FindTitle = find_no_title) -> None:
        self._store = store
        self._clock = clock
        self._runs = RunSchedulePerformer(store, clock, check, find_title)

    async def read_before(self, call: Call) -> BeforeImage | Rejected:
        """Rejected if a schedule of runs cannot be made; the text of a reminder that is changed. Never raises."""
        if call.method == run_schedules.ADD:
            return await self._runs.read_before(call)
        if call.method not in CHANGES:
            return {}
        try:
            text = await self._store.read(_find_text, str(call.params[PERSON]), str(call.params[WHICH]))
        except StoreError:  # the card then names no text
            return {}
        return {WHICH: {TEXT: text}} if text else {}

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
            if await self._store.read(_count_waiting, session) >= MOST_REMINDERS:
                return Rejected(code="reminder-too-many", detail=f"{MOST_REMINDERS} reminders wait already", sent=False)
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


def _find_text(store: Store, session: str, which: str) -> str:
    state, _ = load_state(store, f"session:{session}")
    entry = list_reminders(state).get(which)
    return entry.text if entry is not None else ""


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
