"""The orchestrator: takes inputs in durably, works each session in order, lets decisions and /stop overtake. Ring 2.

One loop looks for sessions with new inbox rows; each (session, lane) is drained by one task. The lease keeps other processes out.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import timedelta
from uuid import uuid4

from orchestrator import commands, decisions, outgoing, pasting, timers, turns
from orchestrator.errors import SessionTaken, SettingsError
from orchestrator.messages import Notice, say
from orchestrator.portal_events.watching import SESSION, TIMER, PortalWatch
from orchestrator.recovering import recover
from orchestrator.session import LEASE, Session, open_session
from orchestrator.turns import Tools
from state.clock import Clock
from state.events import TurnFinished
from state.store import InboxRow, Lane, StaleEpoch, StoreError

log = logging.getLogger(__name__)

POLL = 1.0
MAX_TURNS = 64
MAX_ATTEMPTS = 3
IDLE = timedelta(minutes=10)

Trouble = Callable[[str, Notice], Awaitable[None]]
"""(session, sentence): tell the person directly when not even the outbox can be written."""


class Orchestrator:
    """See the module docstring. `run` works until it is cancelled; `receive` is what doors call."""

    def __init__(
        self, tools: Tools, clock: Clock, *, trouble: Trouble, portal: PortalWatch | None = None, owner: str | None = None
    ) -> None:
        """`portal` watches the portal's events, `owner` names this process in leases."""
        self.tools = tools
        self._portal = portal
        self._clock = clock
        self._trouble = trouble
        self._owner = owner or uuid4().hex
        self._wake = asyncio.Event()
        self._sessions: dict[str, Session] = {}
        self._opening: dict[str, asyncio.Lock] = {}
        self._lanes: dict[tuple[str, Lane], asyncio.Task[None]] = {}
        self._holding: dict[tuple[str, Lane], asyncio.Task[None]] = {}
        self._passed_over: set[tuple[str, Lane]] = set()
        self._troubled: set[str] = set()
        self._excused: dict[str, int] = {}
        """Attempts that came to nothing because of the store, and could not even be given back."""
        self._left: dict[str, Session] = {}
        """Sessions that were given up and not opened again; their leases are released at the end."""
        self._arrived: set[tuple[str, Lane]] = set()
        """Lanes of sessions of this process that got an input: they need no look at the database to be found."""
        self._scan_at = 0.0
        self._turns = asyncio.Semaphore(MAX_TURNS)
        self.listeners: list[Callable[[], None]] = []

    async def listen_to_portal(self) -> str:
        """Find out what the portal has changed while nobody listened; the session that its events belong to. Raises StoreError."""
        if self._portal is None:
            raise SettingsError("the portal is not watched")
        await self.receive([self._portal.start_row(self._clock.now())])
        return self._portal.session

    async def receive(self, rows: Sequence[InboxRow]) -> list[bool]:
        """Store inputs durably, then wake the worker; False where an input was known already. Raises StoreError."""
        fresh = await self.tools.store.put_inbox(rows)
        self._arrived |= {(row.session, row.lane) for row in rows if row.session in self._sessions}
        self._wake.set()
        return fresh

    async def run(self) -> None:
        """Work until cancelled; then let running calls end and give the leases up."""
        self.tools.store.listeners.append(self._look_soon)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._renew())
                while True:
                    self._wake.clear()
                    await self._begin(group)
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(POLL):  # wait_for of Python 3.11 may swallow a cancel that meets a wake
                            await self._wake.wait()
        finally:
            self.tools.store.listeners.remove(self._look_soon)
            while self._sessions:
                _, session = self._sessions.popitem()
                with contextlib.suppress(StoreError):
                    await session.close()
            while self._left:
                _, session = self._left.popitem()
                with contextlib.suppress(StoreError):
                    await session.abandon()

    def _look_soon(self) -> None:
        """Another process may have stored inputs: no arrival of our own may stand in the way of the look."""
        self._scan_at = 0.0
        self._wake.set()

    async def idle(self) -> bool:
        """True when no input waits and none is worked on."""
        return not self._lanes and not await self.tools.store.ready_sessions()

    async def _begin(self, group: asyncio.TaskGroup) -> None:
        """Work what has just arrived; look at the database for what comes otherwise: timers, other doors, other sessions."""
        arrived, self._arrived = self._arrived, set()
        if arrived and time.monotonic() < self._scan_at:
            self._start(arrived, group)
        else:
            self._scan_at = time.monotonic() + POLL
            await self._scan(group)

    async def _scan(self, group: asyncio.TaskGroup) -> None:
        try:
            due = await timers.due(self.tools.store, self._clock.now())
            if due:
                await self.tools.store.put_inbox(due)
            ready = await self.tools.store.ready_sessions(self._owner, self._clock.now())
        except StoreError as error:
            log.error("the store cannot be read: %s", error, extra={"action": "store_trouble"})  # noqa: TRY400 - no stack needed
            return
        self._start(ready, group)

    def _start(self, ready: Iterable[tuple[str, Lane]], group: asyncio.TaskGroup) -> None:
        for key, lane in ready:
            if (key, lane) in self._lanes:
                self._passed_over.add((key, lane))
            else:
                task = group.create_task(self._drain(key, lane))
                self._lanes[key, lane] = task
                task.add_done_callback(self._forgetting(key, lane))

    def _forgetting(self, key: str, lane: Lane) -> Callable[[asyncio.Task[None]], None]:
        def forget(_: asyncio.Task[None]) -> None:
            self._lanes.pop((key, lane), None)
            if (key, lane) in self._passed_over:  # the row may have come after the lane's last look
                self._passed_over.discard((key, lane))
                self._arrived.add((key, lane))
                self._wake.set()

        return forget

    async def _drain(self, key: str, lane: Lane) -> None:
        """Work the rows of one lane in order until none is left."""
        try:
            session = await self._session(key)
            self._holding[key, lane] = self._lanes[key, lane]
            while self._sessions.get(key) is session and (row := await self.tools.store.next_inbox(key, lane)) is not None:
                await self._work_row(row, session)
                self._troubled.discard(key)
                for listener in self.listeners:
                    listener()
        except SessionTaken:
            log.info("session is worked on elsewhere", extra={"action": "session_taken", "session": key})
        except StaleEpoch:
            self._sessions.pop(key, None)
            log.warning("session was taken over", extra={"action": "session_lost", "session": key})
        except StoreError as error:
            self._leave(key)
            log.error("nothing could be stored: %s", error, extra={"action": "store_trouble", "session": key})  # noqa: TRY400
            await self._tell_trouble(key)
            await asyncio.sleep(POLL)
        except Exception:  # one session that cannot be opened must not stop all the others
            log.exception("session cannot be worked on", extra={"action": "session_failed", "session": key})
            await asyncio.sleep(POLL)
        finally:
            self._holding.pop((key, lane), None)

    async def _tell_trouble(self, key: str) -> None:
        """Once for each time the store gives out, not once a second."""
        if key not in self._troubled:
            self._troubled.add(key)
            await self._trouble(key, Notice(code="store-trouble"))

    async def _work_row(self, row: InboxRow, session: Session) -> None:
        if row.attempts - self._excused.get(row.id, 0) > MAX_ATTEMPTS:
            await self._give_up(row, session)
            return
        try:
            await self._dispatch(row, session)
            self._excused.pop(row.id, None)
        except (StoreError, SessionTaken, asyncio.CancelledError):  # the store or a stop: nothing that this input is to blame for
            await self._give_back(row)
            raise
        except Exception:
            log.exception("input failed", extra={"action": "input_failed", "row": row.id, "kind": row.kind})
            # Half a step may be noted: it is stored, and what is begun is recovered, before the input is tried again.
            with contextlib.suppress(StoreError):
                await session.flush()
            self._leave(session.key)
            self._wake.set()

    async def _give_back(self, row: InboxRow) -> None:
        try:
            await self.tools.store.give_back(row.id)
        except StoreError:
            self._excused[row.id] = self._excused.get(row.id, 0) + 1

    def _leave(self, key: str) -> None:
        """Let go of a session whose state may have parted from the journal; it is opened anew."""
        session = self._sessions.pop(key, None)
        if session is not None:
            self._left[key] = session

    async def _give_up(self, row: InboxRow, session: Session) -> None:
        """Tell the person first: a crash in between tells them twice, in the same message, but never not at all."""
        if self._portal is not None and session.key.startswith(SESSION):  # nobody reads there
            log.error("an event of the portal is given up", extra={"action": "event_failed", "row": row.id})
            if row.kind == "timer":
                await self._portal.put_off(row, session)
            await self.tools.store.finish_inbox(row.id, "quarantined", f"gave up after {MAX_ATTEMPTS} attempts")
            return
        current = session.state["turn"]
        events = [TurnFinished(turn_id=row.id, reason="failed")] if current and current["turn_id"] == row.id else []
        over = [timers.drop(row, session)] if row.kind == "timer" else []
        reply = say(Notice(code="failed", args={"id": row.id[-8:]}))
        told = outgoing.reply_row(session.key, reply, session.now, key=f"gave-up:{row.id}")
        await session.commit(*events, actor="system", outbox=[told], timers=over)
        await self.tools.store.finish_inbox(row.id, "quarantined", f"gave up after {MAX_ATTEMPTS} attempts")

    async def _dispatch(self, row: InboxRow, session: Session) -> None:
        match row.kind:
            case "message":
                whole = await pasting.whole(row, session, self.tools.store)
                if whole is not None:
                    await self._turn(whole, session)
            case "decision":
                await decisions.run_decision(row, session, self.tools)
            case "command":
                if row.body["name"] == "stop":
                    self._stop(session.key)
                await commands.run_command(row, session, self.tools)
            case "portal_start" if self._portal is not None:
                await self._portal.started(row, session)
            case "portal_event" if self._portal is not None:
                await self._portal.received(row, session)
            case "timer" if self._portal is not None and row.body["kind"] == TIMER:
                await self._portal.look(row, session)
            case "timer":
                await timers.run_timer(row, session, self.tools)
            case _:
                await self.tools.store.finish_inbox(row.id, "quarantined", f"unknown kind {row.kind}")

    async def _turn(self, row: InboxRow, session: Session) -> None:
        async with self._turns:
            await turns.run_turn(row, session, self.tools)

    def _stop(self, key: str) -> None:
        """Stop the running turn; a call already on its way is heard to its end."""
        context = self.tools.running.get(key)
        if context is not None:
            context.stop()

    async def _session(self, key: str) -> Session:
        async with self._opening.setdefault(key, asyncio.Lock()):
            known = self._sessions.get(key)
            if known is not None:
                return known
            busy = [task for (name, _), task in self._holding.items() if name == key]
            if busy:  # a lane still works with the state that was given up: a second one beside it would part from it
                await asyncio.wait(busy)
            session = await open_session(self.tools.store, self._clock, key, self._owner)
            if self._portal is not None:
                session.watchers.append(self._portal.recent.note)
            await recover(session, self.tools)
            self._sessions[key] = session
            self._left.pop(key, None)
            return session

    async def _let_go(self, key: str) -> None:
        """Give up a session that nobody has used for a while; it is loaded again when somebody writes."""
        async with self._opening.setdefault(key, asyncio.Lock()):
            if not any(name == key for name, _ in self._lanes):
                session = self._sessions.pop(key, None)
                if session is not None:
                    await session.close()

    async def _renew(self) -> None:
        """Keep the leases of the sessions in use."""
        while True:
            await asyncio.sleep(LEASE.total_seconds() / 3)
            for key, session in list(self._sessions.items()):
                try:
                    if self._clock.now() - session.used_at > IDLE:
                        await self._let_go(key)
                    if key in self._sessions:
                        await session.renew()
                except (SessionTaken, StoreError):
                    self._sessions.pop(key, None)
                    log.warning("lease lost", extra={"action": "lease_lost", "session": key})
