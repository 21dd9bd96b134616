"""Shows leads, in their own chat, the cards of others that wait for them. Each card's own session shows it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from bitrix.masking import mask_value
from orchestrator.domain.actor import Actor
from orchestrator.domain.address import build_sibling_key, is_card_session
from orchestrator.domain.card_view import must_be_opened
from orchestrator.domain.inputs import Click, FeatureClick
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.features.leads import assignment
from orchestrator.gate.approve import confirmations
from orchestrator.gate.approve.card_groups import find_group, find_shown_card
from orchestrator.gate.approve.confirmations import build_copy_body
from orchestrator.sessions import outbox
from orchestrator.sessions.grouped_cards import build_plan_details_rows
from orchestrator.sessions.input_filter import build_cross_session_row
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from orchestrator.turns.turn import admit_actor, build_click_toasts
from state.canonical import dumps
from state.events.confirmations import CardOpened
from state.events.fold import list_open_confirmations
from state.journal.journal import load_state, to_stream
from state.journal.store import InboxRow, OutboxRow
from state.model.card import Card

SHOW_TO_LEAD: Final = "show_to_lead"
"""Input for a session, from who must decide."""
DETAILS_TO_LEAD: Final = "details_to_lead"
"""Asks a session for a call: {confirmation_id}."""
DETAILS_BUTTON: Final = "details"
"""("details", confirmation id, place); the place is the session's key without channel, a topic after a dot."""
_LONGEST: Final = timedelta(days=3660)
_MOST: Final = 10_000


async def find_pending_elsewhere(row: InboxRow, actor: Actor, session: Session, tools: Tools) -> tuple[int, list[InboxRow]]:
    """And inputs that show them; (0, []) in a group and for everybody else."""
    if session.key != actor.key or tools.gate.deps.approvers.apply_delegation(actor).role == "manager":
        return 0, []
    timers = await tools.store.list_due_timers(session.now + _LONGEST, _MOST)
    homes = sorted({timer.session for timer in timers if timer.kind == confirmations.TIMER and timer.due_at > session.now} - {session.key})
    counts = {home: len(await _load_waiting_cards(home, actor, tools)) for home in homes}
    inbox_rows = [build_cross_session_row(SHOW_TO_LEAD, row, home, {}, session) for home, count in counts.items() if count]
    return sum(counts.values()), inbox_rows


async def _load_waiting_cards(home: str, actor: Actor, tools: Tools) -> Sequence[Card]:
    """One for all steps of a plan."""
    state, _ = await tools.store.read(load_state, to_stream(home))
    cards = [entry for entry in list_open_confirmations(state) if assignment.is_asked(entry, actor, tools)]
    cards_shown = [find_shown_card(entry.confirmation_id, state, home) or entry for entry in cards]
    return list({card.confirmation_id: card for card in cards_shown}.values())


async def show_pending_cards(row: InboxRow, session: Session, tools: Tools) -> None:
    actor = tools.refresh_actor(Actor.model_validate(row.actor))
    out: list[OutboxRow] = []
    for entries in assignment.list_lead_cards(session) if actor is not None else ():
        cards = [entry for entry in entries if actor is not None and assignment.is_asked(entry, actor, tools)]
        if actor is None or not cards:
            continue
        for entry in cards:
            if actor.key not in (entry.told or ()):
                await assignment.record_assignment(assignment.add_lead(entry, actor, tools), entry, session)
                out.append(outbox.build_card_row(session.key, session.state.cards[entry.confirmation_id], session.now))
        out.append(_build_copy(session.state.cards[cards[0].confirmation_id], actor, session))
    await session.commit(actor=row.actor_key, outbox=out, inbox_done=[row.id])


def _build_copy(entry: Card, lead: Actor, session: Session) -> OutboxRow:
    card_row = outbox.build_card_row(lead.key, entry, session.now, anew=True)
    drawn = assignment.draw_card(replace(card_row, session=session.key), session)
    return replace(drawn, session=lead.key, channel=card_row.channel, body={**build_copy_body(drawn.body, lead.key), "home": session.key})


async def request_details(row: InboxRow, session: Session, tools: Tools) -> None:
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    match FeatureClick.model_validate(row.body).words:
        case (_, confirmation_id, place) if is_card_session(home := build_sibling_key(session.key, place)) and session.key == actor.key:
            toast = build_click_toasts(row, session, Notice(code="lead-details-toast"))
            inbox_rows = [build_cross_session_row(DETAILS_TO_LEAD, row, home, {"confirmation_id": confirmation_id}, session)]
        case _:
            toast, inbox_rows = build_click_toasts(row, session, Notice(code="card-outdated")), []
    await session.commit(actor=actor.key, outbox=toast, inbox_new=inbox_rows, inbox_done=[row.id])


async def send_details(row: InboxRow, session: Session, tools: Tools) -> None:
    """To whom the card was shown and who may decide."""
    actor = tools.refresh_actor(Actor.model_validate(row.actor))
    number = Click.model_validate(row.body).confirmation_id
    entry = session.state.cards.get(number)
    group = find_group(entry, session.state.cards) if entry is not None and find_shown_card(number, session.state, session.key) else None
    members = [entry] if group is None and entry is not None else group.members if group is not None else []
    out: list[OutboxRow] = []
    opened: list[CardOpened] = []
    if actor is not None:
        has_card = any(actor.key in member.told for member in members)
        may_see = has_card and all(assignment.may_decide(member, actor, tools) for member in members)
        if may_see and entry is not None and group is not None:
            out.extend(build_plan_details_rows(actor.key, entry, session.state.cards, session.now, with_calls=actor.role == "admin"))
        elif may_see and entry is not None and entry.has_call:
            out.append(await outbox.build_opened_row(actor.key, entry, session.now, tools.gate.deps.bulk))
            if actor.role == "admin":
                text = f"{entry.method}\n{dumps(mask_value(entry.params))}"
                out.append(outbox.build_code_row(actor.key, text, session.now))
            if entry.is_waiting and must_be_opened(entry, actor.key):
                opened.append(CardOpened(confirmation_id=entry.confirmation_id, by=actor.key))
                out.append(_build_copy(entry.with_values(opened=[*entry.opened, actor.key]), actor, session))
        else:
            out.append(outbox.build_reply_row(actor.key, build_reply(Notice(code="details-none")), session.now))
    await session.commit(*opened, actor=row.actor_key, outbox=out, inbox_done=[row.id])
