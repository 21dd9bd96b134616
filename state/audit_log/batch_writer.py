"""Writes audit records in a thread of its own, those of a quarter of a second together: each log is opened and locked once for them.

What cannot be written now (no room, no rights, a lock that somebody holds) waits in memory and is tried again; nobody who hands in records
waits for it. What a killed process had not written is in the journal, from which `sdelka logs rebuild` writes it.
"""

import atexit
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakSet, ref

from state.audit_log.interaction_log import InteractionLogger, LogErased

log = logging.getLogger(__name__)

GATHER_SECONDS: Final = 0.25
SOON_BYTES: Final = 1024 * 1024
"""So many bytes are written at once, without waiting for more."""
MOST_BYTES: Final = 64 * 1024 * 1024
"""How many bytes may wait in memory; beyond that records are left to the journal."""
LOCK_WAIT: Final = 0.25
"""How long one round of writing waits for locks that others hold; the logs behind are written by the next round."""
FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 30.0
"""How long a log is left alone after it could not be written; the pause doubles from the first to the longest."""

Mask = Callable[[str, Sequence[bytes]], Sequence[bytes]]
"""Returns records, given with the user in whose log they belong, as they may be written."""


@dataclass(kw_only=True)
class _Backlog:
    """Records of one user that are gathered or ready to be written; after a failure also when they are tried again."""

    records: deque[bytes] = field(default_factory=deque)
    failures: int = 0
    due: float = 0.0
    lock: int | None = None
    """The log's lock file, as `find_lock` returned it when the first record came, or after the first failure if there was none then."""


