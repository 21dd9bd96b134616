"""An open page does not wait for long checks."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from bot.monitoring.health_checks import HealthChecks, PartyHealth

_PATIENCE: Final = 0.05
"""Seconds; slower results show at the next reading."""


class HealthGlance:
    """The results of the checks as one open page knows them."""

    def __init__(self, checks: HealthChecks) -> None:
        self._checks = checks
        self._found: tuple[PartyHealth, ...] = ()
        self._task: asyncio.Task[list[PartyHealth]] | None = None

    async def look(self) -> tuple[PartyHealth, ...]:
        """None before the first checks have ended."""
        if self._task is None:
            self._task = asyncio.create_task(self._checks.check_all())
        done, _ = await asyncio.wait([self._task], timeout=_PATIENCE)
        if done:
            self._found, self._task = tuple(self._task.result()), None
        return self._found

    async def follow(self, refresh: Callable[[], Awaitable[None]]) -> None:
        """When the checks under way have ended."""
        if self._task is not None:
            await asyncio.wait([self._task])
            await refresh()
