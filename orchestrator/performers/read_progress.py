"""Lets a long read of the portal report its progress, and a turn stop it."""

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextvars import ContextVar

EVERY = 2.0
"""In seconds; messengers limit more."""

Show = Callable[[int, int], Awaitable[None]]
"""(rows read, rows in all or 0)."""


async def _show_nobody(_done: int, _total: int) -> None: ...


class ReadProgress:
    """The read works inside `run_limited` and calls `tell`; the turn may call `stop`."""

    def __init__(self, show: Show = _show_nobody, *, clock: Callable[[], float] = time.monotonic) -> None:
        """The read never waits for `show`."""
        self._show = show
        self._clock = clock
        self._again = -math.inf
        self._showing: asyncio.Task[None] | None = None
        self._scope: asyncio.Timeout | None = None
        self._stopped = False

    def stop(self) -> None:
        """End the read now, as if its time were up."""
        self._stopped = True
        if self._scope is not None and not self._scope.expired():
            self._scope.reschedule(-math.inf)

    def tell(self, done: int, total: int) -> None:
        """Skip if the last message is recent or being sent; never raises."""
        now = self._clock()
        if now < self._again or (self._showing is not None and not self._showing.done()):
            return
        self._again = now + EVERY
        self._showing = asyncio.ensure_future(self._show_safely(done, total))

    async def _show_safely(self, done: int, total: int) -> None:
        with contextlib.suppress(Exception):  # a progress message that fails must not cost the result
            await self._show(done, total)

    @contextlib.asynccontextmanager
    async def run_limited(self, seconds: float) -> AsyncGenerator[None, None]:
        """Raises TimeoutError when time is up or `stop` was called."""
        try:
            async with asyncio.timeout(0 if self._stopped else seconds) as self._scope:
                yield
        finally:
            self._scope = None
            if self._showing is not None:
                self._showing.cancel()
                await asyncio.gather(self._showing, return_exceptions=True)


_PROGRESS: ContextVar[ReadProgress | None] = ContextVar("watch", default=None)
# A context variable, because the way from the turn to the performer is long: as an argument the progress would be in the signatures of
# the gate's submit, its runs, the executor, the performers' port and every performer, none of which uses it. The task of the call
# inherits it; a call made elsewhere (an approved card, a recovery) has none and reports no progress.


@contextlib.contextmanager
def attach_progress(watch: ReadProgress) -> Generator[None, None, None]:
    """Also in tasks started inside of the block."""
    token = _PROGRESS.set(watch)
    try:
        yield
    finally:
        _PROGRESS.reset(token)


def get_progress() -> ReadProgress:
    """Without one it shows nothing."""
    return _PROGRESS.get() or ReadProgress()
