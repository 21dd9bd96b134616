from datetime import datetime, timedelta
from typing import Final

from orchestrator.runs.ending import build_forget_row
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Receive, Tools
from state.clock import format_iso
from state.events.runs import RunForgotten
from state.journal.async_store import AsyncStore
from state.journal.blobs import list_digests
from state.journal.pages import iterate_later
from state.journal.run_index import PREFIX, RunFilter
from state.journal.store import InboxRow
from state.model.run_state import ENDED

KEPT: Final = timedelta(days=90)
"""The default time to keep a finished run."""
EVERY: Final = timedelta(hours=6)
AT_ONCE: Final = 200
"""Runs removed in one round."""


class RunRetention:
    """Orders the removal of runs that ended long ago.

    Their records stay for the hash chain, readable until the owner is erased.
    """

    def __init__(self, store: AsyncStore, keep: timedelta) -> None:
        self._store, self._keep = store, keep
        self._next: datetime | None = None

    async def run(self, receive: Receive, now: datetime) -> None:
        if self._next is not None and now < self._next:
            return
        gone = RunFilter(statuses=tuple(sorted(ENDED)), before=format_iso(now - self._keep), limit=AT_ONCE)
        runs = await self._store.list_runs(gone)
        if runs:
            await receive([build_forget_row(PREFIX + row.run_id, now) for row in runs])
        self._next = now + EVERY if len(runs) < AT_ONCE else None


async def forget_run(row: InboxRow, session: Session, tools: Tools) -> None:
    """If the process dies in between, the order comes again."""
    run = session.state.run
    if run is not None and not run.is_over:  # retried at this very moment
        await session.commit(actor="system", inbox_done=[row.id])
        return
    digests = await _list_digests(session, tools.store)
    if run is not None:
        await session.commit(RunForgotten(blobs=len(digests)), actor="system")
    await tools.store.remove_run(session.key, digests)
    await session.commit(actor="system", inbox_done=[row.id])


async def _list_digests(session: Session, store: AsyncStore) -> list[str]:
    """Without texts of definitions, which other runs may share."""
    digests: dict[str, None] = {}
    await session.flush()
    async for event in iterate_later(store, session.stream):
        if event.type != "RunStarted":
            digests |= dict.fromkeys(list_digests(event.type, event.data))
    return list(digests)
