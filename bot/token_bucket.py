"""When the next call may be made: for Telegram's limits and the API's callers."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class BucketRate:
    """Calls per second over a long time, and at once after a pause."""

    per_second: float
    burst: int


class TokenBucket:
    """Gains tokens at its rate up to its burst; begins full."""

    def __init__(self, rate: BucketRate, now: float) -> None:
        """`now` is in seconds of any clock that does not go back."""
        self._rate = rate
        self._level, self._at = float(rate.burst), now

    def measure_level(self, now: float) -> float:
        return min(float(self._rate.burst), self._level + max(0.0, now - self._at) * self._rate.per_second)

    def wait(self, now: float, keep: int = 0) -> float:
        """Seconds until a token can be taken so that `keep` are left."""
        return max(0.0, (1 + keep - self.measure_level(now)) / self._rate.per_second)

    def take(self, now: float) -> None:
        """Also one that is not there yet."""
        self._level, self._at = self.measure_level(now) - 1, now

    @property
    def burst(self) -> int:
        return self._rate.burst
