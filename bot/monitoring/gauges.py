"""Prometheus gauges of what waits in the database, and the metrics page. A slow database only makes them old or missing."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final, ParamSpec, TypeVar

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest

from bot.monitoring.meters import MOST_ENGINES
from orchestrator.runtime.metrics import OTHER
from state.clock import Clock, format_iso, parse_iso, read_boottime
from state.journal.thread_worker import ThreadWorker
from state.sql.backlog import OPEN, OPEN_RUNS, Backlog, Waiting

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

FRESH: Final = 5.0
"""Seconds for which figures are reused."""
SHARE: Final = 20
"""The next read is made only after this many times the duration of the last."""
PATIENCE: Final = 2.0
"""Seconds that a request waits; after that it gets the last figures."""
TEXT_FOR: Final = 1.0
STATES: Final = (*OPEN, "succeeded", "refused", "denied", "expired", "superseded")
CHANNELS: Final = frozenset({"tg", "http", "cli"})
LANES: Final = ("turn", "express")


class Gauges:
    """Reads its figures in a thread of its own, one read at a time."""

    def __init__(self, look: Callable[[str], Backlog], clock: Clock) -> None:
        """`look` takes the present time (ISO 8601); it may raise, and it may hang."""
        self._look, self._clock = look, clock
        self._worker = ThreadWorker("gauges")
        self._refresh_task: asyncio.Task[None] | None = None
        self._next = 0.0
        self._figures: Backlog | None = None
        self._up = False

    async def refresh(self) -> None:
        """Returns after `PATIENCE` seconds with the old figures. Never raises."""
        if self._refresh_task is None or self._refresh_task.done():
            if read_boottime() < self._next:
                return
            self._refresh_task = asyncio.create_task(self._read_figures())
        await asyncio.wait([self._refresh_task], timeout=PATIENCE)
        if not self._refresh_task.done():
            self._up = False

    @property
    def figures(self) -> Backlog | None:
        """None before the first read, and while the database gives none."""
        return self._figures if self._up else None

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Calls in the thread that reads the figures."""
        return await self._worker.call(function, *args, **kwargs)

    async def aclose(self) -> None:
        """A thread whose read hangs is a daemon and ends with the process."""
        if self._refresh_task is None or self._refresh_task.done():
            await self._worker.aclose()

    async def _read_figures(self) -> None:
        begun = read_boottime()
        try:
            self._figures = await self._worker.call(self._look, format_iso(self._clock.now()))
            self._up = True
        except Exception as error:  # noqa: BLE001 - after any error the scrape goes on without gauges
            self._up = False
            log.warning("the database gives no figures: %s", error, extra={"action": "no_figures"})
        took = read_boottime() - begun
        self._next = read_boottime() + max(FRESH, took * SHARE)

    def collect(self) -> Iterable[Metric]:
        """Called by Prometheus; one gauge says whether the last read succeeded."""
        yield _build_gauge("sdelka_database_up", "Whether the last look into the database gave figures.", float(self._up))
        if self._figures is not None:
            yield from self._build_gauges(self._figures)

    def _build_gauges(self, backlog: Backlog) -> Iterable[Metric]:
        cards = GaugeMetricFamily("sdelka_effects", "Calls that change something, by where they stand.", labels=["state"])
        since = GaugeMetricFamily("sdelka_effects_oldest_seconds", "Age of the oldest that is not over.", labels=["state"])
        for state in STATES:
            cards.add_metric([state], backlog.effects.get(state, Waiting()).count)
        for state in OPEN:
            since.add_metric([state], self._measure_age(backlog.effects.get(state, Waiting())))
        yield from (cards, since)
        yield _build_gauge("sdelka_writes_frozen", "1 while somebody has stopped all writing.", float(backlog.frozen))
        yield _build_gauge("sdelka_unknown_outcomes_open", "Calls of which nobody knows what became.", _count_effects(backlog, "unknown"))
        yield _build_gauge("sdelka_confirmations_waiting", "Cards that wait for a decision.", _count_effects(backlog, "requested"))
        oldest = self._measure_age(backlog.effects.get("requested", Waiting()))
        yield _build_gauge("sdelka_confirmation_oldest_seconds", "Age of the card that waits longest.", oldest)
        yield _build_runs_gauge(backlog)
        yield from self._build_inbox_gauges(backlog)
        yield from self._build_outbox_gauges(backlog)
        yield _build_gauge("sdelka_timers", "Timers that are set.", backlog.timers)
        yield _build_gauge("sdelka_timers_due", "Timers whose moment has come.", backlog.timers_due)
        yield _build_gauge("sdelka_database_bytes", "Size of the database.", backlog.database_bytes)

    def _build_inbox_gauges(self, backlog: Backlog) -> Iterable[Metric]:
        depth = GaugeMetricFamily("sdelka_inbox_depth", "Inputs that are not worked yet.", labels=["lane"])
        since = GaugeMetricFamily("sdelka_inbox_oldest_seconds", "Age of the oldest.", labels=["lane"])
        for lane in LANES:
            depth.add_metric([lane], backlog.inbox.get(lane, Waiting()).count)
            since.add_metric([lane], self._measure_age(backlog.inbox.get(lane, Waiting())))
        yield from (depth, since)

    def _build_outbox_gauges(self, backlog: Backlog) -> Iterable[Metric]:
        depth = GaugeMetricFamily("sdelka_outbox_depth", "Messages that are not delivered yet.", labels=["channel"])
        since = GaugeMetricFamily("sdelka_outbox_oldest_seconds", "Age of the oldest.", labels=["channel"])
        failed = GaugeMetricFamily("sdelka_outbox_failed", "Messages that were given up.", labels=["channel"])
        for channel in (*sorted(CHANNELS), OTHER):
            depth.add_metric([channel], sum(one.count for one in _select_waiting(backlog, channel, "new")))
            since.add_metric([channel], max((self._measure_age(one) for one in _select_waiting(backlog, channel, "new")), default=0.0))
            failed.add_metric([channel], sum(one.count for one in _select_waiting(backlog, channel, "failed")))
        yield from (depth, since, failed)

    def _measure_age(self, waiting: Waiting) -> float:
        return max(0.0, (self._clock.now() - parse_iso(waiting.oldest)).total_seconds()) if waiting.oldest else 0.0


