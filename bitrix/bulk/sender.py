import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypedDict, TypeVar

from bitrix.answers import Answer
from bitrix.client.read_only import PortalCaller
from bitrix.errors import RATE_LIMIT, TIME_LIMIT, NotSent, OutcomeUnknown
from bitrix.limits.limiter import Priority

LIMITS = frozenset({RATE_LIMIT, TIME_LIMIT})
"""Error codes that prove a command was not executed: it may be sent again."""
_MAX_PAUSE_SECONDS = 15.0
_MAX_PAUSES = 12  # in succession without progress; the client retries within each request besides

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]
OnProgress = Callable[["Progress"], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """`total` is None if it is not known."""

    done: int
    total: int | None = None


class BulkOptions(TypedDict, total=False):
    """`deadline` is on the clock of the event loop. `on_progress` must not raise."""

    priority: Priority
    in_flight: int
    deadline: float | None
    on_progress: OnProgress | None
    pause: Sleep


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    client: PortalCaller
    priority: Priority = Priority.BULK
    in_flight: int = 5
    deadline: float | None = None
    on_progress: OnProgress | None = None
    pause: Sleep = asyncio.sleep

    def __post_init__(self) -> None:
        if self.in_flight < 1:
            msg = "at least one batch must be in flight"
            raise ValueError(msg)

    def report_progress(self, progress: Progress) -> None:
        if self.on_progress is not None:
            self.on_progress(progress)

    def calculate_time_left(self) -> float | None:
        return None if self.deadline is None else max(0.0, self.deadline - asyncio.get_running_loop().time())

    async def read(self, method: str, params: Mapping[str, Any]) -> Answer:
        """Repeat the read while a limit refuses it. Raises `OutcomeUnknown` at the deadline."""
        patience = Backoff(self)
        while True:
            try:
                async with asyncio.timeout_at(self.deadline):
                    return await self.client.call(
                        method, params, repeatable=True, priority=self.priority, send_within=self.calculate_time_left()
                    )
            except TimeoutError:
                raise OutcomeUnknown("the portal did not answer before the deadline") from None
            except NotSent as refusal:
                if refusal.code not in LIMITS or not await patience.wait():
                    raise


@dataclass(slots=True)
class Backoff:
    sender: Sender
    _pauses: int = 0

    async def wait(self, *, at_most: int = _MAX_PAUSES) -> bool:
        number, self._pauses = self._pauses, self._pauses + 1
        seconds = min(_MAX_PAUSE_SECONDS, 2.0**number)
        left = self.sender.calculate_time_left()
        if number >= at_most or (left is not None and left <= seconds):
            return False
        await self.sender.pause(seconds)
        return True


class TaskPool:
    """Owns the tasks it starts: on leaving, those that still run are cancelled and awaited."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def running(self) -> int:
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._discard)
        return task

    async def wait_any(self) -> None:
        await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    def _discard(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # marks it as retrieved: nobody may be left to await it

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def yield_in_order(works: AsyncGenerator[Coroutine[Any, Any, T], None], *, allowed: int) -> AsyncGenerator[T, None]:
    """Run up to `allowed` coroutines at once and yield their results in order. Close with `aclosing`."""
    line: deque[asyncio.Task[T]] = deque()
    ended = False
    async with aclosing(works), TaskPool() as crew:
        while line or not ended:
            while not ended and crew.running < allowed and len(line) < 2 * allowed:
                try:
                    line.append(crew.start(await anext(works)))
                except StopAsyncIteration:
                    ended = True
            if line and line[0].done():
                yield line.popleft().result()
            elif line:
                await crew.wait_any()
