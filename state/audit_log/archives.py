"""Archives of the audit log: full log files are renamed, compressed and listed in a ledger, and the oldest archives are removed.

The ledger of a log is a file with the checksums and record numbers of its archives; it also names the first record that is still kept. It
is replaced as a whole, before the archives that it no longer lists are removed, by whoever holds the archive lock, the right to change the
log's archives. No library for rotation keeps one, and without it nobody could tell a lost archive from one removed by age. The library
concurrent-log-handler also compresses in the call that writes: 43 ms of CPU for 5 MiB, where ours takes 1, since a thread does the rest.

A full `<name>.jsonl` is first renamed to `<name>.jsonl.<UTC time>`, which is quick, and compressed to `….gz` later by any process that
finds it uncompressed. A log file is never removed before its archive is flushed to disk. File names sort in the order of creation,
even when the clock goes back.
"""

import gzip
import io
import os
import re
import zlib
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from state.audit_log.chain import NOTHING, find_ends
from state.audit_log.log_files import (
    build_archive_lock_path,
    build_committed_path,
    build_lock_path,
    clear_staged_files,
    copy_rights,
    finish_move,
    hold_lock,
    resolve_log,
    sync_folder,
    write_durably,
)

_SEGMENT = re.compile(r"(?P<log>[^.]+\.jsonl)\.(?P<stamp>\d{8}T\d{6}Z)(?:-(?P<count>\d{3,}))?(?P<packed>\.gz)?", re.ASCII)
LEVEL = 6
HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
"""The gzip header of every archive, without file name, time, flags or operating system, so that equal logs give equal archives."""


class DamagedArchive(Exception):
    """An archive cannot be unpacked."""


class Segment(NamedTuple):
    """A full log file that was renamed to make room for a new one; it may be compressed already. Segments sort by age.

    `stamp` is the UTC time of the renaming, `number` distinguishes the segments that were renamed in the same second.
    """

    stamp: str
    number: int
    path: Path

    @property
    def is_packed(self) -> bool:
        """Whether this segment is compressed. A compressed segment is called an archive."""
        return self.path.suffix == ".gz"


class ArchiveEntry(BaseModel):
    """One archive: the SHA-256 of its bytes, and the numbers of its first and last record (0 if its records are too old to have any).

    `prev` is the hash of the record before its first one, `hash` the hash of its last one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    sha256: str
    first: int = 0
    prev: str = NOTHING
    last: int = 0
    hash: str = NOTHING


class Ledger(BaseModel):
    """The content of a ledger: all archives by file name, oldest first, and the oldest record that is still kept.

    `first` is the number of that record, `prev` the hash of the record before it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    first: int = 1
    prev: str = NOTHING
    archives: dict[str, ArchiveEntry] = Field(default_factory=dict)


def list_segments(log: Path) -> list[Segment]:
    """Return the segments (renamed full files) of `log`, oldest first.

    A segment that exists both compressed and uncompressed is listed as compressed.
    """
    found: dict[tuple[str, int], Segment] = {}
    for name in sorted(name for name in os.listdir(log.parent) if name.startswith(f"{log.name}.")):  # noqa: PTH208 - paths take 30 times as long
        match = _SEGMENT.fullmatch(name)
        if match and match["log"] == log.name:
            segment = Segment(match["stamp"], int(match["count"] or 0), log.with_name(name))
            found[segment.stamp, segment.number] = segment  # "….gz" sorts after its source and so replaces it
    return sorted(found.values())


def find_segments(folder: Path) -> dict[str, bool]:
    """Return the file names of the logs in `folder` that have segments (renamed full files), and whether any of these is uncompressed."""
    found: dict[str, bool] = {}
    if folder.exists():
        for match in filter(None, map(_SEGMENT.fullmatch, os.listdir(folder))):  # noqa: PTH208 - see list_segments
            found[match["log"]] = found.get(match["log"], False) or not match["packed"]
    return found


def list_logs(folder: Path) -> list[Path]:
    """Return the paths of all logs that have any file left in `folder`, sorted by name; archives or a lock file alone are enough."""
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


def move_to_segment(log: Path, now: datetime) -> None:
    """Rename `log` to a segment (a full log file), so that a new file can begin. The caller holds the log's lock."""
    stamp, count = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ"), 0
    known = list_segments(log)
    if known and known[-1].stamp >= stamp:
        stamp, count = known[-1].stamp, known[-1].number + 1
    target = _build_name(log, stamp, count)
    while target.exists() or target.with_name(f"{target.name}.gz").exists():  # a listing may miss a file that is being renamed
        count += 1
        target = _build_name(log, stamp, count)
    log.rename(target)
    sync_folder(log.parent)


def pack_and_prune(log: Path, keep: int) -> bool:
    """Compress every segment of `log`, remove all but the newest `keep` archives, and return True; False if another process is doing so."""
    try:
        with hold_lock(build_archive_lock_path(log), seconds=0):
            if build_committed_path(log).exists():
                with hold_lock(build_lock_path(log)) as lock:
                    finish_move(log, lock)
            clear_staged_files(log)
            for segment in list_segments(log):
                _pack(log, segment.path.with_suffix("") if segment.is_packed else segment.path)
            _remove_oldest(log, keep)
    except TimeoutError:
        return False
    return True


def pack_text(text: bytes) -> bytes:
    """Compress `text` into the bytes of an archive; equal texts give equal bytes."""
    file = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=LEVEL, mtime=0) as archive:
        archive.write(text)
    data = file.getvalue()
    return HEADER + data[len(HEADER) :]


