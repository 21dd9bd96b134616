"""A circuit breaker: after several failures in a row a provider is left alone for a while, then tried with a single call."""

import time
from collections.abc import Callable
from typing import Final, Literal

FAILURES: Final = 5
"""How many failures in a row open a breaker."""
COOL_DOWN: Final = 30.0
"""Seconds for which an open breaker lets no call through."""

State = Literal["closed", "open", "half-open"]


class CircuitBreaker:
    """Decides whether a provider is called."""

    def __init__(self, *, failures: int = FAILURES, cool_down: float = COOL_DOWN, clock: Callable[[], float] = time.monotonic) -> None:
        """Start closed: all calls are let through."""
        self._limit, self._cool_down, self._clock = failures, cool_down, clock
        self._failed = 0
        self._open_until: float | None = None
        self._probing = False

    @property
    def state(self) -> State:
        """Whether calls are let through (closed), none is (open), or a single one (half-open)."""
        if self._open_until is None:
            return "closed"
        return "half-open" if self._clock() >= self._open_until else "open"

    def admit(self) -> bool:
        """Return whether a call may be made now. Each call that is admitted must end in `record` or `release`."""
        if self._open_until is None:
            return True
        if self._probing or self._clock() < self._open_until:
            return False
        self._probing = True
        return True

    def record(self, *, works: bool) -> None:
        """Record how a call that was admitted ended."""
        self._probing = False
        if works:
            self._failed, self._open_until = 0, None
            return
        self._failed += 1
        if self._failed >= self._limit or self._open_until is not None:
            self._open_until = self._clock() + self._cool_down

    def release(self) -> None:
        """Take back a call that was admitted and ended without telling anything about the provider, because it was cancelled."""
        self._probing = False
