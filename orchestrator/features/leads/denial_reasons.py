"""A lead's reason for a denial: a click and the next message, or a reply to the card. The card's own session decides."""

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.runtime import outbox
from orchestrator.runtime.decisions import run_decision
from orchestrator.runtime.input_filter import build_cross_session_row, wake
from orchestrator.runtime.session import Session
from orchestrator.runtime.turn import Tools, admit_actor
from state.clock import format_iso
from state.events.leads import DenialReasonAsked, DenialReasonGiven, find_awaited_denial
from state.journal.store import InboxRow

PRESS: Final = "why"
"""Words of the button: ("why", confirmation id, nonce, origin session without its channel, a topic after a dot)."""
KIND: Final = "reason"
"""Kind of the input {confirmation_id, nonce, text}, with {home} until it reaches the card's own session."""
WITHIN: Final = timedelta(minutes=15)
_HOME: Final = re.compile(r"-?[0-9]{1,20}(?:\.[0-9]{1,12})?", re.ASCII)
_SESSION: Final = re.compile(r"tg:-?[0-9]{1,20}(?::[0-9]{1,12})?", re.ASCII)


async def ask_reason(row: InboxRow, session: Session, tools: Tools) -> None:
    """Handle the button «Отклонить с причиной»: the next message here within WITHIN is the reason. Raises StoreError."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    match list(row.body["words"]):
        case [_, str() as confirmation_id, str() as nonce, str() as home] if _HOME.fullmatch(home) and session.key == actor.key:
            event = DenialReasonAsked(
                confirmation_id=confirmation_id,
                nonce=nonce,
                home=f"tg:{home.replace('.', ':')}",
                by=actor.key,
                expires_at=format_iso(session.now + WITHIN),
            )
            asked = outbox.build_reply_row(
                session.key, build_reply(Notice(code="lead-why-ask")), session.now, key=f"why:{confirmation_id}:{row.id}"
            )
            toast = _build_toasts(row, Notice(code="lead-why-toast"), session)
            await session.commit(event, actor=actor.key, outbox=[*toast, asked], inbox_done=[row.id])
        case _:
            await session.commit(actor=actor.key, outbox=_build_toasts(row, Notice(code="card-outdated"), session), inbox_done=[row.id])


async def receive_reason(row: InboxRow, session: Session, tools: Tools) -> None:
    """Pass the reason on to the card's own session; there, deny the card with it. Raises StoreError.

    A reply to a card names the card; the message after a click does not and belongs to the card of that click.
    """
    text, person = str(row.body["text"]), row.actor_key
    if "confirmation_id" not in row.body:
        await _receive_after_click(row, text, session, tools)
        return
    words = {**{name: str(row.body[name]) for name in ("confirmation_id", "nonce")}, "text": text}
    home = str(row.body.get("home") or session.key)
    if home == session.key:
        decision = {"confirmation_id": words["confirmation_id"], "nonce": words["nonce"], "reason": text}
        await run_decision(replace(row, body={**decision, "approve": False, "via": "typed"}), session, tools)
    elif _SESSION.fullmatch(home):
        await session.commit(actor=person, inbox_new=[build_cross_session_row(KIND, row, home, words, session)], inbox_done=[row.id])
        wake(tools.store)
    else:
        await tools.store.finish_inbox(row.id, "quarantined", "a reason for no conversation")


async def _receive_after_click(row: InboxRow, text: str, session: Session, tools: Tools) -> None:
    person = row.actor_key
    asked = find_awaited_denial(session.state, person, session.now)
    if asked is None:
        late = outbox.build_reply_row(session.key, build_reply(Notice(code="card-outdated")), session.now)
        await session.commit(actor=person, outbox=[late], inbox_done=[row.id])
        return
    words = {"confirmation_id": asked["confirmation_id"], "nonce": asked["nonce"], "text": text}
    event = DenialReasonGiven(confirmation_id=asked["confirmation_id"], by=person)
    await session.commit(
        event, actor=person, inbox_new=[build_cross_session_row(KIND, row, asked["home"], words, session)], inbox_done=[row.id]
    )
    wake(tools.store)


def _build_toasts(row: InboxRow, notice: Notice, session: Session) -> list[Any]:
    callback = row.body.get("callback_id")
    return [outbox.build_toast_row(session.key, str(callback), notice, session.now)] if callback else []
