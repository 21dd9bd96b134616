"""Runs functions in the loop's thread while they are quick, and in a thread of their own while they are not.

Handing a call over to a thread and back costs 0.1 to 0.2 ms, more than most calls of SQLite take. What holds up the loop holds up
everybody, so one slow call (a disk that stalls, a long query) is enough for those after it to be run in the thread, until enough quick ones
have followed. docs/adr/0046-store-calls-on-the-loop.md has the reasons and figures.
"""

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, ParamSpec, Protocol, TypeVar

from state.journal.store import StoreLocked
from state.journal.thread_worker import Answer, ThreadWorker, run_to_end

P = ParamSpec("P")
T = TypeVar("T")

SLOW: Final = 0.008
"""Seconds from which on a call is slow, on a machine that is not overloaded."""
MOST_OVERLOADED: Final = 4
"""By how much more a call may take on an overloaded machine: the load also counts who waits for a disk, and a slow disk is no excuse."""
FULL: Final = 0.02
"""Seconds for which calls run in one round of the loop; those after them wait for the next one, so that others get their turn."""
UNWATCHED: Final = FULL / 4
"""Seconds of calls after which the end of a round is watched for: what ran in earlier rounds counts until then."""
_PROCESSORS: Final = os.cpu_count() or 1
PAUSE: Final = 20
"""After a slow call others run in the thread for so many times as long as it took: slow calls take a twentieth of the loop's time."""
LONGEST_PAUSE: Final = 60.0
"""Seconds of the longest pause. Pauses double while the calls after them are slow again."""
MOST_DOUBLED: Final = 32
IN_A_ROW: Final = 3
"""How many calls in a row must have been quick in the thread before calls run in the loop's thread again."""
STEADY: Final = 16
"""How many quick calls in a row in the loop's thread halve what pauses have grown to."""


def is_slow(seconds: float) -> bool:
    """Return whether a call took so long that it must have waited for more than its turn of a processor."""
    return seconds >= SLOW and seconds >= SLOW * min(MOST_OVERLOADED, _read_load() / _PROCESSORS)


def _read_load() -> float:
    """Return the load of the machine, 0 where the system does not tell it: a call that was carried out may not end as an error."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return 0.0


class RunHere(Protocol):
    """Calls a function in this thread and returns its result; raises StoreLocked, with nothing done, if it would wait for a lock."""

    def __call__(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the function."""


class LoopRound:
    """Limits how long functions run in the loop's thread in one round of the loop: until it ends, nothing else gets its turn."""

    def __init__(self) -> None:
        self.number = 0
        """Differs from round to round, if the first of them is watched."""
        self._spent = 0.0
        self.is_full = False
        """Whether functions have run long enough in this round."""
        self._is_watched = False
        self._next: Answer[None] | None = None
        self._is_first_woken = False
        """Whether none of those that waited for this round has got its turn yet."""

    def spend(self, seconds: float) -> None:
        """Note that a function has run for so long in this round."""
        self._spent += seconds
        self.is_full = self._spent >= FULL
        if self._spent >= UNWATCHED and not self._is_watched:
            self.watch()

    def watch(self) -> None:
        """Have `number` change with the next round."""
        if not self._is_watched:
            self._is_watched = True
            asyncio.get_running_loop().call_soon(self._begin_next)

    async def wait_for_next(self) -> None:
        """Return in the next round. A cancellation is raised only then."""
        self.watch()
        if self._next is None:
            self._next = Answer(loop=asyncio.get_running_loop())
        await self._next

    async def wait_for_turn(self) -> None:
        """Return in the next round that has room, for one of those that wait in any case. A cancellation is raised in the next round."""
        await self.wait_for_next()
        while self.is_full and not self._is_first_woken:
            await self.wait_for_next()
        self._is_first_woken = False

    def _begin_next(self) -> None:
        self.number += 1
        self._is_first_woken = True
        self._is_watched, self.is_full, self._spent = False, False, 0.0
        waiting, self._next = self._next, None
        if waiting is not None:
            waiting.set_result(None)


class _Pace:
    """Decides from how long calls took whether the next one runs in the loop's thread."""

    __slots__ = ("_steady", "factor", "missing", "until")

    def __init__(self, *, is_known: bool = True) -> None:
        """Begin in the loop's thread if the calls are known to be quick."""
        self.until = 0.0
        """When the pause ends."""
        self.missing = 0 if is_known else IN_A_ROW
        """How many more quick calls in the thread are needed."""
        self.factor = 1
        """By how much longer pauses are than usual; as long as it is 1, a quick call changes nothing."""
        self._steady = 0

    def may_run_here(self, now: float) -> bool:
        return not self.missing and now >= self.until

    def note_here(self, now: float, took: float) -> None:
        """Note a call in the loop's thread."""
        if is_slow(took):
            self.until = now + min(LONGEST_PAUSE, took * PAUSE * self.factor)
            self.factor = min(MOST_DOUBLED, 2 * self.factor)
            self.missing, self._steady = IN_A_ROW, 0
        elif self.factor > 1:
            self._steady += 1
            if self._steady >= STEADY:
                self.factor, self._steady = self.factor // 2, 0

    def note_in_thread(self, took: float) -> None:
        """Note a call in the thread."""
        if is_slow(took):
            self.missing = IN_A_ROW
        elif self.missing:
            self.missing -= 1

    def note_lock(self) -> None:
        """Note that another process held the lock: it may work for longer."""
        self.missing = IN_A_ROW


