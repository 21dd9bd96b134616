"""A token bucket, which says when the next call or request may be made; for Telegram's limits and for callers of the HTTP API."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class BucketRate:
    """The rate of a token bucket: the calls per second over a long time, and how many calls may be made at once after a pause."""

    per_second: float
    burst: int


class TokenBucket:
    """Gains tokens at its rate and holds at most as many as its burst; each call takes one. It begins full."""

    def __init__(self, rate: BucketRate, now: float) -> None:
        """Create a full bucket at the time `now`, in seconds of any clock that does not go back."""
        self._rate = rate
        self._level, self._at = float(rate.burst), now

    def measure_level(self, now: float) -> float:
        """Return how many tokens the bucket holds."""
        return min(float(self._rate.burst), self._level + max(0.0, now - self._at) * self._rate.per_second)

    def wait(self, now: float, keep: int = 0) -> float:
        """Return the seconds until a token can be taken so that `keep` tokens are left; 0 if that is possible now."""
        return max(0.0, (1 + keep - self.measure_level(now)) / self._rate.per_second)

    def take(self, now: float) -> None:
        """Take one token, also one that is not there yet."""
        self._level, self._at = self.measure_level(now) - 1, now

    @property
    def burst(self) -> int:
        """The most tokens that it can hold."""
        return self._rate.burst
