from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.address import Address
from orchestrator.domain.outputs import Action, Notice, Reply, build_reply
from orchestrator.domain.run_inputs import MOST, ScheduleAdd, ScheduleOrder, ScheduleOrderName, SchedulesRestored
from orchestrator.language.schedule_terms import Terms, TermsError, check_moment, parse_terms
from orchestrator.runs.inputs import MAY_CONTROL
from orchestrator.runs.registry import Engines
from orchestrator.runs.titles import find_published_title
from orchestrator.schedules import words
from orchestrator.schedules.firing import BUTTON, find_start_refusal
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from orchestrator.turns.turn import admit_actor, build_click_toasts
from state.clock import format_iso, parse_iso
from state.events.base import Event
from state.events.schedules import ScheduleAdded, ScheduleEnded, SchedulePaused, ScheduleResumed, list_schedules
from state.journal.schedule_index import FoundSchedule, build_timer, count_schedules
from state.journal.store import InboxRow, OutboxRow
from state.model.schedule_state import Schedule

FITTING: Final[Mapping[ScheduleOrderName, frozenset[str]]] = {
    "pause": frozenset({"waiting"}),
    "resume": frozenset({"paused"}),
    "cancel": frozenset({"waiting", "paused"}),
}
"""Statuses in which each order fits."""


@dataclass(frozen=True)
class _Change:
    order: ScheduleOrder
    entry: Schedule
    """The schedule before the change."""
    event: Event
    notice: Notice
    button: str = ""
    """The order for which the message has a button, "" for none."""


class Orders:
    def __init__(self, engines: Engines) -> None:
        self._engines = engines

    async def take_addition(self, row: InboxRow, session: Session, tools: Tools) -> None:
        actor = await admit_actor(row, session, tools)
        if actor is None:
            return
        addition = ScheduleAdd.model_validate(row.body)
        if addition.schedule in list_schedules(session.state):
            await session.commit(actor=actor.key, inbox_done=[row.id])
            return
        terms = _read_terms(addition, row, actor.time_zone)
        refusal = terms if isinstance(terms, Notice) else await self._find_refusal(addition, actor, tools)
        if refusal is not None or isinstance(terms, Notice):
            await _answer(row, session, actor, refusal or Notice(code="schedule-gone"))
            return
        first = terms.find_first(session.now)
        if first is None:
            await _answer(row, session, actor, words.NEVER)
            return
        event = ScheduleAdded(
            schedule=addition.schedule,
            engine=addition.engine,
            definition=addition.definition,
            due=format_iso(first),
            cron=terms.cron,
            zone=terms.zone,
            by=addition.by,
            actor=actor.model_dump(mode="json"),
            args=dict(addition.args),
            note=addition.note,
            title=await find_published_title(addition.engine, addition.definition, self._engines),
        )
        entry = Schedule.create(
            engine=addition.engine, definition=addition.definition, title=event.title, due=event.due, cron=event.cron, zone=event.zone
        )
        notice = words.build_added_notice(entry, actor, session.now)
        message = _build_message(session.key, addition.schedule, entry, notice, "cancel", session)
        timer = build_timer(addition.schedule, None, [event], home=session.key, now=session.now, seq=session.seq)
        await session.commit(event, actor=actor.key, outbox=[message], timers=[timer], inbox_done=[row.id])

    async def _find_refusal(self, addition: ScheduleAdd, actor: Actor, tools: Tools) -> Notice | None:
        if await tools.store.read(count_schedules, actor.key) >= MOST:
            return Notice(code="schedule-too-many", args={"most": MOST})
        return await find_start_refusal(self._engines, addition.engine, addition.definition, actor)

    async def take_order(self, row: InboxRow, session: Session, tools: Tools) -> None:
        actor = await admit_actor(row, session, tools)
        if actor is None:
            return
        schedule_order = ScheduleOrder.model_validate(row.body)
        entry = list_schedules(session.state).get(schedule_order.schedule)
        if entry is None:
            await _refuse(row, session, actor, schedule_order, Notice(code="schedule-gone"))
        elif not may_control(actor, entry.owner):
            await _refuse(row, session, actor, schedule_order, Notice(code="schedule-not-yours"))
        elif entry.status not in FITTING[schedule_order.order]:
            await _refuse(row, session, actor, schedule_order, Notice(code="schedule-order-late", args={"status": entry.status}))
        elif schedule_order.order == "resume":
            await self._resume(row, session, tools, actor, schedule_order, entry)
        elif schedule_order.order == "pause":
            event = SchedulePaused(schedule=schedule_order.schedule, why="person", by=actor.key)
            notice = Notice(code="schedule-person-paused", args=_name(entry, actor))
            await _carry_out(row, session, actor, _Change(schedule_order, entry, event, notice, button="resume"))
        else:
            ended = ScheduleEnded(schedule=schedule_order.schedule, why="cancelled", by=actor.key)
            notice = Notice(code="schedule-was-cancelled", args=_name(entry, actor))
            await _carry_out(row, session, actor, _Change(schedule_order, entry, ended, notice))

    async def _resume(self, row: InboxRow, session: Session, tools: Tools, actor: Actor, order: ScheduleOrder, entry: Schedule) -> None:
        """Needs that the owner may still start such runs. Passed moments of a cron line are left out."""
        owner = tools.refresh_actor(Actor.model_validate(entry.actor))
        refusal = (
            await find_start_refusal(self._engines, entry.engine, entry.definition, owner)
            if owner is not None
            else Notice(code="schedule-no-owner")
        )
        if refusal is not None:
            await _refuse(row, session, actor, order, refusal)
            return
        due = entry.due
        if entry.cron and parse_iso(due) <= session.now:
            following = words.list_moments(entry, session.now, 1)
            due = format_iso(following[0]) if following else due
        event = ScheduleResumed(schedule=order.schedule, by=actor.key, due=due)
        schedule = entry.with_values(due=due)
        when = words.describe_when(schedule, actor, session.now).model_dump()
        moment = words.format_moment(due, actor, session.now) if entry.cron else words.NONE
        notice = Notice(code="schedule-was-resumed", args={"definition": entry.name[: words.LONGEST_NAME], "when": when, "moment": moment})
        await _carry_out(row, session, actor, _Change(order, entry, event, notice, button="cancel"))


