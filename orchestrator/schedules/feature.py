from collections import Counter
from collections.abc import Sequence
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.address import Address
from orchestrator.domain.inputs import FeatureClick
from orchestrator.domain.outputs import Action, Notice, Reply, build_reply
from orchestrator.domain.run_inputs import ScheduleAdd, ScheduleOrder, SchedulesRestored
from orchestrator.gate.call.permissions import find_visible_users
from orchestrator.runs.inputs import MAY_CONTROL
from orchestrator.runs.registry import Engines
from orchestrator.schedules import words
from orchestrator.schedules.firing import BUTTON, Firer
from orchestrator.schedules.orders import Orders, build_button, may_control, tell_restored
from orchestrator.sessions import outbox
from orchestrator.sessions.input_filter import build_cross_session_row
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import CommandSpec, Feature, Tools
from orchestrator.turns.turn import admit_actor, build_click_toasts
from state.journal.schedule_index import TIMER, FoundSchedule, collect_schedules, name_timer
from state.journal.store import InboxRow, OutboxRow

LISTED: Final = 10
ID_SHOWN: Final = 6
"""Characters of its id that tell a schedule from its namesakes."""
PAGE: Final = "page"
"""The order of the button: ("schedule", "page", how many were listed)."""
_DIGITS: Final = 5


async def show_schedules(row: InboxRow, session: Session, tools: Tools) -> None:
    """A private chat also lists, for leads and administrators, schedules of people whose records they see; a group its own."""
    actor = await admit_actor(row, session, tools)
    if actor is not None:
        await _show_page(row, session, tools, actor, 0)


async def _show_page(row: InboxRow, session: Session, tools: Tools, actor: Actor, first: int) -> None:
    schedules = await _collect(session, tools, actor)
    page = schedules[first : first + LISTED]
    known = Counter(one.entry.name for one in schedules)
    marks = {one.schedule: one.schedule[-ID_SHOWN:] if known[one.entry.name] > 1 else "" for one in page}
    heading = Notice(code="schedules-listed", args={"count": len(schedules)})
    lines = [
        words.describe_schedule(
            one,
            actor,
            session.now,
            note=tools.guard.clean_partial(one.entry.note, locale=actor.locale),
            who=_name_owner(one, actor, tools),
            mark=marks[one.schedule],
        )
        for one in page
    ]
    actions = [
        build_button(one.schedule, one.entry, order, marks[one.schedule])
        for one in page
        if may_control(actor, one.entry.owner)
        for order in (("resume", "cancel") if one.entry.status == "paused" else ("cancel",))
    ]
    left = len(schedules) - first - len(page)
    if left > 0:
        lines.append(Notice(code="schedules-more", args={"count": left}))
        actions.append(Action(words=(BUTTON, PAGE, str(first + len(page))), label=Notice(code="schedules-next-page")))
    reply = Reply(notices=(heading, *lines) if not first else tuple(lines), actions=tuple(actions))
    outbox_rows = [outbox.build_reply_row(session.key, reply, session.now), *build_click_toasts(row, session, Notice(code="toast-doing"))]
    await session.commit(actor=actor.key, outbox=outbox_rows, inbox_done=[row.id])


async def _collect(session: Session, tools: Tools, actor: Actor) -> Sequence[FoundSchedule]:
    is_group = Address.parse(session.key).is_group

    def fits(owner: str, home: str) -> bool:
        return home == session.key or (not is_group and (owner == actor.key or _may_see(actor, owner, tools)))

    schedules = await tools.store.read(collect_schedules, fits)
    return sorted(schedules, key=lambda schedule: schedule.entry.owner != actor.key)


def _may_see(actor: Actor, owner: str, tools: Tools) -> bool:
    acting = tools.gate.deps.approvers.apply_delegation(actor)
    if acting.role not in MAY_CONTROL:
        return False
    visible = find_visible_users(acting)
    person = tools.refresh_actor(Actor(key=owner, name=""))
    return visible is None or (person is not None and person.bitrix_user_id in visible)


def _name_owner(schedule: FoundSchedule, actor: Actor, tools: Tools) -> str:
    """Return the owner's name for a list; "" if it is the reader."""
    if schedule.entry.owner == actor.key:
        return ""
    owner = Actor.model_validate(schedule.entry.actor)
    return (tools.refresh_actor(owner) or owner).name


async def take_click(row: InboxRow, session: Session, tools: Tools) -> None:
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    match FeatureClick.model_validate(row.body).words:
        case (_, "page", first) if first.isascii() and first.isdecimal() and len(first) <= _DIGITS:
            await _show_page(row, session, tools, actor, int(first))
        case (_, schedule, ("pause" | "resume" | "cancel") as order):
            await _pass_order(row, session, tools, actor, ScheduleOrder(schedule=schedule, order=order, chat=session.key))
        case _:
            await session.commit(actor=actor.key, outbox=_answer_click(row, session, Notice(code="schedule-gone")), inbox_done=[row.id])


async def _pass_order(row: InboxRow, session: Session, tools: Tools, actor: Actor, schedule_order: ScheduleOrder) -> None:
    timer = await tools.store.find_timer(name_timer(schedule_order.schedule))
    if timer is None:
        await session.commit(actor=actor.key, outbox=_answer_click(row, session, Notice(code="schedule-gone")), inbox_done=[row.id])
        return
    passed = build_cross_session_row(ScheduleOrder.KIND, row, timer.session, schedule_order.to_json(), session)
    outbox_rows = _answer_click(row, session, Notice(code="schedule-passed"))
    await session.commit(actor=actor.key, outbox=outbox_rows, inbox_done=[row.id], inbox_new=[passed])


def _answer_click(row: InboxRow, session: Session, notice: Notice) -> list[OutboxRow]:
    """A toast, or a message where the client has none."""
    return build_click_toasts(row, session, notice) or [outbox.build_reply_row(session.key, build_reply(notice), session.now)]


def build_feature(engines: Engines, *, fires: bool = True) -> Feature:
    """With `fires=False` it only keeps the schedules. Without engines it offers no command; its schedules wait."""
    firer, orders = Firer(engines, fires=fires), Orders(engines)
    return Feature(
        inbox={
            ScheduleAdd.KIND: orders.take_addition,
            ScheduleOrder.KIND: orders.take_order,
            SchedulesRestored.KIND: tell_restored,
        },
        timers={TIMER: firer.fire_due},
        given_up_timers={TIMER: firer.give_up},
        buttons={BUTTON: take_click},
        commands={"schedules": show_schedules} if engines.runs else {},
        command_specs={"schedules": CommandSpec(menu=Notice(code="menu-schedules"), in_groups=True)} if engines.runs else {},
    )
