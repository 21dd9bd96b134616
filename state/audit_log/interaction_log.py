"""The audit log for operators: a rotated, hash-chained JSONL file per user (S004-43…53, A8). Its errors never disturb a person's request.

It is not the journal: no decision depends on it, and records are not flushed to disk one by one.
"""

import errno
import logging
import os
import zlib
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

from state.audit_log import archives, log_files
from state.audit_log.archives import DamagedArchive, has_ledger
from state.audit_log.chain import EMPTY, Head, add_link, move_head, parse_link
from state.audit_log.log_files import FOLDER_MODE, build_lock_path, hold_in_place, open_private
from state.audit_log.packing import packer
from state.audit_log.records import build_file_name, build_log_path, encode_record, find_log_owner, parse_record, parse_user
from state.audit_log.rewriting import erase_user, transform_user
from state.clock import Clock, format_iso

__all__ = [
    "DamagedArchive",
    "InteractionLogger",
    "LogErased",
    "build_file_name",
    "build_log_path",
    "erase_user",
    "find_user",
    "list_logs_of",
    "list_users",
    "read_records",
    "transform_user",
]

log = logging.getLogger(__name__)

LIMIT = 5 * 1024 * 1024
KEEP = 10


class LogErased(Exception):
    """The log was erased after its records were handed in, so they are not written."""


class _HalfWrittenError(OSError):
    """Only the first of several records were written, and they could not be removed again."""

    def __init__(self, lines: int) -> None:
        super().__init__(errno.ENOSPC, "no room for the whole records")
        self.lines = lines
        """How many records are in the log as a whole."""


class InteractionLogger:
    """Appends records to the logs in one folder; safe to use from several threads and processes.

    Calls block while the disk writes, so code on an event loop calls it in a thread. No call waits for the compression of full logs.
    """

    def __init__(self, folder: Path, *, clock: Clock, limit: int = LIMIT, keep: int = KEEP) -> None:
        """Log into `folder`, which is created if missing, with at most `limit` bytes per file and `keep` archives per user."""
        self._folder = folder
        self._clock = clock
        self._limit = limit
        self._keep = keep
        self._rotated: set[str] | None = None
        """The file names of the logs that were full once; None if the folder could not be read, so that nobody knows."""
        try:
            segments = archives.find_segments(folder)
            for name in sorted(name for name, is_unpacked in segments.items() if is_unpacked):
                packer.pack(folder / name, keep)
            self._rotated = set(segments)
        except OSError:
            log.exception("the folder of the interaction logs cannot be read", extra={"action": "interaction_log.open"})

    def record(self, user: str, entry: Mapping[str, Any]) -> None:
        """Append `entry` to the log of `user` as one record, with `timestamp` and `user` in front of its own fields.

        An error is written to the program's own log and not raised.
        """
        with _fail_open():
            self.append(user, deque([encode_record({"timestamp": format_iso(self._clock.now()), "user": user, **entry})]))

    def write(self, user: str, *records: bytes) -> None:
        """Append already encoded records: JSON objects with `timestamp` and `user` and without the member "chain".

        The log is locked and opened once for all of them. Errors are handled as in `record`; what does not fit on the disk is left out.
        """
        with _fail_open():
            self.append(user, deque(records))

    def append(self, user: str, records: deque[bytes], *, seconds: float | None = None, known: int | None = None) -> None:
        """Append records as `write` does, and remove from the deque those that are in the log; what is left was not written.

        Waits at most `seconds` for the log's lock (None: LOCK_SECONDS), then raises TimeoutError. Raises OSError as well. `known` is what
        `find_lock` returned when the records were handed in; raises LogErased if the log was erased since then.
        """
        found = self.find_lock(user) if known else None
        if found not in {None, known}:
            raise LogErased(user)
        path = build_log_path(self._folder, user)
        if not os.access(self._folder, os.F_OK):
            self._folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
        rotated = False
        try:
            with hold_in_place(path, seconds=seconds, create=found is None) as lock:
                try:
                    while records:
                        rotated |= self._append(path, lock, records)
                finally:
                    if rotated:
                        packer.pack(path, self._keep)
        except FileNotFoundError:
            if found is not None and self.find_lock(user) == 0:  # an erasure held the lock that this waited for
                raise LogErased(user) from None
            raise

    def find_lock(self, user: str) -> int | None:
        """Return the number (inode) of the log's lock file, 0 if the folder has none, and None if that cannot be told.

        The lock file of a log is removed with it, so after an erasure the number is 0 or another one.
        """
        try:
            return os.stat(build_lock_path(build_log_path(self._folder, user))).st_ino  # noqa: PTH116 - see build_lock_path
        except OSError as error:
            return 0 if isinstance(error, FileNotFoundError) and os.access(self._folder, os.F_OK) else None

    def close(self, seconds: float = 5.0) -> bool:
        """Wait at most `seconds` for the compression of full logs; return False if some are left for a later process."""
        return packer.wait(seconds)

    def _append(self, path: Path, lock: int, records: deque[bytes]) -> bool:
        """Write those of `records` to the end of the log that fit into one file, and remove them from the deque once they are written.

        Returns whether a full file was renamed and is to be compressed. If the first record does not fit into the live file (the one
        written to, `path`), that file is renamed and a new one begun. `lock` is the descriptor of the log's lock file, which the caller has
        locked.
        """
        descriptor = _open_live(path)
        try:
            size = os.fstat(descriptor).st_size
            head = self._find_present_head(path, lock, descriptor, size)
            line, head = add_link(records[0], head)
            rotated = size > 0 and size + len(line) > self._limit
            if rotated:
                os.close(descriptor)
                descriptor = -1
                archives.move_to_segment(path, self._clock.now())
                if self._rotated is not None:
                    self._rotated.add(path.name)
                descriptor = _open_live(path)
                size = 0
            lines, size = [line], size + len(line)
            for record in islice(records, 1, None):
                line, following = add_link(record, head)
                if size + len(line) > self._limit:
                    break
                lines.append(line)
                head, size = following, size + len(line)
            try:
                size = _write(descriptor, b"".join(lines))
            except _HalfWrittenError as half:
                for _ in range(half.lines):
                    records.popleft()
                raise
            for _ in lines:
                records.popleft()
            log_files.write_head(lock, head._replace(size=size))
        finally:
            if descriptor >= 0:
                os.close(descriptor)
        return rotated

    def _find_present_head(self, path: Path, lock: int, descriptor: int, size: int) -> Head:
        """Return the end of the log (number and hash of its last record), which the next record continues.

        `lock` is the descriptor of the lock file, which stores that end, too; `descriptor` and `size` are those of the live file (the one
        written to). If the live file is shorter than the lock file says, records were lost. The number and hash from the lock file are used
        all the same, so that verification finds the gap in the numbers.
        """
        head = log_files.read_head(lock)
        if head is None:
            # Nobody has written to the log, or its lock file was lost. Looking for its archives takes longer the more people have logs.
            is_new = not size and self._rotated is not None and path.name not in self._rotated
            return EMPTY if is_new and not has_ledger(path) else _scan_head(path)
        if head.size == size:
            return head
        # A process died after writing a line or rotating the file and before writing the head: the head is moved past those records.
        tail = os.pread(descriptor, size - head.size, head.size) if head.size < size else b""
        moved = move_head(head, tail.splitlines(keepends=True))
        return moved if moved.n > head.n else max(head, _scan_head(path), key=lambda each: each.n)


