"""A clock of the tests' own."""

from datetime import UTC, datetime, timedelta

from state.clock import measure_mark_age


class FixedClock:
    """A clock for tests that moves only when it is told to."""

    def __init__(self, start: datetime) -> None:
        """Start at `start`, which must be aware."""
        self._now = start.astimezone(UTC)
        self._elapsed = timedelta()

    def now(self) -> datetime:
        """Return the time to which this clock was set or advanced."""
        return self._now

    def advance(self, by: timedelta) -> None:
        """Let the time `by` pass; a negative `by` simulates a clock that goes back."""
        self._now += by
        self._elapsed += max(by, timedelta())

    def set_by(self, by: timedelta) -> None:
        """Set the clock forward by the time `by`, as if somebody had changed it: `now` changes, `measure_since` does not."""
        self._now += by

    def mark(self) -> str:
        """Return a mark that holds the total time by which the clock was advanced."""
        return f"fixed {self._elapsed.total_seconds():.3f}"

    def measure_since(self, mark: str) -> timedelta | None:
        """Return the time since `mark`; all fixed clocks count as one machine."""
        return measure_mark_age(mark, "fixed", self._elapsed.total_seconds())