def describe_archive(text: bytes, data: bytes) -> ArchiveEntry:
    """Build the entry in the ledger (the list of a log's archives) for an archive with the bytes `data` and the unpacked content `text`."""
    digest = sha256(data).hexdigest()
    found = find_ends(io.BytesIO(text))
    if found is None:
        return ArchiveEntry(sha256=digest)
    first, last = found
    return ArchiveEntry(sha256=digest, first=first.n, prev=first.prev, last=last.n, hash=last.hash)


def read_content(path: Path) -> bytes:
    """Read a file of a log and return its content, unpacked if it is an archive. Raises DamagedArchive."""
    try:
        with _open(path) as file:
            return file.read()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DamagedArchive(f"{path.name} is damaged: {error}") from error


def open_all(log: Path) -> list[BinaryIO]:
    """Open every file of the log for reading: segments and archives from the oldest on, the live file (the one written to) last.

    The list is consistent: it is built again if a file was renamed meanwhile. Raises OSError if that happens again and again.
    """
    for _ in range(100):
        place = resolve_log(log)
        try:
            with ExitStack() as opened:  # closes them where one is gone, or there are too many
                before = list_segments(place)
                files = [opened.enter_context(_open(segment.path)) for segment in before]
                with suppress(FileNotFoundError):
                    files.append(opened.enter_context(place.open("rb")))
                if list_segments(place) == before and resolve_log(log) == place:
                    opened.pop_all()
                    return files
        except FileNotFoundError:
            if not log.parent.exists():
                raise
    msg = f"{log.name} is rotated faster than it can be opened"
    raise OSError(msg)


def _build_name(log: Path, stamp: str, count: int) -> Path:
    return log.with_name(f"{log.name}.{stamp}-{count:03d}" if count else f"{log.name}.{stamp}")


def _open(path: Path) -> BinaryIO:
    return cast("BinaryIO", gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _pack(log: Path, source: Path) -> None:
    """Compress one segment (a full log file).

    Flush the archive to disk, then the ledger (the list of archives) that names it, and only then remove the segment.
    """
    if not source.exists():
        return
    archive = source.with_name(f"{source.name}.gz")
    text = source.read_bytes()
    data = pack_text(text)
    if not archive.exists() or archive.read_bytes() != data:
        half = source.with_name(f"{source.name}.gz.tmp")
        write_durably(half, data)
        copy_rights(half, like=source)
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
    # The ledger is written before the removal: a crash in between leaves one archive too many, never an unexplained gap.
    write_ledger(log, _trim_ledger(_load_ledger(log), kept))
    sync_folder(log.parent)
    for path in gone:
        path.unlink(missing_ok=True)


def _trim_ledger(ledger: Ledger, kept: Sequence[Path]) -> Ledger:
    """Return `ledger` (the list of a log's archives) without the archives that are not in `kept`.

    The returned ledger's `first` is the number of the oldest record in the archives in `kept`, its `prev` the hash of the record before
    that one. If these archives hold only very old records, which have no numbers, `first` and `prev` are unchanged.
    """
    archives = {path.name: ledger.archives[path.name] for path in kept if path.name in ledger.archives}
    first = next((entry for entry in archives.values() if entry.first), None)
    begin = {"first": first.first, "prev": first.prev} if first else {}
    return ledger.model_copy(update={"archives": archives, **begin})


def _load_ledger(log: Path) -> Ledger:
    """Load the ledger (the list of the log's archives) in order to change it. If it is damaged, build a new one from the archives.

    The damaged file is renamed to `….damaged`, and verification reports it.
    """
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


def build_ledger_path(log: Path) -> Path:
    """Return the path of the ledger of `log` (the file that lists the log's archives)."""
    return log.with_name(f".{log.name}.archives")


def has_ledger(log: Path) -> bool:
    """Return whether `log` has a ledger, that is, whether a full file of it was compressed."""
    return os.access(build_ledger_path(log), os.F_OK)


def read_ledger(log: Path) -> Ledger:
    """Read the ledger of `log` (the list of its archives); an empty ledger if there is no file yet.

    Raises ValueError if the file's content is invalid or fails its checksum.
    """
    try:
        text = build_ledger_path(log).read_bytes()
        found = orjson.loads(text)
        checked = isinstance(found, dict) and found.pop("check", None) is not None
        ledger = Ledger.model_validate(found)
    except FileNotFoundError:
        return Ledger()
    except (orjson.JSONDecodeError, ValidationError) as error:
        raise ValueError(_describe_damage(log)) from error
    if checked and text != _render_ledger(ledger):
        raise ValueError(_describe_damage(log))
    return ledger


def write_ledger(log: Path, ledger: Ledger) -> None:
    """Replace the ledger of `log` (the list of its archives) and flush the file to disk; the caller flushes the folder (`sync_folder`)."""
    path = build_ledger_path(log)
    half = path.with_name(f"{path.name}.tmp")
    write_durably(half, _render_ledger(ledger))
    copy_rights(half, like=log)
    half.rename(path)


def _render_ledger(ledger: Ledger) -> bytes:
    """Return the file content for `ledger`; its last line is a checksum of everything before it."""
    facts = ledger.model_dump()
    check = sha256(orjson.dumps(facts)).hexdigest()[:16]
    return orjson.dumps(facts | {"check": check}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _describe_damage(log: Path) -> str:
    return f"the ledger of {log.name} is damaged; the archives themselves are checked by their own chain"
