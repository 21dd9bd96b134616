"""Follows an audit log as it grows: yields each complete record once and in order. Never writes and never blocks.

It also follows the log when its full file is replaced by a new one.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from state.audit_log.archives import open_all
from state.audit_log.chain import FIELD
from state.audit_log.log_files import build_lock_path, parse_head, resolve_log
from state.audit_log.records import parse_record

Record = dict[str, Any]


class Follower:
    """Reads a growing log: first up to `last` records at the end of the live file (the one written to), then each record added later.

    With `last=None` it first reads all existing records, also those in archives.
    """

    def __init__(self, log: Path, *, last: int | None = 0) -> None:
        """Open the live file (the one written to), if it exists, and keep its last `last` complete records for the first `poll`.

        With `last=None` nothing is opened before the first `poll`.
        """
        self._log = log
        self._n = 0
        self._file: BinaryIO | None = None
        begun = [] if last is None else self._begin()
        self._waiting = begun[-last:] if last else []

    def poll(self) -> Iterator[Record]:
        """Yield the records that were added since the last call. Raises DamagedArchive or OSError if they cannot be read."""
        waiting, self._waiting = self._waiting, []
        yield from waiting
        if self._file is None:
            yield from self._reopen()
            return
        # This is checked before reading: a rotation holds the lock that every writer needs, so nothing is written to this file after it.
        rotated = self._is_elsewhere(self._file)
        yield from self._read_fresh(self._file)
        if rotated:
            self.close()
            yield from self._reopen()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _begin(self) -> list[Record]:
        place = resolve_log(self._log)
        if not place.exists():
            return []
        self._file = place.open("rb")
        return list(self._read_fresh(self._file))

    def _is_elsewhere(self, file: BinaryIO) -> bool:
        try:
            now = resolve_log(self._log).stat()
        except FileNotFoundError:
            return True
        return (now.st_dev, now.st_ino) != (os.fstat(file.fileno()).st_dev, os.fstat(file.fileno()).st_ino)

    def _reopen(self) -> Iterator[Record]:
        """Yield the records written after the last one seen, from all files that hold them; then continue with the file written to."""
        self._resume_after_rewrite()
        files = open_all(self._log)
        if files and Path(files[-1].name).name == self._log.name:
            self._file = files[-1]
        needed: list[BinaryIO] = []
        for file in reversed(files):
            needed.insert(0, file)
            first = _read_first_number(file)
            if first is not None and first <= self._n + 1:
                break
        for file in files:
            if file in needed:
                yield from self._read_fresh(file)
            if file is not self._file:
                file.close()

    def _resume_after_rewrite(self) -> None:
        """If the log was erased or rewritten since the last call, set the position so that the last record of the new log is read next.

        This is the case if the number of the log's last record, which the lock file names, is lower than that of the last record read. The
        last record of a rewritten log reports the rewriting.
        """
        path = build_lock_path(resolve_log(self._log))
        head = parse_head(path.read_bytes()) if path.exists() else None
        if head is None or head.n < self._n:
            self._n = max(0, head.n - 1) if head else 0

    def _read_fresh(self, file: BinaryIO) -> Iterator[Record]:
        """Yield the complete records from the current position of `file` that are newer than the last one seen."""
        while line := file.readline():
            if not line.endswith(b"\n"):
                file.seek(-len(line), os.SEEK_CUR)
                return
            for record in parse_record(line):
                number = _read_number(record)
                if number > self._n or not number:
                    self._n = max(self._n, number)
                    yield record


def _read_number(record: Record) -> int:
    """Return the number of `record` in the chain; 0 for a record from before numbering was introduced."""
    chain = record.get(FIELD)
    return int(chain.get("n", 0)) if isinstance(chain, dict) else 0


def _read_first_number(file: BinaryIO) -> int | None:
    """Return the number of the first record in `file`.

    None if it has no complete record: when a full file is replaced by a new one, the new one is empty for a moment.
    """
    line = file.readline()
    file.seek(0)
    return next((_read_number(record) for record in parse_record(line)), None) if line.endswith(b"\n") else None