@contextmanager
def _fail_open() -> Iterator[None]:
    """Write any exception of the block to the program's own log only: errors of the audit log must not reach the user (S004-52)."""
    try:
        yield
    except Exception:
        log.exception("an interaction was not logged", extra={"action": "interaction_log.record"})


def list_users(folder: Path) -> list[str]:
    """Return the users with a log in `folder`."""
    return [find_user(path) for path in archives.list_logs(folder)] if folder.is_dir() else []


def list_logs_of(folder: Path, person: str) -> list[str]:
    """Return the users with a log in `folder` that belongs to the person: the person, and for a token of the HTTP API its users."""
    return [user for user in list_users(folder) if find_log_owner(user) == person]


def find_user(log: Path) -> str:
    """Return the user of a log. A long id stands in the file name as a hash, so its user is read from the first records.

    If no record can be read, the name of the file is returned.
    """
    user = parse_user(log)
    if f"{user}.jsonl" != log.name or "%%" not in user:
        return user
    for file in archives.open_all(log):
        with file, suppress(EOFError, zlib.error, OSError):
            told = (str(record.get("user", "")) for line in file for record in parse_record(line) if isinstance(record, dict))
            found = next((each for each in told if f"{build_file_name(each)}.jsonl" == log.name), "")
            if found:
                return found
    return user


def read_records(folder: Path, user: str) -> Iterator[dict[str, Any]]:
    """Yield every complete record of `user`, oldest first, archives included.

    Raises DamagedArchive, which names the archive that cannot be unpacked.
    """
    files = archives.open_all(build_log_path(folder, user))
    try:
        for file in files:
            try:
                for line in file:
                    yield from parse_record(line)
            except (EOFError, zlib.error, OSError) as error:
                raise DamagedArchive(f"{Path(file.name).name} is damaged: {error}") from error
    finally:
        for file in files:
            file.close()


def _open_live(path: Path) -> int:
    return open_private(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW)


def _scan_head(path: Path) -> Head:
    """Return the end of the log (number and hash of its last record) by reading all its files; the field `size` of the result is 0.

    This is used if the lock file does not say where the log ends, because the log is new or very old, or because the lock file was lost.
    """
    links = []
    for file in archives.open_all(path):
        # An archive that cannot be unpacked is reported by the verification; it must not prevent the next record from being written.
        with file, suppress(EOFError, zlib.error, OSError):
            links += [link for line in file if (link := parse_link(line))]
    return Head(links[-1].n, links[-1].hash, 0) if links else EMPTY


def _write(descriptor: int, lines: bytes) -> int:
    """Append the records in one call and return the new size of the file. A partial write is undone.

    If the file ends in an incomplete line, a line break is written first. Raises _HalfWrittenError if a partial write cannot be undone.
    """
    size = os.fstat(descriptor).st_size
    torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
    data = b"\n" + lines if torn else lines
    written = os.write(descriptor, data)
    if written != len(data):
        try:
            os.ftruncate(descriptor, size)
        except OSError as error:  # a full disk of a kind on which that takes room, too
            raise _HalfWrittenError(data.count(b"\n", int(torn), written)) from error
        raise OSError(errno.ENOSPC, "no room for the whole records")
    return size + len(data)
