"""The one entry for programs that run or embed the document service."""

import asyncio
import errno
import fcntl
import hashlib
import os
import secrets
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import httpx
from pydantic import SecretStr

from orchestrator.domain.errors import SdelkaError
from orchestrator.domain.models import Models
from orchestrator.domain.shelf import NO_CONTENTS, AddResult, DocumentShelf, RemoveResult, ShelfDocument, ShelfFailed
from orchestrator.services.rag.access import CLOSED, FILE_NAMES, Access, fold_name
from orchestrator.services.rag.answering import FindModels, describe_problem
from orchestrator.services.rag.app import build_app
from orchestrator.services.rag.folder import find_bytes, name_part, read_access, scan_folder
from orchestrator.services.rag.index.port import PUBLIC, DocumentIndex, FileRecord
from orchestrator.services.rag.index.sqlite import SqliteIndex
from orchestrator.services.rag.library import Library
from orchestrator.services.rag.parser_process import ParseLimits
from orchestrator.services.rag.service import DEFAULT_TOP_K, RagService

T = TypeVar("T")
PATIENCE: Final = 20.0
"""Seconds, before it is told that the document will be read."""
_LOCALES: Final = ("ru", "en")
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV, errno.EINVAL})
"""File systems that give a file one name only, such as exFAT."""


class FolderShelf:
    """Implements `DocumentShelf`.

    A new file is written under a hidden name, made durable, then renamed without overwriting; no link is followed.
    """

    def __init__(self, service: RagService, *, patience: float = PATIENCE) -> None:
        self._service, self._patience = service, patience
        self._root = service.library.root
        self._changing = threading.Lock()
        """Of two changes of one document, the second must see the first."""

    async def list_documents(self) -> Sequence[ShelfDocument]:
        return await self._call(self._list_documents)

    async def find_folder(self, name: str) -> str | None:
        listing = await self._call(lambda: scan_folder(self._root))
        return listing.written.get(fold_name(name.strip().strip("/")))

    async def find_document(self, path: str) -> ShelfDocument | None:
        folded_path = fold_name(path)
        return next((document for document in await self.list_documents() if fold_name(document.path) == folded_path), None)

    async def find_readers(self, path: str) -> frozenset[str] | None:
        access = await self._call(lambda: read_access(self._root, scan_folder(self._root)))
        return _to_readers(access.find_class(path))

    async def add_document(self, path: str, content: bytes, *, replaces: str = "") -> AddResult:
        return await self._call(lambda: self._add(path, content, replaces))

    async def remove_document(self, path: str, *, stamp: str) -> RemoveResult:
        return await self._call(lambda: self._remove(path, stamp))

    async def wait_until_read(self, path: str) -> ShelfDocument | None:
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
        return [_describe(file, known.get(path), access) for path, file in sorted(listing.files.items())]

    def _add(self, path: str, content: bytes, replaces: str) -> AddResult:
        *folders, name = path.split("/")
        _check_name(name, is_top=not folders)
        with self._changing, _lock_folder(self._root), _open_folder(self._root, folders) as folder:
            there = _find_stamp(folder, name)
            if there and _read(folder, name, len(content) + 1) == content:
                return "same"
            if there != replaces:
                return "changed" if replaces else "exists"
            if not replaces and _is_taken(folder, name):
                return "exists"
            part_name = name_part()
            try:
                _write(folder, part_name, content)
                if replaces and _find_stamp(folder, name) != replaces:  # somebody else changed it while the new one was written
                    return "changed"
                if replaces:
                    os.replace(part_name, name, src_dir_fd=folder, dst_dir_fd=folder)
                else:
                    _move_without_overwriting(folder, part_name, name)
                _sync_folder(folder)
            except FileExistsError:
                return "exists"
            finally:
                with suppress(OSError):  # what stays is removed later
                    os.unlink(part_name, dir_fd=folder)
        return "replaced" if replaces else "added"

    def _remove(self, path: str, stamp: str) -> RemoveResult:
        *folders, name = os.fsdecode(find_bytes(path)).split("/")
        _check_name(name, is_top=not folders)
        try:
            with self._changing, _lock_folder(self._root), _open_folder(self._root, folders) as folder:
                there = _find_stamp(folder, name)
                if there != stamp:
                    return "changed" if there else "gone"
                os.unlink(name, dir_fd=folder)
                _sync_folder(folder)
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
        is_file=file.problem is None,
        contents=known.contents if known is not None and is_current else NO_CONTENTS,
    )


def _to_readers(group: str) -> frozenset[str] | None:
    return None if group == PUBLIC else frozenset() if group == CLOSED else frozenset(group.split(","))


