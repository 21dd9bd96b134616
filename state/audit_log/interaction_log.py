"""The audit log for operators: a rotated JSONL file per user, a copy of what the journal tells (S004-43…53, A8)."""

import errno
import logging
import os
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from state.audit_log.archives import list_logs, open_all, pack_and_prune, replace_file, set_aside
from state.audit_log.log_files import FOLDER_MODE, hold_lock, list_all_files, open_private
from state.audit_log.records import build_file_name, build_log_path, encode_record, find_log_owner, parse_record, parse_user
from state.clock import Clock, format_iso

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


log = logging.getLogger(__name__)

LIMIT = 5 * 1024 * 1024
KEEP = 10


class DamagedArchive(Exception):
    pass


class Line(NamedTuple):
    file: str
    number: int
    text: bytes


class InteractionLogger:
    """Safe for several threads and processes; calls block on the disk."""

    def __init__(self, folder: Path, *, clock: Clock, limit: int = LIMIT, keep: int = KEEP) -> None:
        self._folder = folder
        self._clock = clock
        self._limit = limit
        self._keep = keep
        self._known: set[Path] = set()

    def record(self, user: str, entry: Mapping[str, Any]) -> None:
        """Errors are logged and not raised (S004-52)."""
        with _fail_open():
            self.append(user, encode_record({"timestamp": format_iso(self._clock.now()), "user": user, **entry}))

    def write(self, user: str, record: bytes) -> None:
        """Like `record`, for an encoded record with `timestamp` and `user`."""
        with _fail_open():
            self.append(user, record)

    def append(self, user: str, record: bytes) -> None:
        """Like `write`, but raises OSError, and TimeoutError if another process holds the log."""
        path = build_log_path(self._folder, user)
        if not os.access(self._folder, os.F_OK):
            self._folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
        with hold_lock(path):
            if self._append(path, record + b"\n") or path not in self._known:
                pack_and_prune(path, self._keep)
                self._known.add(path)

    def _append(self, path: Path, line: bytes) -> bool:
        descriptor = _open_live(path)
        try:
            size = os.fstat(descriptor).st_size
            is_full = size > 0 and size + len(line) > self._limit
            if is_full:
                os.close(descriptor)
                descriptor = -1
                set_aside(path, self._clock.now())
                descriptor, size = _open_live(path), 0
            if size and os.pread(descriptor, 1, size - 1) != b"\n":  # a process died while it wrote
                line = b"\n" + line
            if os.write(descriptor, line) != len(line):
                os.ftruncate(descriptor, size)
                raise OSError(errno.ENOSPC, "no room for the whole record")
        finally:
            if descriptor >= 0:
                os.close(descriptor)
        return is_full


@contextmanager
def _fail_open() -> Iterator[None]:
    try:
        yield
    except Exception:
        log.exception("an interaction was not logged", extra={"action": "interaction_log.record"})


def list_users(folder: Path) -> list[str]:
    return [find_user(path) for path in list_logs(folder)] if folder.is_dir() else []


def list_logs_of(folder: Path, person: str) -> list[str]:
    """List the users of the person's logs; a token of the HTTP API has several."""
    return [user for user in list_users(folder) if find_log_owner(user) == person]


def find_user(path: Path) -> str:
    """Return the user of a log; for a hashed name it is looked up in the records."""
    user = parse_user(path)
    if f"{user}.jsonl" != path.name or "%%" not in user:
        return user
    with suppress(DamagedArchive, OSError):
        users = (str(record.get("user", "")) for line in read_lines(path) for record in parse_record(line.text))
        return next((each for each in users if f"{build_file_name(each)}.jsonl" == path.name), user)
    return user


def read_lines(path: Path) -> Iterator[Line]:
    """Yield every line, oldest first, archives included. Raises DamagedArchive."""
    with ExitStack() as opened:
        for file in [opened.enter_context(each) for each in open_all(path)]:
            name = Path(file.name).name
            try:
                for number, text in enumerate(file, start=1):
                    yield Line(name, number, text.rstrip(b"\n"))
            except (EOFError, zlib.error, OSError) as error:
                raise DamagedArchive(f"{name} is damaged: {error}") from error


def read_records(folder: Path, user: str) -> Iterator[dict[str, Any]]:
    """Yield every record, oldest first, archives included. Raises DamagedArchive."""
    for line in read_lines(build_log_path(folder, user)):
        yield from parse_record(line.text)


def erase_user(folder: Path, user: str) -> int:
    """Remove every file of the log; return how many records could be read."""
    path = build_log_path(folder, user)
    if not folder.is_dir() or not list_all_files(path):
        return 0
    count = 0
    with hold_lock(path):
        with suppress(DamagedArchive):
            for line in read_lines(path):
                count += bool(line.text.strip())
        for each in list_all_files(path):  # who waits for the lock sees that its file is gone, and makes a new one
            if each.is_dir():
                shutil.rmtree(each)
            else:
                each.unlink()
    return count


def rewrite_log(folder: Path, user: str, change: Callable[[bytes], bytes | None]) -> int:
    """Replace each line by what `change` makes of it, None drops it; return how many differ.

    Raises DamagedArchive before any change.
    """
    path = build_log_path(folder, user)
    count = 0
    with hold_lock(path):
        files: dict[str, list[bytes]] = {}
        for line in read_lines(path):
            new = change(line.text)
            count += new != line.text
            files.setdefault(line.file, []).extend([] if new is None else [new + b"\n"])
        for name, lines in files.items() if count else ():
            replace_file(path.with_name(name), b"".join(lines), like=path.with_name(name))
    return count


def _open_live(path: Path) -> int:
    return open_private(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
