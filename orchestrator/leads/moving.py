"""A lead goes away or comes back while cards wait: they are brought to whoever decides now, at once. Ring 2."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from orchestrator import outgoing
from orchestrator.asked import build_system_row
from orchestrator.decisions import find_title
from orchestrator.gate import confirmations
from orchestrator.leads.asking import compute_assignment, is_for_lead, remember
from orchestrator.leads.choosing import LeadApprovers, Staff
from orchestrator.messages import Actor, Notice, build_reply
from orchestrator.session import Session
from orchestrator.turns import Receive, Tools
from state.agent_state import list_open_confirmations
from state.canonical import dumps, hash_text
from state.clock import generate_id, parse_iso
from state.store import InboxRow, OutboxRow, Timer
from state.worker import AsyncStore

KIND: Final = "leads_changed"
"""Kind of the input that has a conversation ask anew who decides about its cards."""
_KNOWN: Final = "leads:standing"
_LONGEST: Final = timedelta(days=3660)
_MOST: Final = 10_000


class LeadsWatcher:
    """Notices that somebody else decides than at the last round, also where that was before a restart. A round of the orchestrator."""

    def __init__(self, store: AsyncStore, staff: Staff) -> None:
        """Nothing is read yet."""
        self._store = store
        self._staff = staff
        self._known: str | None = None

    async def run(self, receive: Receive, now: datetime) -> None:
        """Hand in one input for each conversation where cards wait; may raise StoreError, and is then done again."""
        present = hash_text(dumps(LeadApprovers(self._staff, lambda: now).map_deciders()))
        if present == self._known:
            return
        known = await self._store.get_value(_KNOWN)
        if known is not None and known != present:
            timers = await self._store.list_due_timers(now + _LONGEST, _MOST)
            sessions = {timer.session for timer in timers if timer.kind == confirmations.TIMER and timer.due_at > now}
            if sessions:
                await receive(
                    [
                        build_system_row(KIND, session, f"leads:{session}:{present}:{int(now.timestamp())}", now)
                        for session in sorted(sessions)
                    ]
                )
        if known != present:
            await self._store.set_value(_KNOWN, present)
        self._known = present


async def transfer_waiting_cards(row: InboxRow, session: Session, tools: Tools) -> None:
    """Bring each card that waits for a lead to whoever decides now, and tell the one who asked. Raises StoreError.

    What stands already is left alone: worked twice it brings no second card.
    """
    out: list[OutboxRow] = []
    looks: list[Timer] = []
    for entry in list_open_confirmations(dict(session.state)):
        if session.now < parse_iso(entry["expires_at"]) and is_for_lead(entry) and (brought := await transfer_card(entry, session, tools)):
            out.extend(brought)
            looks.append(confirmations.build_arrival_timer(entry, session))
    await session.commit(actor="system", outbox=out, timers=looks, inbox_done=[row.id])


async def transfer_card(entry: Mapping[str, Any], session: Session, tools: Tools) -> list[OutboxRow]:
    """The card where it belongs by now, nothing where it lies there already; whoever decides no more keeps no button.

    Who is asked from now on is noted.
    """
    before = list(entry.get("told") or ())
    if not await remember(compute_assignment(entry, tools), entry, session):
        return []
    entry = session.state["agent"]["confirmations"][entry["confirmation_id"]]
    left = [
        lead for lead in before if lead not in entry["told"] and tools.refresh_actor(Actor(key=lead, name=""))
    ]  # others read nothing more
    gone = [lead for lead in left if await tools.store.find_sent_ref(lead, f"card:{entry['confirmation_id']}")]
    shown = outgoing.build_card_row(session.key, entry, session.now)
    return [shown, *(_build_closed_copy(shown, lead, entry) for lead in gone), *build_news_rows(entry, session)]


def build_news_rows(entry: Mapping[str, Any], session: Session) -> list[OutboxRow]:
    """The one who asked is told for whom they wait now."""
    who = ", ".join(entry.get("told_names") or ())
    told = Notice(code="lead-moved", args={"who": who, "what": find_title(entry)})
    return [
        outgoing.build_reply_row(
            session.key, build_reply(told if who else Notice(code="lead-gone", args={"what": find_title(entry)})), session.now
        )
    ]


def _build_closed_copy(shown: OutboxRow, lead: str, entry: Mapping[str, Any]) -> OutboxRow:
    """The copy of somebody who decides no more."""
    body = {**shown.body, "home": shown.session, "status": "elsewhere", "told": list(entry["told"])}
    return replace(shown, id=generate_id(), session=lead, channel=outgoing.parse_channel(lead), body=body)
