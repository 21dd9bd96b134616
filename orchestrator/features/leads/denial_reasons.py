"""The reason of a lead's denial, typed after a click or in reply to the card. The requester's session denies the card."""

from dataclasses import replace
from datetime import timedelta
from typing import Final

from orchestrator.domain.address import build_sibling_key, is_card_session
from orchestrator.domain.inputs import CardDecision, DenialReason, FeatureClick
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.sessions import outbox
from orchestrator.sessions.input_filter import build_cross_session_row
from orchestrator.sessions.session import Session
from orchestrator.turns.decisions import run_decision
from orchestrator.turns.feature import Tools
from orchestrator.turns.turn import admit_actor, build_click_toasts
from state.clock import format_iso
from state.events.leads import DenialReasonAsked, DenialReasonGiven, find_awaited_denial
from state.journal.store import InboxRow

PRESS: Final = "why"
"""("why", confirmation id, nonce, place); the place is the session's key without channel, a topic after a dot."""
WITHIN: Final = timedelta(minutes=15)


async def ask_reason(row: InboxRow, session: Session, tools: Tools) -> None:
    """The next message is the reason, if it comes within `WITHIN`."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    match FeatureClick.model_validate(row.body).words:
        case (_, confirmation_id, nonce, place) if (
            is_card_session(home := build_sibling_key(session.key, place)) and session.key == actor.key
        ):
            event = DenialReasonAsked(
                confirmation_id=confirmation_id,
                nonce=nonce,
                home=home,
                by=actor.key,
                expires_at=format_iso(session.now + WITHIN),
            )
            reply_row = outbox.build_reply_row(
                session.key, build_reply(Notice(code="lead-why-ask")), session.now, key=f"why:{confirmation_id}:{row.id}"
            )
            toast = build_click_toasts(row, session, Notice(code="lead-why-toast"))
            await session.commit(event, actor=actor.key, outbox=[*toast, reply_row], inbox_done=[row.id])
        case _:
            await session.commit(
                actor=actor.key, outbox=build_click_toasts(row, session, Notice(code="card-outdated")), inbox_done=[row.id]
            )


async def receive_reason(row: InboxRow, session: Session, tools: Tools) -> None:
    """Passed on to the card's session."""
    reason = DenialReason.model_validate(row.body)
    home = reason.home or session.key
    if not reason.confirmation_id:
        await _receive_after_click(row, reason.text, session)
    elif home == session.key:
        decision = CardDecision(confirmation_id=reason.confirmation_id, nonce=reason.nonce, approve=False, via="typed", reason=reason.text)
        await run_decision(replace(row, body=decision.to_json()), session, tools)
    elif is_card_session(home):
        passed = DenialReason(confirmation_id=reason.confirmation_id, nonce=reason.nonce, text=reason.text)
        await session.commit(actor=row.actor_key, inbox_new=[_build_passed_row(passed, row, home, session)], inbox_done=[row.id])
    else:
        await tools.store.finish_inbox(row.id, "quarantined", "a reason for no conversation")


async def _receive_after_click(row: InboxRow, text: str, session: Session) -> None:
    person = row.actor_key
    awaited = find_awaited_denial(session.state, person, session.now)
    if awaited is None:
        late = outbox.build_reply_row(session.key, build_reply(Notice(code="card-outdated")), session.now)
        await session.commit(actor=person, outbox=[late], inbox_done=[row.id])
        return
    passed = _build_passed_row(
        DenialReason(confirmation_id=awaited.confirmation_id, nonce=awaited.nonce, text=text), row, awaited.home, session
    )
    event = DenialReasonGiven(confirmation_id=awaited.confirmation_id, by=person)
    await session.commit(event, actor=person, inbox_new=[passed], inbox_done=[row.id])


def _build_passed_row(denial_reason: DenialReason, row: InboxRow, home: str, session: Session) -> InboxRow:
    return build_cross_session_row(DenialReason.KIND, row, home, denial_reason.to_json(), session)