class BatchWriter:
    """Takes records from any thread, and writes those of each user in their order. A failure is told once, and again when it is over."""

    def __init__(self, interactions: InteractionLogger, mask: Mask) -> None:
        """Write to these logs; `mask` is called in the writer's thread, before anything is written."""
        self._log = interactions
        self._mask = mask
        self._thread = ThreadPoolExecutor(1, "audit")
        """A clean end of the program waits for what it was given, and for nothing else: a writer that tries again is woken by a timer."""
        self._guard = threading.Lock()
        self._fresh: dict[str, _Backlog] = {}
        self._fresh_bytes = 0
        self._is_planned = False
        self._hurry = threading.Event()
        self._backlogs: dict[str, _Backlog] = {}
        self._backlog_bytes = 0
        self._timer: threading.Timer | None = None
        self._told: set[str] = set()
        self._late = self._left_out = 0
        _writers.add(self)

    def put(self, user: str, records: Sequence[bytes]) -> None:
        """Take encoded records for the log of `user`; they are written within about `GATHER_SECONDS`. Never waits, never raises."""
        size = sum(map(len, records))
        with self._guard:
            is_full = self._fresh_bytes + self._backlog_bytes + size > MOST_BYTES
            if is_full:
                self._left_out += len(records)
            else:
                if user not in self._fresh:
                    self._fresh[user] = _Backlog(lock=self._log.find_lock(user))
                self._fresh[user].records.extend(records)
                self._fresh_bytes += size
            if self._fresh_bytes >= SOON_BYTES:
                self._hurry.set()
            is_planned, self._is_planned = self._is_planned, True
        if is_full:
            self._tell_left_out()
        if not is_planned:
            self._submit(self._gather)

    @property
    def is_behind(self) -> bool:
        """Whether more waits than is written at once, so that whoever can do so should hand in no more for a moment."""
        return self._fresh_bytes + self._backlog_bytes > SOON_BYTES

    def wait(self, seconds: float) -> None:
        """Block until all that was handed in was tried to be written, at once. Raises TimeoutError after `seconds`."""
        self._hurry.set()
        self._thread.submit(self._write_all, is_last=True).result(seconds)

    def end(self) -> None:
        """Try a last time to write what is left, in the caller's thread, and tell what could not be; called when the program ends."""
        with suppress(RuntimeError):
            self._thread.shutdown()
        if self._backlogs or self._fresh:
            self._write_all(is_last=True)
        if left := sum(len(backlog.records) for backlog in self._backlogs.values()):
            told = "%d audit records could not be written before the end; `sdelka logs rebuild` writes them from the journal"
            log.error(told, left, extra={"action": "interaction_log.lost"})

    def _submit(self, work: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the program ends: `end` writes what is left
            self._thread.submit(work)

    def _gather(self) -> None:
        self._hurry.wait(GATHER_SECONDS)
        self._write_all()

    def _write_all(self, *, is_last: bool = False) -> None:
        """Write what is there; of what failed before only what is due, unless it is the last chance."""
        try:
            self._take_fresh()
            patience = None if is_last else LOCK_WAIT
            for user, backlog in list(self._backlogs.items()):
                if is_last or backlog.due <= time.monotonic():
                    patience = self._write(user, backlog, patience)
            self._plan_next()
        except Exception:  # the audit log fails open, and whoever handed the records in is long gone
            log.exception("an interaction was not logged", extra={"action": "interaction_log.record"})

    def _take_fresh(self) -> None:
        with self._guard:
            fresh, self._fresh = self._fresh, {}
            self._backlog_bytes += self._fresh_bytes
            self._fresh_bytes = 0
            self._is_planned = False
            self._hurry.clear()
        for user, gathered in fresh.items():
            try:
                masked = self._mask(user, gathered.records)
            except Exception:  # what cannot be masked may hold a secret; the records of others are written
                self._left_out += len(gathered.records)
                log.exception("an interaction was not logged", extra={"action": "interaction_log.record"})
            else:
                self._drop_erased(user, gathered.lock)
                self._backlogs.setdefault(user, _Backlog(lock=gathered.lock)).records.extend(masked)

    def _drop_erased(self, user: str, lock: int | None) -> None:
        """Leave out what waits for a log that was erased before the newest records came, so that these are not taken for older ones."""
        waiting = self._backlogs.get(user)
        if waiting is not None and waiting.lock and lock not in {None, waiting.lock}:
            self._left_out += len(waiting.records)
            del self._backlogs[user]

    def _write(self, user: str, backlog: _Backlog, patience: float | None) -> float | None:
        """Write the records of one user, or put them off; return how long the next one may wait for its lock."""
        count = len(backlog.records)
        try:
            self._log.append(user, backlog.records, seconds=patience, known=backlog.lock)
        except LogErased:  # nothing of it may come back
            self._left_out += count
        except Exception as error:  # noqa: BLE001 - whatever it is, others are written
            self._put_off(user, backlog, error)
            return 0.0 if isinstance(error, TimeoutError) else patience
        else:
            self._late += count if backlog.failures else 0
        del self._backlogs[user]
        return patience

    def _put_off(self, user: str, backlog: _Backlog, error: Exception) -> None:
        if not backlog.lock:
            backlog.lock = self._log.find_lock(user)
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(backlog.failures, 9))
        backlog.failures += 1
        backlog.due = time.monotonic() + pause
        kind = f"{type(error).__name__} {getattr(error, 'errno', '')}"
        if kind not in self._told:
            self._told.add(kind)
            told = "an interaction was not logged and waits; this is tried again, and not told again before it is over"
            log.error(told, exc_info=error, extra={"action": "interaction_log.record"})

    def _tell_left_out(self) -> None:
        with self._guard:
            is_told = "left out" in self._told
            self._told.add("left out")
        if not is_told:
            told = "so many audit records wait that later ones are left out; `sdelka logs rebuild` writes them from the journal"
            log.error(told, extra={"action": "interaction_log.lost"})

    def _plan_next(self) -> None:
        """Count what waits, and plan the next attempt; tell if all is written again."""
        waiting = sum(sum(map(len, backlog.records)) for backlog in self._backlogs.values())
        with self._guard:
            self._backlog_bytes = waiting
        if self._backlogs:
            pause = max(0.05, min(backlog.due for backlog in self._backlogs.values()) - time.monotonic())
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(pause, _try_again, (ref(self),))
            self._timer.daemon = True
            with suppress(RuntimeError):  # see _submit
                self._timer.start()
        elif self._told:
            with self._guard:
                late, left_out = self._late, self._left_out
                self._late = self._left_out = 0
                self._told.clear()
            log.warning(
                "the audit log is written again: %d records came late, %d are left out",
                late,
                left_out,
                extra={"action": "interaction_log.again"},
            )


_writers: "WeakSet[BatchWriter]" = WeakSet()


def _try_again(writer: "ref[BatchWriter]") -> None:
    batch_writer = writer()
    if batch_writer is not None:
        batch_writer._submit(batch_writer._write_all)  # noqa: SLF001 - a timer of its own, which must not keep it alive


os.register_at_fork(after_in_child=_writers.clear)  # what the parent was given is not the child's to write


@atexit.register
def _end_all() -> None:
    for writer in list(_writers):
        writer.end()
