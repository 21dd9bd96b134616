from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Final

from orchestrator.domain.inputs import PolicyNews
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.domain.staff import Staff
from orchestrator.features.leads.live_policy import PolicyChange
from orchestrator.gate.call.gate_deps import PolicySource
from orchestrator.sessions import outbox
from orchestrator.sessions.input_filter import build_system_row
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from state.journal.store import InboxRow

KIND: Final = PolicyNews.KIND
SESSION: Final = "policy"
MAX_SHOWN: Final = 5
"""`sdelka policy check` lists all faults."""


class PolicyWatcher:
    """Queues changes of the policy until they are submitted as inputs."""

    def __init__(self) -> None:
        self._news: list[PolicyChange] = []

    def add_news(self, news: PolicyChange) -> None:
        self._news.append(news)

    async def run(self, policies: PolicySource, receive: Callable[[Sequence[InboxRow]], Awaitable[object]], now: datetime) -> None:
        """Raises StoreError; changes not stored stay queued."""
        policies.now()
        await self.deliver_news(receive, now)

    async def deliver_news(self, receive: Callable[[Sequence[InboxRow]], Awaitable[object]], now: datetime) -> None:
        """Raises StoreError; changes not stored stay queued."""
        while self._news:
            news = self._news[0]
            policy_news = PolicyNews(digest=news.digest, faults=news.faults, restart=news.restart)
            source = f"policy:{news.content}:{int(now.timestamp()) // 60}"
            await receive([build_system_row(KIND, SESSION, source, now, body=policy_news.to_json())])
            del self._news[0]


async def tell_administrators(row: InboxRow, session: Session, _tools: Tools, *, staff: Staff) -> None:
    news = PolicyNews.model_validate(row.body)
    notice = Notice(code="policy-restart" if news.restart else "policy-taken", args={"digest": news.digest})
    if news.faults:
        notice = Notice(code="policy-faulty", args={"count": len(news.faults), "faults": "\n".join(news.faults[:MAX_SHOWN])})
    rows = [
        outbox.build_reply_row(person.key, build_reply(notice), session.now) for person in staff.list_people() if person.role == "admin"
    ]
    await session.commit(actor="system", outbox=rows, inbox_done=[row.id])
