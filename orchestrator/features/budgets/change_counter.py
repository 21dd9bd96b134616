"""Counts how many changes to the CRM the bot started for each person within the last 24 hours.

All sessions and accounts of the person count together. The number comes from the database's own count; single calls come from the journal,
of which each query reads only the events that are new since the previous one.
"""

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
"""How far back events are read again at each query.

With several writing processes, an event of a slow commit may appear behind events that were already read.
"""


class JournalChangeCounter:
    """Counts the changes started for a person, in all their sessions; the gate uses it to apply the daily limit.

    The gate decides whether a call may run. One instance per process; it implements the protocol `ChangeCounter`.
    """

    def __init__(
        self, store: AsyncStore, wall: Callable[[], datetime] = lambda: SystemClock().now(), *, overlap: timedelta = OVERLAP
    ) -> None:
        """Start with nothing read.

        `wall` returns the current time; it must be the clock that also makes the event ids. `overlap` is how far back each query reads
        events again, because an event of a slow commit by another process may appear late. It may be zero only if a single process writes.
        """
        self._store = store
        self._overlap = overlap
        self._wall = wall
        self._made: dict[str, dict[str, tuple[datetime, int]]] = {}
        """By person, then effect id: time and number of changes of a call.

        A query thus costs what that person did, not what everybody did.
        """
        self._added = 0
        self._read_to: datetime | None = None

    async def count_changes(self, actor: Actor, ledger: Ledger) -> int:
        """Return how many changes the bot started for this person within the last 24 hours. Raises StoreError.

        Of `ledger` (the person's session) only the current time is used. This is the count that commits keep and check; the journal is
        read for a person of whom there is none yet.
        """
        person = build_person_key(actor.key, actor.bitrix_user_id)
        made = await self._store.count_starts(person, ledger.now, actor.key)  # old calls have no employee
        return made if made is not None else sum(change.many for change in await self.list_changes(actor, ledger))

    async def list_changes(self, actor: Actor, ledger: Ledger) -> Sequence[PastStart]:
        """Return the calls that the bot started for this person within the last 24 hours: time, effect id and number of changes of each.

        The effect id is the id of the call. Of `ledger` (the person's session) only the current time is used. Raises StoreError.
        """
        return await self.list_changes_at(actor, ledger.now)

    async def list_changes_at(self, actor: Actor, now: datetime) -> Sequence[PastStart]:
        """Return what `list_changes` returns, for whoever has no session of the person."""
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
        """Read the calls that were started since the last reading. Raises StoreError."""
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
        """Forget changes that are older than a day."""
        kept = {person: {key: item for key, item in mine.items() if now - item[0] < DAY} for person, mine in self._made.items()}
        self._made = {person: mine for person, mine in kept.items() if mine}
        self._added = 0