class QuickWorker(ThreadWorker):
    """Runs functions in the loop's thread while they are quick, else in its own thread; always to their end, as `ThreadWorker`.

    A function that is slow each time is run in the thread and does not make others be run there. With `in_order` the functions run in the
    order of the calls; without, one that is quick does not wait for those in the thread.
    """

    def __init__(self, name: str, run_here: RunHere, loop_round: LoopRound, *, in_order: bool = True) -> None:
        """Start the thread. All workers of a loop share one `loop_round`."""
        super().__init__(name)
        self._run_here, self._round, self._in_order = run_here, loop_round, in_order
        self._in_thread = 0
        """How many calls are in the thread or wait for it."""
        self._delayed = 0
        """How many calls wait for the next round of the loop."""
        self._joined = -1
        """The round in which `call_with_others` last ran a function."""
        self._all = _Pace()
        self._single: dict[int, _Pace] = {}
        """The paces of single functions, by the identity of their code."""

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function` and return its result; a cancellation is raised only after the function has finished."""
        if self._closed:
            self.check_open()
        pace = self._find_pace(function)
        if self._round.is_full and self._may_run_here(pace, time.perf_counter()):
            return await self._call_in_next_round(pace, partial(function, *args, **kwargs))
        return await self._call(pace, function, *args, **kwargs)

    async def call_unmeasured(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function` as `call` does, but its first calls in the thread: it may be one that takes long."""
        self._find_pace(function, is_known=False)
        return await self.call(function, *args, **kwargs)

    async def call_in_thread(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function` as `call` does, in the thread in any case."""
        self.check_open()
        return await self._call_in_thread(None, partial(function, *args, **kwargs))

    async def call_with_others(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function` as `call` does, but if one was run so in this round of the loop, in the next: then others may wait, too."""
        if self._closed:
            self.check_open()
        pace = self._find_pace(function)
        if (self._joined == self._round.number or self._round.is_full) and self._may_run_here(pace, time.perf_counter()):
            return await self._call_in_next_round(pace, partial(function, *args, **kwargs))
        self._join_round()
        return await self._call(pace, function, *args, **kwargs)

    async def _finish_delayed(self) -> None:
        while self._delayed:
            await self._round.wait_for_next()

    def _join_round(self) -> None:
        self._round.watch()
        self._joined = self._round.number

    def _find_pace(self, function: Callable[..., object], *, is_known: bool = True) -> _Pace | None:
        """Return the pace of `function`; None if it cannot be known again: it is then run in the thread."""
        try:
            code = id(function.__code__)
        except AttributeError:
            return None
        try:
            return self._single[code]
        except KeyError:
            pace = self._single[code] = _Pace(is_known=is_known)
            return pace

    def _may_run_here(self, pace: _Pace | None, now: float) -> bool:
        if pace is None or (self._in_order and self._in_thread):
            return False
        others = self._all
        return not (pace.missing or others.missing) and now >= pace.until and now >= others.until

    async def _call_in_next_round(self, pace: _Pace | None, job: Callable[[], T]) -> T:
        """Run `job` in a later round of the loop, the next one that has room, also if the caller is cancelled before: it was handed in."""
        self._delayed += 1
        try:
            await self._round.wait_for_turn()
        except asyncio.CancelledError:
            with suppress(Exception):  # the caller gets the cancellation
                await run_to_end(self._call(pace, job))  # a second cancellation must not reach a task that has not begun
            raise
        else:
            self._join_round()
            return await self._call(pace, job)
        finally:
            self._delayed -= 1

    async def _call(self, pace: _Pace | None, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        began = time.perf_counter()
        if pace is not None and self._may_run_here(pace, began):
            try:
                return self._run_here(function, *args, **kwargs)
            except StoreLocked:
                self._all.note_lock()
            finally:
                now = time.perf_counter()
                took = now - began
                self._round.spend(took)
                if took >= SLOW or pace.factor > 1 or self._all.factor > 1:
                    pace.note_here(now, took)
                    self._all.note_here(now, took)
        return await self._call_in_thread(pace, partial(function, *args, **kwargs))

    async def _call_in_thread(self, pace: _Pace | None, job: Callable[[], T]) -> T:
        took = 0.0

        def measure() -> T:
            nonlocal took
            began = time.perf_counter()
            try:
                return job()
            finally:
                took = time.perf_counter() - began

        self._in_thread += 1
        try:
            return await self._run(measure)
        finally:
            self._in_thread -= 1
            if pace is not None:
                if not is_slow(took) or pace.may_run_here(time.perf_counter()):  # else it is slow each time, and says nothing of others
                    self._all.note_in_thread(took)
                pace.note_in_thread(took)
