"""Counts the changes to the CRM that the bot started for each person, on all their accounts, within the last 24 hours."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.budget import build_person_key
from orchestrator.gate.call.ports import Ledger
from state.clock import SystemClock, build_lower_id, parse_iso
from state.events.calls import CallStarted
from state.journal.async_store import AsyncStore
from state.journal.daily_count import PastStart

DAY: Final = timedelta(days=1)
PAGE: Final = 500
OVERLAP: Final = timedelta(seconds=10)
"""A slow commit may appear behind events that were already read."""


class JournalChangeCounter:
    """The gate's daily limit. One instance per process."""

    def __init__(
        self, store: AsyncStore, wall: Callable[[], datetime] = lambda: SystemClock().now(), *, overlap: timedelta = OVERLAP
    ) -> None:
        """`wall` makes the event ids. `overlap` may be zero only if a single process writes."""
        self._store = store
        self._overlap = overlap
        self._wall = wall
        self._made: dict[str, dict[str, tuple[datetime, int]]] = {}
        """By person, then effect id: a query costs what that person did."""
        self._added = 0
        self._read_to: datetime | None = None

    async def count_changes(self, actor: Actor, ledger: Ledger) -> int:
        """The count that commits keep. Raises StoreError."""
        person = build_person_key(actor.key, actor.bitrix_user_id)
        count = await self._store.count_starts(person, ledger.now, actor.key)  # old calls have no employee
        return count if count is not None else sum(change.many for change in await self.list_changes(actor, ledger))

    async def list_changes(self, actor: Actor, ledger: Ledger) -> Sequence[PastStart]:
        """Raises StoreError."""
        return await self.list_changes_at(actor, ledger.now)

    async def list_changes_at(self, actor: Actor, now: datetime) -> Sequence[PastStart]:
        await self.read_new_events()
        if self._added >= PAGE:
            self._discard_old(now)
        return list(self._list_recent(actor, now))

    def _list_recent(self, actor: Actor, now: datetime) -> Iterator[PastStart]:
        mine = {build_person_key(actor.key, actor.bitrix_user_id), actor.key}  # old calls have no employee
        for person in mine:
            for effect_id, (at, many) in self._made.get(person, {}).items():
                if now - at < DAY:
                    yield PastStart(at=at, effect_id=effect_id, many=many)

    async def read_new_events(self) -> None:
        wall = self._wall()
        since = max(wall - DAY, self._read_to - self._overlap) if self._read_to is not None else wall - DAY
        after = build_lower_id(since)
        while True:
            events = await self._store.scan_clear(("CallStarted",), after, PAGE)
            for event in events:
                call = CallStarted.from_data(event.data)
                mine = self._made.setdefault(build_person_key(call.requested_by, call.requested_by_user), {})
                mine[call.effect_id] = parse_iso(event.ts), call.writes
            self._added += len(events)
            if len(events) < PAGE:
                break
            after = events[-1].id
        self._read_to = wall

    def _discard_old(self, now: datetime) -> None:
        recent = {person: {key: item for key, item in mine.items() if now - item[0] < DAY} for person, mine in self._made.items()}
        self._made = {person: mine for person, mine in recent.items() if mine}
        self._added = 0
