"""One open session: its state and the only way to append to its journal.

Only the holder of the lease may commit: the database refuses older epochs. See docs/adr/0014-cost-of-a-turn.md.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TypedDict

from orchestrator.domain.errors import SessionTaken
from orchestrator.sessions.grouped_cards import DescribeCard, keep_card
from orchestrator.sessions.paused_turns import KeptTurns
from orchestrator.sessions.steps import is_reads_only, keep_step, prepare_step
from state.canonical import dumps, loads
from state.clock import Clock, SystemClock, build_lower_id, format_iso
from state.events import fold as agent_state
from state.events.base import Event
from state.journal.async_store import AsyncStore
from state.journal.journal import SNAPSHOT_EVERY, build_snapshot, load_state, to_lease_key, to_stream
from state.journal.run_index import PREFIX as RUN
from state.journal.run_index import RunFilter
from state.journal.store import (
    Commit,
    EffectChange,
    EffectConflict,
    EffectRow,
    EffectStatus,
    InboxRow,
    Lease,
    OutboxRow,
    Snapshot,
    Store,
    StoredEvent,
    StoreError,
    Timer,
)
from state.journal.thread_worker import run_to_end
from state.model.session_state import SessionState
from state.sql.checksummed_json import DamagedRow

log = logging.getLogger(__name__)

LEASE = timedelta(seconds=60)
BUFFER_SECONDS = 0.05
"""Seconds after which a buffered step is stored without a commit."""
MAX_BUFFERED = 200
CARD_MAY_WAIT = timedelta(days=7)
"""How long a card may wait: its index entry dates from the request."""
MAX_CALLS = 200
_NOT_OVER = frozenset({"requested", "approved", "started"})


class _CommitHead(TypedDict):
    stream: str
    epoch: int
    actor: str
    now: datetime
    key_owner: str


class Session:
    """Created by `open_session`. Implements `Ledger`, by which the gate reads and writes the journal."""

    def __init__(self, store: AsyncStore, clock: Clock, lease: Lease, state: SessionState, seq: int) -> None:
        self.key = lease.session
        self.stream = to_stream(lease.session)
        self._store = store
        self._clock = clock
        self._lease = lease
        self._state = state
        self._seq = seq
        self._snapshot_seq = seq
        self._stored = seq
        """The last event known to this process. If a commit was stored in spite of an error, the next one is refused because of it."""
        self.kept_turns = KeptTurns()
        self._order = asyncio.Lock()
        self._buffered: list[Commit] = []
        self._effects: dict[str, EffectRow | None] = {}
        """Rows read or buffered since the last commit; None for ids without a row."""
        self._own_effects: dict[str, EffectRow] = {}
        """Rows of unfinished effects that this session stored; see `_keep_own_effects`."""
        self._unreported_conflict: EffectConflict | None = None
        """The conflict of a buffered step that the timer stored, when no caller could get it."""
        self._store_timer: asyncio.TimerHandle | None = None
        self._storing: set[asyncio.Task[None]] = set()
        self.used_at = clock.now()
        self.settling = asyncio.Lock()
        """Held while an answer to a question of a run is stored, so that only one is."""
        self.describe_card: DescribeCard = keep_card
        """Completes a shown card, for example with the time until which its call can be undone."""
        self.watchers: list[Callable[[Sequence[EffectChange]], None]] = []
        """Called with each stored commit, before anything external follows from it."""

    @property
    def now(self) -> datetime:
        return self._clock.now()

    def mark(self) -> str:
        """The present moment for `measure_since`; correct even if the system clock is changed."""
        return self._clock.mark()

    def measure_since(self, mark: str) -> timedelta | None:
        """None if it cannot be measured."""
        return self._clock.measure_since(mark)

    @property
    def state(self) -> SessionState:
        """The state after everything committed or buffered."""
        return self._state

    @property
    def seq(self) -> int:
        return self._seq

    async def commit(  # noqa: PLR0913 - the parts of a transaction, each with a usual value
        self,
        *events: Event,
        actor: str,
        effects: Sequence[EffectChange] = (),
        outbox: Sequence[OutboxRow] = (),
        timers: Sequence[Timer] = (),
        inbox_done: Sequence[str] = (),
        inbox_new: Sequence[InboxRow] = (),
        blobs: Mapping[str, str] = MappingProxyType({}),
        complete: Callable[[Commit, SessionState], Commit] = keep_step,
    ) -> None:
        """Store the events and all buffered steps in one transaction.

        `complete` may add to the step what depends on the state. Raises EffectConflict, StaleEpoch, StoreUnwritable or RunOver: then
        nothing of this call is stored, and of the buffered steps only those without a conflict after an EffectConflict.
        """
        commit = Commit(
            **self._build_head(actor),
            events=events,
            effects=effects,
            outbox=outbox,
            timers=timers,
            inbox_done=inbox_done,
            inbox_new=inbox_new,
            blobs=blobs,
        )
        async with self._order:  # what a step wakes or ends depends on the state, which steps of other tasks change
            self._raise_dropped_conflict()
            step = prepare_step(complete(commit, self._state), self.key, self._state, self.describe_card)
            await self._store_and_fold(step)

    async def buffer(
        self,
        *events: Event,
        actor: str,
        effects: Sequence[EffectChange] = (),
        outbox: Sequence[OutboxRow] = (),
        timers: Sequence[Timer] = (),
        blobs: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Apply the events now, and store them with the next commit or after `BUFFER_SECONDS`.

        A crash may lose them, so `flush` before anything external follows. On EffectConflict or RunOver nothing is applied.
        """
        commit = Commit(**self._build_head(actor), events=events, effects=effects, outbox=outbox, timers=timers, blobs=blobs)
        if effects or self._order.locked():
            async with self._order:
                step = prepare_step(commit, self.key, self._state, self.describe_card)
                await self._check_effects(step)
                self._add_to_buffer(step)
        else:  # nothing here waits, so no step of another task can come in between
            self._add_to_buffer(prepare_step(commit, self.key, self._state, self.describe_card))
        if self._store_timer is None:
            self._store_timer = asyncio.get_running_loop().call_later(BUFFER_SECONDS, self._store_soon)

    def _add_to_buffer(self, step: Commit) -> None:
        self._fold(step)
        self._buffered.append(step)

    @property
    def is_full(self) -> bool:
        """Whether to flush before more is added."""
        return len(self._buffered) >= MAX_BUFFERED

    async def catch_up(self) -> None:
        """Wait until the events of a commit under way are in the state: its inputs can be seen in the database before."""
        if self._order.locked():
            async with self._order:
                pass

    async def flush(self) -> None:
        """Store what is buffered. Raises EffectConflict, StaleEpoch or StoreUnwritable."""
        if self._buffered or self._unreported_conflict is not None:
            await self._store_waiting()

    async def flush_plan(self) -> None:
        """As `flush`, unless only results of reads are buffered, which can be repeated."""
        if self._unreported_conflict is not None or not all(is_reads_only(step) for step in self._buffered):
            await self._store_waiting()

    def _build_head(self, actor: str) -> _CommitHead:
        run = self._state.run
        owner = run.owner if run is not None else ""
        return {"stream": self.stream, "epoch": self._lease.epoch, "actor": actor, "now": self._clock.now(), "key_owner": owner}

    async def _check_effects(self, step: Commit) -> None:
        """Raises EffectConflict if an effect has another status than expected."""
        changed: dict[str, EffectRow | None] = {}
        for change in step.effects:
            row = changed.get(change.effect_id) or await self.find_effect(change.effect_id)
            if (row.status if row else "absent") not in change.expect:
                raise EffectConflict(f"effect {change.effect_id} does not stand in {' or '.join(change.expect)}")
            changed[change.effect_id] = change.apply_to(row, step.stream, step.now)
        self._effects |= changed

    async def _store_and_fold(self, step: Commit) -> None:
        """Both or neither, even if the caller is cancelled."""

        def fold() -> None:
            self._buffered = []
            self._fold(step)

        try:
            await self._store_steps([*self._buffered, step], self._build_due_snapshot(), fold)
        except EffectConflict:
            with contextlib.suppress(EffectConflict):  # the caller must get the conflict of its own step
                await run_to_end(self._store_one_by_one())
            raise

    async def _store_waiting(self) -> None:
        async with self._order:
            self._raise_dropped_conflict()
            if self._buffered:
                try:
                    await self._store_steps(self._buffered, self._build_due_snapshot(), self._buffered.clear)
                except EffectConflict:
                    await run_to_end(self._store_one_by_one())

    async def _store_one_by_one(self) -> None:
        """After a conflict: steps that have one are dropped, the state is loaded again, and EffectConflict is raised."""
        conflict: EffectConflict | None = None
        while self._buffered:
            try:
                await self._store_steps(self._buffered[:1], None, lambda: None)
            except EffectConflict as error:
                conflict = error
            del self._buffered[0]
        if conflict is not None:
            self._state, self._seq = await self._store.read(load_state, self.stream)
            self._stored = self._seq
            self._effects, self._own_effects = {}, {}
            self.kept_turns.forget_all()
            raise conflict

    async def _store_steps(self, steps: Sequence[Commit], snapshot: Snapshot | None, then: Callable[[], None]) -> None:
        """In one transaction, then call `then`; both even if the caller is cancelled."""
        if self._store_timer is not None:  # even if this fails: nothing may be stored behind a caller who then discards the session
            self._store_timer.cancel()
            self._store_timer = None

        def stored(events: Sequence[StoredEvent]) -> None:
            if events:
                self._stored = events[-1].seq
                self.kept_turns.keep_events(events)
            if snapshot is not None:
                self._snapshot_seq = snapshot.seq
            self._keep_own_effects(steps)
            self.used_at = steps[-1].now
            for step in steps:
                if step.effects:
                    for watcher in self.watchers:
                        watcher(step.effects)
            then()

        await self._store.commit_then(steps[-1]._replace(earlier=steps[:-1], snapshot=snapshot, after=self._stored), stored)

    def _keep_own_effects(self, steps: Sequence[Commit]) -> None:
        """Safe, because nobody else changes these rows while the lease is held."""
        rows = {change.effect_id: self._effects.get(change.effect_id) for step in steps[:-1] for change in step.effects}
        last = steps[-1]
        rows |= {effect.effect_id: effect.apply_to(self._effects.get(effect.effect_id), last.stream, last.now) for effect in last.effects}
        for effect_id, row in rows.items():
            if row is None or row.status not in _NOT_OVER:
                self._own_effects.pop(effect_id, None)
            else:  # a call that will run is kept in its stored form, so that nobody else can modify it
                self._own_effects[effect_id] = replace(row, call=loads(dumps(row.call))) if row.status == "requested" else row
        self._effects = dict(self._own_effects)

    def _fold(self, step: Commit) -> None:
        ts = format_iso(step.now)
        agent_state.fold_events(self._state, [(encoded_event.type, encoded_event.data, ts) for encoded_event in step.encoded_events])
        self._seq += len(step.encoded_events)

    def _store_soon(self) -> None:
        """Called by the timer. After an error the next commit tries again."""
        self._store_timer = None
        task = asyncio.ensure_future(self._store_waiting())
        self._storing.add(task)
        task.add_done_callback(self._on_stored_soon)

    def _on_stored_soon(self, task: asyncio.Task[None]) -> None:
        self._storing.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, EffectConflict):
            self._unreported_conflict = error
            log.error("a noted step was dropped: %s", error, extra={"action": "note_dropped", "session": self.key})
        elif error is not None:
            log.warning("what was noted is not stored yet: %s", error, extra={"action": "note_not_stored", "session": self.key})

    def _raise_dropped_conflict(self) -> None:
        dropped, self._unreported_conflict = self._unreported_conflict, None
        if dropped is not None:
            raise dropped

    def _build_due_snapshot(self) -> Snapshot | None:
        """Stored with the buffered steps, so never ahead of the journal."""
        if self._seq - self._snapshot_seq < SNAPSHOT_EVERY:
            return None
        return build_snapshot(self.stream, self._seq, self._state)

    async def find_effect(self, effect_id: str) -> EffectRow | None:
        """With buffered changes; None if there is none."""
        known = self._effects
        if effect_id not in known:
            row = await self._store.find_effect(effect_id)  # the answer goes into the old cache if a commit replaced it meanwhile
            return known.setdefault(effect_id, row)  # a row buffered meanwhile is newer
        return known[effect_id]

    async def load_blob(self, digest: str) -> str | None:
        return await self._store.load_blob(digest)

    async def find_home(self, stream: str) -> str:
        key = to_lease_key(stream)
        if not key.startswith(RUN):
            return key
        runs = await self._store.list_runs(RunFilter(run_id=key.removeprefix(RUN)))
        return runs[0].home if runs else ""

    def mark_effect_absent(self, effect_id: str) -> None:
        """Spares the next `find_effect` or `buffer` a query."""
        self._effects.setdefault(effect_id, None)

    async def list_effects(self, status: EffectStatus) -> list[EffectRow]:
        await self.flush()
        return await self._store.list_effects(self.stream, status)

    async def find_making_call(self, record: str) -> EffectRow | None:
        """None if no call of this program created the record. Raises StoreError."""
        return await self._store.read(_read_making_call, record)

    async def find_calls_about(self, record: str, within: timedelta) -> list[EffectRow]:
        """Oldest first, at most `MAX_CALLS`: all of the last `within` and some earlier ones."""
        return await self._store.read(_read_calls_about, record, build_lower_id(SystemClock().now() - within - CARD_MAY_WAIT))

    @property
    def owner(self) -> str:
        return self._lease.owner

    async def renew(self) -> None:
        """Raises SessionTaken if the lease was lost."""
        now = self._clock.now()
        lease = await self._store.acquire(self.key, self._lease.owner, now, now + LEASE)
        if lease is None or lease.epoch != self._lease.epoch:
            raise SessionTaken(f"another process works on {self.key}")

    async def close(self) -> None:
        """Stores the buffered steps first."""
        try:
            await self.flush()
        finally:
            if self._store_timer is not None:
                self._store_timer.cancel()
            await self._store.release(self._lease)

    async def discard(self) -> None:
        """Without storing what is buffered: the state may differ from the journal."""
        if self._store_timer is not None:
            self._store_timer.cancel()
        await self._store.release(self._lease)


