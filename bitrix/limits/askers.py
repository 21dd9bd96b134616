"""Says for whom the portal is asked. It goes along in the context of the task, so that no layer between has to pass it on."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field

from bitrix.limits.limiter import Priority


@dataclass(eq=False, slots=True, kw_only=True)
class Asker:
    """For whom the portal is asked: the source, such as a person or a program, and how urgent its reads are.

    The reads of one source share its turn among all that ask.
    """

    source: str = ""
    urgency: Priority = Priority.INTERACTIVE
    is_gone: bool = False
    _reads: set[asyncio.Timeout] = field(default_factory=set, repr=False)

    def leave(self) -> None:
        """Give up all reads of this asker, those under way and those to come, because nobody waits for them any more.

        It may be called again, by each that stops the asker, and never raises.
        """
        self.is_gone = True
        for read in self._reads:
            if not read.expired():  # one that was given up may still be closing its connection, and takes no other end
                read.reschedule(asyncio.get_running_loop().time())

    def renew(self) -> "Asker":
        """Return an asker like this one that has not left: for a part of its work that ends earlier, or must not end with it."""
        return Asker(source=self.source, urgency=self.urgency)

    @contextlib.asynccontextmanager
    async def stay(self) -> AsyncIterator[None]:
        """Do one read, as long as the asker waits for it. Raises AskerGone."""
        if self.is_gone:
            raise AskerGone
        try:
            async with asyncio.timeout(None) as read:
                self._reads.add(read)
                try:
                    yield
                finally:
                    self._reads.discard(read)
        except TimeoutError:
            if read.expired():
                raise AskerGone from None
            raise


class AskerGone(Exception):
    """Nobody waits for a read any more, so it was given up."""


_current: ContextVar[Asker | None] = ContextVar("asker", default=None)
_PERSON = Asker()


def find_asker() -> Asker:
    """Return for whom this task asks the portal; if nobody has said, it is a person who waits."""
    return _current.get() or _PERSON


@contextlib.contextmanager
def ask_for(asker: Asker) -> Iterator[Asker]:
    """Ask the portal for this asker inside of the block, and in the tasks that it starts."""
    token = _current.set(asker)
    try:
        yield asker
    finally:
        _current.reset(token)
