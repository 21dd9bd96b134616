"""Full logs become archives (ring 1): named, compressed, counted. A log is never removed before its archive is durable.

A log `<name>.jsonl` is first renamed to `<name>.jsonl.<UTC time>`, which is quick, and then packed to `….gz` at leisure;
whoever finds an unpacked one finishes it. Names sort in the order of their making, even when the clock goes back.
"""

import gzip
import os
import re
import shutil
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from filelock import FileLock, Timeout

_SEGMENT = re.compile(r"(?P<log>[^.]+\.jsonl)\.(?P<stamp>\d{8}T\d{6}Z)(?:-(?P<count>\d{3,}))?(?P<packed>\.gz)?", re.ASCII)


class Segment(NamedTuple):
    """A log that was full, packed or not yet. Sorts by age; `number` tells those of one second apart."""

    stamp: str
    number: int
    path: Path

    @property
    def packed(self) -> bool:
        """Whether it is a complete archive."""
        return self.path.suffix == ".gz"


def segments(log: Path) -> list[Segment]:
    """The former contents of `log`, oldest first. One caught between packing and removal is listed packed."""
    found: dict[tuple[str, int], Segment] = {}
    for path in sorted(log.parent.iterdir()):
        match = _SEGMENT.fullmatch(path.name)
        if match and match["log"] == log.name:
            segment = Segment(match["stamp"], int(match["count"] or 0), path)
            found[segment.stamp, segment.number] = segment  # "….gz" sorts after, and thus replaces, its source.
    return sorted(found.values())


def unpacked_logs(folder: Path) -> set[str]:
    """The file names of all logs in `folder` that have something to pack."""
    if not folder.exists():
        return set()
    matches = (_SEGMENT.fullmatch(path.name) for path in folder.iterdir())
    return {match["log"] for match in matches if match and not match["packed"]}


def set_aside(log: Path, now: datetime) -> None:
    """Rename `log` so that a new one can begin; the caller holds its lock."""
    stamp, count = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ"), 0
    known = segments(log)
    if known and known[-1].stamp >= stamp:
        stamp, count = known[-1].stamp, known[-1].number + 1
    suffix = f"{stamp}-{count:03d}" if count else stamp
    log.rename(log.with_name(f"{log.name}.{suffix}"))
    _sync_folder(log.parent)


def settle(log: Path, keep: int) -> bool:
    """Pack what is unpacked and remove all but the newest `keep` archives; False where another process is at it."""
    try:
        with FileLock(log.with_name(f".{log.name}.archive.lock"), blocking=False):
            for segment in segments(log):
                _pack(segment.path.with_suffix("") if segment.packed else segment.path)
            archives = segments(log)
            for segment in archives[: max(0, len(archives) - keep)]:
                segment.path.unlink(missing_ok=True)
    except Timeout:
        return False
    return True


def open_all(log: Path) -> list[BinaryIO]:
    """Every file of the log, oldest first and the live one last, as they stood at one moment; OSError where none stood still."""
    for _ in range(100):
        before = segments(log)
        files: list[BinaryIO] = []
        try:
            files += [_open(segment.path) for segment in before]
            with suppress(FileNotFoundError):
                files.append(log.open("rb"))
            if segments(log) == before:
                return files
        except FileNotFoundError:
            pass
        for file in files:
            file.close()
    msg = f"{log.name} is rotated faster than it can be opened"
    raise OSError(msg)


def _open(path: Path) -> BinaryIO:
    return cast("BinaryIO", gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _pack(source: Path) -> None:
    archive = source.with_name(f"{source.name}.gz")
    if not source.exists():
        return
    if not archive.exists():
        half = source.with_name(f"{source.name}.gz.tmp")
        with source.open("rb") as plain, half.open("wb") as raw:
            with gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0) as packed:
                shutil.copyfileobj(plain, packed, 1 << 20)
            raw.flush()
            os.fsync(raw.fileno())
        half.rename(archive)
        _sync_folder(archive.parent)
    source.unlink()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
