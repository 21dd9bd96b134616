"""Looks for changes, once a minute for all orders together, sooner after an event of the portal; only while some order waits for changes.

What it finds becomes inputs of the sessions of the orders. Their sources name the look, so that one that is repeated stores nothing twice.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.inputs import SYSTEM
from orchestrator.domain.standing_orders import (
    NEW,
    ChangedRecord,
    Look,
    OrderFault,
    OrderHit,
    OrderTerms,
    RecordNews,
    RecordWatch,
    WatchFailed,
)
from orchestrator.expressions.conditions import Condition, ConditionFailed, compile_condition
from orchestrator.turns.feature import Receive, RefreshActor
from state.canonical import dumps, hash_text
from state.clock import parse_iso
from state.journal.async_store import AsyncStore
from state.journal.order_index import list_watching_homes, load_orders
from state.journal.store import InboxRow
from state.model.order_state import StandingOrder

log = logging.getLogger(__name__)
EVERY: Final = timedelta(seconds=60)
SKEW: Final = timedelta(minutes=2)
"""By which the portal's clock may go behind ours."""
_MOST_TRIES: Final = 5
_MOST_RECORDS: Final = 50
"""Of one order in one look; the others are counted."""


class OrderLooker:
    def __init__(self, store: AsyncStore, watch: RecordWatch, present: RefreshActor) -> None:
        self._store, self._watch, self._present = store, watch, present
        self._orders: dict[str, tuple[int, Mapping[str, StandingOrder]]] = {}
        self._looked_at: datetime | None = None
        self._is_urgent = False
        self._tried: Counter[str] = Counter()
        """By order, the looks in a row that failed."""

    def hurry(self) -> None:
        """The portal has told of a change."""
        self._is_urgent = True

    async def run_urgent(self, receive: Receive, now: datetime) -> None:
        if self._is_urgent:
            await self._look(receive, now)

    async def run(self, receive: Receive, now: datetime) -> None:
        """May raise StoreError."""
        if self._looked_at is None or not timedelta() <= now - self._looked_at < EVERY:
            await self._look(receive, now)

    async def _look(self, receive: Receive, now: datetime) -> None:
        is_urgent, self._is_urgent, self._looked_at = self._is_urgent, False, now
        homes = await self._store.read(list_watching_homes)
        if not homes:
            return

        async def tell(look: Look) -> None:
            rows = [row for home in homes for row in await self._find_rows(home, look, now)]
            if rows:
                await receive(rows)

        await self._watch.look(tell, is_urgent=is_urgent)

    async def _find_rows(self, home: str, look: Look, now: datetime) -> list[InboxRow]:
        rows = []
        for order, entry in (await self._load(home)).items():
            terms = OrderTerms.model_validate(entry.terms)
            if entry.status == "paused" or terms.kind != "change" or now >= parse_iso(entry.until):
                continue
            row = await self._find_row(order, entry, terms, look)
            if row is not None:
                rows.append(row.to_row(home, source=f"order:{order}:{look.name}", actor=SYSTEM, now=now))
        return rows

    async def _find_row(self, order: str, entry: StandingOrder, terms: OrderTerms, look: Look) -> OrderHit | OrderFault | None:
        begin = (parse_iso(entry.since) - SKEW).timestamp()
        hits = list(select_hits(terms, [one for one in look.news if one.at >= begin]))
        actor = self._present(Actor.model_validate(entry.actor)) if hits else None
        if not hits:
            return None
        if actor is None:  # the handler pauses it
            return OrderHit(order=order)
        try:
            matching = await self._watch.select_matching(terms, [one.record for one in hits], actor)
        except WatchFailed as failure:
            self._tried[order] += 1
            if failure.code == "later" and self._tried[order] < _MOST_TRIES:
                raise
            # One that fails at each look would keep the news of all others back.
            return OrderFault(order=order, why="failed" if failure.code == "later" else failure.code, detail=failure.text)
        del self._tried[order]
        records = [build_record(terms, one) for one in hits if one.record in matching]
        return OrderHit(order=order, records=tuple(records[:_MOST_RECORDS]), more=max(0, len(records) - _MOST_RECORDS)) if records else None

    async def _load(self, home: str) -> Mapping[str, StandingOrder]:
        """Read again only when something was stored in the session since."""
        seq, _ = await self._store.read_head(f"session:{home}")
        known = self._orders.get(home)
        if known is None or known[0] != seq:
            known = self._orders[home] = (seq, await self._store.read(load_orders, home))
        return known[1]


def select_hits(terms: OrderTerms, news: Iterable[RecordNews]) -> Iterator[RecordNews]:
    """Those in which something changed that the order watches, by its condition."""
    condition = _compile(terms.condition) if terms.condition else None
    for one in news:
        if one.counted != terms.counted or not one.changed & frozenset(terms.changes):
            continue
        if condition is None or _holds(condition, one):
            yield one


def _holds(condition: Condition, one: RecordNews) -> bool:
    """Not of a record in which a value is missing: it was tried with all values when the order was given."""
    try:
        return bool(condition.evaluate({"before": dict(one.before), "now": dict(one.now)}))
    except ConditionFailed:
        return False


@lru_cache(1000)
def _compile(source: str) -> Condition:
    return compile_condition(source, known=("before", "now"))


def build_record(terms: OrderTerms, one: RecordNews) -> ChangedRecord:
    names = [name for name in terms.changes if name in one.changed and name != NEW]
    before, after = ({name: _to_text(values.get(name)) for name in names} for values in (one.before, one.now))
    state = hash_text(dumps([one.at, sorted(one.changed), [after[name] for name in names]]))[:16]
    return ChangedRecord(target=f"{terms.record_kind}:{one.record}", before=before, after=after, state=state)


def _to_text(value: object) -> str | None:
    return None if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)
