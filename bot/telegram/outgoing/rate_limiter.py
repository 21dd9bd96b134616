"""How fast Telegram may be written to: a bucket a chat, one for all chats, and the waits that Telegram named. Ring 3; sends nothing.

Telegram names no exact limits (facts: about 1/s a chat with short bursts, 20/min a group, 30/s in all; edits count); these stay below them.
"""

import asyncio
from bisect import insort
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum

from state.clock import read_boottime


class Rank(IntEnum):
    """Who goes first when all wait for the same second. A toast is no message and waits only while Telegram takes nothing at all."""

    TOAST = 0
    CARD = 1
    FINAL = 2
    PROGRESS = 3


@dataclass(frozen=True, kw_only=True)
class BucketRate:
    """So many a second in the long run, and so many at once after a silence."""

    per_second: float
    burst: int


@dataclass(frozen=True, kw_only=True)
class Limits:
    """A group takes `burst` + 60 * `per_second` = 18 a minute at most, all chats together 27 in any second."""

    private: BucketRate = BucketRate(per_second=1.0, burst=3)
    group: BucketRate = BucketRate(per_second=14 / 60, burst=4)
    all: BucketRate = BucketRate(per_second=25.0, burst=2)
    drafts: BucketRate = BucketRate(per_second=15.0, burst=10)


FLOOD_CHATS = 3
FLOOD_WINDOW = 2.0
"""So many chats told to wait within so many seconds: it is the bot that is too fast, not they, though Telegram does not say so."""
_FORGET_ABOVE = 2048


class Stopped(Exception):
    """Nothing goes out any more."""


class _Bucket:
    """Fills at its rate up to its burst; what waits for it takes one."""

    def __init__(self, rate: BucketRate, now: float) -> None:
        self._rate = rate
        self._level, self._at = float(rate.burst), now

    def measure_level(self, now: float) -> float:
        return min(float(self._rate.burst), self._level + max(0.0, now - self._at) * self._rate.per_second)

    def wait(self, now: float, keep: int = 0) -> float:
        """Seconds until one can be taken and `keep` are left."""
        return max(0.0, (1 + keep - self.measure_level(now)) / self._rate.per_second)

    def take(self, now: float) -> None:
        self._level, self._at = self.measure_level(now) - 1, now

    @property
    def burst(self) -> int:
        return self._rate.burst


@dataclass(order=True)
class _Waiter:
    """Somebody who wants to write; sorts by rank, then by who came first."""

    rank: Rank
    number: int
    chat: int = field(compare=False)
    free: asyncio.Future[None] = field(compare=False)


class RateLimiter:
    """Lets one call after the other pass; `seconds` is a clock that never goes back."""

    def __init__(self, limits: Limits | None = None, *, seconds: Callable[[], float] = read_boottime) -> None:
        """Nothing was sent yet."""
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
        """Let calls pass (again)."""
        self._stopped = False

    def stop(self) -> None:
        """Let nothing pass; those who wait hear of it at once, what is on its way is not touched."""
        self._stopped = True
        for waiter in self._waiting:
            if not waiter.free.done():
                waiter.free.set_exception(Stopped())
        self._waiting.clear()
        self._schedule_release(0.0)

    async def admit(self, chat: int, rank: Rank) -> None:
        """Return when this call may go out; it counts from then on. Raises Stopped."""
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
        """Whether a sign of progress may go out at once; it counts then. One place is always left for the answer itself."""
        now = self._seconds()
        keep = min(1, self._find_bucket(chat, now).burst - 1)
        if self._stopped or self._waiting or self.measure_hold(chat) or self._all.wait(now) or self._find_bucket(chat, now).wait(now, keep):
            return False
        self._take(chat, now)
        return True

    def may_draft_now(self, chat: int) -> bool:
        """Whether a draft may go out at once; drafts are no messages and have a budget of their own."""
        now = self._seconds()
        if self._stopped or self.measure_hold(chat) or self._drafts.wait(now):
            return False
        self._drafts.take(now)
        return True

    def measure_hold(self, chat: int) -> float:
        """Seconds for which Telegram wants nothing in this chat."""
        return max(0.0, max(self._closed.get(chat, 0.0), self._all_closed) - self._seconds())

    def hold(self, chat: int, seconds: float) -> None:
        """Telegram named a wait in answer to a call for this chat: all of it waits; many chats at once mean that everybody waits."""
        now = self._seconds()
        self._closed[chat] = max(self._closed.get(chat, 0.0), now + seconds)
        self._flood_marks.append((now, chat))
        if len({name for at, name in self._flood_marks if at > now - FLOOD_WINDOW}) >= FLOOD_CHATS:
            self.hold_all(seconds)
        self.release_due()

    def hold_all(self, seconds: float) -> None:
        """Telegram wants nothing of the bot for a while."""
        self._all_closed = max(self._all_closed, self._seconds() + seconds)

    def release_due(self) -> None:
        """Let pass whoever may go now, and look again when the next one may."""
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
        """Chats that are silent long enough to be as good as new."""
        self._chats = {chat: bucket for chat, bucket in self._chats.items() if bucket.wait(now, bucket.burst - 1) > 0}
        self._closed = {chat: until for chat, until in self._closed.items() if until > now}
