"""Reads and writes the files of one folder and reaches nothing outside of it; all functions block.

Paths are opened part by part without following links; only ordinary files with one name are touched, and replaced as a whole.
"""

import contextlib
import errno
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.domain.file_path import may_name, to_comparable

MAX_BYTES: Final = 1_048_576
MAX_ENTRIES: Final = 1000
MAX_SCANNED: Final = 20_000
TEMPORARY: Final = ".sdelka-"
"""How names of unfinished files begin; no path may name them."""
_STALE_SECONDS: Final = 3600.0
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
Parts = tuple[str, ...]


class FileRefused(Exception):
    """Nothing was done; `code` is the code of a message, the text English without real paths."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


class FileDoubtful(Exception):
    """A change was made, but the disk did not confirm it."""


@dataclass(frozen=True, kw_only=True)
class FileContent:
    """`mode`: its permission bits."""

    data: bytes
    mode: int = 0o644

    @property
    def digest(self) -> str:
        """SHA-256."""
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, kw_only=True)
class FileEntry:
    name: str
    is_folder: bool
    size: int = 0
    changed: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Listing:
    """Sorted by name; `left_out` were hidden, links or too many."""

    entries: tuple[FileEntry, ...]
    left_out: int = 0


class Folder:
    """The path itself is trusted: it comes from the settings and may lead over links."""

    def __init__(self, root: Path) -> None:
        """The folder need not exist yet: each access opens it anew."""
        self._root = root

    def read(self, parts: Parts, *, limit: int = MAX_BYTES) -> FileContent | None:
        """None if there is no such file. Raises FileRefused."""
        with contextlib.ExitStack() as stack:
            try:
                place = stack.enter_context(self._open_parent(parts))
            except _Missing:
                return None
            return _read_file(place, parts[-1], limit)

    def list_entries(self, parts: Parts) -> Listing:
        """Raises FileRefused if there is no such folder."""
        try:
            with self._open_folder(parts) as place:
                return _list_folder(place)
        except _Missing:
            raise FileRefused("file-no-folder", "there is no such folder") from None

    def write(self, parts: Parts, data: bytes, *, expected: str | None) -> None:
        """Replace the file as a whole if its checksum is `expected`, None for a new file; missing folders are created.

        FileRefused: nothing was changed. FileDoubtful: it was, and may not last.
        """
        if len(data) > MAX_BYTES:
            raise FileRefused("file-too-large", f"a file has at most {MAX_BYTES} bytes")
        with self._open_parent(parts, create=True) as place:
            _sweep_stale(place)
            present = _check_content(place, parts[-1], expected)
            if present is None:
                _check_name_free(place, parts[-1])
            temporary = f"{TEMPORARY}{secrets.token_hex(8)}.tmp"
            try:
                _write_temporary(place, temporary, data, present.mode if present else 0o644)
                _check_content(place, parts[-1], expected)  # once more, right before: writing may take long
                with _explained():
                    os.rename(temporary, parts[-1], src_dir_fd=place, dst_dir_fd=place)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary, dir_fd=place)
                raise
            _sync_folder(place)

    def delete(self, parts: Parts, *, expected: str) -> None:
        """Raises FileRefused and FileDoubtful as `write` does."""
        try:
            with self._open_parent(parts) as place:
                _check_content(place, parts[-1], expected)
                with _explained():
                    os.unlink(parts[-1], dir_fd=place)
                _sync_folder(place)
        except _Missing:
            raise FileRefused("file-changed", "the file is not there any more") from None

    @contextlib.contextmanager
    def _open_parent(self, parts: Parts, *, create: bool = False) -> Iterator[int]:
        with self._open_folder(parts[:-1], create=create) as place:
            yield place

    @contextlib.contextmanager
    def _open_folder(self, parts: Parts, *, create: bool = False) -> Iterator[int]:
        """Yield its descriptor. Raises FileRefused, and _Missing for a missing part."""
        try:
            place = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise FileRefused("file-folder-gone", f"FILES_DIR cannot be opened: {error.strerror}") from None
        try:
            for part in parts:
                deeper = _open_part(place, part, create=create)
                os.close(place)
                place = deeper
            yield place
        finally:
            os.close(place)


class _Missing(Exception):
    """A folder of the path."""


def _open_part(place: int, part: str, *, create: bool) -> int:
    for attempt in (0, 1):
        try:
            return os.open(part, _DIRECTORY, dir_fd=place)
        except FileNotFoundError:
            if not create or attempt:
                raise _Missing from None
            _check_name_free(place, part)
            with _explained(), contextlib.suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=place)
                os.fsync(place)
        except OSError as error:
            if error.errno in {errno.ELOOP, errno.ENOTDIR}:
                raise FileRefused("file-not-folder", f"{part} is a link or a file, and no folder") from None
            raise _explain(error) from None
    raise _Missing


def _read_file(place: int, name: str, limit: int) -> FileContent | None:
    """None if there is none. Never waits, whatever `name` is."""
    try:
        _check_ordinary(os.stat(name, dir_fd=place, follow_symlinks=False))  # before it is opened: opening a device may do something
        handle = os.open(name, _FILE, dir_fd=place)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise FileRefused("file-not-ordinary", "it is a link") from None
        raise _explain(error) from None
    with _explained(), open(handle, "rb") as file:  # noqa: PTH123 - a descriptor
        file_stat = os.fstat(handle)
        _check_ordinary(file_stat)
        data = file.read(limit + 1) if file_stat.st_size <= limit else None
    if data is None or len(data) > limit:
        raise FileRefused("file-too-large", f"the file has more than {limit} bytes")
    return FileContent(data=data, mode=stat.S_IMODE(file_stat.st_mode) & 0o777)


def _check_ordinary(file_stat: os.stat_result) -> None:
    if stat.S_ISDIR(file_stat.st_mode):
        raise FileRefused("file-is-folder", "it is a folder")
    if not stat.S_ISREG(file_stat.st_mode):
        raise FileRefused("file-not-ordinary", "it is a link, a device or a pipe")
    if file_stat.st_nlink > 1:
        raise FileRefused("file-not-ordinary", "the file has a second name, perhaps outside of the folder")


def _check_content(place: int, name: str, expected: str | None) -> FileContent | None:
    """Raises FileRefused if its checksum is not `expected`."""
    present = _read_file(place, name, MAX_BYTES)
    if (present.digest if present else None) != expected:
        raise FileRefused("file-changed", "the file was changed, created or removed in the meantime")
    return present


def _check_name_free(place: int, name: str) -> None:
    """Raises FileRefused if some system takes an existing name for this one."""
    comparable = to_comparable(name)
    with os.scandir(place) as entries:
        for number, entry in enumerate(entries):
            if number >= MAX_SCANNED:
                raise FileRefused("file-too-many", f"the folder holds more than {MAX_SCANNED} entries")
            if entry.name != name and to_comparable(entry.name) == comparable:
                raise FileRefused("file-name-taken", f"there is {entry.name!r}, which differs only in the spelling of its name")


def _list_folder(place: int) -> Listing:
    file_entries: list[FileEntry] = []
    left_out = 0
    with _explained(), os.scandir(place) as entries:
        for number, entry in enumerate(entries):
            if number >= MAX_SCANNED:
                raise FileRefused("file-too-many", f"the folder holds more than {MAX_SCANNED} entries")
            seen = _describe_entry(entry)
            if seen is None:
                left_out += 1
            else:
                file_entries.append(seen)
    file_entries.sort(key=lambda entry: (not entry.is_folder, to_comparable(entry.name), entry.name))
    return Listing(entries=tuple(file_entries[:MAX_ENTRIES]), left_out=left_out + max(0, len(file_entries) - MAX_ENTRIES))


def _describe_entry(entry: "os.DirEntry[str]") -> FileEntry | None:
    """None if effects cannot touch it."""
    try:
        about = entry.stat(follow_symlinks=False)
    except OSError:  # it was removed meanwhile
        return None
    if not may_name(entry.name):
        return None
    if stat.S_ISDIR(about.st_mode):
        return FileEntry(name=entry.name, is_folder=True, changed=about.st_mtime)
    if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1:
        return None
    return FileEntry(name=entry.name, is_folder=False, size=about.st_size, changed=about.st_mtime)


def _write_temporary(place: int, name: str, data: bytes, mode: int) -> None:
    with _explained():
        handle = os.open(name, _NEW, 0o600, dir_fd=place)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(handle, left) :]
            os.fchmod(handle, mode)
            os.fsync(handle)
        finally:
            os.close(handle)


def _sync_folder(place: int) -> None:
    try:
        os.fsync(place)
    except OSError as error:
        raise FileDoubtful(f"the disk did not confirm the change: {error.strerror}") from None


def _sweep_stale(place: int) -> None:
    """Remove unfinished files of programs killed at least an hour ago."""
    with contextlib.suppress(OSError), os.scandir(place) as entries:
        for number, entry in enumerate(entries):
            if number >= MAX_SCANNED:
                return
            if entry.name.startswith(TEMPORARY) and time.time() - entry.stat(follow_symlinks=False).st_mtime > _STALE_SECONDS:
                os.unlink(entry.name, dir_fd=place)


_CODES: Final = {
    errno.ENOSPC: "file-disk-full",
    errno.EDQUOT: "file-disk-full",
    errno.EROFS: "file-read-only",
    errno.EACCES: "file-read-only",
    errno.EPERM: "file-read-only",
    errno.EFBIG: "file-too-large",
    errno.ENAMETOOLONG: "gate-file-path-long",
    errno.ENOENT: "file-folder-gone",
    errno.ESTALE: "file-folder-gone",
}


def _explain(error: OSError) -> FileRefused:
    return FileRefused(_CODES.get(error.errno or 0, "file-disk-trouble"), error.strerror or type(error).__name__)


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _explain(error) from None
