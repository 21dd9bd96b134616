"""Erases or rewrites the audit log of one person (ring 1), for the law and for nothing else. A rewritten log says that it was.

A kill in the middle leaves the old log or the new one, never half of each; an erasure that was killed is finished by the next one.
"""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from state import log_archives, log_staging
from state.clock import Clock, SystemClock, iso
from state.log_archives import Segment, archived, packed, segments
from state.log_chain import FIELD, NOTHING, Head, sealed
from state.log_ledger import Archived, Ledger, ledger_path, read_ledger, write_ledger
from state.log_locks import archive_lock_path, head_text, held, lock_path, read_head
from state.log_records import encoded, log_path
from state.log_staging import files_of, write_durably

NOTE = "rewritten"
"""The type of the record that tells of a rewriting; it names nobody but the log's owner, and stays."""
Change = Callable[[dict[str, Any]], dict[str, Any] | None]


def erase_user(folder: Path, user: str) -> int:
    """Remove every file of the user's log, live, packed and in between; how many records could still be read in them.

    TimeoutError where somebody does not let go of the log; then nothing was removed.
    """
    log = log_path(folder, user)
    if not folder.is_dir():
        return 0
    with held(archive_lock_path(log)), held(lock_path(log)) as lock:
        log_staging.finish(log, lock)
        log_staging.clear(log)
        count = sum(_count(path) for path in (*(segment.path for segment in segments(log)), log))
        for path in files_of(log):
            path.unlink()
        for path in (ledger_path(log), ledger_path(log).with_suffix(".damaged")):
            path.unlink(missing_ok=True)
        log_staging.sync_folder(folder)
        # Last, and while they are held: whoever waits for them sees that they are gone and begins anew.
        lock_path(log).unlink()
        archive_lock_path(log).unlink()
    return count


def rewrite_user(folder: Path, user: str, change: Change, *, clock: Clock | None = None) -> int:
    """Hand every record of the user to `change` and keep what it returns, None for nothing; how many came back different.

    Numbers and hashes are made anew, and a last record tells of it and where the old chain stood. Torn lines are not kept. Where nothing
    changes the files stay as they are. DamagedArchive and errors of `change` leave everything as it was.
    """
    log = log_path(folder, user)
    if not folder.is_dir() or log not in log_archives.logs_in(folder):
        return 0
    with held(archive_lock_path(log)):
        log_staging.clear(log)
        with held(lock_path(log)) as lock:
            log_staging.finish(log, lock)
        try:
            return _rewritten(log, user, change, clock or SystemClock())
        finally:
            log_staging.clear(log)


def _rewritten(log: Path, user: str, change: Change, clock: Clock) -> int:
    """Archives first, which nobody changes meanwhile; then, while writers wait, what came to them and the live file."""
    log_staging.staging(log).mkdir()
    work = _Rewriting(log, change)
    before = segments(log)
    for segment in before:
        work.archive(segment)
    with held(lock_path(log)) as lock:
        for segment in segments(log)[len(before) :]:
            work.archive(segment)
        live = work.changed(_text(log))
        if not work.differing:
            return 0
        old = read_head(lock)
        live += work.note(user, clock, old.n if old else 0, old.hash if old else NOTHING)
        work.close(live)
        log_staging.commit(log, lock)
    return work.differing


class _Rewriting:
    """The new files while they are made."""

    def __init__(self, log: Path, change: Change) -> None:
        self._log = log
        self._change = change
        self._ledger = _begin(log)
        self._head = Head(self._ledger.first - 1, self._ledger.prev, 0)
        self._archives: dict[str, Archived] = {}
        self.differing = self._dropped = self._unreadable = 0

    def archive(self, segment: Segment) -> None:
        """The new archive for a full log, packed or not; none where no record of it is kept."""
        text = self.changed(_text(segment.path))
        name = segment.path.name if segment.packed else f"{segment.path.name}.gz"
        if text:
            data = packed(text)
            write_durably(log_staging.staging(self._log) / name, data)
            self._archives[name] = archived(text, data)

    def changed(self, text: bytes) -> bytes:
        """The lines of a file, changed and chained anew."""
        return b"".join(self._line(line) for line in io.BytesIO(text) if line.strip())

    def note(self, user: str, clock: Clock, n: int, digest: str) -> bytes:
        """The line that tells what was done."""
        record = {
            "timestamp": iso(clock.now()),
            "user": user,
            "v": 2,
            "type": NOTE,
            "changed": self.differing - self._dropped,
            "dropped": self._dropped,
            "unreadable": self._unreadable,
            "before": {"n": n, "hash": digest},
        }
        line, self._head = sealed(encoded(record), self._head)
        return line

    def close(self, live: bytes) -> None:
        """The live file, its head and the ledger."""
        new = log_staging.staging(self._log) / self._log.name
        write_durably(new, live)
        write_durably(lock_path(new), head_text(self._head._replace(size=len(live))))
        write_ledger(new, self._ledger.model_copy(update={"archives": self._archives}))

    def _line(self, line: bytes) -> bytes:
        try:
            record = orjson.loads(line)
            record.pop(FIELD, None)
        except (orjson.JSONDecodeError, AttributeError, TypeError):
            self._unreadable += 1
            return b""
        before = encoded(record)
        after = record if record.get("type") == NOTE else self._change(record)
        text = None if after is None else encoded(after)
        self.differing += text != before
        if text is None:
            self._dropped += 1
            return b""
        new, self._head = sealed(text, self._head)
        return new


def _begin(log: Path) -> Ledger:
    try:
        return read_ledger(log)
    except ValueError:
        return Ledger()


def _text(path: Path) -> bytes:
    return log_archives.content(path) if path.exists() else b""


def _count(path: Path) -> int:
    try:
        return sum(1 for line in io.BytesIO(_text(path)) if line.strip())
    except log_archives.DamagedArchive:
        return 0
