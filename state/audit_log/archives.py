"""Archives of the audit log: a full file is renamed to `<name>.jsonl.<UTC time>`, then compressed.

What a dead process leaves half done the next one finishes.
"""

import gzip
import os
import re
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from state.audit_log.log_files import copy_rights, sync_folder, write_durably

_SEGMENT = re.compile(r"(?P<log>[^.]+\.jsonl)\.(?P<stamp>\d{8}T\d{6}Z)(?:-(?P<count>\d{3,}))?(?P<packed>\.gz)?", re.ASCII)
HALF = (".part", ".tmp")


class Segment(NamedTuple):
    """A full log file that was renamed; `number` tells apart those of the same second."""

    stamp: str
    number: int
    path: Path

    @property
    def is_packed(self) -> bool:
        return self.path.suffix == ".gz"


def list_segments(log: Path) -> list[Segment]:
    """List the renamed full files, oldest first; one that exists in both forms is listed as compressed."""
    segments: dict[tuple[str, int], Segment] = {}
    for name in sorted(name for name in os.listdir(log.parent) if name.startswith(f"{log.name}.")):  # noqa: PTH208 - paths take 30 times as long
        match = _SEGMENT.fullmatch(name)
        if match and match["log"] == log.name:
            segment = Segment(match["stamp"], int(match["count"] or 0), log.with_name(name))
            segments[segment.stamp, segment.number] = segment  # "….gz" sorts after its source and so replaces it
    return sorted(segments.values())


def list_logs(folder: Path) -> list[Path]:
    names: set[str] = set()
    for path in folder.iterdir():
        match = _SEGMENT.fullmatch(path.name)
        if match:
            names.add(match["log"])
        elif path.name.endswith(".jsonl") and not path.name.startswith("."):
            names.add(path.name)
    return [folder / name for name in sorted(names)]


def set_aside(log: Path, now: datetime) -> None:
    stamp, count = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ"), 0
    known = list_segments(log)
    if known and known[-1].stamp >= stamp:
        stamp, count = known[-1].stamp, known[-1].number + 1
    log.rename(log.with_name(f"{log.name}.{stamp}-{count:03d}" if count else f"{log.name}.{stamp}"))


def pack_and_prune(log: Path, keep: int) -> None:
    """Compress all, and keep the newest `keep`. The caller holds the log's lock."""
    names = [name for name in os.listdir(log.parent) if name.startswith(f"{log.name}.")]  # noqa: PTH208 - see list_segments
    for name in names:
        if name.endswith(HALF):
            log.with_name(name).unlink()
    segments = list_segments(log) if names else []
    for segment in segments:
        _pack(segment.path.with_suffix("") if segment.is_packed else segment.path)
    for segment in segments[: max(0, len(segments) - keep)]:
        (segment.path if segment.is_packed else segment.path.with_name(f"{segment.path.name}.gz")).unlink()


def replace_file(path: Path, text: bytes, *, like: Path) -> None:
    """Write a whole file with the rights of `like` and flush it to disk."""
    half = path.with_name(f"{path.name}.part")
    write_durably(half, gzip.compress(text, 6, mtime=0) if path.suffix == ".gz" else text)
    copy_rights(half, like=like)
    half.rename(path)
    sync_folder(path.parent)


def open_all(log: Path) -> list[BinaryIO]:
    """Open every file, oldest first. Raises OSError if the log keeps being rotated."""
    for _ in range(100):
        try:
            with ExitStack() as opened:  # closes them where one is gone, or there are too many
                before = list_segments(log)
                files = [opened.enter_context(open_archive(segment.path)) for segment in before]
                with suppress(FileNotFoundError):
                    files.append(opened.enter_context(log.open("rb")))
                if list_segments(log) == before:
                    opened.pop_all()
                    return files
        except FileNotFoundError:
            if not log.parent.exists():
                raise
    msg = f"{log.name} is rotated faster than it can be opened"
    raise OSError(msg)


def open_archive(path: Path) -> BinaryIO:
    """Unpacked where it is packed."""
    return cast("BinaryIO", gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _pack(source: Path) -> None:
    if not source.exists():
        return
    archive = source.with_name(f"{source.name}.gz")
    if not archive.exists():
        replace_file(archive, source.read_bytes(), like=source)
    source.unlink()
