"""Takes orders, their changes, pauses and ends. One commit holds the event, the timer and the message."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice, Reply, build_reply
from orchestrator.domain.standing_orders import MOST_ORDERS, OrderAdd, OrderChange, OrderDo, OrdersRestored, OrderTerms
from orchestrator.features.orders import words
from orchestrator.language.schedule_terms import TermsError, parse_terms
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from orchestrator.turns.turn import admit_actor, build_click_toasts
from state.clock import format_iso, parse_iso
from state.events.base import Event
from state.events.orders import OrderAdded, OrderChanged, OrderEnded, OrderPaused, OrderResumed, list_orders
from state.journal.order_index import build_timer
from state.journal.store import InboxRow, OutboxRow
from state.model.order_state import StandingOrder

LIFETIME: Final = timedelta(days=365)
A_DAY: Final = timedelta(days=1)
"""After its only moment, for a program that did not work then."""


def find_due(terms: OrderTerms, after: datetime) -> str:
    """The next moment as ISO text, "" if changes wake it or no moment is left."""
    if terms.at:
        return terms.at if parse_iso(terms.at) > after else ""
    if not terms.line:
        return ""
    try:
        moments = parse_terms(None, terms.line, terms.zone).list_moments(after, 1)
    except TermsError:  # the zone is gone from this machine
        return ""
    return format_iso(moments[0]) if moments else ""


def find_end(terms: OrderTerms, now: datetime) -> str:
    if terms.until:
        return terms.until
    return format_iso((parse_iso(terms.at) + A_DAY) if terms.at else now + LIFETIME)


async def take_addition(row: InboxRow, session: Session, tools: Tools) -> None:
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    addition = OrderAdd.model_validate(row.body)
    orders = list_orders(session.state)
    if addition.order in orders:
        await session.commit(actor=actor.key, inbox_done=[row.id])
        return
    due = find_due(addition.terms, session.now)
    if len(orders) >= MOST_ORDERS or (addition.terms.kind == "time" and not due):
        refusal = Notice(code="order-too-many", args={"most": MOST_ORDERS}) if due or addition.terms.changes else Notice(code="order-past")
        await session.commit(actor=actor.key, outbox=[_say(session, refusal)], inbox_done=[row.id])
        return
    event = OrderAdded(
        order=addition.order,
        terms=addition.terms.to_json(),
        words=dict(addition.words),
        actor=actor.model_dump(mode="json"),
        due=due,
        until=find_end(addition.terms, session.now),
    )
    entry = StandingOrder(terms=event.terms, words=event.words, actor=event.actor, due=due, until=event.until)
    notice = words.build_event_notice("order-added", entry, actor, session.now)
    await _commit(row, session, actor, addition.order, None, event, [_say(session, notice, (addition.order, "remove"))])


async def take_change(row: InboxRow, session: Session, tools: Tools) -> None:
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    change = OrderChange.model_validate(row.body)
    entry = list_orders(session.state).get(change.order)
    if entry is None:
        await session.commit(actor=actor.key, outbox=[_say(session, Notice(code="order-gone"))], inbox_done=[row.id])
        return
    due, until = find_due(change.terms, session.now), find_end(change.terms, parse_iso(entry.created_at))
    event = OrderChanged(order=change.order, terms=change.terms.to_json(), words=dict(change.words), due=due, until=until)
    changed = entry.with_values(terms=event.terms, words=event.words, due=due, until=until)
    notice = words.build_event_notice("order-changed", changed, actor, session.now)
    await _commit(row, session, actor, change.order, entry, event, [_say(session, notice, (change.order, "remove"))])


async def take_deed(row: InboxRow, session: Session, tools: Tools) -> None:
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    order_do = OrderDo.model_validate(row.body)
    await carry_out(order_do.order, order_do.deed, row, session, actor)


async def carry_out(order: str, deed: str, row: InboxRow, session: Session, actor: Actor) -> None:
    """Pause, resume or remove, by a button or by words; only one's own, in one's own chat."""
    entry = list_orders(session.state).get(order)
    if entry is None or entry.owner != actor.key:
        await session.commit(actor=actor.key, outbox=_answer(row, session, Notice(code="order-gone")), inbox_done=[row.id])
        return
    event: Event
    match deed:
        case "pause" if entry.status == "waiting":
            event, code, button = OrderPaused(order=order, why="person", by=actor.key), "order-person-paused", "resume"
        case "resume" if entry.status == "paused":
            terms = OrderTerms.model_validate(entry.terms)
            due = find_due(terms, session.now)
            if terms.kind == "time" and not due:  # it would wait for nothing
                await session.commit(actor=actor.key, outbox=_answer(row, session, Notice(code="order-past")), inbox_done=[row.id])
                return
            event, code, button = OrderResumed(order=order, by=actor.key, due=due), "order-was-resumed", "pause"
        case "remove":
            event, code, button = OrderEnded(order=order, why="removed", by=actor.key), "order-was-removed", ""
        case _:
            await session.commit(actor=actor.key, outbox=_answer(row, session, Notice(code="order-so-already")), inbox_done=[row.id])
            return
    notice = words.build_event_notice(code, entry, actor, session.now)
    rows = [*build_click_toasts(row, session, Notice(code="toast-doing")), _say(session, notice, (order, button) if button else None)]
    await _commit(row, session, actor, order, entry, event, rows)


async def tell_restored(row: InboxRow, session: Session, tools: Tools) -> None:
    made_at = OrdersRestored.model_validate(row.body).made_at
    restored = {key: entry for key, entry in list_orders(session.state).items() if entry.why == "restored"}
    rows: list[OutboxRow] = []
    if restored:
        stored = Actor.model_validate(next(iter(restored.values())).actor)
        reader = tools.refresh_actor(stored) or stored
        lines = [words.describe_order(entry, reader, session.now, number=number) for number, entry in enumerate(restored.values(), 1)]
        buttons = [words.build_button(order, deed, number) for number, order in enumerate(restored, 1) for deed in ("resume", "remove")]
        heading = Notice(code="orders-restored", args={"at": made_at})
        rows = [outbox.build_reply_row(session.key, Reply(notices=(heading, *lines), actions=tuple(buttons)), session.now)]
    await session.commit(actor="system", outbox=rows, inbox_done=[row.id])


def _say(session: Session, notice: Notice, button: tuple[str, str] | None = None) -> OutboxRow:
    actions = (words.build_button(*button),) if button else ()
    return outbox.build_reply_row(session.key, Reply(notices=(notice,), actions=actions), session.now)


def _answer(row: InboxRow, session: Session, notice: Notice) -> list[OutboxRow]:
    """A toast, or a message where the client has none."""
    return build_click_toasts(row, session, notice) or [outbox.build_reply_row(session.key, build_reply(notice), session.now)]


async def _commit(
    row: InboxRow, session: Session, actor: Actor, order: str, entry: StandingOrder | None, event: Event, rows: Sequence[OutboxRow]
) -> None:
    timer = build_timer(order, entry, [event], home=session.key, now=session.now, seq=session.seq)
    await session.commit(event, actor=actor.key, outbox=rows, timers=[timer], inbox_done=[row.id])
