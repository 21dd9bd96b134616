"""Runs functions in threads for asyncio, always to their end; one thread keeps the order."""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Generator
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic, ParamSpec, TypeVar

from state.journal.store import StoreUnwritable

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")
Job = Callable[[], None]


class Answer(asyncio.Future[T]):
    """A cancellation is raised once the result is there.

    `asyncio.shield` takes two more rounds of the loop.
    """

    def cancel(self, msg: Any | None = None) -> bool:
        del msg
        return False


class ThreadWorker:
    """A call costs a third of one with concurrent.futures."""

    def __init__(self, name: str, threads: int = 1) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._closed = False
        self._threads = [threading.Thread(target=self._work, name=f"{name}-{number}", daemon=True) for number in range(threads)]
        for thread in self._threads:
            thread.start()

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """A cancellation is raised only after the function has finished."""
        self.check_open()
        return await self._run(partial(function, *args, **kwargs))

    def check_open(self) -> None:
        """Raises StoreUnwritable once it is closed."""
        if self._closed:
            raise StoreUnwritable("the store is closed")

    async def aclose(self) -> None:
        """Finish the calls handed in before."""
        if not self._closed:
            self._closed = True
            for _ in self._threads:
                self._jobs.put(None)
            for thread in self._threads:
                await asyncio.to_thread(thread.join)

    async def _run(self, function: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        answer: Answer[T] = Answer(loop=loop)
        context = copy_context()  # log lines of the thread belong to the caller's context

        def job() -> None:
            try:
                value = context.run(function)
            except BaseException as error:  # noqa: BLE001  whatever it is belongs to the caller, not to this thread
                hand_over(loop, answer.set_exception, error)
            else:
                hand_over(loop, answer.set_result, value)

        self._jobs.put(job)
        try:
            return await answer
        except asyncio.CancelledError:
            answer.exception()  # Mark the exception as retrieved; the caller gets the cancellation.
            raise

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


def hand_over(loop: asyncio.AbstractEventLoop, setter: Callable[[Any], None], value: object) -> None:
    """Call `setter` in the loop, from any thread; nothing happens if the loop is closed."""
    try:
        loop.call_soon_threadsafe(setter, value)
    except RuntimeError:  # the loop was closed meanwhile: nobody waits for the result
        return


async def run_to_end(work: Coroutine[Any, Any, T], on_cancel: Callable[[], None] | None = None) -> T:
    """Raise a cancellation only after `work` has ended.

    `work` is an ordinary task: else it would refuse its own timeouts.
    """
    return await _Ending(asyncio.ensure_future(work), on_cancel)


class _Ending(Generic[T]):
    """Awaits a task without cancelling it.

    `asyncio.wait` and `asyncio.shield` take one more round of the loop.
    """

    _asyncio_future_blocking = False

    def __init__(self, task: asyncio.Task[T], on_cancel: Callable[[], None] | None) -> None:
        self._task, self._told = task, on_cancel
        self.get_loop = task.get_loop
        self.add_done_callback = task.add_done_callback
        self.remove_done_callback = task.remove_done_callback

    def cancel(self, msg: Any | None = None) -> bool:
        del msg
        if self._told is not None:
            self._told()
        return False

    def __await__(self) -> Generator[Any, None, T]:
        if not self._task.done():
            self._asyncio_future_blocking = True
            yield self
        return self._task.result()
