"""Rate limiter for calls to Telegram: one token bucket per chat, one for all chats, and the waits that Telegram asks for. It sends nothing.

Telegram publishes no exact limits. They are about one call a second per chat with short bursts, 20 a minute per group and 30 a second in
all, edits included; the limits here are below these.
"""

import asyncio
from bisect import insort
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum

from state.clock import read_boottime


class Rank(IntEnum):
    """Priority among waiting calls. A toast (answer to a click) is not a message: it waits only while all chats are held."""

    TOAST = 0
    CARD = 1
    FINAL = 2
    PROGRESS = 3


@dataclass(frozen=True, kw_only=True)
class BucketRate:
    """The long-term rate of a bucket, and how many calls may be made at once after a silence."""

    per_second: float
    burst: int


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits: with these a group gets at most 4 + 14 = 18 calls in any minute, all chats together 25 + 2 = 27 in any second."""

    private: BucketRate = BucketRate(per_second=1.0, burst=3)
    group: BucketRate = BucketRate(per_second=14 / 60, burst=4)
    all: BucketRate = BucketRate(per_second=25.0, burst=2)
    drafts: BucketRate = BucketRate(per_second=15.0, burst=10)


FLOOD_CHATS = 3
FLOOD_WINDOW = 2.0
"""If Telegram asks for a wait in `FLOOD_CHATS` chats within `FLOOD_WINDOW` seconds, the bot as a whole is too fast, so all chats wait."""
_FORGET_ABOVE = 2048


class Stopped(Exception):
    """The rate limiter was stopped, so the call must not be made."""


class _Bucket:
    """A token bucket: it fills at its rate up to its burst, and each call takes one token."""

    def __init__(self, rate: BucketRate, now: float) -> None:
        self._rate = rate
        self._level, self._at = float(rate.burst), now

    def measure_level(self, now: float) -> float:
        return min(float(self._rate.burst), self._level + max(0.0, now - self._at) * self._rate.per_second)

    def wait(self, now: float, keep: int = 0) -> float:
        """Return the seconds until one token can be taken and `keep` are left, 0 if that is possible now."""
        return max(0.0, (1 + keep - self.measure_level(now)) / self._rate.per_second)

    def take(self, now: float) -> None:
        self._level, self._at = self.measure_level(now) - 1, now

    @property
    def burst(self) -> int:
        return self._rate.burst


@dataclass(order=True)
class _Waiter:
    """A waiting call; calls are sorted by rank, then by order of arrival."""

    rank: Rank
    number: int
    chat: int = field(compare=False)
    free: asyncio.Future[None] = field(compare=False)


class RateLimiter:
    """Decides when each call may be made."""

    def __init__(self, limits: Limits | None = None, *, seconds: Callable[[], float] = read_boottime) -> None:
        """Create a limiter with full buckets; `seconds` is a monotonic clock."""
        self._limits = limits or Limits()
        self._seconds = seconds
        now = seconds()
        self._all = _Bucket(self._limits.all, now)
        self._drafts = _Bucket(self._limits.drafts, now)
        self._chats: dict[int, _Bucket] = {}
        self._closed: dict[int, float] = {}
        self._all_closed = now
        self._flood_marks: deque[tuple[float, int]] = deque(maxlen=50)
        self._waiting: list[_Waiter] = []
        self._sequence = 0
        self._timer: asyncio.TimerHandle | None = None
        self._stopped = False

    def start(self) -> None:
        """Admit calls again after `stop`."""
        self._stopped = False

    def stop(self) -> None:
        """Admit no more calls: those that wait fail with Stopped at once; those that were admitted are not affected."""
        self._stopped = True
        for waiter in self._waiting:
            if not waiter.free.done():
                waiter.free.set_exception(Stopped())
        self._waiting.clear()
        self._schedule_release(0.0)

    async def admit(self, chat: int, rank: Rank) -> None:
        """Wait until the call may be made, and count it. Raises Stopped."""
        if self._stopped:
            raise Stopped
        self._sequence += 1
        waiter = _Waiter(rank, self._sequence, chat, asyncio.get_running_loop().create_future())
        insort(self._waiting, waiter)
        self.release_due()
        try:
            await waiter.free
        except asyncio.CancelledError:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
            raise

    def may_show_now(self, chat: int) -> bool:
        """Return whether a message that shows progress may be sent at once, and count it if so.

        One token of the chat is always left for the answer itself.
        """
        now = self._seconds()
        keep = min(1, self._find_bucket(chat, now).burst - 1)
        if self._stopped or self._waiting or self.measure_hold(chat) or self._all.wait(now) or self._find_bucket(chat, now).wait(now, keep):
            return False
        self._take(chat, now)
        return True

    def may_draft_now(self, chat: int) -> bool:
        """Return whether a draft may be shown at once, and count it if so; drafts are not messages and have a bucket of their own."""
        now = self._seconds()
        if self._stopped or self.measure_hold(chat) or self._drafts.wait(now):
            return False
        self._drafts.take(now)
        return True

    def measure_hold(self, chat: int) -> float:
        """Return the seconds for which the chat is still held, because Telegram asked for a wait; 0 if it is not."""
        return max(0.0, max(self._closed.get(chat, 0.0), self._all_closed) - self._seconds())

    def hold(self, chat: int, seconds: float) -> None:
        """Make no calls in the chat for the wait that Telegram asked for; if several chats are held at once, hold all chats."""
        now = self._seconds()
        self._closed[chat] = max(self._closed.get(chat, 0.0), now + seconds)
        self._flood_marks.append((now, chat))
        if len({name for at, name in self._flood_marks if at > now - FLOOD_WINDOW}) >= FLOOD_CHATS:
            self.hold_all(seconds)
        self.release_due()

    def hold_all(self, seconds: float) -> None:
        """Make no calls in any chat for `seconds`."""
        self._all_closed = max(self._all_closed, self._seconds() + seconds)

    def release_due(self) -> None:
        """Admit every waiting call that may be made now, and start a timer for the time at which the next one may be."""
        now, soonest = self._seconds(), 0.0
        for waiter in list(self._waiting):
            wait = self._wait(waiter, now)
            if wait <= 0:
                self._waiting.remove(waiter)
                if not waiter.free.done():
                    waiter.free.set_result(None)
                    if waiter.rank is not Rank.TOAST:
                        self._take(waiter.chat, now)
            else:
                soonest = min(soonest, wait) if soonest else wait
        self._schedule_release(soonest)

    def _wait(self, waiter: _Waiter, now: float) -> float:
        if waiter.rank is Rank.TOAST:
            return max(0.0, self._all_closed - now)
        return max(self.measure_hold(waiter.chat), self._find_bucket(waiter.chat, now).wait(now), self._all.wait(now))

    def _schedule_release(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.release_due) if self._waiting else None

    def _take(self, chat: int, now: float) -> None:
        self._all.take(now)
        self._find_bucket(chat, now).take(now)

    def _find_bucket(self, chat: int, now: float) -> _Bucket:
        found = self._chats.get(chat)
        if found is None:
            if len(self._chats) > _FORGET_ABOVE:
                self._drop_idle(now)
            found = self._chats[chat] = _Bucket(self._limits.private if chat > 0 else self._limits.group, now)
        return found

    def _drop_idle(self, now: float) -> None:
        """Drop the buckets that are full again and the holds that are over, to limit the use of memory."""
        self._chats = {chat: bucket for chat, bucket in self._chats.items() if bucket.wait(now, bucket.burst - 1) > 0}
        self._closed = {chat: until for chat, until in self._closed.items() if until > now}
