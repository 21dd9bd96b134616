"""The audit log for ops (ring 1): JSONL per user, rotated (S004-43…53, A8). Fails open: it never disturbs a turn.

Not the journal: nothing is read back from here to decide anything, and a record is not flushed to the disk one by one.
"""

import errno
import fcntl
import logging
import os
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel

from state import log_archives
from state.canonical import clean_text
from state.clock import Clock, iso

log = logging.getLogger(__name__)

LIMIT = 5 * 1024 * 1024
KEEP = 10
LOCK_SECONDS = 5.0
LOCK_POLL_SECONDS = 0.001
LONGEST_NAME = 120

_SAFE = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_")


class DamagedArchive(Exception):
    """An archive cannot be unpacked."""


class InteractionLogger:
    """Writes one record at a time; safe to use from several threads and processes on one folder.

    It blocks for as long as the disk takes, so callers on an event loop hand it to a thread.
    """

    def __init__(self, folder: Path, *, clock: Clock, limit: int = LIMIT, keep: int = KEEP) -> None:
        """Log into `folder`, which is made when it is missing; `limit` bytes a file, `keep` archives a user."""
        self._folder = folder
        self._clock = clock
        self._limit = limit
        self._keep = keep
        self._to_settle: set[str] = set()
        try:
            self._to_settle |= log_archives.unpacked_logs(folder)
        except OSError:
            log.exception("the folder of the interaction logs cannot be read", extra={"action": "interaction_log.open"})

    def record(self, user: str, entry: Mapping[str, Any]) -> None:
        """Append one record, with `timestamp` and `user` in front; whatever goes wrong goes to the standard log only."""
        try:
            path = log_path(self._folder, user)
            line = _line(self._clock.now(), user, entry)
            self._folder.mkdir(parents=True, exist_ok=True)
            with _locked(path):
                self._append(path, line)
            if path.name in self._to_settle:
                # Outside the lock: nobody waits for the compression but this one caller, once in five megabytes.
                self._settle(path)
        except Exception:  # S004-52: logging trouble of any kind must not reach the user
            log.exception("an interaction was not logged", extra={"action": "interaction_log.record"})

    def _append(self, path: Path, line: bytes) -> None:
        size = path.stat().st_size if path.exists() else 0
        if size and size + len(line) > self._limit:
            log_archives.set_aside(path, self._clock.now())
            self._to_settle.add(path.name)
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o640)
        try:
            _write(descriptor, line)
        finally:
            os.close(descriptor)

    def _settle(self, path: Path) -> None:
        try:
            if log_archives.settle(path, self._keep):
                self._to_settle.discard(path.name)
        except OSError:
            log.exception("%s waits to be packed", path.name, extra={"action": "interaction_log.settle"})


def log_path(folder: Path, user: str) -> Path:
    """The live log of `user`: never two users in one file, never outside `folder`, whatever the id holds."""
    return folder / f"{file_name(user)}.jsonl"


def file_name(user: str) -> str:
    """`user` where it is plain lower case, else with %xx for every other byte; a long one ends in its hash."""
    raw = user.encode("utf-8", "surrogatepass")
    name = "".join(chr(byte) if byte in _SAFE else f"%{byte:02x}" for byte in raw)
    if len(name) > LONGEST_NAME:
        # "%%" stands in no name that was spelled out, so the two kinds cannot meet.
        return f"{name[:40]}%%{sha256(raw).hexdigest()}"
    return name or "%"


def read_records(folder: Path, user: str) -> Iterator[dict[str, Any]]:
    """Every whole record of `user`, oldest first, archives included; DamagedArchive names one that cannot be unpacked."""
    files = log_archives.open_all(log_path(folder, user))
    try:
        for file in files:
            try:
                for line in file:
                    yield from _parsed(line)
            except (EOFError, zlib.error, OSError) as error:
                raise DamagedArchive(f"{Path(file.name).name} is damaged: {error}") from error
    finally:
        for file in files:
            file.close()


def _parsed(line: bytes) -> Iterator[dict[str, Any]]:
    if not line.strip():
        return
    try:
        yield orjson.loads(line)
    except orjson.JSONDecodeError:
        # The tail that a crashed writer left, or the head of what another one is writing just now.
        log.warning("a torn record was left out", extra={"action": "interaction_log.torn"})


def _write(descriptor: int, line: bytes) -> None:
    """One write of the whole record, on a line of its own even after a torn one; half a record is taken back."""
    size = os.fstat(descriptor).st_size
    torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
    data = b"\n" + line if torn else line
    if os.write(descriptor, data) != len(data):
        os.ftruncate(descriptor, size)
        raise OSError(errno.ENOSPC, "no room for the whole record")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    # Not filelock here: an uncontended turn of it costs 227 µs against 9, and its waiters starve.
    descriptor = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
    try:
        _flock(descriptor, time.monotonic() + LOCK_SECONDS)
        yield
    finally:
        os.close(descriptor)


def _flock(descriptor: int, deadline: float) -> None:
    """Lock between processes and threads alike; TimeoutError where a stopped process sits on it."""
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                raise TimeoutError("the log is locked by a process that does not let go") from error
            time.sleep(LOCK_POLL_SECONDS)
        else:
            return


def _line(now: datetime, user: str, entry: Mapping[str, Any]) -> bytes:
    record = {"timestamp": iso(now), "user": user, **entry}
    options = orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS
    try:
        return orjson.dumps(record, default=_foreign, option=options)
    except (TypeError, orjson.JSONEncodeError):
        return orjson.dumps(_plain(record), option=options)


def _foreign(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return list(value)
    return str(value)


def _plain(value: Any) -> Any:
    """`value` with all that JSON cannot carry (lone surrogates, endless integers) made readable text."""
    match value:
        case None | bool() | float():
            return value
        case str():
            return clean_text(value)
        case int():
            return value if abs(value) < 1 << 53 else str(value)
        case Mapping():
            return {clean_text(str(key)): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return _plain(_foreign(value))
