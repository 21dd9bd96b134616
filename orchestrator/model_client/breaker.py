"""A circuit breaker: after several failures in a row a provider is left alone for a while, then tried with a single call."""

import time
from collections.abc import Callable
from dataclasses import dataclass
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

    def admit(self) -> "Admission | None":
        """Return the permission for one call, which must end in one of its methods; None if no call may be made now."""
        if self._open_until is None:
            return Admission(self, is_probe=False)
        if self._probing or self._clock() < self._open_until:
            return None
        self._probing = True
        return Admission(self, is_probe=True)

    def end(self, *, is_probe: bool, works: bool | None) -> None:
        """Take in how a call ended; `works` is None for one that tells nothing about the provider.

        While the breaker is open, the failure of a call that was admitted before tells nothing new, and does not make it wait longer.
        """
        if is_probe:
            self._probing = False
        if works:
            self._failed, self._open_until = 0, None
        elif works is False and (is_probe or self._open_until is None):
            self._failed += 1
            if is_probe or self._failed >= self._limit:
                self._open_until = self._clock() + self._cool_down


@dataclass(frozen=True, slots=True)
class Admission:
    """The permission to make one call."""

    breaker: CircuitBreaker
    is_probe: bool
    """Whether it is the single call that a half-open breaker lets through."""

    def record(self, *, works: bool) -> None:
        """Record how the call ended."""
        self.breaker.end(is_probe=self.is_probe, works=works)

    def release(self) -> None:
        """Take the call back: it ended without telling anything about the provider, because it was cancelled."""
        self.breaker.end(is_probe=self.is_probe, works=None)
