"""Lets runs of a missing engine wait, and go on by themselves when it is back."""

import logging
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from orchestrator.domain.errors import RunOver
from orchestrator.domain.outputs import Action, Notice, Reply
from orchestrator.runs.ending import build_engine_back_row, find_owner
from orchestrator.runs.questions import BUTTON
from orchestrator.runs.registry import Engines
from orchestrator.runs.titles import NONE
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.sessions.steps import build_play_row
from orchestrator.turns.feature import Receive, Tools
from state.events.runs import WHOLE, RunWaits, RunWoken
from state.journal.async_store import AsyncStore
from state.journal.run_index import NO_TIME, PREFIX, RunFilter
from state.journal.store import InboxRow
from state.model.run_state import RunState

BY: Final = "engine"
"""In the place of the person who has paused a run."""
EVERY: Final = timedelta(hours=6)
_PAGE: Final = 500
_OPEN: Final = ("running", "waiting", "paused")
log = logging.getLogger(__name__)


class EngineAbsent(LookupError):
    pass


async def rest_without_engine(run: RunState, session: Session, done: Sequence[str]) -> None:
    """`done` are the ids of the inputs finished with it."""
    log.warning("a run waits for its engine", extra={"action": "run_without_engine", "run": session.key, "engine": run.engine})
    name = NONE if find_owner(run).for_customers else run.name
    cancel = Action(words=(BUTTON, session.key.removeprefix(PREFIX), "cancel"), label=Notice(code="run-cancel-one", args=_name(name)))
    reply = Reply(notices=(Notice(code="run-engine-away", args=_name(name)),), actions=(cancel,) if name != NONE else ())
    messages = [outbox.build_reply_row(session.key, reply, session.now)]
    try:
        await session.commit(RunWaits(node=WHOLE, on="pause", by=BY), actor=run.owner or "system", outbox=messages, inbox_done=done)
    except RunOver:  # it was ended at this very moment
        await session.commit(actor="system", inbox_done=done)


def _name(title: str) -> dict[str, object]:
    return {"definition": title, "id": NONE}


async def take_engine_back(row: InboxRow, session: Session, tools: Tools, *, engines: Engines) -> None:
    """A run paused by a person stays paused."""
    async with session.settling:
        run = session.state.run
        if run is None or run.status != "paused" or run.engine not in engines.runs or not await _waits_for_engine(session, tools.store):
            await session.commit(actor="system", inbox_done=[row.id])
            return
        play = build_play_row(session.key, session.now)
        await session.commit(RunWoken(node=WHOLE, by="resume"), actor=run.owner or "system", inbox_done=[row.id], inbox_new=[play])


async def _waits_for_engine(session: Session, store: AsyncStore) -> bool:
    """Whether the last pause is one of `rest_without_engine`."""
    await session.flush()
    last, before = "", session.seq
    while not last and before > 0:
        events = await store.read_events(session.stream, after=max(0, before - _PAGE), limit=_PAGE)
        pauses = [event for event in events if event.type == RunWaits.__name__ and event.data["node"] == WHOLE]
        last, before = (str(pauses[-1].data.get("by", "")) if pauses else ""), before - _PAGE
    return last == BY


class EngineReturns:
    """A periodic task; logs the engines still missing."""

    def __init__(self, engines: Engines, store: AsyncStore) -> None:
        self._engines, self._store = engines, store
        self._next: datetime | None = None

    async def run(self, receive: Receive, now: datetime) -> None:
        if self._next is not None and now < self._next:
            return
        self._next = now + EVERY
        absent: Counter[str] = Counter()
        after = (NO_TIME, "")
        while rows := await self._store.list_runs(RunFilter(statuses=_OPEN, after=after, limit=_PAGE)):
            absent.update(row.engine for row in rows if row.engine not in self._engines.runs)
            if back := [row for row in rows if row.status == "paused" and row.engine in self._engines.runs]:
                await receive([build_engine_back_row(PREFIX + row.run_id, now) for row in back])
            after = rows[-1].started_at, rows[-1].run_id
        for engine, count in sorted(absent.items()):
            log.warning(
                "%d runs wait for the engine %s, which is not here", count, engine, extra={"action": "engine_absent", "engine": engine}
            )
