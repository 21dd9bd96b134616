"""Follows an audit log as it grows (ring 1): each whole record once and in order, over rotations. Writes nothing, waits for nothing."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from state.audit_log.archives import open_all
from state.audit_log.chain import FIELD
from state.audit_log.locks import build_lock_path, parse_head
from state.audit_log.records import parse_record
from state.audit_log.staging import resolve_log

Record = dict[str, Any]


class Follower:
    """Reads a live log from its present end on; `last` of its records come first, with None everything, archives too."""

    def __init__(self, log: Path, *, last: int | None = 0) -> None:
        """Open the live file, if there is one yet."""
        self._log = log
        self._n = 0
        self._file: BinaryIO | None = None
        begun = [] if last is None else self._begin()
        self._waiting = begun[-last:] if last else []

    def poll(self) -> Iterator[Record]:
        """What came since the last call; DamagedArchive and OSError where it cannot be read."""
        waiting, self._waiting = self._waiting, []
        yield from waiting
        if self._file is None:
            yield from self._reopen()
            return
        # Asked before it is read: who renames holds the lock under which everybody writes, so nothing comes into this file after that.
        rotated = self._is_elsewhere(self._file)
        yield from self._read_fresh(self._file)
        if rotated:
            self.close()
            yield from self._reopen()

    def close(self) -> None:
        """Let go of the file."""
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
        """What was written since, in whichever files it lies by now; then the live file goes on."""
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
        """A log that was erased or rewritten counts anew: go on with its last record, which tells of it."""
        path = build_lock_path(resolve_log(self._log))
        head = parse_head(path.read_bytes()) if path.exists() else None
        if head is None or head.n < self._n:
            self._n = max(0, head.n - 1) if head else 0

    def _read_fresh(self, file: BinaryIO) -> Iterator[Record]:
        """The whole records of `file` from here on that are newer than the last one seen."""
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
    """Its place in the chain; 0 for one from before there were numbers."""
    chain = record.get(FIELD)
    return int(chain.get("n", 0)) if isinstance(chain, dict) else 0


def _read_first_number(file: BinaryIO) -> int | None:
    """The number of the first record; None where there is none yet: a live file is empty for a moment after each rotation."""
    line = file.readline()
    file.seek(0)
    return next((_read_number(record) for record in parse_record(line)), None) if line.endswith(b"\n") else None
