"""Cards in the chats of leads, denial reasons, reminders, and moves between leads."""

from collections.abc import Mapping
from datetime import datetime, time, timedelta
from functools import partial
from typing import Final
from zoneinfo import ZoneInfo

from orchestrator.domain.actor import Actor, Staff
from orchestrator.domain.inputs import CardTimerDue, DenialReason
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.features.leads import assignment, denial_reasons, lead_inbox, live_policy
from orchestrator.features.leads.assignment import compute_assignment
from orchestrator.gate.approve import confirmations
from orchestrator.gate.approve.card_groups import find_shown_card
from orchestrator.language.work_calendar import MORNING, to_utc
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.decisions import find_title
from orchestrator.turns.feature import Feature, Tools, merge_features
from state.journal.async_store import AsyncStore
from state.journal.store import InboxRow, OutboxRow, Timer
from state.model.card import Card

_NIGHT_FROM: Final = time(21)
_NIGHT_TO: Final = time(8)


async def check_arrival(row: InboxRow, session: Session, tools: Tools) -> None:
    """A lead may have blocked the bot."""
    due = CardTimerDue.model_validate(row.body)
    entry = session.state.cards.get(due.confirmation_id)
    outbox_rows: list[OutboxRow] = []
    if entry is not None and _list_together(entry, session)[:1] == [entry]:
        card = find_shown_card(entry.confirmation_id, session.state, session.key) or entry
        brought = entry.told or ()
        leads = {lead.key for lead in compute_assignment(entry, tools).named_leads} & set(
            brought
        )  # that it reached a lead who is away helps nobody
        arrived = [lead for lead in leads or brought if await tools.store.find_sent_ref(lead, f"card:{card.confirmation_id}")]
        if not arrived:
            lost = Notice(code="lead-unreached", args={"who": ", ".join(entry.told_names or ()), "what": find_title(card)})
            outbox_rows.append(outbox.build_reply_row(session.key, build_reply(lost), session.now))
    await session.commit(actor="system", outbox=outbox_rows, timers=[_build_drop_timer(due, session)], inbox_done=[row.id])


async def remind_leads(row: InboxRow, session: Session, tools: Tools) -> None:
    """Each once and not at night.

    One timer serves all steps of a plan. `left` are leads not yet reminded.
    """
    fired = CardTimerDue.model_validate(row.body)
    entry = session.state.cards.get(fired.confirmation_id)
    together = _list_together(entry, session) if entry is not None else []
    if entry is None or together[:1] != [entry]:
        await session.commit(actor="system", timers=[_build_drop_timer(fired, session)], inbox_done=[row.id])
        return
    lead_assignment = compute_assignment(entry, tools)
    before = set(entry.told or ())
    brought = await assignment.transfer_cards(together, session, tools)
    entry = session.state.cards[entry.confirmation_id]
    what = find_title(find_shown_card(entry.confirmation_id, session.state, session.key) or entry)
    due = [lead for lead in lead_assignment.named_leads if lead.key in (fired.left or before)]
    awake = [lead for lead in due if not _is_night(lead, session.now)]
    later = {lead.key: _find_next_morning(lead, session.now) for lead in due if lead not in awake}
    later |= {lead.key: session.now + tools.gate.policy.remind_lead_after for lead in lead_assignment.notified if lead.key not in before}
    about = {"who": entry.requested_by_name, "what": what, "at": entry.expires_at}
    outbox_rows = [outbox.build_reply_row(lead.key, build_reply(Notice(code="lead-remind", args=about)), session.now) for lead in awake]
    card_rows = [outbox.build_card_row(session.key, entry, session.now)] if awake and not brought else []
    timers = [_postpone_timer(fired, later, session) if later else _build_drop_timer(fired, session)]
    await session.commit(actor="system", outbox=[*brought, *card_rows, *outbox_rows], timers=timers, inbox_done=[row.id])


def _is_night(lead: Actor, now: datetime) -> bool:
    here = now.astimezone(ZoneInfo(lead.time_zone)).time()
    return here >= _NIGHT_FROM or here < _NIGHT_TO


def _find_next_morning(lead: Actor, now: datetime) -> datetime:
    today = now.astimezone(ZoneInfo(lead.time_zone)).date()
    return next(at for days in range(3) if (at := to_utc(today + timedelta(days=days), MORNING, lead.time_zone)) > now)


def _postpone_timer(fired: CardTimerDue, later: Mapping[str, datetime], session: Session) -> Timer:
    """Due at the earliest time of `later`."""
    body = {"confirmation_id": fired.confirmation_id, "left": sorted(later)}
    return Timer(id=fired.timer, due_at=min(later.values()), session=session.key, kind=confirmations.REMIND, body=body)


def _list_together(entry: Card, session: Session) -> list[Card]:
    """Empty if `entry` no longer waits."""
    return next((cards for cards in assignment.list_lead_cards(session) if entry in cards), [])


def _build_drop_timer(due: CardTimerDue, session: Session) -> Timer:
    return Timer(id=due.timer, due_at=session.now, session=session.key, kind="", delete=True)


def build_feature(store: AsyncStore, staff: Staff | None = None) -> Feature:
    """Without `staff` a lead only sees waiting cards."""
    feature = Feature(
        inbox={lead_inbox.SHOW_TO_LEAD: lead_inbox.show_pending_cards, lead_inbox.DETAILS_TO_LEAD: lead_inbox.send_details},
        buttons={lead_inbox.DETAILS_BUTTON: lead_inbox.request_details},
    )
    return merge_features(feature, build_staffed_feature(store, staff)) if staff is not None else feature


def build_staffed_feature(store: AsyncStore, staff: Staff) -> Feature:
    return Feature(
        inbox={
            DenialReason.KIND: denial_reasons.receive_reason,
            assignment.KIND: assignment.transfer_waiting_cards,
            live_policy.KIND: partial(live_policy.tell_administrators, staff=staff),
        },
        timers={confirmations.ARRIVED: check_arrival, confirmations.REMIND: remind_leads},
        buttons={denial_reasons.PRESS: denial_reasons.ask_reason},
        periodic_tasks=(assignment.LeadsWatcher(store, staff).run,),
    )
