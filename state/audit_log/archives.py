"""Full logs become archives (ring 1): named, compressed, counted. A log is never removed before its archive is durable.

A log `<name>.jsonl` is first renamed to `<name>.jsonl.<UTC time>`, which is quick, and then packed to `….gz` at leisure;
whoever finds an unpacked one finishes it. Names sort in the order of their making, even when the clock goes back.
"""

import gzip
import io
import re
import zlib
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from state.audit_log.chain import find_ends
from state.audit_log.ledger import ArchiveEntry, Ledger, build_ledger_path, read_ledger, write_ledger
from state.audit_log.locks import build_archive_lock_path, build_lock_path, hold_lock
from state.audit_log.staging import build_committed_path, clear, finish, resolve_log, sync_folder, write_durably

_SEGMENT = re.compile(r"(?P<log>[^.]+\.jsonl)\.(?P<stamp>\d{8}T\d{6}Z)(?:-(?P<count>\d{3,}))?(?P<packed>\.gz)?", re.ASCII)
LEVEL = 6
HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
"""Of every archive: no name, no time, no flags, no operating system, so that equal logs make equal archives."""


class DamagedArchive(Exception):
    """An archive cannot be unpacked."""


class Segment(NamedTuple):
    """A log that was full, packed or not yet. Sorts by age; `number` tells those of one second apart."""

    stamp: str
    number: int
    path: Path

    @property
    def is_packed(self) -> bool:
        """Whether it is a complete archive."""
        return self.path.suffix == ".gz"


def list_segments(log: Path) -> list[Segment]:
    """The former contents of `log`, oldest first. One caught between packing and removal is listed packed."""
    found: dict[tuple[str, int], Segment] = {}
    for path in sorted(log.parent.iterdir()):
        match = _SEGMENT.fullmatch(path.name)
        if match and match["log"] == log.name:
            segment = Segment(match["stamp"], int(match["count"] or 0), path)
            found[segment.stamp, segment.number] = segment  # "….gz" sorts after, and thus replaces, its source.
    return sorted(found.values())


def find_unpacked_logs(folder: Path) -> set[str]:
    """The file names of all logs in `folder` that have something to pack."""
    if not folder.exists():
        return set()
    matches = (_SEGMENT.fullmatch(path.name) for path in folder.iterdir())
    return {match["log"] for match in matches if match and not match["packed"]}


def list_logs(folder: Path) -> list[Path]:
    """Every log of which anything is left in `folder`, be it archives or the lock file alone, by name."""
    names: set[str] = set()
    for path in folder.iterdir():
        match = _SEGMENT.fullmatch(path.name)
        if match:
            names.add(match["log"])
        elif path.name.endswith(".jsonl") and not path.name.startswith("."):
            names.add(path.name)
        elif path.name.startswith(".") and path.name.endswith((".jsonl.lock", ".jsonl.archives")):
            names.add(path.name[1:].rpartition(".")[0])
    return [folder / name for name in sorted(names)]


def set_aside(log: Path, now: datetime) -> None:
    """Rename `log` so that a new one can begin; the caller holds its lock."""
    stamp, count = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ"), 0
    known = list_segments(log)
    if known and known[-1].stamp >= stamp:
        stamp, count = known[-1].stamp, known[-1].number + 1
    target = _build_name(log, stamp, count)
    while target.exists() or target.with_name(f"{target.name}.gz").exists():  # a listing may miss what is renamed in that moment
        count += 1
        target = _build_name(log, stamp, count)
    log.rename(target)
    sync_folder(log.parent)


def pack_and_prune(log: Path, keep: int) -> bool:
    """Pack what is unpacked and remove all but the newest `keep` archives; False where another process is at it."""
    try:
        with hold_lock(build_archive_lock_path(log), seconds=0):
            if build_committed_path(log).exists():
                with hold_lock(build_lock_path(log)) as lock:
                    finish(log, lock)
            clear(log)
            for segment in list_segments(log):
                _pack(log, segment.path.with_suffix("") if segment.is_packed else segment.path)
            _remove_oldest(log, keep)
    except TimeoutError:
        return False
    return True