def _read_terms(addition: ScheduleAdd, row: InboxRow, zone: str) -> Terms | Notice:
    try:
        terms = parse_terms(addition.at, addition.cron, addition.zone or zone)
        check_moment(terms, row.received_at)
    except TermsError as error:
        return words.build_terms_notice(error)
    return terms


def may_control(actor: Actor, owner: str) -> bool:
    """The owner, leads and administrators may."""
    return actor.key == owner or actor.role in MAY_CONTROL


def _name(entry: Schedule, actor: Actor) -> dict[str, object]:
    return {"definition": entry.name[: words.LONGEST_NAME], "who": actor.name[: words.LONGEST_NAME], "person": actor.key}


async def _answer(row: InboxRow, session: Session, actor: Actor, notice: Notice) -> None:
    reply_row = outbox.build_reply_row(session.key, build_reply(notice), session.now)
    await session.commit(actor=actor.key, outbox=[reply_row], inbox_done=[row.id])


async def _refuse(row: InboxRow, session: Session, actor: Actor, schedule_order: ScheduleOrder, notice: Notice) -> None:
    outbox_rows: list[OutboxRow] = build_click_toasts(row, session, notice)
    if not outbox_rows:
        outbox_rows = [outbox.build_reply_row(chat, build_reply(notice), session.now) for chat in _list_chats(session, schedule_order)[-1:]]
    await session.commit(actor=actor.key, outbox=outbox_rows, inbox_done=[row.id])


async def _carry_out(row: InboxRow, session: Session, actor: Actor, change: _Change) -> None:
    order, entry = change.order, change.entry
    messages = [_build_message(chat, order.schedule, entry, change.notice, change.button, session) for chat in _list_chats(session, order)]
    timer = build_timer(order.schedule, entry, [change.event], home=session.key, now=session.now, seq=session.seq)
    toasts = build_click_toasts(row, session, Notice(code="toast-doing"))
    await session.commit(change.event, actor=actor.key, outbox=[*toasts, *messages], timers=[timer], inbox_done=[row.id])


def _list_chats(session: Session, schedule_order: ScheduleOrder) -> list[str]:
    """The schedule's chat and the messenger chat of the order."""
    elsewhere = schedule_order.chat not in {"", session.key} and Address.parse(schedule_order.chat).is_messenger
    return [session.key, schedule_order.chat] if elsewhere else [session.key]


def _build_message(chat: str, schedule: str, entry: Schedule, notice: Notice, button: str, session: Session) -> OutboxRow:
    """`button` is its order, "" for none."""
    actions = (build_button(schedule, entry, button),) if button else ()
    return outbox.build_reply_row(chat, Reply(notices=(notice,), actions=actions), session.now)


def build_button(schedule: str, entry: Schedule, order: str, mark: str = "") -> Action:
    args = {"definition": entry.name[: words.LONGEST_NAME], "id": mark or words.NONE}
    label = Notice(code="schedule-resume-one", args=args) if order == "resume" else Notice(code="schedule-cancel-one", args=args)
    return Action(words=(BUTTON, schedule, order), label=label)


async def tell_restored(row: InboxRow, session: Session, tools: Tools) -> None:
    made_at = SchedulesRestored.model_validate(row.body).made_at
    known = list_schedules(session.state).items()
    restored = [FoundSchedule(schedule=key, home=session.key, entry=schedule) for key, schedule in known if schedule.why == "restored"]
    outbox_rows: list[OutboxRow] = []
    if restored:
        owner = Actor.model_validate(restored[0].entry.actor)
        reader = tools.refresh_actor(owner) or owner
        notes = [tools.guard.clean_partial(one.entry.note, locale=reader.locale) for one in restored]
        lines = [words.describe_schedule(one, reader, session.now, note=note) for one, note in zip(restored, notes, strict=True)]
        actions = [build_button(one.schedule, one.entry, order) for one in restored for order in ("resume", "cancel")]
        heading = Notice(code="schedules-restored", args={"at": made_at})
        outbox_rows = [outbox.build_reply_row(session.key, Reply(notices=(heading, *lines), actions=tuple(actions)), session.now)]
    await session.commit(actor="system", outbox=outbox_rows, inbox_done=[row.id])
