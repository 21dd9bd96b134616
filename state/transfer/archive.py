"""The file of a backup: a gzipped tar, then the checksum of the whole.

Everything is compared with the manifest, and nothing unpacked to another path.
"""

import gzip
import os
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import file_digest, sha256
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import orjson

from state.transfer import old_archive
from state.transfer.manifest import LONGEST_MANIFEST, MANIFEST, BackupHeader, BadBackup, Manifest, Part, parse_manifest
from state.transfer.staging import Progress, check_space, copy_stream

LEVEL = 3
BLOCK = 1 << 20


def describe_file(path: Path) -> Part:
    with path.open("rb") as file:
        return Part(size=path.stat().st_size, sha256=file_digest(file, "sha256").hexdigest())


def pack_backup(folder: Path, manifest: Manifest, path: Path) -> None:
    text = orjson.dumps(manifest.model_dump(mode="json"), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
    with path.open("x+b") as file:
        path.chmod(0o600)
        with gzip.GzipFile("", "wb", LEVEL, file, mtime=0) as packed, tarfile.open(fileobj=packed, mode="w|") as archive:
            archive.addfile(_build_member(MANIFEST, len(text)), BytesIO(text))
            for name, part in manifest.list_files().items():
                with (folder / name).open("rb") as content:
                    archive.addfile(_build_member(name, part.size), content)
        file.write(_build_end(file, file.tell()))


def read_manifest(path: Path) -> BackupHeader:
    if old_archive.is_old(path):
        return old_archive.read_manifest(path)
    with _open_archive(path) as (_, archive):
        return _read_manifest(path, archive)


def unpack_backup(path: Path, folder: Path, progress: Progress) -> BackupHeader:
    """Raises BadBackup, which names what is damaged, and StoreUnwritable if there is no room."""
    if old_archive.is_old(path):
        return old_archive.unpack_backup(path, folder, progress)
    with _open_archive(path) as (file, archive):
        manifest = _read_manifest(path, archive)
        check_space(folder, sum(part.size for part in manifest.list_files().values()))
        missing = manifest.list_files()
        while member := archive.next():
            progress(f"unpacking {member.name}")
            part, content = missing.pop(member.name, None), archive.extractfile(member) if member.isreg() else None
            if part is None or content is None:
                raise BadBackup(f"{path.name} holds {member.name[:80]!r}, of which its manifest says nothing")
            with _translate_errors(path, member.name):
                if member.size != part.size or copy_stream(content, folder / member.name) != part.sha256:
                    raise BadBackup(f"{path.name}: {member.name} is not what was written there")
        if missing:
            raise BadBackup(f"{path.name} lacks {', '.join(sorted(missing)[:3])}")
        size = file.seek(-len(_build_end(file, 0)), os.SEEK_END)
        end = file.read()
        if end != _build_end(file, size):
            raise BadBackup(f"{path.name} is not what was written there: its checksum differs")
    return manifest


@contextmanager
def _open_archive(path: Path) -> Iterator[tuple[BinaryIO, tarfile.TarFile]]:
    with (
        path.open("rb") as file,
        _translate_errors(path, "it"),
        gzip.GzipFile(fileobj=file) as packed,
        tarfile.open(fileobj=packed, mode="r|") as archive,
    ):
        yield file, archive


@contextmanager
def _translate_errors(path: Path, name: str) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile, UnicodeError, ValueError) as error:
        raise BadBackup(f"{path.name} is no whole backup: {name} cannot be read: {error}") from None


def _read_manifest(path: Path, archive: tarfile.TarFile) -> Manifest:
    member = archive.next()
    content = archive.extractfile(member) if member is not None and member.isreg() and member.name == MANIFEST else None
    if content is None:
        raise BadBackup(f"{path.name} has no manifest: it is no backup of this program")
    return parse_manifest(path.name, content.read(LONGEST_MANIFEST), Manifest)


def _build_end(file: BinaryIO, size: int) -> bytes:
    """The SHA-256 of the first `size` bytes, as the comment of a gzip part that unpacks to nothing."""
    digest = sha256()
    file.seek(0)
    while size and (block := file.read(min(size, BLOCK))):
        digest.update(block)
        size -= len(block)
    return b"\x1f\x8b\x08\x10" + bytes(5) + b"\xff" + digest.hexdigest().encode() + b"\0\x03\0" + bytes(8)


def _build_member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o600
    return member
