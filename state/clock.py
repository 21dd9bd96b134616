"""Time and identifiers: the only module that reads the system clock and randomness. Times are aware UTC, ISO 8601 with Z (S004-53)."""

import os
import time
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Protocol
from uuid import UUID

import orjson

UUID_NAMESPACE = UUID("8c0f5f0e-5d5b-4a39-9c57-2a1a4a9f2f60")
"""Namespace for ids derived from other ids, so that a repeated step derives the same id."""


class Clock(Protocol):
    """The source of time for the whole program; tests pass their own."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""

    def mark(self) -> str:
        """Return a mark to store beside a time, so that its age can be measured even if the clock is changed; see `measure_since`."""

    def measure_since(self, mark: str) -> timedelta | None:
        """Return the time since `mark` regardless of clock changes; None if the mark was made on another machine or before this boot."""


class SystemClock:
    """The clock of the operating system; used everywhere outside tests."""

    now = staticmethod(partial(datetime.now, UTC))
    """Return the current time, aware, in UTC; a turn asks for it seventy times."""

    def mark(self) -> str:
        """Return the boot id of the machine and the seconds since boot."""
        return f"{_identify_boot()} {read_boottime():.3f}"

    def measure_since(self, mark: str) -> timedelta | None:
        """Return the time since `mark`; None if the mark was not made since this boot."""
        return measure_mark_age(mark, _identify_boot(), read_boottime())


def read_boottime() -> float:
    """Return seconds that only increase, whatever the clock is set to, and also count while the machine is suspended."""
    return time.clock_gettime(_ELAPSING) if _ELAPSING is not None else time.monotonic()


_ELAPSING: int | None = getattr(time, "CLOCK_BOOTTIME", None)
"""The id of the clock that continues during a suspend; only Linux needs it. Elsewhere None: `time.monotonic` is used."""


def measure_mark_age(mark: str, boot: str, elapsed: float) -> timedelta | None:
    """Return the time since `mark` was made; None if `mark` is from another boot than `boot` or is invalid.

    `elapsed` is the time now, in seconds since that boot.
    """
    made, _, at = mark.partition(" ")
    return timedelta(seconds=elapsed - float(at)) if at and made == boot else None


@cache
def _identify_boot() -> str:
    """Return the id of this boot of this machine; if the system gives none, an id made for this process."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return generate_id()


def format_iso(moment: datetime) -> str:
    """Format `moment` as UTC ISO 8601 with microseconds and suffix Z; the texts sort in time order."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    if not moment.microsecond:  # orjson would leave them out
        return moment.isoformat(timespec="microseconds")[: -len("+00:00")] + "Z"
    return orjson.dumps(moment, option=orjson.OPT_UTC_Z)[1:-1].decode()  # a tenth of the time of `isoformat`


def parse_iso(text: str) -> datetime:
    """Parse an aware time from `text`; raises ValueError if it has no time zone."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        msg = f"a moment without a zone: {text!r}"
        raise ValueError(msg)
    return moment if moment.tzinfo is UTC else moment.astimezone(UTC)


def generate_id() -> str:
    """Generate a UUIDv7: unique, and sorted by creation time."""
    digits = f"{time.time_ns() // 1_000_000:012x}{_draw_randomness()}"
    # Version 7 and the two variant bits are set in the text, which is three times as fast as building a UUID.
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-7{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"


_random_pool: list[str] = []
"""Random digits for future ids: reading randomness releases the GIL, so it is done once per 256 ids."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_random_pool.clear)


def _draw_randomness() -> str:
    """Return twenty random hexadecimal digits that no other thread gets.

    They are taken from a stored list with `pop`, which is atomic.
    """
    try:
        return _random_pool.pop()
    except IndexError:
        fresh = os.urandom(2560).hex()
        _random_pool.extend([fresh[at : at + 20] for at in range(20, len(fresh), 20)])
        return fresh[:20]


def build_lower_id(moment: datetime) -> str:
    """Return a string that sorts before every id generated at `moment` or later."""
    digits = f"{max(0, int(moment.timestamp() * 1000)):012x}"
    return f"{digits[:8]}-{digits[8:]}"
