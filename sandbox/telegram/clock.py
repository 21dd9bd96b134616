"""The sandbox's time: any source of aware UTC, plus an offset that tests may push forward, never back."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]


def system_clock() -> datetime:
    """Give the present moment in aware UTC."""
    return datetime.now(UTC)


class SandboxClock:
    """A source of time with a life: `advance` moves it forward for everybody who reads it."""

    def __init__(self, source: Clock = system_clock) -> None:
        self._source = source
        self._offset = timedelta()

    def __call__(self) -> datetime:
        """Give the moment the sandbox lives in."""
        return self._source() + self._offset

    def advance(self, seconds: float) -> None:
        """Move the clock forward; raise `ValueError` for a step back, which Telegram's time never takes."""
        if seconds < 0:
            raise ValueError("the clock of the sandbox only moves forward")
        self._offset += timedelta(seconds=seconds)


def unix(moment: datetime) -> int:
    """Give the whole seconds that the Bot API writes in its `date` fields."""
    return int(moment.timestamp())
