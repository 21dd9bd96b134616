"""Administrators are told, once, that writes were frozen or may start again. Ring 2.

The input is stored with the switch itself, by whichever process or command worked it: a bot that runs tells them, whenever it runs.
"""

from typing import Any, Final

from orchestrator import outgoing
from orchestrator.gate.frozen import words_of
from orchestrator.leads.choosing import Staff
from orchestrator.messages import Notice, say
from orchestrator.session import Session
from orchestrator.turns import Tools
from state.clock import iso, new_id
from state.freezing import Hand
from state.store import InboxRow

KIND: Final = "freeze_news"
SESSION: Final = "freeze-news"
"""Not that of the switch itself, whose lease nobody may keep."""


def news_row(what: str, hand: Hand, *, reason: str = "") -> InboxRow:
    """The input that tells of it; `what` is "frozen" or "released"."""
    row_id = new_id()
    return InboxRow(
        id=row_id,
        source=f"freeze:{row_id}",
        session=SESSION,
        lane="express",
        kind=KIND,
        actor={"key": hand.key, "name": hand.name},
        body={"what": what, "at": iso(hand.at), "via": hand.via, "reason": reason},
        received_at=hand.at,
    )


async def told(row: InboxRow, session: Session, tools: Tools, *, staff: Staff) -> None:
    """Every administrator but the one who did it reads it in their own chat. Raises StoreError."""
    del tools
    body: dict[str, Any] = dict(row.body)
    code = "frozen-news" if body["what"] == "frozen" else "released-news"
    notice = Notice(code=code, args=words_of(str(row.actor["name"]), body["at"], body["reason"]))
    admins = [person for person in staff.people() if person.role == "admin" and person.key != row.actor["key"]]
    rows = [outgoing.reply_row(person.key, say(notice), session.now) for person in admins]
    await session.commit(actor="system", outbox=rows, inbox_done=[row.id])