def pack_text(text: bytes) -> bytes:
    """`text` as an archive holds it: the same bytes for the same text."""
    file = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=LEVEL, mtime=0) as archive:
        archive.write(text)
    data = file.getvalue()
    return HEADER + data[len(HEADER) :]


def describe_archive(text: bytes, data: bytes) -> ArchiveEntry:
    """What the ledger says of the archive `data` with the content `text`."""
    digest = sha256(data).hexdigest()
    found = find_ends(io.BytesIO(text))
    if found is None:
        return ArchiveEntry(sha256=digest)
    first, last = found
    return ArchiveEntry(sha256=digest, first=first.n, prev=first.prev, last=last.n, hash=last.hash)


def read_content(path: Path) -> bytes:
    """What a file of a log holds, unpacked; raises DamagedArchive."""
    try:
        with _open(path) as file:
            return file.read()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DamagedArchive(f"{path.name} is damaged: {error}") from error


def open_all(log: Path) -> list[BinaryIO]:
    """Every file of the log, oldest first and the live one last, as they stood at one moment; OSError where none stood still."""
    for _ in range(100):
        place = resolve_log(log)
        files: list[BinaryIO] = []
        try:
            before = list_segments(place)
            files += [_open(segment.path) for segment in before]
            with suppress(FileNotFoundError):
                files.append(place.open("rb"))
            if list_segments(place) == before and resolve_log(log) == place:
                return files
        except FileNotFoundError:
            if not log.parent.exists():
                raise
        for file in files:
            file.close()
    msg = f"{log.name} is rotated faster than it can be opened"
    raise OSError(msg)


def _build_name(log: Path, stamp: str, count: int) -> Path:
    return log.with_name(f"{log.name}.{stamp}-{count:03d}" if count else f"{log.name}.{stamp}")


def _open(path: Path) -> BinaryIO:
    return cast("BinaryIO", gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _pack(log: Path, source: Path) -> None:
    """Archive durable, then the ledger that vouches for it, and only then the source removed."""
    if not source.exists():
        return
    archive = source.with_name(f"{source.name}.gz")
    text = source.read_bytes()
    data = pack_text(text)
    if not archive.exists() or archive.read_bytes() != data:
        half = source.with_name(f"{source.name}.gz.tmp")
        write_durably(half, data)
        half.rename(archive)
    ledger = _load_ledger(log)
    write_ledger(log, ledger.model_copy(update={"archives": {**ledger.archives, archive.name: describe_archive(text, data)}}))
    sync_folder(archive.parent)
    source.unlink()


def _remove_oldest(log: Path, keep: int) -> None:
    archives = [segment.path for segment in list_segments(log) if segment.is_packed]
    gone = archives[: max(0, len(archives) - keep)]
    if not gone:
        return
    kept = archives[len(gone) :]
    # First the new beginning, then the removal: a kill in between leaves an archive too many, never an unexplained gap.
    write_ledger(log, _trim_ledger(_load_ledger(log), kept))
    sync_folder(log.parent)
    for path in gone:
        path.unlink(missing_ok=True)


def _trim_ledger(ledger: Ledger, kept: Sequence[Path]) -> Ledger:
    """The ledger for the archives that are kept; the chain then begins with the first of them that has numbers."""
    archives = {path.name: ledger.archives[path.name] for path in kept if path.name in ledger.archives}
    first = next((entry for entry in archives.values() if entry.first), None)
    begin = {"first": first.first, "prev": first.prev} if first else {}
    return ledger.model_copy(update={"archives": archives, **begin})


def _load_ledger(log: Path) -> Ledger:
    """The ledger to write on; a damaged one is put aside for the check to name, and begun anew with the archives that are there."""
    try:
        return read_ledger(log)
    except ValueError:
        build_ledger_path(log).rename(build_ledger_path(log).with_suffix(".damaged"))
        kept = [segment.path for segment in list_segments(log) if segment.is_packed]
        known: dict[str, ArchiveEntry] = {}
        for path in kept:
            with suppress(DamagedArchive):
                known[path.name] = describe_archive(read_content(path), path.read_bytes())
        return _trim_ledger(Ledger(archives=known), kept)
