"""Everything that watches one process, put together. Ring 3. It reads and counts; nothing of the work waits for it or asks it."""

import contextlib
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy.engine import make_url

from bot.monitoring import parties
from bot.monitoring.gauges import Gauges, Scrape
from bot.monitoring.heard import ReachabilityTracker
from bot.monitoring.meters import Meters
from bot.monitoring.parties import HealthChecks
from bot.settings import Settings
from orchestrator.gate.budget import Budget
from orchestrator.measuring import count_commit
from orchestrator.workers import Orchestrator
from state.clock import Clock
from state.sql.figures import BacklogReader
from state.worker import AsyncStore

if TYPE_CHECKING:
    from aiogram import Bot


class Monitor:
    """Made by `open_monitor`, before the orchestrator, whose clients tell its `ears`."""

    def __init__(self, settings: Settings, store: AsyncStore, clock: Clock) -> None:
        """Count from now on what `store` commits."""
        self._settings, self._store, self._clock = settings, store, clock
        address = settings.database.get_secret_value()
        self.meters = Meters(database=make_url(address).get_backend_name())
        self.reachability = ReachabilityTracker(record_wait=self.meters.observe_wait)
        self._reader = BacklogReader(address)
        self.scrape = Scrape(self.meters.registry, Gauges(self._reader.read, clock))
        store.watchers.append(partial(count_commit, meter=self.meters))

    def track_cost(self, budget: Callable[[], Budget]) -> None:
        """Count what answers cost, as far as the budget of the policy, as it is then, knows a price."""

        def price(model: str, prompt: int, completion: int) -> tuple[float, str] | None:
            now = budget()
            if now.find_price(model) is None:
                return None
            return float(now.calculate_cost({model: (prompt, completion)})), now.currency

        self.meters.price = price

    def watch_bot(self, bot: "Bot") -> None:
        """Hear how calls to Telegram end; it is asked who the bot is when it was silent."""
        from bot.monitoring.telegram_heard import ReachabilityMiddleware  # noqa: PLC0415 - aiogram is imported only by whoever serves Telegram

        bot.session.middleware(ReachabilityMiddleware(self.reachability.telegram))
        self.reachability.probes["telegram"] = bot.get_me

    def build_health_checks(self, orchestrator: Orchestrator, delivers: Callable[[], bool] | None) -> HealthChecks:
        """What `/readyz` looks at; `delivers` says whether this process, and no other one, serves Telegram, None that nobody does."""
        ears, settings = self.reachability, self._settings
        telegram = parties.build_reachability_check(ears.telegram, ears.probes.get("telegram"))

        async def telegram_or_another() -> str:
            return await telegram() if delivers is not None and delivers() else ""

        return HealthChecks(
            {
                **({"telegram": telegram_or_another} if delivers is not None else {}),
                "database": parties.build_database_check(self._store, self._clock),
                "workers": parties.build_workers_check(orchestrator),
                "portal": parties.build_reachability_check(ears.portal, ears.probes.get("portal")),
                "model": parties.build_reachability_check(ears.model, ears.probes.get("model")),
                "disk": parties.build_disks_check({"STATE_DIR": settings.state_dir, "LOG_DIR": settings.log_dir}),
            },
            self._clock,
        )

    async def aclose(self) -> None:
        """Stop looking."""
        await self.scrape.aclose()
        self._reader.close()


@contextlib.asynccontextmanager
async def open_monitor(settings: Settings, store: AsyncStore, clock: Clock) -> AsyncIterator[Monitor]:
    """A monitor of this process, closed at the end."""
    made = Monitor(settings, store, clock)
    try:
        yield made
    finally:
        await made.aclose()
