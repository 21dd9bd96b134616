"""Makes a backup while others use the database.

All rows are as of one moment, the logs of just before.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection, inspect, select

from state.audit_log.archives import HALF, list_logs
from state.audit_log.log_files import hold_lock, list_data_files
from state.clock import format_iso, generate_id
from state.journal.store import StoreError
from state.sql.dialect import build_sqlite_url
from state.sql.schema import refuse_closed_database
from state.sql.tables import person_keys
from state.transfer.archive import describe_file, pack_backup
from state.transfer.manifest import DATABASE, FORMAT, LOGS, ErasedPerson, Manifest, is_log_name
from state.transfer.staging import NotEmpty, Progress, open_staging, publish
from state.transfer.table_copy import NothingThere, fill_database, open_reading, read_heads, read_revision

TRIES = 3


class NotWritten(StoreError):
    """No file is left."""


@dataclass(frozen=True, kw_only=True)
class CreatedBackup:
    path: Path
    manifest: Manifest
    size: int


def create_backup(
    url: str, logs: Path, to: Path, *, now: Callable[[], datetime], program: str, progress: Progress = lambda _: None
) -> CreatedBackup:
    """Raises NotWritten or another StoreError, and leaves no file."""
    with open_reading(url) as source:
        if not read_revision(source):
            raise NothingThere("the database is empty: there is nothing to back up")
        refuse_closed_database(source)
        erased = _list_erased(source)
    if to.exists():
        raise NotWritten(f"{to} is there already, and is not overwritten")
    try:
        for _ in range(TRIES):
            with open_staging(to.parent) as staging:
                manifest = _collect(url, logs, staging, now=now, program=program, progress=progress)
                if manifest.erased == erased:
                    pack_backup(staging, manifest, staging / "packed")
                    publish(staging / "packed", to)
                    return CreatedBackup(path=to, manifest=manifest, size=to.stat().st_size)
            # The logs were copied before somebody was erased, and may still hold what that person wrote.
            progress("somebody was erased meanwhile: beginning anew")
            erased = manifest.erased
    except (OSError, NotEmpty) as error:
        raise NotWritten(f"the backup {to} was not written, nothing is left of it: {getattr(error, 'strerror', None) or error}") from None
    raise NotWritten(f"the backup {to} was not written: people are being erased, make it again")


def _collect(url: str, logs: Path, staging: Path, *, now: Callable[[], datetime], program: str, progress: Progress) -> Manifest:
    (staging / LOGS).mkdir()
    for log in list_logs(logs) if logs.is_dir() else []:
        progress(f"audit log {log.name}")
        _copy_log(log, staging / LOGS)
    # A turn is stored before it is logged, so everything in these logs is in the rows that are read after them.
    with open_reading(url) as source:
        made_at = format_iso(now())
        with fill_database(source, build_sqlite_url(staging / DATABASE), progress) as rows:
            pass
        return Manifest(
            format=FORMAT,
            id=generate_id(),
            made_at=made_at,
            program=program,
            revision=read_revision(source),
            rows=rows,
            database=describe_file(staging / DATABASE),
            logs={path.name: describe_file(path) for path in sorted((staging / LOGS).iterdir())},
            heads=read_heads(source),
            erased=_list_erased(source),
        )


def _copy_log(log: Path, folder: Path) -> None:
    with hold_lock(log):
        for path in list_data_files(log):
            if is_log_name(path.name) and not path.name.endswith(HALF):
                shutil.copyfile(path, folder / path.name)


def _list_erased(source: Connection) -> tuple[ErasedPerson, ...]:
    if not inspect(source).has_table(person_keys.name):
        return ()
    keys = person_keys.c
    rows = source.execute(select(keys.person, keys.key_id, keys.erased_at).where(keys.secret == "").order_by(keys.erased_at, keys.key_id))
    return tuple(ErasedPerson(person=person, key_id=key_id, erased_at=at) for person, key_id, at in rows)
