"""Fires schedules. One commit holds the event, the run's start, the next timer and the message."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from orchestrator.domain.actor import Actor
from orchestrator.domain.address import Address
from orchestrator.domain.cron_lines import CronLine, Firing, plan_firing
from orchestrator.domain.outputs import Action, Notice, Reply
from orchestrator.domain.run_inputs import RunStart, ScheduleDue
from orchestrator.engines.runs import RunFailed
from orchestrator.runs.children import build_child_key
from orchestrator.runs.nodes import trim_args
from orchestrator.runs.registry import Engines, may_start
from orchestrator.runs.stored_definitions import DAMAGED, OFF, UNPUBLISHED
from orchestrator.schedules import words
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import RefreshActor, Tools
from state.clock import format_iso, parse_iso
from state.events.base import Event
from state.events.schedules import ScheduleEnded, ScheduleFired, SchedulePaused, list_schedules
from state.journal.async_store import AsyncStore
from state.journal.run_index import PREFIX, RunFilter
from state.journal.schedule_index import build_timer, build_timer_deletion
from state.journal.store import InboxRow, OutboxRow, Timer
from state.model.run_state import ENDED
from state.model.schedule_state import PauseReason, Schedule, SkipReason

ENGINE_GONE, NOT_ALLOWED, DEFINITION_GONE = "run-engine-gone", "run-not-allowed", "run-definition-gone"


class StartChecker:
    def __init__(self, engines: Engines, present: RefreshActor) -> None:
        self._engines = engines
        self._present = present

    async def __call__(self, engine: str, definition: str, person: str) -> Notice | None:
        """None if runs may start."""
        actor = self._present(Actor(key=person, name=person))
        if actor is None:
            return Notice(code="run-owner-gone")
        return await find_start_refusal(self._engines, engine, definition, actor)


async def find_start_refusal(engines: Engines, engine: str, definition: str, actor: Actor) -> Notice | None:
    """None if runs may start now. May raise what finding definitions raises."""
    registered = engines.runs.get(engine)
    if registered is None:
        return Notice(code=ENGINE_GONE, args=trim_args({"engine": engine}))
    if actor.role not in registered.roles:
        return Notice(code=NOT_ALLOWED, args=trim_args({"definition": definition}))
    try:
        published = await engines.definitions.find(engine, definition)
    except RunFailed as error:  # there is one, and it is switched off, not published or damaged
        return Notice(code=error.code, args=trim_args(error.args_of_notice))
    if published is None or not may_start(actor, registered, published.document):
        return Notice(code=DEFINITION_GONE, args=trim_args({"definition": definition}))
    return None


log = logging.getLogger(__name__)

BUTTON: Final = "schedule"
"""The first word of the buttons of schedules: ("schedule", id of the schedule, order)."""
LATE: Final = timedelta(minutes=1)
"""A run that starts later than this says so: the bot did not work at its moment."""
TELL_AGAIN: Final = timedelta(days=1)
"""The chat is told again of the same obstacle only after this time."""
PUT_OFF: Final = timedelta(minutes=1)
"""In a program that may not fire schedules."""


@dataclass(frozen=True, kw_only=True)
class _Moment:
    schedule: str
    entry: Schedule
    owner: Actor
    """The owner as they were when the schedule was made."""
    plan: Firing
    late: timedelta

    @property
    def following(self) -> str:
        """The next moment as ISO text, "" if there is none."""
        return format_iso(self.plan.following) if self.plan.following is not None else ""


class Firer:
    def __init__(self, engines: Engines, *, fires: bool = True) -> None:
        """A program that does not know people's present rights gets `fires=False`: it puts moments off."""
        self._engines = engines
        self._fires = fires

    async def fire_due(self, row: InboxRow, session: Session, tools: Tools) -> None:
        due = ScheduleDue.model_validate(row.body)
        entry = list_schedules(session.state).get(due.schedule)
        if entry is None:  # cancelled, or its owner was erased
            gone = build_timer_deletion(due.schedule, session.key, session.now)
            await session.commit(actor="system", timers=[gone], inbox_done=[row.id])
            return
        if entry.status == "paused" or due.due != entry.due:  # changed since this input was made, and the timer with it
            await session.commit(actor="system", inbox_done=[row.id])
            return
        if not self._fires:
            later = Timer(id=due.timer, due_at=session.now + PUT_OFF, session=session.key, kind=due.kind, body=_keep_body(row))
            await session.commit(actor="system", timers=[later], inbox_done=[row.id])
            return
        moment = _plan_moment(due.schedule, entry, session.now)
        actor = tools.refresh_actor(moment.owner)
        if actor is None:
            await _pause(moment, "owner_left", row, session, tools)
            return
        refusal = await find_start_refusal(self._engines, entry.engine, entry.definition, actor)
        match refusal.code if refusal is not None else "":
            case "":
                pass
            case code if code == NOT_ALLOWED:
                await _pause(moment, "not_allowed", row, session, tools)
                return
            case code:
                await _skip(moment, _SKIPS.get(code, "definition_gone"), row, session, tools)
                return
        if entry.run and await is_unfinished(entry.run, tools.store):
            await _skip(moment, "unfinished", row, session, tools)
            return
        await _start(moment, actor, row, session)

    async def give_up(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """Each attempt to handle the moment failed. Raises StoreError."""
        due = ScheduleDue.model_validate(row.body)
        entry = list_schedules(session.state).get(due.schedule)
        if entry is None or entry.status == "paused" or due.due != entry.due:
            return
        try:
            moment = _plan_moment(due.schedule, entry, session.now)
        except Exception:  # what cannot be planned, such as a zone that is gone from this machine, waits for a person
            log.exception("a schedule cannot be planned", extra={"action": "schedule_unplanned", "schedule": due.schedule})
            plan = Firing(due=parse_iso(entry.due), missed=0, following=None)
            moment = _Moment(schedule=due.schedule, entry=entry, owner=_find_owner(entry), plan=plan, late=timedelta())
        await _skip(moment, "failed", None, session, tools)


_SKIPS: Final[dict[str, SkipReason]] = {
    DEFINITION_GONE: "definition_gone",
    OFF: "definition_gone",
    UNPUBLISHED: "definition_gone",
    DAMAGED: "failed",
    ENGINE_GONE: "engine_gone",
}
"""By the code of the refusal; the schedule goes on with its next moment."""


def _keep_body(row: InboxRow) -> dict[str, object]:
    return {name: value for name, value in row.body.items() if name not in {"timer", "kind"}}


def _find_owner(entry: Schedule) -> Actor:
    return Actor.model_validate(entry.actor)


def _plan_moment(schedule: str, entry: Schedule, present: datetime) -> _Moment:
    """A clock set back since the timer was due changes nothing."""
    due = parse_iso(entry.due)
    now = max(present, due)
    plan = plan_firing(CronLine(entry.cron), ZoneInfo(entry.zone), due, now) if entry.cron else None
    return _Moment(
        schedule=schedule,
        entry=entry,
        owner=_find_owner(entry),
        plan=plan or Firing(due=due, missed=0, following=None),
        late=now - due,
    )


async def is_unfinished(key: str, store: AsyncStore) -> bool:
    runs = await store.list_runs(RunFilter(run_id=key.removeprefix(PREFIX)))
    if runs:
        return runs[0].status not in ENDED
    ordered = await store.find_inbox(f"start:{key}")
    return ordered is not None and ordered.status == "new"


def build_run_key(schedule: str, due: str) -> str:
    """The same each time: one moment never starts two runs."""
    return build_child_key(f"{BUTTON}:{schedule}", due, 1)


async def _start(moment: _Moment, actor: Actor, row: InboxRow, session: Session) -> None:
    entry = moment.entry
    key = build_run_key(moment.schedule, entry.due)
    order = RunStart(engine=entry.engine, definition=entry.definition, home=session.key, args=entry.args, since=entry.due)
    start = order.to_row(key, source=f"start:{key}", actor=actor.model_dump(mode="json"), now=session.now, lane="turn")
    is_late = moment.late > LATE
    notices = [words.build_late_notice(entry, moment.plan.missed, actor, session.now)] if is_late else []
    rows = [_build_row(session.key, notice, moment, session) for notice in notices]
    fired = ScheduleFired(
        schedule=moment.schedule,
        due=entry.due,
        run=key,
        late=int(moment.late.total_seconds()),
        missed=moment.plan.missed,
        following=moment.following,
        is_told=is_late,
    )
    ended = [] if moment.following else [ScheduleEnded(schedule=moment.schedule, why="done")]
    await _commit(moment, [fired, *ended], row, session, rows, inbox_new=[start])


async def _skip(moment: _Moment, why: SkipReason, row: InboxRow | None, session: Session, tools: Tools) -> None:
    """A schedule without a next moment is paused, so that a person can still start it."""
    entry = moment.entry
    if not moment.following:
        await _pause(moment, why, row, session, tools)
        return
    is_known = entry.skip_why == why and bool(entry.told_at) and session.now - parse_iso(entry.told_at) < TELL_AGAIN
    actor = tools.refresh_actor(moment.owner) or moment.owner
    notice = words.build_skip_notice(entry, why, moment.following, actor, session.now)
    fired = ScheduleFired(
        schedule=moment.schedule,
        due=entry.due,
        skipped=why,
        late=int(moment.late.total_seconds()),
        missed=moment.plan.missed,
        following=moment.following,
        is_told=not is_known,
    )
    log.info("a schedule started nothing", extra={"action": "schedule_skipped", "schedule": moment.schedule, "why": why})
    await _commit(moment, [fired], row, session, [] if is_known else [_build_row(session.key, notice, moment, session)])


async def _pause(moment: _Moment, why: PauseReason, row: InboxRow | None, session: Session, tools: Tools) -> None:
    """Tells the chat, and the owner's leads if the owner left or lost the right."""
    log.warning("a schedule is paused", extra={"action": "schedule_paused", "schedule": moment.schedule, "why": why})
    rows = _tell_of_pause(moment, why, session, tools)
    await _commit(moment, [SchedulePaused(schedule=moment.schedule, why=why)], row, session, rows)


def _tell_of_pause(moment: _Moment, why: PauseReason, session: Session, tools: Tools) -> list[OutboxRow]:
    entry, owner, home = moment.entry, moment.owner, session.key
    has_left = why == "owner_left"
    is_read_by_others = Address.parse(home).is_group
    rows = []
    if is_read_by_others or not has_left:
        rows.append(_build_row(home, words.build_pause_notice(entry, why, owner.name if is_read_by_others else ""), moment, session))
    if why in {"owner_left", "not_allowed"}:
        leads = tools.gate.deps.approvers.find_leads(owner, lambda _lead: True)
        notice = words.build_pause_notice(entry, why, owner.name)
        rows += [_build_row(lead.key, notice, moment, session) for lead in leads if lead.key != home]
    return rows


def _build_row(chat: str, notice: Notice, moment: _Moment, session: Session) -> OutboxRow:
    label = Notice(code="schedule-cancel-one", args={"definition": moment.entry.name[: words.LONGEST_NAME], "id": words.NONE})
    is_open = notice.code in {"schedule-skipped", "schedule-was-paused"}
    actions = (Action(words=(BUTTON, moment.schedule, "cancel"), label=label),) if is_open else ()
    return outbox.build_reply_row(chat, Reply(notices=(notice,), actions=actions), session.now)


async def _commit(
    moment: _Moment,
    events: Sequence[Event],
    row: InboxRow | None,
    session: Session,
    outbox_rows: Sequence[OutboxRow],
    inbox_new: Sequence[InboxRow] = (),
) -> None:
    timer = build_timer(moment.schedule, moment.entry, events, home=session.key, now=session.now, seq=session.seq)
    done = [row.id] if row is not None else []
    await session.commit(*events, actor="system", outbox=outbox_rows, timers=[timer], inbox_done=done, inbox_new=inbox_new)
