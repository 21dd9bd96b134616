"""Administrators are told, once, that writes were frozen or may start again. Ring 2.

The input is stored with the switch itself, by whichever process or command worked it: a bot that runs tells them, whenever it runs.
"""

from typing import Any, Final

from orchestrator import outgoing
from orchestrator.gate.frozen import to_freeze_args
from orchestrator.leads.choosing import Staff
from orchestrator.messages import Notice, build_reply
from orchestrator.session import Session
from orchestrator.turns import Tools
from state.clock import format_iso, generate_id
from state.freezing import SwitchOperator
from state.store import InboxRow

NEWS_KIND: Final = "freeze_news"
NEWS_SESSION: Final = "freeze-news"
"""Not that of the switch itself, whose lease nobody may keep."""


def build_news_row(what: str, hand: SwitchOperator, *, reason: str = "") -> InboxRow:
    """The input that tells of it; `what` is "frozen" or "released"."""
    row_id = generate_id()
    return InboxRow(
        id=row_id,
        source=f"freeze:{row_id}",
        session=NEWS_SESSION,
        lane="express",
        kind=NEWS_KIND,
        actor={"key": hand.key, "name": hand.name},
        body={"what": what, "at": format_iso(hand.at), "via": hand.via, "reason": reason},
        received_at=hand.at,
    )


async def tell_administrators(row: InboxRow, session: Session, tools: Tools, *, staff: Staff) -> None:
    """Every administrator but the one who did it reads it in their own chat. Raises StoreError."""
    del tools
    body: dict[str, Any] = dict(row.body)
    code = "frozen-news" if body["what"] == "frozen" else "released-news"
    notice = Notice(code=code, args=to_freeze_args(str(row.actor["name"]), body["at"], body["reason"]))
    admins = [person for person in staff.list_people() if person.role == "admin" and person.key != row.actor["key"]]
    rows = [outgoing.build_reply_row(person.key, build_reply(notice), session.now) for person in admins]
    await session.commit(actor="system", outbox=rows, inbox_done=[row.id])
