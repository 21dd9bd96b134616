"""The switch that stops all writes ("freeze"): the gate reads it before each write. Rights are not checked here.

The same commit stores an input that tells the administrators.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from orchestrator.domain.actor import Actor, Staff
from orchestrator.domain.inputs import FreezeNews
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.gate.decide.refusals import to_freeze_args
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from state.clock import format_iso, generate_id, read_boottime
from state.journal import freeze_switch
from state.journal.async_store import AsyncStore, retry_while_busy
from state.journal.freeze_switch import FreezeState, SwitchBusy, SwitchOperator, SwitchResult
from state.journal.store import InboxRow, StoreUnwritable

SURE_FOR: Final = 1.0
"""Seconds for "not frozen"; a freeze is read every time."""
PATIENCE: Final = 8.0
"""Seconds to try while switch or database are busy."""


class LiveSwitch:
    """One instance per process."""

    def __init__(self, store: AsyncStore, clock: Callable[[], float] = read_boottime) -> None:
        self._store = store
        self._clock = clock
        self._free_at: float | None = None

    async def find_freeze(self) -> FreezeState | None:
        """None if writes may start. A second late at most. Raises StoreError."""
        if self._free_at is not None and self._clock() - self._free_at < SURE_FOR:
            return None
        return await self._read_switch()

    async def fetch_freeze(self) -> FreezeState:
        """Not cached; empty if released meanwhile. Raises StoreError."""
        return await self._read_switch() or FreezeState()

    async def freeze(self, hand: SwitchOperator, reason: str = "") -> SwitchResult:
        """After this no write starts. On StoreError the switch is unchanged."""
        self._free_at = None
        tell = [build_news_row("frozen", hand, reason=reason)]
        return await _retry(lambda: self._store.write(freeze_switch.freeze_writes, hand, reason, tell))

    async def release(self, hand: SwitchOperator, seq: int | None = None) -> SwitchResult:
        """With `seq` only that freeze. Raises StoreError."""
        tell = [build_news_row("released", hand)]
        return await _retry(lambda: self._store.write(freeze_switch.release_writes, hand, seq, tell))

    async def _read_switch(self) -> FreezeState | None:
        before = self._clock()
        state = await self._store.read(freeze_switch.find_freeze)
        self._free_at = before if state is None else None
        return state


async def _retry(attempt: Callable[[], Awaitable[SwitchResult]]) -> SwitchResult:
    """Other processes write continuously: a freeze must not give up before they do."""
    return await retry_while_busy(attempt, SwitchBusy, StoreUnwritable, patience=PATIENCE)


NEWS_KIND: Final = FreezeNews.KIND
NEWS_SESSION: Final = "freeze-news"
"""Not the switch's own session, whose lease nobody may keep."""


def build_news_row(what: str, hand: SwitchOperator, *, reason: str = "") -> InboxRow:
    row_id = generate_id()
    news = FreezeNews(what=what, at=format_iso(hand.at), via=hand.via, reason=reason)
    actor = {"key": hand.key, "name": hand.name}
    return news.to_row(NEWS_SESSION, source=f"freeze:{row_id}", actor=actor, now=hand.at, row_id=row_id)


async def tell_administrators(row: InboxRow, session: Session, _tools: Tools, *, staff: Staff) -> None:
    """Not the one who did it."""
    news, by = FreezeNews.model_validate(row.body), Actor.model_validate(row.actor)
    code = "frozen-news" if news.what == "frozen" else "released-news"
    notice = Notice(code=code, args=to_freeze_args(by.name, news.at, news.reason))
    admins = [person for person in staff.list_people() if person.role == "admin" and person.key != by.key]
    rows = [outbox.build_reply_row(person.key, build_reply(notice), session.now) for person in admins]
    await session.commit(actor="system", outbox=rows, inbox_done=[row.id])
