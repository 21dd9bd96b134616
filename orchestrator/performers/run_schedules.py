"""Performs schedule.run.add as an inbox row for the requester's chat.

`source` follows from the effect's id and is unique, so storing again changes nothing.
"""

from collections.abc import Awaitable, Callable
from typing import Final, Protocol
from uuid import uuid5

from orchestrator.domain.address import find_own_chat
from orchestrator.domain.outputs import Notice
from orchestrator.domain.schedule_inputs import MOST, ScheduleAdd
from orchestrator.gate.call.effect import BeforeImage, Call
from orchestrator.gate.call.ports import CallResult, Reconciled, Rejected, Succeeded, Unknown
from orchestrator.gate.call.run_schedules import ARG_ORIGINS, DEFINITION, MARK, PERSON, TITLE
from orchestrator.language.schedule_terms import Terms, TermsError, check_moment, parse_terms
from state.clock import UUID_NAMESPACE, Clock, format_iso
from state.journal.async_store import AsyncStore
from state.journal.schedule_index import count_schedules
from state.journal.store import InboxRow, StoreError

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
