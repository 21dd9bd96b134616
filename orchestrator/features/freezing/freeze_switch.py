"""The switch that stops ("freezes") all writes to the portal: the gate reads it before each write, front ends operate it.

The process that freezes or releases writes stores an input in the same commit. A running bot handles that input, even if much later, and
tells the administrators that writes were frozen or released. Rights are not checked here.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.inputs import FreezeNews
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.domain.staff import Staff
from orchestrator.gate.decide.freeze_check import to_freeze_args
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from state.clock import format_iso, generate_id, read_boottime
from state.journal import freeze_switch
from state.journal.async_store import AsyncStore
from state.journal.freeze_switch import FreezeState, SwitchBusy, SwitchOperator, SwitchResult
from state.journal.store import InboxRow, StoreUnwritable

SURE_FOR: Final = 1.0
"""Seconds for which the answer "not frozen" is cached; a freeze is read from the database every time."""
PATIENCE: Final = 8.0
"""Seconds to keep trying while the switch or the database is busy, for example because a process died while it operated the switch."""


class LiveSwitch:
    """The freeze switch, stored in the database. The gate asks it before each write; it implements `FreezeSwitch`.

    One instance per process.
    """

    def __init__(self, store: AsyncStore, clock: Callable[[], float] = read_boottime) -> None:
        """Start without a cached state of the switch; `clock` is a monotonic clock, unaffected by changes of the time of day."""
        self._store = store
        self._clock = clock
        self._free_at: float | None = None

    async def find_freeze(self) -> FreezeState | None:
        """Return the freeze that stops all writes now (who set it, why, its number); None if writes may start. Raises StoreError.

        A freeze by another process may be noticed one second late, because the answer "not frozen" is cached.
        """
        if self._free_at is not None and self._clock() - self._free_at < SURE_FOR:
            return None
        return await self._read_switch()

    async def fetch_freeze(self) -> FreezeState:
        """Return the freeze that stops all writes now, read from the database and not from the cache. Raises StoreError.

        It is used to tell a person why their call was just stopped. If writes were released meanwhile, return an empty `FreezeState`.
        """
        return await self._read_switch() or FreezeState()

    async def freeze(self, hand: SwitchOperator, reason: str = "") -> SwitchResult:
        """Stop all writes and tell the administrators; after this method returns, no write starts.

        `hand` is who operates the switch. Raises StoreError; the switch is unchanged then.
        """
        self._free_at = None
        tell = [build_news_row("frozen", hand, reason=reason)]
        return await _retry_while_busy(lambda: self._store.write(freeze_switch.freeze_writes, hand, reason, tell))

    async def release(self, hand: SwitchOperator, seq: int | None = None) -> SwitchResult:
        """Allow writes again, and tell the administrators. Raises StoreError.

        If `seq` (the number of a freeze) is given, writes are released only if that freeze is still in force.
        """
        tell = [build_news_row("released", hand)]
        return await _retry_while_busy(lambda: self._store.write(freeze_switch.release_writes, hand, seq, tell))

    async def _read_switch(self) -> FreezeState | None:
        before = self._clock()
        found = await self._store.read(freeze_switch.find_freeze)
        self._free_at = before if found is None else None
        return found


async def _retry_while_busy(attempt: Callable[[], Awaitable[SwitchResult]]) -> SwitchResult:
    """Call `attempt` again while the switch or the database is busy, and return its result.

    After `PATIENCE` seconds, raise the error of the last attempt.
    """
    until = read_boottime() + PATIENCE
    while True:
        try:
            return await attempt()
        except (SwitchBusy, StoreUnwritable):  # other processes write continuously: a freeze must not give up before they do
            if read_boottime() > until:
                raise
            await asyncio.sleep(0.05)


NEWS_KIND: Final = FreezeNews.KIND
NEWS_SESSION: Final = "freeze-news"
"""The session of these news. It is not that of the switch itself, whose lease nobody may keep."""


def build_news_row(what: str, hand: SwitchOperator, *, reason: str = "") -> InboxRow:
    """Return the input that tells the administrators of a change of the switch.

    `what` is "frozen" or "released", `hand` is who operated the switch.
    """
    row_id = generate_id()
    news = FreezeNews(what=what, at=format_iso(hand.at), via=hand.via, reason=reason)
    actor = {"key": hand.key, "name": hand.name}
    return news.to_row(NEWS_SESSION, source=f"freeze:{row_id}", actor=actor, now=hand.at, row_id=row_id)


async def tell_administrators(row: InboxRow, session: Session, _tools: Tools, *, staff: Staff) -> None:
    """Tell every administrator that writes were frozen or released, except the one who did it, each in their own chat.

    Raises StoreError.
    """
    news, by = FreezeNews.model_validate(row.body), Actor.model_validate(row.actor)
    code = "frozen-news" if news.what == "frozen" else "released-news"
    notice = Notice(code=code, args=to_freeze_args(by.name, news.at, news.reason))
    admins = [person for person in staff.list_people() if person.role == "admin" and person.key != by.key]
    rows = [outbox.build_reply_row(person.key, build_reply(notice), session.now) for person in admins]
    await session.commit(actor="system", outbox=rows, inbox_done=[row.id])
