"""Restores a verified backup into an empty database and log folder.

Calls that were made since the backup are handled in `orchestrator.reports.restore`.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from state.audit_log.archives import list_logs
from state.audit_log.log_files import FOLDER_MODE, sync_folder, write_durably
from state.journal.store import StoreError, StoreUnwritable
from state.migrations import HEAD
from state.sql.schema import NewerDatabase
from state.transfer.archive import Archive, BadBackup, Progress
from state.transfer.backup import read_heads
from state.transfer.loader import DatabaseLoader, NotEmpty, find_sqlite_path, open_for_loading
from state.transfer.manifest import Manifest, TablePart
from state.transfer.table_reader import PAGE, Rows, TableShape, TableSum, parse_row
from state.verify.database import OLDER

SPACE_FACTOR = 3
"""How much disk space a row needs, as a multiple of the size of its text: for keys, indexes and the write-ahead log."""

Settle = Callable[[DatabaseLoader], None]
"""A function that gets the filled database and makes the changes that are needed before a bot may start on it."""


class RestoreMismatch(StoreError):
    """What was stored differs from the backup, or from the database that was moved."""


def restore_backup(archive: Archive, url: str, logs: Path, *, settle: Settle, progress: Progress = lambda _: None) -> None:
    """Restore the database and the audit logs, upgrade the schema and call `settle`, which changes rows of the restored database.

    No bot can start on the database before all this is done. Raises BadBackup, NewerDatabase, NotEmpty and InUse before anything is
    written, StoreUnwritable and RestoreMismatch afterwards.
    """
    manifest = archive.manifest
    if manifest.revision not in {HEAD, *OLDER}:
        raise NewerDatabase(f"the backup has schema {manifest.revision!r}, this program knows up to {HEAD!r}: use the newer version")
    archive.check(progress)
    _check_space(manifest, url, logs)
    _check_logs(archive, logs)
    with open_for_loading(url, by="restore") as loading:
        loading.begin(manifest.revision)
        loading.fill((shape, _iterate_pages(archive, shape, progress)) for shape in _build_shapes(manifest))
        _verify_rows(loading, manifest, progress)
        _restore_logs(archive, logs, progress)
        loading.upgrade()
        settle(loading)
        loading.finish()


def build_shape(name: str, part: TablePart) -> TableShape:
    """Return the name, columns and primary key of a table from its part of the manifest."""
    return TableShape(name=name, columns=part.columns, key=part.key)


def _build_shapes(manifest: Manifest) -> Iterator[TableShape]:
    for name, part in manifest.tables.items():
        yield build_shape(name, part)


def _iterate_pages(archive: Archive, shape: TableShape, progress: Progress) -> Iterator[Rows]:
    page: Rows = []
    count = 0
    for line in archive.iterate_lines(f"tables/{shape.name}.jsonl"):
        try:
            page.append(parse_row(shape, line))
        except ValueError as error:
            raise BadBackup(f"{archive.path.name}: {error}") from None
        if len(page) == PAGE:
            count += PAGE
            progress(f"{shape.name}: {count:,} rows")
            yield page
            page = []
    yield page


def _verify_rows(loading: DatabaseLoader, manifest: Manifest, progress: Progress) -> None:
    """Read back the written rows and compare them with the manifest. Raises RestoreMismatch."""
    with loading.read() as database_reading:
        for shape in database_reading.shapes:
            progress(f"reading {shape.name} back")
            part = manifest.tables.get(shape.name)
            if part is None:
                raise RestoreMismatch(f"the backup has no table {shape.name}, which schema {manifest.revision} has")
            # In the column order of the backup: after a migration the order in the database may differ.
            if database_reading.sum_table(build_shape(shape.name, part)) != TableSum(rows=part.rows, size=part.size, sha256=part.sha256):
                raise RestoreMismatch(f"table {shape.name} was not stored as the backup holds it")
        if read_heads(database_reading) != manifest.heads:
            raise RestoreMismatch("the ends of the streams are not those of the backup")


def _check_space(manifest: Manifest, url: str, logs: Path) -> None:
    """Raise StoreUnwritable if the free disk space is certainly too small, so that the restore does not fail half way."""
    path = find_sqlite_path(url)
    wanted = {logs: sum(part.size for part in manifest.logs.values())}
    if path is not None:
        wanted[path.parent] = wanted.get(path.parent, 0) + SPACE_FACTOR * sum(part.size for part in manifest.tables.values())
    for folder, size in wanted.items():
        there = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
        free = shutil.disk_usage(there).free
        if free < size:
            raise StoreUnwritable(f"{folder}: {size:,} bytes are needed, and {free:,} are free; nothing was written")


def _check_logs(archive: Archive, folder: Path) -> None:
    """Raise NotEmpty if the log folder holds a file of a log that is not byte by byte the same in the backup."""
    known = {f"logs/{name}" for name in archive.manifest.logs}
    for log in list_logs(folder) if folder.is_dir() else []:
        for path in folder.iterdir():
            if path.name.lstrip(".").startswith(log.name) and not path.name.endswith((".archive.lock", ".tmp")):
                name = f"logs/{path.name}"
                if name not in known or not path.is_file() or path.read_bytes() != archive.read_bytes(name):
                    raise NotEmpty(f"{folder} has audit logs already ({path.name}): only an empty place is filled, nothing was written")


def _restore_logs(archive: Archive, folder: Path, progress: Progress) -> None:
    if not archive.manifest.logs:
        return
    try:
        folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
        for name in archive.manifest.logs:
            progress(f"audit log {name}")
            half = folder / f".{name}.tmp"
            write_durably(half, archive.read_bytes(f"logs/{name}"))
            os.chmod(half, 0o640)  # noqa: PTH101 - as the log itself is made
            half.rename(folder / name)
        sync_folder(folder)
    except OSError as error:
        raise StoreUnwritable(f"the audit logs were not written: {folder}: {error.strerror}; run it again, it begins anew") from None
