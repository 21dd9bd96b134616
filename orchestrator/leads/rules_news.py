"""The policy file has changed, or has become faulty: administrators are told, each content once. Ring 2."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, Final

from orchestrator import outgoing
from orchestrator.asked import of_the_system
from orchestrator.gate.live_policy import Policies, PolicyNews
from orchestrator.leads.choosing import Staff
from orchestrator.messages import Notice, say
from orchestrator.session import Session
from orchestrator.turns import Tools
from state.store import InboxRow

KIND: Final = "policy_news"
SESSION: Final = "policy"
SHOWN: Final = 5
"""Mistakes of a file that are told; `sdelka policy check` lists all of them."""


class RulesWatch:
    """Takes the news of `LivePolicy` and brings them on their way."""

    def __init__(self) -> None:
        """Nothing has happened yet."""
        self._news: list[PolicyNews] = []

    def tell(self, news: PolicyNews) -> None:
        """For `LivePolicy`; returns at once."""
        self._news.append(news)

    async def look(self, policies: Policies, receive: Callable[[Sequence[InboxRow]], Awaitable[Any]], now: datetime) -> None:
        """Look at the files while nobody asks for anything, and pass on what is new; raises StoreError and keeps what is left."""
        policies.now()
        await self.pass_on(receive, now)

    async def pass_on(self, receive: Callable[[Sequence[InboxRow]], Awaitable[Any]], now: datetime) -> None:
        """Store all that is new as inputs; raises StoreError and keeps what is left."""
        while self._news:
            news = self._news[0]
            body = {"digest": news.digest, "faults": list(news.faults), "restart": news.restart}
            source = f"policy:{news.content}:{int(now.timestamp()) // 60}"
            await receive([of_the_system(KIND, SESSION, source, now, body=body)])
            del self._news[0]


async def told(row: InboxRow, session: Session, tools: Tools, *, staff: Staff) -> None:
    """Every administrator reads it in their own chat. Raises StoreError."""
    del tools
    faults = [str(fault) for fault in row.body["faults"]]
    notice = Notice(code="policy-restart" if row.body["restart"] else "policy-taken", args={"digest": row.body["digest"]})
    if faults:
        notice = Notice(code="policy-faulty", args={"count": len(faults), "faults": "\n".join(faults[:SHOWN])})
    rows = [outgoing.reply_row(person.key, say(notice), session.now) for person in staff.people() if person.role == "admin"]
    await session.commit(actor="system", outbox=rows, inbox_done=[row.id])
