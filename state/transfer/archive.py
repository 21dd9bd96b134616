"""Writes and reads the file of a backup, which is a zip file with a manifest and several parts.

When a backup is read, names, sizes and checksums are verified before any content is used. Nothing is ever unpacked to a path from the
archive; callers get the bytes of a part.
"""

import fcntl
import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import IO

import orjson
from pydantic import ValidationError

from state.audit_log.log_files import sync_folder
from state.journal.store import StoreError
from state.transfer.manifest import FORMAT, LONGEST_MANIFEST, MANIFEST, Manifest, Part

SUFFIX = ".backup"
LEVEL = 3
BLOCK = 1 << 20
LONGEST_LINE = 256 * 1024 * 1024
MAX_RATIO = 300
"""The highest compression ratio that is accepted for parts of more than RATIO_FREE_BYTES; no genuine part exceeds it."""
RATIO_FREE_BYTES = 64 * 1024 * 1024
_ENCRYPTED = 0x1

Progress = Callable[[str], None]


class BadBackup(StoreError):
    """The file is not a complete backup, or not one that this program can read; nothing was written."""


class NotWritten(StoreError):
    """The backup could not be written; no file is left."""


@contextmanager
def create_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Create an archive that gets its name only when it is complete and on disk.

    Raises NotWritten if the name is taken or the disk is full.
    """
    if os.path.lexists(path):
        raise NotWritten(f"{path} is there already, and is not overwritten")
    part = path.with_name(f".{path.name}.part")
    try:
        _remove_leftovers(path.parent)
        descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _build_error(path, error) from None
    try:
        with os.fdopen(descriptor, "w+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive:
                yield archive
            file.flush()
            os.fsync(file.fileno())
            _publish(part, path)
        sync_folder(path.parent)
    except OSError as error:
        raise _build_error(path, error) from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


class Archive:
    """An opened backup. On opening only the manifest and the member list are verified; `check` verifies the content."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        """Read the manifest. Raises BadBackup if the file is not a zip, the manifest is invalid, or a member does not match it."""
        self.path = path
        try:
            self._zip = zipfile.ZipFile(file)
            self._members = _check_infos(self._zip.infolist())
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, RuntimeError) as error:
            raise BadBackup(f"{path.name} is no whole backup: {error}") from None
        packed = sum(info.compress_size for info in self._members.values())
        if packed > os.fstat(file.fileno()).st_size:
            raise BadBackup(f"{path.name}: its members claim more bytes than the file has")
        self.manifest = self._read_manifest()
        self._check_members()

    def check(self, progress: Progress = lambda _: None) -> None:
        """Read every part and compare it with the manifest. Raises BadBackup, naming the first part that differs."""
        for name, part in self.manifest.list_parts().items():
            progress(f"checking {name}")
            size, digest = 0, sha256()
            for block in self._read_blocks(name):
                size += len(block)
                if size > part.size:
                    break
                digest.update(block)
            if (size, digest.hexdigest()) != (part.size, part.sha256):
                raise BadBackup(f"{self.path.name}: {name} is not what was written there")

    def iterate_lines(self, name: str) -> Iterator[bytes]:
        """Yield the lines of a part, each with its newline. Raises BadBackup if it cannot be read. Only `check` compares the checksum."""
        with self._translate_errors(name), self._zip.open(self._members[name]) as member:
            while line := member.readline(LONGEST_LINE):
                if not line.endswith(b"\n"):
                    raise BadBackup(f"{self.path.name}: {name} has a line without an end")
                yield line

    def read_bytes(self, name: str) -> bytes:
        """Return the bytes of a part. Raises BadBackup if it cannot be read. Call `check` first, which compares the checksum."""
        return b"".join(self._read_blocks(name))

    def close(self) -> None:
        """Close the archive."""
        self._zip.close()

    def _read_blocks(self, name: str) -> Iterator[bytes]:
        with self._translate_errors(name), self._zip.open(self._members[name]) as member:
            while block := member.read(BLOCK):
                yield block

    @contextmanager
    def _translate_errors(self, name: str) -> Iterator[None]:
        try:
            yield
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError) as error:
            raise BadBackup(f"{self.path.name}: {name} cannot be read: {error}") from None

    def _read_manifest(self) -> Manifest:
        info = self._members.get(MANIFEST)
        if info is None:
            raise BadBackup(f"{self.path.name} has no manifest: it is no backup of this program")
        if info.file_size > LONGEST_MANIFEST:
            raise BadBackup(f"{self.path.name}: its manifest is too long to be one")
        with self._translate_errors(MANIFEST), self._zip.open(info) as member:
            text = member.read(LONGEST_MANIFEST)
        try:
            told = orjson.loads(text)
            number = told.get("format") if isinstance(told, dict) else None
            if isinstance(number, int) and number > FORMAT:
                raise BadBackup(f"{self.path.name} has format {number}, this program reads up to {FORMAT}: use the newer version")
            return Manifest.model_validate(told)
        except (ValidationError, orjson.JSONDecodeError) as error:
            first = error.errors()[0] if isinstance(error, ValidationError) else {"loc": (), "msg": "it is no JSON"}
            place = ".".join(map(str, first["loc"]))
            raise BadBackup(f"{self.path.name}: the manifest cannot be used: {place} {first['msg']}") from None

    def _check_members(self) -> None:
        parts = self.manifest.list_parts()
        extra, missing = self._members.keys() - parts.keys() - {MANIFEST}, parts.keys() - self._members.keys()
        if extra or missing:
            told = f"holds {_format_few(extra)}, of which its manifest says nothing" if extra else f"lacks {_format_few(missing)}"
            raise BadBackup(f"{self.path.name} {told}")
        for name, part in parts.items():
            if self._members[name].file_size != part.size:
                raise BadBackup(f"{self.path.name}: {name} has another length than the manifest says")


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open the backup in the file `path`. Raises BadBackup if the file is not a backup or cannot be opened."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise BadBackup(f"{path} cannot be opened: {error.strerror}") from None
    with file:
        archive = Archive(file, path)
        try:
            yield archive
        finally:
            archive.close()


class ArchiveWriter:
    """Writes parts (such as the rows of a table) into a new backup file."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        """Write into the zip file from `create_archive`."""
        self._zip = archive

    @contextmanager
    def open_part(self, name: str) -> Iterator[Callable[[bytes], None]]:
        """Open a part for writing it piece by piece; yields the function that writes bytes."""
        info = _build_info(name)
        with self._zip.open(info, "w", force_zip64=True) as member:
            yield lambda data: (member.write(data), None)[1]

    def write_part(self, name: str, data: bytes) -> Part:
        """Write a whole part and return its size in bytes and its SHA-256."""
        info = _build_info(name)
        info.compress_type = zipfile.ZIP_STORED if name.endswith(".gz") else zipfile.ZIP_DEFLATED
        self._zip.writestr(info, data)
        return Part(size=len(data), sha256=sha256(data).hexdigest())


def _build_info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (stat.S_IFREG | 0o600) << 16
    return info


def _check_infos(infos: Sequence[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """Return the zip file's members by name.

    Raises ValueError for links, folders, duplicates, paths that lead out of the archive, encryption and zip bombs.
    """
    found: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        shown = repr(info.filename[:80])
        kind = stat.S_IFMT(info.external_attr >> 16)
        if info.is_dir() or kind not in {0, stat.S_IFREG}:
            raise ValueError(f"{shown} is a link or a folder, not a file")
        if info.filename in found:
            raise ValueError(f"{shown} is there twice")
        if info.filename.startswith("/") or "\\" in info.filename or ".." in info.filename.split("/"):
            raise ValueError(f"{shown} leads out of the archive")
        if info.flag_bits & _ENCRYPTED or info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise ValueError(f"{shown} is packed in a way that we never pack")
        if info.file_size > RATIO_FREE_BYTES + info.compress_size * MAX_RATIO:
            raise ValueError(f"{shown} would unpack to {info.file_size:,} bytes out of {info.compress_size:,}: a bomb")
        found[info.filename] = info
    return found


def _format_few(names: set[str]) -> str:
    shown = sorted(names)
    return ", ".join(repr(name[:80]) for name in shown[:3]) + (" …" if len(shown) > 3 else "")  # noqa: PLR2004 - enough to look at


def _remove_leftovers(folder: Path) -> None:
    """Remove partial files of interrupted backups; one that is still being written is locked and stays."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob(f".*{SUFFIX}.part"):
        with suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def _publish(part: Path, path: Path) -> None:
    """Give the finished file its name without ever overwriting another file."""
    try:
        os.link(part, path)
    except FileExistsError:
        raise NotWritten(f"{path} is there already, and is not overwritten") from None
    except OSError:  # a file system without hard links
        if os.path.lexists(path):
            raise NotWritten(f"{path} is there already, and is not overwritten") from None
        part.rename(path)


def _build_error(path: Path, error: OSError) -> NotWritten:
    return NotWritten(f"the backup {path} was not written, nothing is left of it: {error.strerror or error}")