class Scrape:
    """Renders the metrics page in a thread; the text is reused for a second."""

    def __init__(self, registry: CollectorRegistry, gauges: Gauges | None) -> None:
        self._registry, self._gauges = registry, gauges
        self._text, self._made_at = b"", float("-inf")
        self._lock = asyncio.Lock()
        self._worker = ThreadWorker("scrape")
        if gauges is not None:
            registry.register(gauges)

    async def render(self) -> bytes:
        """Takes little more than `PATIENCE` seconds at most."""
        async with self._lock:
            if read_boottime() - self._made_at >= TEXT_FOR:
                if self._gauges is not None:
                    await self._gauges.refresh()
                self._text, self._made_at = await self._worker.call(generate_latest, self._registry), read_boottime()
        return self._text

    async def aclose(self) -> None:
        await self._worker.aclose()
        if self._gauges is not None:
            await self._gauges.aclose()


def _select_waiting(backlog: Backlog, channel: str, status: str) -> list[Waiting]:
    return [
        waiting
        for (name, standing), waiting in backlog.outbox.items()
        if standing == status and (name == channel or (channel == OTHER and name not in CHANNELS))
    ]


def _build_runs_gauge(backlog: Backlog) -> GaugeMetricFamily:
    """Engines beyond the first `MOST_ENGINES` are counted together."""
    runs = GaugeMetricFamily("sdelka_runs_open", "Runs that are not over, by engine and status.", labels=["engine", "status"])
    engines = sorted({engine for engine, _ in backlog.runs})[:MOST_ENGINES]
    counts = {(engine, status): 0 for engine in engines for status in OPEN_RUNS}
    for (engine, status), count in backlog.runs.items():
        key = (engine if engine in engines else OTHER, status)
        counts[key] = counts.get(key, 0) + count
    for key, count in counts.items():
        runs.add_metric(list(key), count)
    return runs


def _count_effects(backlog: Backlog, state: str) -> float:
    return backlog.effects.get(state, Waiting()).count


def _build_gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=value)
