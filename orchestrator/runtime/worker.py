"""Stores inputs and handles those of each session in order; decisions and /stop have a lane of their own.

A task, the drain, handles the rows of one lane of a session, under the session's lease.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import NamedTuple
from uuid import uuid4

from bitrix.limits.askers import Asker, ask_for
from bitrix.masking import hide_installed
from orchestrator.domain.errors import SessionTaken
from orchestrator.domain.outputs import Notice
from orchestrator.domain.run_inputs import RunQuestion
from orchestrator.gate.approve.card_groups import list_blind_leads
from orchestrator.gate.undo.undo_policy import add_undo_status
from orchestrator.runtime import dispatch
from orchestrator.runtime.recovery import recover
from orchestrator.sessions.session import LEASE, Session, open_session
from orchestrator.turns.feature import PeriodicTask, Tools
from state.clock import Clock, read_boottime
from state.journal.store import Commit, InboxRow, Lane, StaleEpoch, StoreError
from state.journal.thread_worker import run_to_end
from state.model.card import Card
from state.trace import bind_trace

log = logging.getLogger(__name__)

POLL = 1.0
PERIOD = 20.0
FREQUENT_PERIOD = 3.0
IDLE = timedelta(minutes=10)

LaneKey = tuple[str, Lane]
TellTrouble = Callable[[str, Notice], Awaitable[None]]
"""Tells the person directly when not even the outbox can be written."""


def _hide_secrets(row: InboxRow) -> InboxRow:
    body = hide_installed(row.body)
    return row if body == row.body else replace(row, body=body)


class _ClaimedRow(NamedTuple):
    """Reserved when it was received; the next drain of its lane handles it first."""

    row: InboxRow
    session: Session
    """If another session is open by then, somebody else may have handled the row."""
    alone: bool
    """Whether nothing else waits in the lane."""


class Orchestrator:
    """`run` works until cancelled; front ends pass inputs to `receive`."""

    def __init__(self, tools: Tools, clock: Clock, *, trouble: TellTrouble, owner: str | None = None) -> None:
        """`trouble` tells people that nothing can be stored."""
        self.tools = tools
        self._clock = clock
        self._trouble = trouble
        self.owner = owner or uuid4().hex
        self._wake = asyncio.Event()
        self._sessions: dict[str, Session] = {}
        self._opening: dict[str, asyncio.Lock] = {}
        self._lanes: dict[LaneKey, asyncio.Task[None]] = {}
        self._begun = 0
        self._holding: dict[LaneKey, asyncio.Task[None]] = {}
        self._claiming: set[LaneKey] = set()
        """Lanes whose oldest row is being claimed: no drain may start on them."""
        self._claimed: dict[LaneKey, _ClaimedRow] = {}
        self._passed_over: set[LaneKey] = set()
        self._behind_question: set[str] = set()
        """Sessions in which a question of a run waits to be noted."""
        self._in_hand: set[str] = set()
        self._troubled: set[str] = set()
        self._excused: dict[str, int] = {}
        """Failed attempts because of the store, which do not count towards the limit."""
        self._left: dict[str, Session] = {}
        """Sessions dropped after an error; their leases are released at the end."""
        self._group: asyncio.TaskGroup | None = None
        """None while no drain may be started."""
        self._ending = False
        self.serves: Callable[[str], bool] = lambda _key: True
        """Other keys are left to other processes."""
        self.listeners: list[Callable[[], None]] = []
        self.polled_at: float | None = None
        """On the clock of `read_boottime`. If it is old, the loop hangs."""

    async def start_feature(self, kind: str) -> str:
        """Store its first input, and return the session's key. Raises StoreError, and KeyError for an unknown kind."""
        row = self.tools.features.starts[kind](self._clock.now())
        await self.receive([row])
        return row.session

    async def receive(self, rows: Sequence[InboxRow]) -> list[bool]:
        """Store the inputs and start to handle them; return for each whether it is new. Raises StoreError.

        Secrets of this installation are hidden before (S004-A12).
        """
        rows = [_hide_secrets(row) for row in rows]
        lanes = {(row.session, row.lane) for row in rows}
        free = {lane: self._sessions[lane[0]] for lane in lanes if self._is_free(lane)}
        self._claiming |= free.keys()
        try:
            stored = await self.tools.store.put_inbox(rows, list(free))
        finally:
            self._claiming -= free.keys()
            self._start_passed_over(free)
        new = [row for row, fresh in zip(rows, stored.fresh, strict=True) if fresh]
        for row in stored.claimed:
            lane = row.session, row.lane
            alone = [inbox_row.id for inbox_row in new if (inbox_row.session, inbox_row.lane) == lane] == [row.id]
            self._claimed[lane] = _ClaimedRow(row, free[lane], alone)
        known = {lane for lane in lanes if lane[0] in self._sessions or lane in self._claimed}
        self._start(known)
        if known != lanes:
            self._wake.set()
        return stored.fresh

    def _is_free(self, lane: LaneKey) -> bool:
        """This process holds the session and handles no other row of the lane."""
        return (
            not self._ending
            and lane[0] in self._sessions
            and not any(lane in busy for busy in (self._lanes, self._claiming, self._claimed))
        )

    async def run(self) -> None:
        """Until cancelled; then running calls finish and leases are released."""
        self.tools.store.listeners.append(self._wake.set)
        self.tools.store.watchers.append(self._observe_commit)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._renew())
                group.create_task(self._run_periodic_tasks(self.tools.features.periodic_tasks, PERIOD))
                group.create_task(self._run_periodic_tasks(self.tools.features.frequent_tasks, FREQUENT_PERIOD))
                self._group = group
                try:
                    await self._poll()
                finally:
                    self._group = None
        finally:
            self.tools.store.listeners.remove(self._wake.set)
            self.tools.store.watchers.remove(self._observe_commit)
            await self._close()

    def _observe_commit(self, commit: Commit) -> None:
        """Start to handle the inputs that a commit here has stored."""
        new = [row for step in (*commit.earlier, commit) for row in step.inbox_new if row.id not in self._in_hand]
        if not new:
            return
        lanes = {(row.session, row.lane) for row in new}
        self._start({lane for lane in lanes if lane[0] in self._sessions})
        if not all(lane[0] in self._sessions for lane in lanes):
            self._wake.set()

    async def _poll(self) -> None:
        while True:
            self._wake.clear()
            await self._scan()
            self.polled_at = read_boottime()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POLL):  # wait_for of Python 3.11 may swallow a cancellation that coincides with a wake-up
                    await self._wake.wait()

    async def _close(self) -> None:
        """One error does not keep other sessions open."""
        while self._claimed:
            _, claimed = self._claimed.popitem()
            await self._return_row(claimed.row)
        ends = [session.close for session in self._sessions.values()] + [session.discard for session in self._left.values()]
        self._sessions.clear()
        self._left.clear()
        for end in ends:
            try:
                await end()
            except Exception as error:  # noqa: BLE001 - whatever it is: the lease runs out by itself
                log.warning("a session was not closed: %s", error, extra={"action": "session_not_closed"})

    async def is_idle(self) -> bool:
        """Nothing waits that this process would handle."""
        begun = self._begun
        if self._lanes or any(self.serves(key) for key, _ in await self.tools.store.list_ready_sessions()):
            return False
        return begun == self._begun  # what has begun during the look may have taken the last input, and stores others at its end

    async def _scan(self) -> None:
        try:
            due = await dispatch.collect_due_rows(self.tools.store, self._clock.now())
            if due:
                await self.tools.store.put_inbox(due)
            ready = await self.tools.store.list_ready_sessions(self.owner, self._clock.now())
        except StoreError as error:
            log.error("the store cannot be read: %s", error, extra={"action": "store_trouble"})  # noqa: TRY400 - no stack needed
            return
        self._start([(key, lane) for key, lane in ready if self.serves(key)])

    def _start(self, ready: Iterable[LaneKey]) -> None:
        for key, lane in ready:
            if (key, lane) in self._lanes or (key, lane) in self._claiming:
                self._passed_over.add((key, lane))
            elif self._group is not None and not self._ending:
                task = self._group.create_task(self._drain(key, lane))
                self._lanes[key, lane] = task
                self._begun += 1
                task.add_done_callback(self._build_forget_callback(key, lane))

    def _build_forget_callback(self, key: str, lane: Lane) -> Callable[[asyncio.Task[None]], None]:
        def forget(_: asyncio.Task[None]) -> None:
            self._lanes.pop((key, lane), None)
            self._start_passed_over([(key, lane)])
            if lane == "express" and key in self._behind_question:
                self._behind_question.discard(key)
                self._start([(key, "turn")])

        return forget

    async def finish_running(self, within: float) -> bool:
        """False if something still runs. New inputs are only stored."""
        self._ending = True
        if self._lanes:
            await asyncio.wait(list(self._lanes.values()), timeout=within)
        return not self._lanes

    def _start_passed_over(self, lanes: Iterable[LaneKey]) -> None:
        """Lanes that were busy: their drain may have looked for the last time before the row came."""
        if not self._passed_over:
            return
        late = self._passed_over.intersection(lanes)
        self._passed_over -= late
        self._start(late)

    async def _drain(self, key: str, lane: Lane) -> None:
        try:
            with ask_for(Asker(source=key)):  # whoever had the input stored may have left since
                session = await self._open_session(key)
            self._holding[key, lane] = self._lanes[key, lane]
            last = False
            while not last and not self._ending and self._sessions.get(key) is session:
                if lane == "turn" and await self._is_question_waiting(key):
                    break
                row, last = await self._take_next(session, lane)
                if row is None:
                    break
                await session.catch_up()  # the row may come from a commit that is stored and not in the state yet
                with bind_trace(row.id):
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
            self._drop_session(key)
            log.error("nothing could be stored: %s", error, extra={"action": "store_trouble", "session": key})  # noqa: TRY400
            await self._tell_trouble(key)
            await asyncio.sleep(POLL)
        except Exception:  # one session that cannot be opened must not stop all the others
            log.exception("session cannot be worked on", extra={"action": "session_failed", "session": key})
            await asyncio.sleep(POLL)
        finally:
            self._holding.pop((key, lane), None)
            if (unbegun := self._claimed.pop((key, lane), None)) is not None:
                await self._return_row(unbegun.row)

    async def _is_question_waiting(self, key: str) -> bool:
        """What the person writes would be taken for a new request instead of the answer."""
        express: LaneKey = (key, "express")
        if express not in self._lanes and key not in self._troubled:
            return False
        waiting = await self.tools.store.list_waiting_inbox(key, "express")
        if not any(row.kind == RunQuestion.KIND and not row.body.get("is_over") for row in waiting):
            return False
        self._behind_question.add(key)
        if express not in self._lanes:
            self._start([express])
        return True

    async def _take_next(self, session: Session, lane: Lane) -> tuple[InboxRow | None, bool]:
        """The claimed row, else the oldest, and whether surely no other waits."""
        claimed = self._claimed.pop((session.key, lane), None)
        if claimed is not None and claimed.session is session:
            return claimed.row, claimed.alone
        if claimed is not None:
            await self._return_row(claimed.row)
        return await self.tools.store.take_inbox(session.key, lane), False

    async def _tell_trouble(self, key: str) -> None:
        """Once, and not at each retry."""
        if key not in self._troubled:
            self._troubled.add(key)
            await self._trouble(key, Notice(code="store-trouble"))

    async def _work_row(self, row: InboxRow, session: Session) -> None:
        if row.attempts - self._excused.get(row.id, 0) > dispatch.MAX_ATTEMPTS:
            await dispatch.quarantine_input(row, session, self.tools)
            return
        self._in_hand.add(row.id)
        try:
            with ask_for(dispatch.build_asker(row)):
                await dispatch.run_input(row, session, self.tools)
            self._excused.pop(row.id, None)
        except (StoreError, SessionTaken, asyncio.CancelledError):  # the store or a shutdown: not the fault of this input
            await self._return_row(row)
            raise
        except Exception:
            log.exception("input failed", extra={"action": "input_failed", "row": row.id, "kind": row.kind})
            # Half a step may be buffered: store it, so that recovery resolves what has begun before the input is retried.
            with contextlib.suppress(StoreError):
                await session.flush()
            self._drop_session(session.key)
            self._wake.set()
        finally:
            self._in_hand.discard(row.id)

    async def _return_row(self, row: InboxRow) -> None:
        try:
            await self.tools.store.return_inbox(row.id)
        except StoreError:
            self._excused[row.id] = self._excused.get(row.id, 0) + 1

    def _drop_session(self, key: str) -> None:
        """The state may differ from the journal."""
        session = self._sessions.pop(key, None)
        if session is not None:
            self._left[key] = session

    async def _open_session(self, key: str) -> Session:
        if (known := self._sessions.get(key)) is not None:  # it stays open: what closes an idle session leaves those with a drain alone
            return known
        async with self._opening.setdefault(key, asyncio.Lock()):
            known = self._sessions.get(key)
            if known is not None:
                return known
            busy = [task for (name, _), task in self._holding.items() if name == key]
            if busy:  # a lane still works with the dropped state: a second one beside it would diverge from it
                await asyncio.wait(busy)
            session = await open_session(self.tools.store, self._clock, key, self.owner)
            session.watchers.extend(self.tools.features.watchers)
            session.describe_card = self._describe_card
            try:
                await recover(session, self.tools)
            except asyncio.CancelledError:  # a shutdown: nobody else would release the lease
                with contextlib.suppress(StoreError):
                    await run_to_end(session.discard())
                raise
            self._sessions[key] = session
            self._left.pop(key, None)
            return session

    def _describe_card(self, card: Card, cards: Mapping[str, Card]) -> Card:
        deps = self.tools.gate.deps
        described = add_undo_status(card, cards, now=self._clock.now(), deps=deps)
        blind = list_blind_leads(card, cards, deps, self.tools.refresh_actor)
        return described.with_values(hidden_from=blind) if blind else described

    async def _close_idle_session(self, key: str) -> None:
        async with self._opening.setdefault(key, asyncio.Lock()):
            if not any(name == key for name, _ in self._lanes):
                session = self._sessions.pop(key, None)
                if session is not None:
                    await session.close()

    async def _run_periodic_tasks(self, looks: Sequence[PeriodicTask], every: float) -> None:
        while looks:
            for look in looks:
                try:
                    with ask_for(dispatch.build_own_asker()):
                        await look(self.receive, self._clock.now())
                except Exception:  # one feature that fails must not end the others
                    log.exception("a round failed", extra={"action": "round_failed"})
            await asyncio.sleep(every)

    async def _renew(self) -> None:
        """Renew the leases in use and close idle sessions."""
        while True:
            await asyncio.sleep(LEASE.total_seconds() / 3)
            for key, session in list(self._sessions.items()):
                try:
                    if self._clock.now() - session.used_at > IDLE:
                        await self._close_idle_session(key)
                    if key in self._sessions:
                        await session.renew()
                except (SessionTaken, StoreError):
                    self._sessions.pop(key, None)
                    log.warning("lease lost", extra={"action": "lease_lost", "session": key})
