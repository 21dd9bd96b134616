"""Erases or rewrites the audit log of one person, for legal reasons only. A rewritten log records that it was rewritten.

A crash leaves either the old log or the new one, never half of each. An interrupted erasure is finished when the person's log is erased
again. No library rewrites a log: its records have to be numbered and hashed anew, archives included, while other processes go on writing;
they are locked out only while the newest file is done, at most 5 of 55 MiB.
"""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from state.audit_log import archives, log_files
from state.audit_log.archives import (
    ArchiveEntry,
    Ledger,
    Segment,
    build_ledger_path,
    describe_archive,
    list_segments,
    pack_text,
    read_ledger,
    write_ledger,
)
from state.audit_log.chain import FIELD, NOTHING, Head, add_link
from state.audit_log.log_files import (
    build_archive_lock_path,
    build_lock_path,
    hold_lock,
    list_data_files,
    read_head,
    render_head,
    write_durably,
)
from state.audit_log.records import build_log_path, encode_record
from state.clock import Clock, SystemClock, format_iso

NOTE = "rewritten"
"""The type of the record that reports a rewriting; it names nobody but the log's owner and is kept by later rewritings."""
Change = Callable[[dict[str, Any]], dict[str, Any] | None]


def erase_user(folder: Path, user: str) -> int:
    """Remove every file of the user's log, and return how many readable records the files held.

    Raises TimeoutError if the log's locks are not released in time; then nothing was removed.
    """
    log = build_log_path(folder, user)
    if not folder.is_dir():
        return 0
    with hold_lock(build_archive_lock_path(log)), hold_lock(build_lock_path(log)) as lock:
        log_files.finish_move(log, lock)
        log_files.clear_staged_files(log)
        count = sum(_count_records(path) for path in (*(segment.path for segment in list_segments(log)), log))
        for path in list_data_files(log):
            path.unlink()
        for path in (build_ledger_path(log), build_ledger_path(log).with_suffix(".damaged")):
            path.unlink(missing_ok=True)
        log_files.sync_folder(folder)
        # The locks are removed last, while they are held: a waiting process sees that they are gone and starts anew.
        build_lock_path(log).unlink()
        build_archive_lock_path(log).unlink()
    return count


def transform_user(folder: Path, user: str, change: Change, *, clock: Clock | None = None) -> int:
    """Replace every record of the user by the result of `change` (None drops the record); return how many records were changed or dropped.

    Numbers and hashes are computed anew, and a last record reports the rewriting and the end of the old chain. Incomplete lines are
    dropped. If nothing changes, the files stay as they are. If DamagedArchive or an error of `change` is raised, nothing is changed.
    """
    log = build_log_path(folder, user)
    if not folder.is_dir() or log not in archives.list_logs(folder):
        return 0
    with hold_lock(build_archive_lock_path(log)):
        log_files.clear_staged_files(log)
        with hold_lock(build_lock_path(log)) as lock:
            log_files.finish_move(log, lock)
        try:
            return _transform(log, user, change, clock or SystemClock())
        finally:
            log_files.clear_staged_files(log)


def _transform(log: Path, user: str, change: Change, clock: Clock) -> int:
    """Rewrite the log and return how many records were changed or dropped.

    The archives are rewritten while other processes may still append records. Then writers are locked out, and the full files
    renamed in the meantime and the live file (the one written to) are rewritten.
    """
    log_files.build_staging_path(log).mkdir()
    work = _LogRewrite(log, change)
    before = list_segments(log)
    for segment in before:
        work.add_archive(segment)
    with hold_lock(build_lock_path(log)) as lock:
        for segment in list_segments(log)[len(before) :]:
            work.add_archive(segment)
        live = work.transform_lines(_read_text(log))
        if not work.differing:
            return 0
        old = read_head(lock)
        live += work.build_note(user, clock, old.n if old else 0, old.hash if old else NOTHING)
        work.close(live)
        log_files.commit_staged_files(log, lock)
    return work.differing


class _LogRewrite:
    """Writes the new files of one log into the staging folder (where they are prepared), and counts the records that change."""

    def __init__(self, log: Path, change: Change) -> None:
        self._log = log
        self._change = change
        self._ledger = _read_clean_ledger(log)
        self._head = Head(self._ledger.first - 1, self._ledger.prev, 0)
        self._archives: dict[str, ArchiveEntry] = {}
        self.differing = self._dropped = self._unreadable = 0

    def add_archive(self, segment: Segment) -> None:
        """Rewrite a segment (a full log file, compressed or not) as a compressed archive.

        If the caller's function `change` drops all records of the segment, nothing is written.
        """
        text = self.transform_lines(_read_text(segment.path))
        name = segment.path.name if segment.is_packed else f"{segment.path.name}.gz"
        if text:
            data = pack_text(text)
            write_durably(log_files.build_staging_path(self._log) / name, data)
            self._archives[name] = describe_archive(text, data)

    def transform_lines(self, text: bytes) -> bytes:
        """Apply the caller's function `change` to each record of the file content `text`; return the lines, numbered and hashed anew."""
        return b"".join(self._transform_line(line) for line in io.BytesIO(text) if line.strip())

    def build_note(self, user: str, clock: Clock, n: int, digest: str) -> bytes:
        """Return the line that reports the rewriting; `n` and `digest` are number and hash of the last record before the rewriting."""
        record = {
            "timestamp": format_iso(clock.now()),
            "user": user,
            "v": 2,
            "type": NOTE,
            "changed": self.differing - self._dropped,
            "dropped": self._dropped,
            "unreadable": self._unreadable,
            "before": {"n": n, "hash": digest},
        }
        line, self._head = add_link(encode_record(record), self._head)
        return line

    def close(self, live: bytes) -> None:
        """Write the other new files: the live file (the one written to) with the lines `live`, the lock file and the ledger.

        The lock file holds the log's end, the ledger is the list of its archives.
        """
        new = log_files.build_staging_path(self._log) / self._log.name
        write_durably(new, live)
        write_durably(build_lock_path(new), render_head(self._head._replace(size=len(live))))
        write_ledger(new, self._ledger.model_copy(update={"archives": self._archives}))

    def _transform_line(self, line: bytes) -> bytes:
        try:
            record = orjson.loads(line)
            record.pop(FIELD, None)
        except (orjson.JSONDecodeError, AttributeError, TypeError):
            self._unreadable += 1
            return b""
        before = encode_record(record)
        after = record if record.get("type") == NOTE else self._change(record)
        text = None if after is None else encode_record(after)
        self.differing += text != before
        if text is None:
            self._dropped += 1
            return b""
        new, self._head = add_link(text, self._head)
        return new


def _read_clean_ledger(log: Path) -> Ledger:
    try:
        return read_ledger(log)
    except ValueError:
        return Ledger()


def _read_text(path: Path) -> bytes:
    return archives.read_content(path) if path.exists() else b""


def _count_records(path: Path) -> int:
    try:
        return sum(1 for line in io.BytesIO(_read_text(path)) if line.strip())
    except archives.DamagedArchive:
        return 0
