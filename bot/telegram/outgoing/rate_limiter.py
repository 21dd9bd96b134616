"""Token buckets, and the waits that Telegram asks for.

Telegram's limits are unpublished: about one call a second per chat, 20 a minute per group, 30 a second in all.
"""

import asyncio
from bisect import insort
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from bot.token_bucket import BucketRate, TokenBucket
from state.clock import read_boottime


class Rank(IntEnum):
    """The lowest number comes first. A toast (answer to a click) is not limited."""

    TOAST = 0
    CARD = 1
    FINAL = 2
    PROGRESS = 3


_PRIVATE: Final = BucketRate(per_second=1.0, burst=3)
_GROUP: Final = BucketRate(per_second=14 / 60, burst=4)
_ALL: Final = BucketRate(per_second=25.0, burst=2)
_DRAFTS: Final = BucketRate(per_second=15.0, burst=10)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """At most 4 + 14 = 18 calls to a group in any minute, 2 + 25 = 27 in all in any second."""

    private: BucketRate = _PRIVATE
    group: BucketRate = _GROUP
    all: BucketRate = _ALL
    drafts: BucketRate = _DRAFTS


FLOOD_CHATS = 3
FLOOD_WINDOW = 2.0
"""After waits for so many chats within so many seconds the bot as a whole is too fast."""
_FORGET_ABOVE = 2048


class Stopped(Exception):
    pass


@dataclass(order=True)
class _Waiter:
    rank: Rank
    number: int
    chat: int = field(compare=False)
    free: asyncio.Future[None] = field(compare=False)


class RateLimiter:
    """Decides when each call may be made."""

    def __init__(self, limits: Limits | None = None, *, seconds: Callable[[], float] = read_boottime) -> None:
        self._limits = limits or Limits()
        self._seconds = seconds
        now = seconds()
        self._all = TokenBucket(self._limits.all, now)
        self._drafts = TokenBucket(self._limits.drafts, now)
        self._chats: dict[int, TokenBucket] = {}
        self._closed: dict[int, float] = {}
        self._all_closed = now
        self._flood_marks: deque[tuple[float, int]] = deque(maxlen=50)
        self._waiting: list[_Waiter] = []
        self._sequence = 0
        self._timer: asyncio.TimerHandle | None = None
        self._stopped = False

    def start(self) -> None:
        self._stopped = False

    def stop(self) -> None:
        """Waiting calls fail with Stopped at once."""
        self._stopped = True
        for waiter in self._waiting:
            if not waiter.free.done():
                waiter.free.set_exception(Stopped())
        self._waiting.clear()
        self._schedule_release(0.0)

    async def admit(self, chat: int, rank: Rank) -> None:
        """Count a call as soon as it may be made. Raises Stopped."""
        if self._stopped:
            raise Stopped
        now = self._seconds()
        if not self._waiting and self._measure_wait(chat, rank, now) <= 0:
            self._count(chat, rank, now)
            return
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
        """If so, the call is counted. One token is always left for the final answer."""
        now = self._seconds()
        keep = min(1, self._find_bucket(chat, now).burst - 1)
        if self._stopped or self._waiting or self.measure_hold(chat) or self._all.wait(now) or self._find_bucket(chat, now).wait(now, keep):
            return False
        self._take(chat, now)
        return True

    def may_draft_now(self, chat: int) -> bool:
        """If so, the draft is counted, in a bucket for all chats."""
        now = self._seconds()
        if self._stopped or self.measure_hold(chat) or self._drafts.wait(now):
            return False
        self._drafts.take(now)
        return True

    def measure_hold(self, chat: int) -> float:
        """Seconds, 0 if calls may be made."""
        return max(0.0, max(self._closed.get(chat, 0.0), self._all_closed) - self._seconds())

    def hold(self, chat: int, seconds: float) -> None:
        """Waits in `FLOOD_CHATS` chats within `FLOOD_WINDOW` seconds hold all chats."""
        now = self._seconds()
        self._closed[chat] = max(self._closed.get(chat, 0.0), now + seconds)
        self._flood_marks.append((now, chat))
        if len({name for at, name in self._flood_marks if at > now - FLOOD_WINDOW}) >= FLOOD_CHATS:
            self.hold_all(seconds)
        self.release_due()

    def hold_all(self, seconds: float) -> None:
        self._all_closed = max(self._all_closed, self._seconds() + seconds)

    def release_due(self) -> None:
        now, soonest = self._seconds(), 0.0
        for waiter in list(self._waiting):
            wait = self._measure_wait(waiter.chat, waiter.rank, now)
            if wait <= 0:
                self._waiting.remove(waiter)
                if not waiter.free.done():
                    waiter.free.set_result(None)
                    self._count(waiter.chat, waiter.rank, now)
            else:
                soonest = min(soonest, wait) if soonest else wait
        self._schedule_release(soonest)

    def _measure_wait(self, chat: int, rank: Rank, now: float) -> float:
        """Seconds, 0 or less if the call may be made."""
        if rank is Rank.TOAST:
            return self._all_closed - now
        closed_for = max(self._closed.get(chat, 0.0), self._all_closed) - now
        return max(closed_for, self._find_bucket(chat, now).wait(now), self._all.wait(now))

    def _count(self, chat: int, rank: Rank, now: float) -> None:
        if rank is not Rank.TOAST:
            self._take(chat, now)

    def _schedule_release(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.release_due) if self._waiting else None

    def _take(self, chat: int, now: float) -> None:
        self._all.take(now)
        self._find_bucket(chat, now).take(now)

    def _find_bucket(self, chat: int, now: float) -> TokenBucket:
        token_bucket = self._chats.get(chat)
        if token_bucket is None:
            if len(self._chats) > _FORGET_ABOVE:
                self._drop_idle(now)
            token_bucket = self._chats[chat] = TokenBucket(self._limits.private if chat > 0 else self._limits.group, now)
        return token_bucket

    def _drop_idle(self, now: float) -> None:
        self._chats = {chat: bucket for chat, bucket in self._chats.items() if bucket.wait(now, bucket.burst - 1) > 0}
        self._closed = {chat: until for chat, until in self._closed.items() if until > now}
