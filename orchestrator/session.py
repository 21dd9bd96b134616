"""One session under its lease: its folded state, and the only way to append to its journal. Ring 2.

Within the process several tasks may work for a session (a turn and a decision); commits are taken one by one. Between processes the
lease decides, and every append is fenced by its epoch.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from orchestrator.errors import SessionTaken
from state import agent_state
from state.canonical import dumps, sha256
from state.clock import Clock
from state.events import CallSucceeded, Event
from state.journal import SNAPSHOT_EVERY, snapshot_of, state_of
from state.store import Commit, EffectChange, EffectRow, EffectStatus, InboxRow, Lease, OutboxRow, Snapshot, Timer
from state.worker import AsyncStore, to_its_end

LEASE = timedelta(seconds=60)
INLINE_RESULT = 2048
"""Answers above this many characters lie once in the blob table (DESIGN §2)."""


class Session:
    """See the module docstring. Made by `open_session`; implements the gate's Ledger."""

    def __init__(self, store: AsyncStore, clock: Clock, lease: Lease, state: dict[str, Any], seq: int) -> None:
        """Take over a loaded state; use `open_session` instead."""
        self.key = lease.session
        self.stream = f"session:{lease.session}"
        self._store = store
        self._clock = clock
        self._lease = lease
        self._state = state
        self._seq = seq
        self._snapshot_seq = seq
        self._order = asyncio.Lock()
        self.used_at = clock.now()
        """When something was last committed."""
        self.watchers: list[Callable[[Sequence[EffectChange]], None]] = []
        """Told of the effects of each commit, once it is stored and before anything comes of it."""

    @property
    def now(self) -> datetime:
        """The present moment."""
        return self._clock.now()

    @property
    def state(self) -> Mapping[str, Any]:
        """The state after all that was committed."""
        return self._state

    @property
    def seq(self) -> int:
        """The number of the last event."""
        return self._seq

    async def commit(
        self,
        *events: Event,
        actor: str,
        effects: Sequence[EffectChange] = (),
        outbox: Sequence[OutboxRow] = (),
        timers: Sequence[Timer] = (),
        inbox_done: Sequence[str] = (),
        inbox_new: Sequence[InboxRow] = (),
    ) -> None:
        """Append in one transaction and fold. Raises EffectConflict, StaleEpoch or StoreUnwritable and keeps nothing."""
        blobs: dict[str, str] = {}
        slim = [_with_blob(event, blobs) for event in events]
        commit = Commit(
            stream=self.stream,
            epoch=self._lease.epoch,
            actor=actor,
            now=self._clock.now(),
            events=slim,
            effects=effects,
            outbox=outbox,
            timers=timers,
            inbox_done=inbox_done,
            inbox_new=inbox_new,
            blobs=blobs,
        )
        await to_its_end(asyncio.ensure_future(self._store_and_fold(commit)))

    async def _store_and_fold(self, commit: Commit) -> None:
        """Both or neither, whoever is cancelled meanwhile: a state that missed a stored event would part from the journal."""
        async with self._order:
            snapshot = self._due_snapshot()
            stored = await self._store.commit(replace(commit, snapshot=snapshot))
            if snapshot is not None:
                self._snapshot_seq = snapshot.seq
            agent_state.fold(self._state, ((item.type, dict(item.data), item.ts) for item in stored))
            self.used_at = commit.now
            for watcher in self.watchers if commit.effects else ():
                watcher(commit.effects)
            if stored:
                self._seq = stored[-1].seq

    def _due_snapshot(self) -> Snapshot | None:
        """The state as it is before this commit, every SNAPSHOT_EVERY events: it never runs ahead of the log."""
        if self._seq - self._snapshot_seq < SNAPSHOT_EVERY:
            return None
        return snapshot_of(self.stream, self._seq, self._state)

    async def effect(self, effect_id: str) -> EffectRow | None:
        """One effect's row."""
        return await self._store.effect(effect_id)

    async def effects(self, status: EffectStatus) -> list[EffectRow]:
        """The session's effects in that status."""
        return await self._store.effects(self.stream, status)

    async def renew(self) -> None:
        """Keep the lease; raises SessionTaken when it is lost."""
        now = self._clock.now()
        lease = await self._store.acquire(self.key, self._lease.owner, now, now + LEASE)
        if lease is None or lease.epoch != self._lease.epoch:
            raise SessionTaken(f"another process works on {self.key}")

    async def close(self) -> None:
        """Give the lease up."""
        await self._store.release(self._lease)


async def open_session(store: AsyncStore, clock: Clock, key: str, owner: str) -> Session:
    """Take the lease of `key` and load its state; raises SessionTaken when another process holds it."""
    now = clock.now()
    lease = await store.acquire(key, owner, now, now + LEASE)
    if lease is None:
        raise SessionTaken(f"another process works on {key}")
    state, seq = await store.read(state_of, f"session:{key}")
    return Session(store, clock, lease, state, seq)


def _with_blob(event: Event, blobs: dict[str, str]) -> Event:
    """Move a large result into the blob table; the event keeps its digest."""
    if not isinstance(event, CallSucceeded) or event.result is None:
        return event
    text = dumps(event.result)
    if len(text) <= INLINE_RESULT:
        return event
    digest = sha256(text)
    blobs[digest] = text
    return event.model_copy(update={"result": None, "result_blob": digest})
