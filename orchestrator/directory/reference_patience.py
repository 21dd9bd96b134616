"""How long a read of reference data may keep people waiting, and how long a read that hung is left alone. Ring 2; keeps no values."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import Final, TypeVar

from bitrix.errors import OutcomeUnknown
from state.clock import Clock

R = TypeVar("R")
READ_TIMEOUTS: Final[Mapping[str, float]] = {"fields": 4.0, "stages": 4.0, "categories": 4.0, "user": 4.0}
"""Seconds for the reads that a write is judged by; the client alone would wait for minutes."""
DEFAULT_READ_TIMEOUT: Final = 20.0
"""Seconds for the others: the list of employees takes three requests."""
TIMEOUT_PAUSE: Final = timedelta(seconds=60)
"""What hung is not tried again within this time, so that no second call waits for it."""


class ReadTimedOut(OutcomeUnknown):
    """The portal did not answer in time, or did not a moment ago.

    Speaks to whoever judges or shows: what was asked for is not known now, and waiting would not help.
    """


class ReadTimeouts:
    """See the module docstring."""

    def __init__(self, clock: Clock) -> None:
        """Nothing has hung yet."""
        self._clock = clock
        self._hung: dict[tuple[str, ...], datetime] = {}

    def wrap(self, key: tuple[str, ...], read: Callable[[], Awaitable[R]]) -> Callable[[], Awaitable[R]]:
        """`read`, which raises Hung when it takes too long, and at once while reads like it that hung are left alone."""
        method = _build_group_key(key)

        async def within() -> R:
            if self._is_resting(method):
                raise ReadTimedOut(f"the portal did not give its {key[0]} a moment ago")
            try:
                async with asyncio.timeout(READ_TIMEOUTS.get(key[0], DEFAULT_READ_TIMEOUT)):
                    return await read()
            except TimeoutError:
                self._hung[method] = self._clock.now()
                raise ReadTimedOut(f"the portal does not give its {key[0]}") from None

        return within

    def _is_resting(self, method: tuple[str, ...]) -> bool:
        since = self._hung.get(method)
        return since is not None and self._clock.now() - since < TIMEOUT_PAUSE


def _build_group_key(key: tuple[str, ...]) -> tuple[str, ...]:
    """What is left alone together: fifty funnels or employees of one batch must not wait one after the other."""
    return (key[0], key[1].partition(":")[0]) if key[0] == "fields" else key[:1]