def _format_stamp(size: int, mtime_ns: int) -> str:
    return f"{size}-{mtime_ns}"


def _check_name(name: str, *, is_top: bool) -> None:
    """Raises ShelfFailed for no document, such as the access file."""
    if name.startswith((".", "~$")) or (is_top and fold_name(name) in FILE_NAMES):
        raise ShelfFailed(f"{name} is no document")


@contextmanager
def _open_folder(root: Path, folders: Sequence[str]) -> Iterator[int]:
    """Each folder from the one before it, so that no link leads elsewhere. Raises OSError."""
    opened = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in folders:
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=opened)
            os.close(opened)
            opened = below
        yield opened
    finally:
        os.close(opened)


@contextmanager
def _lock_folder(root: Path) -> Iterator[None]:
    """Not every network share has locks; there the stamps must do."""
    opened = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):
            fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _sync_folder(folder: int) -> None:
    """The change is made already, so an error must not be told."""
    with suppress(OSError):
        os.fsync(folder)


def _is_taken(folder: int, name: str) -> bool:
    """Some systems take such names for one file."""
    folded_name = fold_name(name)
    return any(fold_name(one) == folded_name for one in os.listdir(folder))


def _find_stamp(folder: int, name: str) -> str:
    """Empty if there is none. Raises ShelfFailed for what is no file."""
    try:
        file_stat = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return ""
    if not stat.S_ISREG(file_stat.st_mode):
        raise ShelfFailed(f"{name} is no file")
    return _format_stamp(file_stat.st_size, file_stat.st_mtime_ns)


def _read(folder: int, name: str, most: int) -> bytes:
    with os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder), "rb") as file:
        return file.read(most)


def _write(folder: int, name: str, content: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(name, flags, 0o640, dir_fd=folder), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _move_without_overwriting(folder: int, part_name: str, name: str) -> None:
    """Raises FileExistsError; renaming would overwrite."""
    try:
        os.link(part_name, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _replace_placeholder(folder, part_name, name)


def _replace_placeholder(folder: int, part_name: str, name: str) -> None:
    """An empty file takes the name and is replaced.

    A process killed in between leaves the empty file.
    """
    with os.fdopen(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o640, dir_fd=folder), "wb") as placeholder:
        ours = os.fstat(placeholder.fileno())
    if not _is_empty(folder, name, ours.st_ino):
        raise FileExistsError
    try:
        os.replace(part_name, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        if _is_empty(folder, name, ours.st_ino):
            os.unlink(name, dir_fd=folder)
        raise


def _is_empty(folder: int, name: str, number: int) -> bool:
    """Nobody has written into it."""
    file_stat = os.stat(name, dir_fd=folder, follow_symlinks=False)
    return (file_stat.st_ino, file_stat.st_size) == (number, 0)


_BASE_URL: Final = "http://documents.internal"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedRag:
    """To be asked like a service elsewhere; the token lets a client name roles."""

    service: RagService
    transport: httpx.AsyncBaseTransport
    token: SecretStr
    base_url: str = _BASE_URL

    @property
    def shelf(self) -> DocumentShelf:
        return FolderShelf(self.service)


def build_rag_service(
    folder: Path,
    state_dir: Path,
    *,
    database_url: SecretStr | None = None,
    find_models: FindModels | None = None,
    embedding: tuple[Models, str] | None = None,
    top_k: int = DEFAULT_TOP_K,
    limits: ParseLimits | None = None,
) -> RagService:
    """It starts when entered.

    Each folder has an index of its own: a file, or a schema of PostgreSQL. Raises IndexUnavailable and SettingsError.
    """
    index = open_index(folder, state_dir, database_url)
    return RagService(library=Library(folder, index, limits), find_models=find_models, embedding=embedding, default_top_k=top_k)


def open_index(folder: Path, state_dir: Path, database_url: SecretStr | None) -> DocumentIndex:
    """Raises IndexUnavailable."""
    key = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:12]
    url = database_url.get_secret_value() if database_url is not None else ""
    if url.startswith("postgresql"):
        from orchestrator.services.rag.index.postgres import PostgresIndex  # noqa: PLC0415 - a driver that most installations need not

        return PostgresIndex(url, f"documents_{key}")
    return SqliteIndex(state_dir / f"documents-{key}.db")


def connect_embedded(service: RagService) -> EmbeddedRag:
    token = SecretStr(secrets.token_urlsafe(24))
    transport = httpx.ASGITransport(app=build_app(service, token), raise_app_exceptions=False)
    return EmbeddedRag(service=service, transport=transport, token=token)
