"""Time and identifiers: the only place that asks the machine for either. Aware UTC, ISO 8601 with Z (S004-53)."""

import os
import time
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from pathlib import Path
from typing import Protocol
from uuid import UUID

UUID_NAMESPACE = UUID("8c0f5f0e-5d5b-4a39-9c57-2a1a4a9f2f60")
"""For ids derived from other ids, so that a repeated step derives the same one."""


class Clock(Protocol):
    """What the product needs of time; tests hand in their own."""

    def now(self) -> datetime:
        """The present moment, aware, UTC."""
        ...

    def mark(self) -> str:
        """A point in time to be kept beside a moment that a clock which is set later could belie; see `since`."""
        ...

    def measure_since(self, mark: str) -> timedelta | None:
        """How long ago `mark` was, whatever the clock was set to since; None where it was made on another machine or before its start."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The present moment, aware, UTC."""
        return datetime.now(UTC)

    def mark(self) -> str:
        """This start of the machine, and the seconds since."""
        return f"{_identify_boot()} {read_boottime():.3f}"

    def measure_since(self, mark: str) -> timedelta | None:
        """The difference, within one start of the machine."""
        return measure_mark_age(mark, _identify_boot(), read_boottime())


class FixedClock:
    """A clock that moves only when told."""

    def __init__(self, start: datetime) -> None:
        """Start at `start`, which must be aware."""
        self._now = start.astimezone(UTC)
        self._elapsed = timedelta()

    def now(self) -> datetime:
        """The moment it was last set to."""
        return self._now

    def advance(self, by: timedelta) -> None:
        """Move by `by`; a negative step plays a clock going back."""
        self._now += by
        self._elapsed += max(by, timedelta())

    def set_by(self, by: timedelta) -> None:
        """Set it wrong, or right: no time passes."""
        self._now += by

    def mark(self) -> str:
        """How far it was moved."""
        return f"fixed {self._elapsed.total_seconds():.3f}"

    def measure_since(self, mark: str) -> timedelta | None:
        """The difference; every fixed clock is on the same machine."""
        return measure_mark_age(mark, "fixed", self._elapsed.total_seconds())


def read_boottime() -> float:
    """Seconds that only ever grow, whatever the clock is set to, and go on while the machine is suspended, as those of other hosts do."""
    return time.clock_gettime(_ELAPSING) if _ELAPSING is not None else time.monotonic()


_ELAPSING: int | None = getattr(time, "CLOCK_BOOTTIME", None)
"""Linux: `time.monotonic` stands still during a suspend there. Others have no such clock, or a monotonic one that goes on."""


def measure_mark_age(mark: str, boot: str, elapsed: float) -> timedelta | None:
    """How long before `elapsed` the mark was made; None where it names another start of a machine, or nothing."""
    made, _, at = mark.partition(" ")
    return timedelta(seconds=elapsed - float(at)) if at and made == boot else None


@cache
def _identify_boot() -> str:
    """What no other start of this or another machine is called; without such a name, this process."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return generate_id()


def format_iso(moment: datetime) -> str:
    """`moment` as UTC ISO 8601 with microseconds and suffix Z; sorts as text in time order."""
    return _format_utc(moment if moment.tzinfo is UTC else moment.astimezone(UTC))


@lru_cache(64)  # a step's moment goes into each row that it writes; of UTC alone, where equal moments are one text
def _format_utc(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds")[: -len("+00:00")] + "Z"


def parse_iso(text: str) -> datetime:
    """The aware moment behind `text`; raises ValueError for text without a zone."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        msg = f"a moment without a zone: {text!r}"
        raise ValueError(msg)
    return moment.astimezone(UTC)


def generate_id() -> str:
    """A UUIDv7: unique, and sorting by the time of its making."""
    digits = f"{time.time_ns() // 1_000_000:012x}{_draw_randomness().hex()}"
    # Version 7 and the variant's two bits, set in the text: three times as quick as by way of a UUID.
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-7{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"


_random_pool: list[bytes] = []
"""Randomness of ids to come: to ask for it lets other threads go first, so it is asked for once in 256 ids."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_random_pool.clear)


def _draw_randomness() -> bytes:
    """Ten bytes that nobody else gets: to take the last of a list is one step."""
    try:
        return _random_pool.pop()
    except IndexError:
        fresh = os.urandom(2560)
        _random_pool.extend(fresh[at : at + 10] for at in range(10, len(fresh), 10))
        return fresh[:10]


def build_lower_id(moment: datetime) -> str:
    """What sorts before every id made at `moment` or later."""
    digits = f"{max(0, int(moment.timestamp() * 1000)):012x}"
    return f"{digits[:8]}-{digits[8:]}"
