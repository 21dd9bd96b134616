"""Monitoring of one process. It only observes; no work depends on it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Final

from sqlalchemy.engine import make_url

from bot.monitoring import health_checks
from bot.monitoring.gauges import Gauges, Scrape
from bot.monitoring.health_checks import HealthChecks
from bot.monitoring.meters import Meters
from bot.monitoring.reachability import ReachabilityTracker
from bot.settings.settings import Settings
from orchestrator.domain.budget import Budget
from orchestrator.runtime.metrics import CommitCounter
from orchestrator.runtime.worker import Orchestrator
from state.clock import Clock, format_iso
from state.journal.async_store import AsyncStore
from state.sql.backlog import Backlog, BacklogReader, HeldLeases

if TYPE_CHECKING:
    from aiogram import Bot


class Monitor:
    """Created before the orchestrator, whose clients report to `reachability`."""

    def __init__(self, settings: Settings, store: AsyncStore, clock: Clock) -> None:
        """Counts what `store` commits from now on."""
        self._settings, self._store, self._clock = settings, store, clock
        address = settings.database.get_secret_value()
        self.meters = Meters(database=make_url(address).get_backend_name())
        self.reachability = ReachabilityTracker(record_wait=self.meters.observe_wait, record_provider_call=self.meters.count_provider_call)
        self.meters.watch_breakers(lambda: {name: breaker.state for name, breaker in self.reachability.breakers.items()})
        self._reader = BacklogReader(address)
        self._gauges = Gauges(self._reader.read, clock)
        self.scrape = Scrape(self.meters.registry, self._gauges)
        store.watchers.append(CommitCounter(self.meters).count)

    def track_cost(self, budget: Callable[[], Budget]) -> None:
        """Answers of models without a price are not included."""

        def price(model: str, prompt: int, completion: int) -> tuple[float, str] | None:
            now = budget()
            if now.find_price(model) is None:
                return None
            return float(now.calculate_cost({model: (prompt, completion)})), now.currency

        self.meters.price = price

    def watch_bot(self, bot: "Bot") -> None:
        """After a minute without calls, a health check calls getMe."""
        from bot.monitoring.telegram_reachability import ReachabilityMiddleware  # noqa: PLC0415 - only a process that serves Telegram may import aiogram

        bot.session.middleware(ReachabilityMiddleware(self.reachability.telegram))
        self.reachability.telegram.probe = bot.get_me

    def build_health_checks(self, orchestrator: Orchestrator, delivers: Callable[[], bool] | None) -> HealthChecks:
        """`delivers` says whether this process serves Telegram; None if the bot does not use it."""
        ears, settings = self.reachability, self._settings
        telegram = health_checks.build_reachability_check(ears.telegram, ears.telegram.probe)

        async def telegram_or_another() -> str:
            return await telegram() if delivers is not None and delivers() else ""

        return HealthChecks(
            {
                **({"telegram": telegram_or_another} if delivers is not None else {}),
                "database": health_checks.build_database_check(self._store, self._clock),
                "workers": health_checks.build_workers_check(orchestrator),
                "portal": health_checks.build_reachability_check(ears.portal, ears.portal.probe),
                "model": health_checks.build_reachability_check(ears.model, ears.model.probe),
                "disk": health_checks.build_disks_check({"STATE_DIR": settings.state_dir, "LOG_DIR": settings.log_dir}),
            },
            self._clock,
        )

    async def read_backlog(self) -> Backlog | None:
        """A few seconds old at most; None if the database does not tell. Never raises."""
        await self._gauges.refresh()
        return self._gauges.figures

    async def read_leases(self, limit: int) -> HeldLeases:
        """At most `limit` sessions one by one. Raises StoreError."""
        return await self._gauges.call(self._reader.read_leases, format_iso(self._clock.now()), limit)

    async def aclose(self) -> None:
        await self.scrape.aclose()
        self._reader.close()


@contextlib.asynccontextmanager
async def open_monitor(settings: Settings, store: AsyncStore, clock: Clock) -> AsyncIterator[Monitor]:
    monitor = Monitor(settings, store, clock)
    try:
        yield monitor
    finally:
        await monitor.aclose()


LAG_INTERVAL: Final = 1.0


async def watch_loop_lag(note: Callable[[float], None], every: float = LAG_INTERVAL) -> None:
    """In seconds, until cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + every
        await asyncio.sleep(every)
        note(loop.time() - due)
