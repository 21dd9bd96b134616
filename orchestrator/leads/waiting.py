"""While a request waits for a lead: whether it got through to them at all, and a reminder. Ring 2; timers of the requester's session."""

from collections.abc import Mapping
from typing import Any

from orchestrator import outgoing
from orchestrator.decisions import title_of
from orchestrator.messages import Notice, say
from orchestrator.session import Session
from orchestrator.turns import Tools
from state.clock import parse_iso
from state.store import InboxRow, OutboxRow, Timer


async def arrived(row: InboxRow, session: Session, tools: Tools) -> None:
    """Tell the one who asked when the card reached no lead: they have never written to the bot, or have blocked it. Raises StoreError."""
    entry = session.state["agent"]["confirmations"].get(row.body["confirmation_id"])
    told: list[OutboxRow] = []
    if entry is not None and _waits(entry, session):
        shown = [lead for lead in entry.get("told") or () if await tools.store.sent_ref(lead, f"card:{entry['confirmation_id']}")]
        if not shown:
            lost = Notice(code="lead-unreached", args={"who": ", ".join(entry.get("told_names") or ()), "what": title_of(entry)})
            told.append(outgoing.reply_row(session.key, say(lost), session.now))
    await session.commit(actor="system", outbox=told, timers=[_over(row, session)], inbox_done=[row.id])


async def remind(row: InboxRow, session: Session, tools: Tools) -> None:
    """Remind every lead who was asked, once; the card is brought again where it did not get through. Raises StoreError."""
    del tools
    entry = session.state["agent"]["confirmations"].get(row.body["confirmation_id"])
    told: list[OutboxRow] = []
    if entry is not None and _waits(entry, session):
        about = {"who": entry["requested_by_name"], "what": title_of(entry), "at": entry["expires_at"]}
        told.append(outgoing.card_row(session.key, entry, session.now))
        told.extend(outgoing.reply_row(lead, say(Notice(code="lead-remind", args=about)), session.now) for lead in entry.get("told") or ())
    await session.commit(actor="system", outbox=told, timers=[_over(row, session)], inbox_done=[row.id])


def _waits(entry: Mapping[str, Any], session: Session) -> bool:
    """Whether there is still something to decide; after a standstill its time may be over before that was noted."""
    return entry["status"] == "requested" and session.now < parse_iso(entry["expires_at"])


def _over(row: InboxRow, session: Session) -> Timer:
    return Timer(id=row.body["timer"], due_at=session.now, session=session.key, kind="", delete=True)
