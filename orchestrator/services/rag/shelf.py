"""Adds documents to the folder of a document service and removes them, for a person who does that by chat.

A new file is written under a name that the service leaves out, made durable, and then given its own name, without overwriting another
one. No link is followed: each folder on the way is opened from the one before it.
"""

import asyncio
import os
import secrets
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

from orchestrator.domain.errors import SdelkaError
from orchestrator.domain.shelf import AddResult, RemoveResult, ShelfDocument, ShelfFailed
from orchestrator.services.rag.access import CLOSED, FILE_NAMES, Access, fold_name
from orchestrator.services.rag.folder import find_bytes, read_access, scan_folder
from orchestrator.services.rag.index.port import PUBLIC, FileRecord
from orchestrator.services.rag.service import RagService
from orchestrator.services.rag.wording import describe_problem

T = TypeVar("T")
PATIENCE: Final = 20.0
"""Seconds to wait for a document to be read before it is told that it will be."""
_LOCALES: Final = ("ru", "en")


class FolderShelf:
    """The folder of a document service; implements `DocumentShelf`."""

    def __init__(self, service: RagService, *, patience: float = PATIENCE) -> None:
        """Change the folder of this service."""
        self._service, self._patience = service, patience
        self._root = service.library.root
        self._changing = threading.Lock()
        """Held while a document is stored: of two that replace the same one, the second must see the first."""

    async def list_documents(self) -> Sequence[ShelfDocument]:
        """Return all documents, by path."""
        return await self._call(self._list_documents)

    async def find_folder(self, name: str) -> str | None:
        """Return the path of the folder that `name` means, without regard to case; None if there is none."""
        listing = await self._call(lambda: scan_folder(self._root))
        return listing.written.get(fold_name(name.strip().strip("/")))

    async def find_document(self, path: str) -> ShelfDocument | None:
        """Return the document at this path, also if its name is written in other letters of the same kind; None if there is none."""
        wanted = fold_name(path)
        return next((one for one in await self.list_documents() if fold_name(one.path) == wanted), None)

    async def find_readers(self, path: str) -> frozenset[str] | None:
        """Return the roles that may read a document at this path, None for everybody."""
        access = await self._call(lambda: read_access(self._root, scan_folder(self._root)))
        return _to_readers(access.find_class(path))

    async def add_document(self, path: str, content: bytes, *, replaces: str = "") -> AddResult:
        """Store a document. One that is there is replaced only if `replaces` is its stamp. Equal content counts as added."""
        return await self._call(lambda: self._add(path, content, replaces))

    async def remove_document(self, path: str, *, stamp: str) -> RemoveResult:
        """Remove the document if this is its stamp."""
        return await self._call(lambda: self._remove(path, stamp))

    async def wait_until_read(self, path: str) -> ShelfDocument | None:
        """Let the document be read, and return it as it is then; after a while also if it is still waiting."""
        with suppress(TimeoutError, SdelkaError):  # another process may update the index, or it cannot be used now
            async with asyncio.timeout(self._patience):
                await self._service.refresh()
        return await self.find_document(path)

    async def _call(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(work)
        except OSError as error:
            raise ShelfFailed(error.strerror or type(error).__name__) from None
        except ShelfFailed:
            raise
        except SdelkaError as error:
            raise ShelfFailed(error.reason) from None

    def _list_documents(self) -> Sequence[ShelfDocument]:
        listing = scan_folder(self._root)
        access, known = read_access(self._root, listing), self._service.library.index.load_files()
        return [_describe(one, known.get(path), access) for path, one in sorted(listing.files.items())]

    def _add(self, path: str, content: bytes, replaces: str) -> AddResult:
        *folders, name = path.split("/")
        _check_name(name, is_top=not folders)
        with self._changing, _open_folder(self._root, folders) as folder:
            there = _find_stamp(folder, name)
            if there and _read(folder, name, len(content) + 1) == content:  # also if a process died between this and what it tells
                return "replaced" if replaces else "added"
            if there != replaces:
                return "changed" if replaces else "exists"
            made = f".{secrets.token_hex(8)}.part"
            try:
                _write(folder, made, content)
                if replaces and _find_stamp(folder, name) != replaces:  # somebody else changed it while the new one was written
                    return "changed"
                if replaces:
                    os.replace(made, name, src_dir_fd=folder, dst_dir_fd=folder)
                else:
                    _move_without_overwriting(folder, made, name)
                os.fsync(folder)
            except FileExistsError:
                return "exists"
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(made, dir_fd=folder)
        return "replaced" if replaces else "added"

    def _remove(self, path: str, stamp: str) -> RemoveResult:
        *folders, name = os.fsdecode(find_bytes(path)).split("/")
        _check_name(name, is_top=not folders)
        try:
            with _open_folder(self._root, folders) as folder:
                there = _find_stamp(folder, name)
                if there != stamp:
                    return "changed" if there else "gone"
                os.unlink(name, dir_fd=folder)
                os.fsync(folder)
        except FileNotFoundError:
            return "gone"
        return "removed"


def _describe(file: FileRecord, known: FileRecord | None, access: Access) -> ShelfDocument:
    problem = file if file.problem is not None else known if known is not None and known.problem is not None else None
    is_current = known is not None and (known.size, known.mtime_ns) == (file.size, file.mtime_ns)
    group = access.find_class(file.path)
    return ShelfDocument(
        path=file.path,
        size=file.size,
        stamp=_format_stamp(file.size, file.mtime_ns),
        state="unreadable" if problem is not None and (is_current or file.problem) else "read" if is_current else "waiting",
        readers=_to_readers(group),
        reasons={one: describe_problem(problem, one).removeprefix(f"{problem.name}: ") for one in _LOCALES} if problem is not None else {},
    )


def _to_readers(group: str) -> frozenset[str] | None:
    return None if group == PUBLIC else frozenset() if group == CLOSED else frozenset(group.split(","))


def _format_stamp(size: int, mtime_ns: int) -> str:
    return f"{size}-{mtime_ns}"


def _check_name(name: str, *, is_top: bool) -> None:
    """Raise ShelfFailed for a name that no document has: the rules of access stand in such a file, and must not change by chat."""
    if name.startswith((".", "~$")) or (is_top and fold_name(name) in FILE_NAMES):
        raise ShelfFailed(f"{name} is no document")


@contextmanager
def _open_folder(root: Path, folders: Sequence[str]) -> Iterator[int]:
    """Open a folder below the root, each from the one before it, so that no link leads elsewhere. Raises OSError."""
    opened = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in folders:
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=opened)
            os.close(opened)
            opened = below
        yield opened
    finally:
        os.close(opened)


def _find_stamp(folder: int, name: str) -> str:
    """Return the stamp of a file, "" if there is none. Raises ShelfFailed for what is no file."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return ""
    if not stat.S_ISREG(found.st_mode):
        raise ShelfFailed(f"{name} is no file")
    return _format_stamp(found.st_size, found.st_mtime_ns)


def _read(folder: int, name: str, most: int) -> bytes:
    with os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder), "rb") as file:
        return file.read(most)


def _write(folder: int, name: str, content: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(name, flags, 0o640, dir_fd=folder), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _move_without_overwriting(folder: int, made: str, name: str) -> None:
    """Give the file its name. Raises FileExistsError if another one has it. Renaming would overwrite that one."""
    os.link(made, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    os.unlink(made, dir_fd=folder)
