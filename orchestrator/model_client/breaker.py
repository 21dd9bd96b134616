"""After several failures in a row a provider rests, then is tried with a single call."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

FAILURES: Final = 5
COOL_DOWN: Final = 30.0

State = Literal["closed", "open", "half-open"]


class CircuitBreaker:
    def __init__(self, *, failures: int = FAILURES, cool_down: float = COOL_DOWN, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._cool_down, self._clock = failures, cool_down, clock
        self._failed = 0
        self._open_until: float | None = None
        self._probing = False

    @property
    def state(self) -> State:
        """Half-open lets a single call through."""
        if self._open_until is None:
            return "closed"
        return "half-open" if self._clock() >= self._open_until else "open"

    def admit(self) -> "Admission | None":
        """It must end in one of the admission's methods; None if no call may be made now."""
        if self._open_until is None:
            return Admission(self, is_probe=False)
        if self._probing or self._clock() < self._open_until:
            return None
        self._probing = True
        return Admission(self, is_probe=True)

    def end(self, *, is_probe: bool, works: bool | None) -> None:
        """`works` is None if the call tells nothing. While the breaker is open, an earlier call's failure does not prolong it."""
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
    breaker: CircuitBreaker
    is_probe: bool

    def record(self, *, works: bool) -> None:
        self.breaker.end(is_probe=self.is_probe, works=works)

    def release(self) -> None:
        self.breaker.end(is_probe=self.is_probe, works=None)
