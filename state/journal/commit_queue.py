"""Lets commits that wait for the one writer at the same time share a transaction, and so a flush to disk."""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from state.journal.store import Commit, Store, StoredEvent, StoreUnwritable
from state.journal.thread_worker import ThreadWorker

log = logging.getLogger(__name__)
MOST_TOGETHER: Final = 64
"""How many commits share a transaction at most."""


@dataclass(slots=True)
class _Waiting:
    """A commit that waits to be written, and then what became of it."""

    commit: Commit
    keep: Callable[[list[StoredEvent]], None]
    is_over: bool = False
    error: BaseException | None = None


class CommitQueue:
    """Writes commits one after the other. Those that wait while the writer is busy share a transaction, and so a flush to disk.

    Whoever handed a commit in is told of it when it is durable, as if it had been written by itself.
    """

    def __init__(self, store: Store, writer: ThreadWorker) -> None:
        self._store, self._writer = store, writer
        self._waiting: deque[_Waiting] = deque()

    async def write(self, commit: Commit, keep: Callable[[list[StoredEvent]], None]) -> None:
        """Write the commit, then call `keep` with its events where it was written; raises what `Store.commit` raises."""
        self._writer.check_open()  # what is handed in after that is written, also if its caller is told otherwise
        mine = _Waiting(commit, keep)
        self._waiting.append(mine)
        await self._writer.call(self._write_with_others, mine)

    def _write_with_others(self, mine: _Waiting) -> None:
        """Write this commit with those that wait beside it, unless it was written with one before."""
        while not mine.is_over:
            group = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_TOGETHER))]
            if len(group) == 1 or not self._write_together(group):
                for one in group:
                    self._write_alone(one)
        if mine.error is not None:
            raise mine.error

    def _write_together(self, group: Sequence[_Waiting]) -> bool:
        """Write all in one transaction; return False, with nothing written, if one of them cannot be stored."""
        try:
            stored = self._store.commit_group([one.commit for one in group])
        except StoreUnwritable as error:  # the database's fault, and none of theirs
            for one in group:
                one.is_over, one.error = True, error
        except BaseException:  # noqa: BLE001 - nothing of the group is stored; whose error it is shows when each is tried
            log.debug("%d commits are stored one by one", len(group), extra={"action": "commits_parted"})
            return False
        else:
            for one, events in zip(group, stored, strict=True):
                one.is_over = True
                one.keep(events)
        return True

    def _write_alone(self, one: _Waiting) -> None:
        try:
            one.keep(self._store.commit(one.commit))
        except BaseException as error:  # noqa: BLE001 - whatever it is belongs to the caller of that commit, not to this thread
            one.error = error
        one.is_over = True
