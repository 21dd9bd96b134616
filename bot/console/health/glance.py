"""Looks at the health checks for an open page, which does not wait for those that take long."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from bot.monitoring.health_checks import HealthChecks, PartyHealth

_PATIENCE: Final = 0.05
"""Seconds that a page waits for the checks; if they take longer, it shows their results at its next reading."""


class HealthGlance:
    """The results of the checks as one open page knows them."""

    def __init__(self, checks: HealthChecks) -> None:
        """Know nothing yet."""
        self._checks = checks
        self._found: tuple[PartyHealth, ...] = ()
        self._task: asyncio.Task[list[PartyHealth]] | None = None

    async def look(self) -> tuple[PartyHealth, ...]:
        """Return the parties as known by now; none before the first checks have ended."""
        if self._task is None:
            self._task = asyncio.create_task(self._checks.check_all())
        done, _ = await asyncio.wait([self._task], timeout=_PATIENCE)
        if done:
            self._found, self._task = tuple(self._task.result()), None
        return self._found

    async def follow(self, refresh: Callable[[], Awaitable[None]]) -> None:
        """Call `refresh` when the checks that are under way have ended, so that the page shows their results."""
        if self._task is not None:
            await asyncio.wait([self._task])
            await refresh()
