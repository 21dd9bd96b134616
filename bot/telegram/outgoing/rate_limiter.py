"""Rate limiter for calls to Telegram: one token bucket per chat, one for all chats, and the waits that Telegram asks for.

It sends nothing itself. Telegram publishes no exact limits. They are about one call a second per chat with short bursts, 20 a minute per
group and 30 a second for all chats together, edits included. The limits here are lower.
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
    """The priority of a call among the waiting ones; the lowest number comes first.

    A toast (short answer to a click) is not a message, so it is not limited. It waits only while calls to all chats are held back.
    """

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
    """The rates of the token buckets: of each private chat, of each group, of all chats together, and of drafts.

    A full bucket allows `burst` calls at once, and after them `per_second` calls a second. A group therefore gets at most 4 + 14 = 18 calls
    in any minute, and all chats together get 2 + 25 = 27 calls in any second.
    """

    private: BucketRate = _PRIVATE
    group: BucketRate = _GROUP
    all: BucketRate = _ALL
    drafts: BucketRate = _DRAFTS


FLOOD_CHATS = 3
FLOOD_WINDOW = 2.0
"""If Telegram asks for a wait in `FLOOD_CHATS` chats within `FLOOD_WINDOW` seconds, the bot as a whole is too fast, so all chats wait."""
_FORGET_ABOVE = 2048


class Stopped(Exception):
    """Raised by `RateLimiter.admit` if the rate limiter is stopped; the call to Telegram must not be made."""


@dataclass(order=True)
class _Waiter:
    """A call that waits for the rate limiter; waiting calls are sorted by rank (priority), then by order of arrival."""

    rank: Rank
    number: int
    chat: int = field(compare=False)
    free: asyncio.Future[None] = field(compare=False)


class RateLimiter:
    """Decides when each call to Telegram may be made; the sender asks it before it sends or edits a message."""

    def __init__(self, limits: Limits | None = None, *, seconds: Callable[[], float] = read_boottime) -> None:
        """Create a limiter whose buckets are full. `limits` replaces the usual rates; `seconds` is a monotonic clock."""
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
        """Admit calls again after `stop`."""
        self._stopped = False

    def stop(self) -> None:
        """Admit no more calls. Waiting calls fail with Stopped at once; calls that were admitted before are not affected."""
        self._stopped = True
        for waiter in self._waiting:
            if not waiter.free.done():
                waiter.free.set_exception(Stopped())
        self._waiting.clear()
        self._schedule_release(0.0)

    async def admit(self, chat: int, rank: Rank) -> None:
        """Wait until a call to Telegram may be made in the chat, and count the call.

        `rank` is the priority of the call: calls that wait are admitted in the order of their ranks, then of their arrival. Raises Stopped
        if the limiter is stopped.
        """
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
        """Return whether a message that shows progress may be sent in the chat at once; if so, count it.

        One token of the chat is always left for the final answer.
        """
        now = self._seconds()
        keep = min(1, self._find_bucket(chat, now).burst - 1)
        if self._stopped or self._waiting or self.measure_hold(chat) or self._all.wait(now) or self._find_bucket(chat, now).wait(now, keep):
            return False
        self._take(chat, now)
        return True

    def may_draft_now(self, chat: int) -> bool:
        """Return whether a draft may be shown in the chat at once; if so, count it.

        Drafts are not messages, so they have their own bucket for all chats.
        """
        now = self._seconds()
        if self._stopped or self.measure_hold(chat) or self._drafts.wait(now):
            return False
        self._drafts.take(now)
        return True

    def measure_hold(self, chat: int) -> float:
        """Return for how many more seconds no call may be made in the chat because Telegram asked for a wait; 0 if calls may be made."""
        return max(0.0, max(self._closed.get(chat, 0.0), self._all_closed) - self._seconds())

    def hold(self, chat: int, seconds: float) -> None:
        """Make no calls in the chat for `seconds`, because Telegram asked for this wait.

        If Telegram asks for waits in `FLOOD_CHATS` chats within `FLOOD_WINDOW` seconds, no calls are made in any chat.
        """
        now = self._seconds()
        self._closed[chat] = max(self._closed.get(chat, 0.0), now + seconds)
        self._flood_marks.append((now, chat))
        if len({name for at, name in self._flood_marks if at > now - FLOOD_WINDOW}) >= FLOOD_CHATS:
            self.hold_all(seconds)
        self.release_due()

    def hold_all(self, seconds: float) -> None:
        """Make no calls in any chat for `seconds`, because Telegram asked for a wait."""
        self._all_closed = max(self._all_closed, self._seconds() + seconds)

    def release_due(self) -> None:
        """Admit every waiting call that may be made now, and set a timer for the next one."""
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
        """Return the seconds until a call of this rank may be made in the chat; 0 or less if it may be made now."""
        if rank is Rank.TOAST:
            return self._all_closed - now
        held = max(self._closed.get(chat, 0.0), self._all_closed) - now
        return max(held, self._find_bucket(chat, now).wait(now), self._all.wait(now))

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
        """Remove the buckets that are full again and the waits that are over, to save memory."""
        self._chats = {chat: bucket for chat, bucket in self._chats.items() if bucket.wait(now, bucket.burst - 1) > 0}
        self._closed = {chat: until for chat, until in self._closed.items() if until > now}
