"""Brings a checked backup into an empty place (ring 1). What it means for calls made since is `orchestrator.reports.restoring`'s."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from state.log_archives import logs_in
from state.log_staging import sync_folder, write_durably
from state.migrations import HEAD
from state.moving.archive import Archive, BadBackup, Progress
from state.moving.backup import heads_of
from state.moving.loading import Loading, NotEmpty, filling, sqlite_path
from state.moving.manifest import Manifest, TablePart
from state.moving.tables import PAGE, Rows, Shape, Sum, row_of
from state.sql.schema import NewerDatabase
from state.store import StoreError, StoreUnwritable
from state.verify.database import OLDER

ROOM = 3
"""A row takes so many times its text: its keys, its indexes, the write-ahead log."""

Settle = Callable[[Loading], None]
"""What has to be done before anybody may start on it."""


class Differs(StoreError):
    """What stands there is not what the backup holds."""


def restore(archive: Archive, url: str, logs: Path, *, settle: Settle, progress: Progress = lambda _: None) -> None:
    """Database and audit logs as they were, upgraded to today's schema, then `settle`d; until that is done nobody can start on it.

    BadBackup, NewerDatabase, NotEmpty and InUse before anything was written; StoreUnwritable, Differs after.
    """
    manifest = archive.manifest
    if manifest.revision not in {HEAD, *OLDER}:
        raise NewerDatabase(f"the backup has schema {manifest.revision!r}, this program knows up to {HEAD!r}: use the newer version")
    archive.check(progress)
    _room(manifest, url, logs)
    _no_other_logs(archive, logs)
    with filling(url, by="restore") as loading:
        loading.begin(manifest.revision)
        loading.fill((shape, _pages(archive, shape, progress)) for shape in _shapes(manifest))
        _same(loading, manifest, progress)
        _put_logs(archive, logs, progress)
        loading.upgrade()
        settle(loading)
        loading.finish()


def shape_of(name: str, part: TablePart) -> Shape:
    """A table as the manifest tells of it."""
    return Shape(name=name, columns=part.columns, key=part.key)


def _shapes(manifest: Manifest) -> Iterator[Shape]:
    for name, part in manifest.tables.items():
        yield shape_of(name, part)


def _pages(archive: Archive, shape: Shape, progress: Progress) -> Iterator[Rows]:
    page: Rows = []
    count = 0
    for line in archive.lines(f"tables/{shape.name}.jsonl"):
        try:
            page.append(row_of(shape, line))
        except ValueError as error:
            raise BadBackup(f"{archive.path.name}: {error}") from None
        if len(page) == PAGE:
            count += PAGE
            progress(f"{shape.name}: {count:,} rows")
            yield page
            page = []
    yield page


def _same(loading: Loading, manifest: Manifest, progress: Progress) -> None:
    """Read back what was written, and compare it with what the backup says."""
    with loading.read() as found:
        for shape in found.shapes:
            progress(f"reading {shape.name} back")
            part = manifest.tables.get(shape.name)
            if part is None:
                raise Differs(f"the backup has no table {shape.name}, which schema {manifest.revision} has")
            # In the order of the backup's columns: a table that was changed may have them in another one.
            if found.sum_of(shape_of(shape.name, part)) != Sum(rows=part.rows, size=part.size, sha256=part.sha256):
                raise Differs(f"table {shape.name} was not stored as the backup holds it")
        if heads_of(found) != manifest.heads:
            raise Differs("the ends of the streams are not those of the backup")


def _room(manifest: Manifest, url: str, logs: Path) -> None:
    """Told before, where it can be known: a full disk half way costs more."""
    path = sqlite_path(url)
    wanted = {logs: sum(part.size for part in manifest.logs.values())}
    if path is not None:
        wanted[path.parent] = wanted.get(path.parent, 0) + ROOM * sum(part.size for part in manifest.tables.values())
    for folder, size in wanted.items():
        there = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
        free = shutil.disk_usage(there).free
        if free < size:
            raise StoreUnwritable(f"{folder}: {size:,} bytes are needed, and {free:,} are free; nothing was written")


def _no_other_logs(archive: Archive, folder: Path) -> None:
    """NotEmpty where LOG_DIR holds logs that are not this backup's, byte by byte."""
    known = {f"logs/{name}" for name in archive.manifest.logs}
    for log in logs_in(folder) if folder.is_dir() else []:
        for path in folder.iterdir():
            if path.name.lstrip(".").startswith(log.name) and not path.name.endswith((".archive.lock", ".tmp")):
                name = f"logs/{path.name}"
                if name not in known or not path.is_file() or path.read_bytes() != archive.bytes_of(name):
                    raise NotEmpty(f"{folder} has audit logs already ({path.name}): only an empty place is filled, nothing was written")


def _put_logs(archive: Archive, folder: Path, progress: Progress) -> None:
    if not archive.manifest.logs:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in archive.manifest.logs:
            progress(f"audit log {name}")
            half = folder / f".{name}.tmp"
            write_durably(half, archive.bytes_of(f"logs/{name}"))
            os.chmod(half, 0o640)  # noqa: PTH101 - as the log itself is made
            half.rename(folder / name)
        sync_folder(folder)
    except OSError as error:
        raise StoreUnwritable(f"the audit logs were not written: {folder}: {error.strerror}; run it again, it begins anew") from None
