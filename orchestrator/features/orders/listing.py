"""/orders: the person's standing orders, with buttons to pause, resume and remove each."""

from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.address import Address
from orchestrator.domain.inputs import FeatureClick
from orchestrator.domain.outputs import Action, Notice, Reply, build_reply
from orchestrator.features.orders import words
from orchestrator.features.orders.giving import carry_out
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from orchestrator.turns.turn import admit_actor, build_click_toasts
from state.events.orders import list_orders
from state.journal.store import InboxRow
from state.model.order_state import StandingOrder

LISTED: Final = 10
PAGE: Final = "page"
_DIGITS: Final = 5


async def show_orders(row: InboxRow, session: Session, tools: Tools) -> None:
    actor = await admit_actor(row, session, tools)
    if actor is not None:
        await _show_page(row, session, actor, 0)


async def take_click(row: InboxRow, session: Session, tools: Tools) -> None:
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    match FeatureClick.model_validate(row.body).words:
        case (_, "page", first) if first.isascii() and first.isdecimal() and len(first) <= _DIGITS:
            await _show_page(row, session, actor, int(first))
        case (_, order, ("pause" | "resume" | "remove") as deed):
            await carry_out(order, deed, row, session, actor)
        case _:
            await session.commit(actor=actor.key, outbox=build_click_toasts(row, session, Notice(code="order-gone")), inbox_done=[row.id])


async def _show_page(row: InboxRow, session: Session, actor: Actor, first: int) -> None:
    if Address.parse(session.key).is_group:  # in a group everybody would read what the person watches
        reply = build_reply(Notice(code="orders-elsewhere"))
    else:
        reply = _build_page(list(list_orders(session.state).items()), session, actor, first)
    rows = [outbox.build_reply_row(session.key, reply, session.now), *build_click_toasts(row, session, Notice(code="toast-doing"))]
    await session.commit(actor=actor.key, outbox=rows, inbox_done=[row.id])


def _build_page(orders: list[tuple[str, StandingOrder]], session: Session, actor: Actor, first: int) -> Reply:
    page = list(enumerate(orders[first : first + LISTED], first + 1))
    notices = [words.describe_order(entry, actor, session.now, number=number) for number, (_, entry) in page]
    actions = [
        words.build_button(order, deed, number)
        for number, (order, entry) in page
        for deed in ("resume" if entry.status == "paused" else "pause", "remove")
    ]
    left = len(orders) - first - len(page)
    if left > 0:
        notices.append(Notice(code="schedules-more", args={"count": left}))
        actions.append(Action(words=(words.BUTTON, PAGE, str(first + len(page))), label=Notice(code="schedules-next-page")))
    heading = () if first else (Notice(code="orders-listed", args={"count": len(orders)}),)
    return Reply(notices=(*heading, *notices), actions=tuple(actions))