async def open_session(store: AsyncStore, clock: Clock, key: str, owner: str) -> Session:
    """Raises SessionTaken if another process holds the lease. Cancelling releases it."""
    lease: Lease | None = None

    async def take_lease() -> None:
        nonlocal lease
        now = clock.now()
        lease = await store.acquire(key, owner, now, now + LEASE)

    try:
        await run_to_end(take_lease())
        if lease is None:
            raise SessionTaken(f"another process works on {key}")
        state, seq = await store.read(load_state, to_stream(key))
        return Session(store, clock, lease, state, seq)
    except asyncio.CancelledError:
        if lease is not None:
            with contextlib.suppress(StoreError):
                await run_to_end(store.release(lease))
        raise


def _read_making_call(store: Store, record: str) -> EffectRow | None:
    """None also if the row fails its checksum."""
    index_entries = store.list_last_index_entries(record, "made", 1)
    with contextlib.suppress(DamagedRow):
        return store.find_effect(index_entries[0].effect_id) if index_entries else None
    return None


def _read_calls_about(store: Store, record: str, after: str) -> list[EffectRow]:
    """Oldest first, after the event id `after`."""
    effect_ids = list(dict.fromkeys(reversed(store.list_calls_about(record, after, MAX_CALLS))))
    rows = {row.effect_id: row for row in store.find_effects(effect_ids)}
    return [rows[effect_id] for effect_id in effect_ids if effect_id in rows]
