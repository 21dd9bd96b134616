"""Lets waiting commits share a transaction, and so a flush to disk."""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from state.journal.store import Commit, Store, StoredEvent, StoreUnwritable
from state.journal.thread_worker import ThreadWorker

log = logging.getLogger(__name__)
MOST_TOGETHER: Final = 64


@dataclass(slots=True)
class _Waiting:
    commit: Commit
    keep: Callable[[list[StoredEvent]], None]
    is_over: bool = False
    error: BaseException | None = None


class CommitQueue:
    """Callers are told when their commit is durable, as if it had been written by itself."""

    def __init__(self, store: Store, writer: ThreadWorker) -> None:
        self._store, self._writer = store, writer
        self._waiting: deque[_Waiting] = deque()

    async def write(self, commit: Commit, keep: Callable[[list[StoredEvent]], None]) -> None:
        """Calls `keep` in the writing thread; raises what `Store.commit` raises."""
        self._writer.check_open()  # what is handed in after that is written, also if its caller is told otherwise
        mine = _Waiting(commit, keep)
        self._waiting.append(mine)
        await self._writer.call(self._write_with_others, mine)

    def _write_with_others(self, mine: _Waiting) -> None:
        while not mine.is_over:
            group = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_TOGETHER))]
            if len(group) == 1 or not self._write_together(group):
                for waiting in group:
                    self._write_alone(waiting)
        if mine.error is not None:
            raise mine.error

    def _write_together(self, group: Sequence[_Waiting]) -> bool:
        """Return False, with nothing written, if one cannot be stored."""
        try:
            stored = self._store.commit_group([waiting.commit for waiting in group])
        except StoreUnwritable as error:  # the database's fault, and none of theirs
            for waiting in group:
                waiting.is_over, waiting.error = True, error
        except BaseException:  # noqa: BLE001 - nothing of the group is stored; whose error it is shows when each is tried
            log.debug("%d commits are stored one by one", len(group), extra={"action": "commits_parted"})
            return False
        else:
            for waiting, events in zip(group, stored, strict=True):
                waiting.is_over = True
                waiting.keep(events)
        return True

    def _write_alone(self, waiting: _Waiting) -> None:
        try:
            waiting.keep(self._store.commit(waiting.commit))
        except BaseException as error:  # noqa: BLE001 - whatever it is belongs to the caller of that commit, not to this thread
            waiting.error = error
        waiting.is_over = True
