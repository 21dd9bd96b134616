"""The sandbox's time: any source of aware UTC, plus an offset that tests may increase, never decrease."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]


def system_clock() -> datetime:
    """Return the current time in aware UTC."""
    return datetime.now(UTC)


class SandboxClock:
    """A source of time with an offset: `advance` moves it forward for every reader."""

    def __init__(self, source: Clock = system_clock) -> None:
        self._source = source
        self._offset = timedelta()

    def __call__(self) -> datetime:
        """Return the sandbox's current time."""
        return self._source() + self._offset

    def advance(self, seconds: float) -> None:
        """Move the clock forward. Raises `ValueError` for a step back, which Telegram's time never takes."""
        if seconds < 0:
            raise ValueError("the clock of the sandbox only moves forward")
        self._offset += timedelta(seconds=seconds)


def unix(moment: datetime) -> int:
    """Return the whole seconds that the Bot API writes in its `date` fields."""
    return int(moment.timestamp())
