"""What a turn and a long read in it know of each other: how far the read is, and that nobody waits for it any more. Ring 2, no wire."""

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextvars import ContextVar

EVERY = 2.0
"""Seconds from one sign of progress to the next: more often a messenger takes for flooding, and nobody reads."""

Show = Callable[[int, int], Awaitable[None]]
"""(done, of all; 0 where that is unknown) → shown; may be dropped."""


async def _show_nobody(done: int, total: int) -> None:
    del done, total


class ReadProgress:
    """One call as its turn sees it: `tell` shows how far it is, `stop` ends what `limited` runs."""

    def __init__(self, show: Show = _show_nobody, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`show` is never awaited by the read: a slow messenger must not hold it up."""
        self._show = show
        self._clock = clock
        self._again = -math.inf
        self._showing: asyncio.Task[None] | None = None
        self._scope: asyncio.Timeout | None = None
        self._stopped = False

    def stop(self) -> None:
        """Nobody waits for the read any more: it ends now, as if its time were up."""
        self._stopped = True
        if self._scope is not None and not self._scope.expired():
            self._scope.reschedule(-math.inf)

    def tell(self, done: int, total: int) -> None:
        """Show it, unless the last sign is fresh or still on its way; raises nothing."""
        now = self._clock()
        if now < self._again or (self._showing is not None and not self._showing.done()):
            return
        self._again = now + EVERY
        self._showing = asyncio.ensure_future(self._show_safely(done, total))

    async def _show_safely(self, done: int, total: int) -> None:
        with contextlib.suppress(Exception):  # a sign that does not get through must not cost the sum
            await self._show(done, total)

    @contextlib.asynccontextmanager
    async def run_limited(self, seconds: float) -> AsyncGenerator[None, None]:
        """Run the body for so long at most; raises TimeoutError when the time is up or the read was stopped."""
        try:
            async with asyncio.timeout(0 if self._stopped else seconds) as self._scope:
                yield
        finally:
            self._scope = None
            if self._showing is not None:
                self._showing.cancel()
                await asyncio.gather(self._showing, return_exceptions=True)


_PROGRESS: ContextVar[ReadProgress | None] = ContextVar("watch", default=None)
# A context variable, for the way from the turn to the performer is long: as an argument the watch would stand in the signatures of the
# gate's submit, its runs, the executor, the performers' port and every performer, none of which has a use for it. The task of the call
# inherits it; a call made elsewhere (an approved card, a recovery) has none and is read without a sign.


@contextlib.contextmanager
def attach_progress(watch: ReadProgress) -> Generator[None, None, None]:
    """Tasks begun in the body belong to `watch`."""
    token = _PROGRESS.set(watch)
    try:
        yield
    finally:
        _PROGRESS.reset(token)


def get_progress() -> ReadProgress:
    """The watch over the running call, or one that nobody looks at."""
    return _PROGRESS.get() or ReadProgress()
