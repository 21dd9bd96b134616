"""Which files the folder of documents has, without reading them, and the access file."""

import os
import re
import secrets
import stat
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from orchestrator.domain.errors import SdelkaError
from orchestrator.services.rag.access import FILE_NAMES, LARGEST, Access, AccessProblem, close_everything, fold_name, parse_access
from orchestrator.services.rag.document import Problem, clean_title
from orchestrator.services.rag.index.port import FileRecord

MOST_FILES: Final = 200_000
_DEEPEST: Final = 32
_IGNORED: Final = ("~$", ".", "Thumbs.db", "desktop.ini")
_PART: Final = re.compile(rb"\.sdelka-[0-9a-f]{16}\.part")
PART_SECONDS: Final = 900
"""Seconds after which nobody writes such a file any more."""


class FolderUnavailable(SdelkaError):
    """The folder of documents cannot be read."""


@dataclass(slots=True)
class Listing:
    """Folders as `fold_name` writes them."""

    files: dict[str, FileRecord] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    written: dict[str, str] = field(default_factory=dict)
    """As it is written on the disk."""
    access_files: list[bytes] = field(default_factory=list)
    parts: list[bytes] = field(default_factory=list)
    """Of `name_part`."""

    def add_problem(self, path: bytes, problem: Problem) -> None:
        record = build_record(path, 0, 0, problem)
        self.files[record.path] = record


def scan_folder(root: Path) -> Listing:
    """Links are named and not followed. Raises FolderUnavailable."""
    listing = Listing()
    base = os.fsencode(root)
    waiting: list[tuple[bytes, int]] = [(b"", 0)]
    while waiting:
        inside, depth = waiting.pop()
        try:
            with os.scandir(os.path.join(base, inside)) as entries:
                for entry in entries:
                    path = os.path.join(inside, entry.name)
                    if not inside and os.fsdecode(entry.name).lower() in FILE_NAMES:
                        listing.access_files.append(entry.name)
                    elif _PART.fullmatch(entry.name):
                        listing.parts.append(path)
                    elif not os.fsdecode(entry.name).startswith(_IGNORED):
                        _add_entry(entry, path, listing, waiting, depth)
        except OSError as error:
            if not inside:
                raise FolderUnavailable(f"the folder of documents cannot be read: {error.strerror}") from None
            if not isinstance(error, FileNotFoundError):
                listing.add_problem(inside, Problem("not_allowed"))
        if len(listing.files) > MOST_FILES:
            raise FolderUnavailable(f"there are more than {MOST_FILES} files in the folder of documents")
    return listing


def _add_entry(entry: "os.DirEntry[bytes]", path: bytes, listing: Listing, waiting: list[tuple[bytes, int]], depth: int) -> None:
    try:
        entry_stat = entry.stat(follow_symlinks=False)
    except OSError:
        return
    if stat.S_ISDIR(entry_stat.st_mode):
        if depth >= _DEEPEST:
            listing.add_problem(path, Problem("too_deep"))
            return
        listing.folders.add(fold_name(os.fsdecode(path)))
        listing.written[fold_name(os.fsdecode(path))] = os.fsdecode(path)
        waiting.append((path, depth + 1))
    elif stat.S_ISREG(entry_stat.st_mode):
        record = build_record(path, entry_stat.st_size, entry_stat.st_mtime_ns)
        listing.files[record.path] = record
    else:
        listing.add_problem(path, Problem("link" if stat.S_ISLNK(entry_stat.st_mode) else "special"))


def name_part() -> str:
    """No name of another program looks like it."""
    return f".sdelka-{secrets.token_hex(8)}.part"


def remove_old_parts(root: Path, listing: Listing) -> None:
    """Left by a process killed while writing. What cannot be removed stays."""
    for path in listing.parts:
        with suppress(OSError):
            whole = os.path.join(os.fsencode(root), path)
            file_stat = os.stat(whole, follow_symlinks=False)
            if stat.S_ISREG(file_stat.st_mode) and time.time() - file_stat.st_mtime > PART_SECONDS:
                os.unlink(whole)


def find_access_faults(root: Path, listing: Listing) -> Sequence[AccessProblem]:
    access = read_access(root, listing)
    return (*access.problems, *access.find_missing(listing.folders))


def build_record(path: bytes, size: int, mtime_ns: int, problem: Problem | None = None) -> FileRecord:
    """Bytes that are no text become hexadecimal digits."""
    try:
        text = path.decode("utf-8")
    except UnicodeDecodeError:
        text = path.decode("utf-8", "backslashreplace") + f"?{path.hex()}"
    name = clean_title(path.decode("utf-8", "replace"), 160) or "?"
    return FileRecord(path=text.replace("\x00", ""), name=name, size=size, mtime_ns=mtime_ns, problem=problem)


def find_bytes(path: str) -> bytes:
    """The path on the disk."""
    text, mark, digits = path.rpartition("?")
    if mark and text and len(digits) % 2 == 0:
        try:
            name_bytes = bytes.fromhex(digits)
        except ValueError:
            return path.encode()
        if name_bytes.decode("utf-8", "backslashreplace") == text:
            return name_bytes
    return path.encode()


def read_access(root: Path, listing: Listing) -> Access:
    """Without a file everything is public."""
    if not listing.access_files:
        return Access()
    if len(listing.access_files) > 1:
        return close_everything("there are two of them")
    try:
        descriptor = os.open(os.path.join(os.fsencode(root), listing.access_files[0]), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            return parse_access(file.read(LARGEST + 1))
    except OSError as error:
        return close_everything(error.strerror or "OSError")
