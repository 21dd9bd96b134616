"""Restores a backup into an empty place.

It is prepared beside the place, which stays untouched until the last step.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from state.audit_log.log_files import FOLDER_MODE, sync_folder, write_durably
from state.journal.store import StoreUnwritable
from state.migrations import HEAD
from state.sql.dialect import Dialect, build_sqlite_url, open_database
from state.sql.schema import NewerDatabase, upgrade_schema
from state.transfer.archive import read_manifest, unpack_backup
from state.transfer.manifest import DATABASE, LOGS, BackupHeader, BadBackup, is_log_name
from state.transfer.staging import NotEmpty, Progress, open_staging
from state.transfer.table_copy import copy_database, hold_empty, open_reading, translate_errors
from state.verify.database import OLDER, find_sqlite_path


@dataclass(frozen=True, kw_only=True)
class UnpackedBackup:
    header: BackupHeader
    path: Path
    logs: Path

    @property
    def url(self) -> str:
        return build_sqlite_url(self.path)

    @contextmanager
    def open(self) -> Iterator[Dialect]:
        with open_database(self.url) as dialect:
            try:
                yield dialect
            finally:
                dialect.engine.dispose()


@contextmanager
def unpack(source: Path, folder: Path, progress: Progress = lambda _: None) -> Iterator[UnpackedBackup]:
    """Unpack, check every part and upgrade; removed in the end.

    Raises BadBackup, NewerDatabase, StoreUnwritable.
    """
    try:
        header = read_manifest(source)
        if header.revision not in {HEAD, *OLDER}:
            raise NewerDatabase(f"the backup has schema {header.revision!r}, this program knows up to {HEAD!r}: use the newer version")
    except OSError as error:
        raise BadBackup(f"{source} cannot be opened: {error.strerror}") from None
    with translate_errors(StoreUnwritable, "the backup was not unpacked"), open_staging(folder) as staging:
        unpacked = UnpackedBackup(header=unpack_backup(source, staging, progress), path=staging / DATABASE, logs=staging / LOGS)
        unpacked.logs.mkdir(exist_ok=True)
        with unpacked.open() as dialect:
            upgrade_schema(dialect)
        yield unpacked


@contextmanager
def open_place(url: str, logs: Path) -> Iterator[Path]:
    """Yields a folder to prepare in. Raises NotEmpty, InUse."""
    path = find_sqlite_path(url)
    with hold_empty(url):
        yield logs if path is None else path.parent


def put_into_place(unpacked: UnpackedBackup, url: str, logs: Path, progress: Progress = lambda _: None) -> None:
    """Put the logs, then, at once, the database.

    Raises NotEmpty, StoreUnwritable, CopyMismatch; the database is empty then.
    """
    _check_logs(unpacked.logs, logs)
    with open_reading(unpacked.url) as source, copy_database(source, url, progress):
        _copy_logs(unpacked.logs, logs, progress)


def _check_logs(source: Path, folder: Path) -> None:
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        same = source / path.name
        if is_log_name(path.name) and not (same.is_file() and path.is_file() and path.read_bytes() == same.read_bytes()):
            raise NotEmpty(f"{folder} has audit logs already ({path.name}): only an empty place is filled, nothing was written")


def _copy_logs(source: Path, folder: Path, progress: Progress) -> None:
    try:
        for path in sorted(source.iterdir()):
            if is_log_name(path.name):
                progress(f"audit log {path.name}")
                folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
                half = folder / f".{path.name}.tmp"
                write_durably(half, path.read_bytes())
                half.chmod(0o640)  # as the log itself is made
                half.rename(folder / path.name)
                sync_folder(folder)
    except OSError as error:
        raise StoreUnwritable(f"the audit logs were not written: {folder}: {error.strerror}; run it again") from None
