"""Follows a growing audit log: each complete record once and in order, also over rotations."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from state.audit_log.archives import open_all
from state.audit_log.records import parse_record

Record = dict[str, Any]


class Follower:
    """Yields the last `last` records (None: all), then each new one; never writes or blocks.

    An erased or replaced log is begun anew.
    """

    def __init__(self, log: Path, *, last: int | None = 0) -> None:
        self._log = log
        self._file: BinaryIO | None = None
        self._past: set[str] = set()
        self._waiting: list[Record] = []
        if last is not None:
            for file in self._open_files():
                file.close()
            present = list(self._read_fresh())
            self._waiting = present[-last:] if last else []

    def poll(self) -> Iterator[Record]:
        """Raises OSError if the records cannot be read."""
        waiting, self._waiting = self._waiting, []
        yield from waiting
        is_drained = self._file is not None
        if self._file is not None:
            # Looked at before reading: a rotation holds the lock that every writer needs, so nothing is written to this file after it.
            is_replaced = self._is_replaced(self._file)
            yield from self._read_fresh()
            if not is_replaced:
                return
            self.close()
        for number, file in enumerate(self._open_files()):
            with file:
                if number > 0 or not is_drained:  # the oldest of those that were added is the one that was just read
                    yield from _read(file)
        yield from self._read_fresh()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open_files(self) -> list[BinaryIO]:
        files = open_all(self._log)
        if files and Path(files[-1].name).name == self._log.name:
            self._file = files.pop()
        names = {Path(file.name).name.removesuffix(".gz"): file for file in files}
        added = [file for name, file in names.items() if name not in self._past]
        for file in files:
            if file not in added:
                file.close()
        self._past = set(names)
        return added

    def _is_replaced(self, file: BinaryIO) -> bool:
        try:
            now = self._log.stat()
        except FileNotFoundError:
            return True
        then = os.fstat(file.fileno())
        return (now.st_dev, now.st_ino) != (then.st_dev, then.st_ino)

    def _read_fresh(self) -> Iterator[Record]:
        return _read(self._file) if self._file is not None else iter(())


def _read(file: BinaryIO) -> Iterator[Record]:
    while line := file.readline():
        if not line.endswith(b"\n"):
            file.seek(-len(line), os.SEEK_CUR)
            return
        yield from parse_record(line)
