"""The time of the sandbox: the system's time or another source, plus an offset that tests can increase but not decrease."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]


def system_clock() -> datetime:
    """Return the current time in UTC, with a time zone."""
    return datetime.now(UTC)


class SandboxClock:
    """The clock of one sandbox: a source of time plus an offset, which `advance` increases."""

    def __init__(self, source: Clock = system_clock) -> None:
        self._source = source
        self._offset = timedelta()

    def __call__(self) -> datetime:
        """Return the sandbox's current time."""
        return self._source() + self._offset

    def advance(self, seconds: float) -> None:
        """Move the clock forward. Raises `ValueError` for negative seconds, because time on Telegram's servers never goes back."""
        if seconds < 0:
            raise ValueError("the clock of the sandbox only moves forward")
        self._offset += timedelta(seconds=seconds)


def unix(moment: datetime) -> int:
    """Return the time in whole seconds since 1970, as in the `date` fields of the Bot API."""
    return int(moment.timestamp())
