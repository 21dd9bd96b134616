import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field

from bitrix.limits.limiter import Priority


@dataclass(eq=False, slots=True, kw_only=True)
class Asker:
    """A source, such as a person or a program, and how urgent its reads are."""

    source: str = ""
    urgency: Priority = Priority.INTERACTIVE
    share: float = 1.0
    """The part of a method's time budget that may be used up, by whomever, before its reads wait."""
    is_gone: bool = False
    _reads: set[asyncio.Timeout] = field(default_factory=set, repr=False)

    def leave(self) -> None:
        """Give up all reads, those under way and those to come. May be called again, never raises."""
        self.is_gone = True
        for read in self._reads:
            if not read.expired():  # one that was given up may still be closing its connection, and takes no other end
                read.reschedule(asyncio.get_running_loop().time())

    def renew(self) -> "Asker":
        return Asker(source=self.source, urgency=self.urgency, share=self.share)

    @contextlib.asynccontextmanager
    async def stay(self) -> AsyncIterator[None]:
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
    return _current.get() or _PERSON


@contextlib.contextmanager
def ask_for(asker: Asker) -> Iterator[Asker]:
    token = _current.set(asker)
    try:
        yield asker
    finally:
        _current.reset(token)
