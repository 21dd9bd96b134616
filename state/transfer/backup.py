"""Makes a backup while others use the database. Changes nothing in the database.

All rows are as of one moment, and the audit logs are copied just before it.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import orjson

from state.audit_log.archives import build_ledger_path, list_logs
from state.audit_log.log_files import build_archive_lock_path, build_lock_path, hold_shared_lock, list_data_files, resolve_log
from state.clock import format_iso, generate_id
from state.journal.store import StoreError
from state.sql.closed_mark import ClosedDatabase, describe_mark
from state.transfer.archive import ArchiveWriter, NotWritten, Progress, create_archive
from state.transfer.manifest import FORMAT, MANIFEST, ErasedPerson, Heads, Manifest, Part, TablePart, check_log_name
from state.transfer.table_reader import DatabaseReading, NothingThere, TableShape, TableSummer, open_reading, render_lines

TRIES = 3
_OPEN = ("requested", "approved", "started", "unknown")


class ErasedMeanwhile(StoreError):
    """A person was erased while the audit logs were copied, so the copies may still contain that person's data."""


@dataclass(frozen=True, kw_only=True)
class CreatedBackup:
    """The result of `create_backup`: the file, its manifest and its size in bytes."""

    path: Path
    manifest: Manifest
    size: int


def create_backup(
    url: str, logs: Path, to: Path, *, now: Callable[[], datetime], program: str, progress: Progress = lambda _: None
) -> CreatedBackup:
    """Write a backup of the database at `url` and the audit logs in the folder `logs` to the file `to`.

    `program` is the program's version, for the manifest. If it fails, raises NotWritten or another StoreError and leaves no file.
    """
    for attempt in range(TRIES):
        try:
            manifest = _write_backup(url, logs, to, now=now, program=program, progress=progress)
        except ErasedMeanwhile:
            if attempt == TRIES - 1:
                raise
            progress("somebody was erased meanwhile: beginning anew")
            continue
        return CreatedBackup(path=to, manifest=manifest, size=to.stat().st_size)
    raise NotWritten(f"the backup {to} was not written")


def _write_backup(url: str, logs: Path, to: Path, *, now: Callable[[], datetime], program: str, progress: Progress) -> Manifest:
    with open_reading(url) as before:
        if not before.schema:
            raise NothingThere("the database is empty: there is nothing to back up")
        if before.mark is not None:
            raise ClosedDatabase(describe_mark(before.mark))
        erased = _list_erased(before)
    with create_archive(to) as file:
        writer = ArchiveWriter(file)
        # A turn is stored before it is logged, so everything in these logs is in the rows that are read after them.
        log_parts = _write_logs(logs, writer, progress)
        with open_reading(url) as reading:
            made_at = format_iso(now())
            if _list_erased(reading) != erased:
                raise ErasedMeanwhile("somebody was erased while the backup was made: make it again")
            tables = {shape.name: _write_table(reading, shape, writer, progress) for shape in reading.shapes}
            manifest = Manifest(
                format=FORMAT,
                id=generate_id(),
                made_at=made_at,
                program=program,
                kind="sqlite" if reading.is_sqlite else "postgresql",
                revision=reading.schema,
                tables=tables,
                logs=log_parts,
                heads=read_heads(reading),
                open=_count_open(reading),
                erased=erased,
            )
        writer.write_part(MANIFEST, orjson.dumps(manifest.model_dump(mode="json"), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))
    return manifest


def read_heads(found: DatabaseReading) -> Heads:
    """Return the number of streams and records, and a checksum over the seq and hash at which each stream ends."""
    digest, streams, records = sha256(), 0, 0
    order = "" if found.is_sqlite else ' COLLATE "C"'
    for session, seq, hash_ in found.query(f"SELECT session, seq, hash FROM leases WHERE seq > 0 ORDER BY session{order}"):  # noqa: S608 - our own word
        digest.update(orjson.dumps([session, seq, hash_]) + b"\n")
        streams, records = streams + 1, records + seq
    return Heads(streams=streams, records=records, sha256=digest.hexdigest())


def _write_table(database_reading: DatabaseReading, shape: TableShape, writer: ArchiveWriter, progress: Progress) -> TablePart:
    summing, told = TableSummer(), 0
    with writer.open_part(f"tables/{shape.name}.jsonl") as write:
        for page in database_reading.iterate_pages(shape):
            text = render_lines(shape, page)
            write(text)
            summing.add(text, len(page))
            told += len(page)
            progress(f"{shape.name}: {told:,} rows")
    added = summing.sum()
    return TablePart(columns=shape.columns, key=shape.key, rows=added.rows, size=added.size, sha256=added.sha256)


def _write_logs(folder: Path, writer: ArchiveWriter, progress: Progress) -> dict[str, Part]:
    parts: dict[str, Part] = {}
    for log in list_logs(folder) if folder.is_dir() else []:
        progress(f"audit log {log.name}")
        for name, data in _read_files(log):
            parts[name] = writer.write_part(f"logs/{name}", data)
    return parts


def _read_files(log: Path) -> list[tuple[str, bytes]]:
    """Return (file name, content) of each file of a log as of one moment, while its writers wait.

    If a rewriting of the log is valid but not yet moved into place, its files are read instead of the old ones.
    """
    try:
        with ExitStack() as locks:
            locks.enter_context(hold_shared_lock(build_archive_lock_path(log)))
            locks.enter_context(hold_shared_lock(build_lock_path(log)))
            place = resolve_log(log)
            paths = [*list_data_files(place), build_lock_path(place), build_ledger_path(place)]
            return [(check_log_name(path.name), path.read_bytes()) for path in paths if path.is_file() and not path.name.endswith(".tmp")]
    except (OSError, TimeoutError, ValueError) as error:
        raise NotWritten(f"the audit log {log.name} cannot be copied: {error}") from None


def _list_erased(database_reading: DatabaseReading) -> tuple[ErasedPerson, ...]:
    if not any(shape.name == "person_keys" for shape in database_reading.shapes):
        return ()
    rows = database_reading.query("SELECT person, key_id, erased_at FROM person_keys WHERE secret = '' ORDER BY erased_at, key_id")
    return tuple(ErasedPerson(person=person, key_id=key_id, erased_at=at) for person, key_id, at in rows)


def _count_open(database_reading: DatabaseReading) -> dict[str, int]:
    counts = {str(status): int(number) for status, number in database_reading.query("SELECT status, count(*) FROM effects GROUP BY status")}
    [(waiting,)] = database_reading.query("SELECT count(*) FROM inbox WHERE status = 'new'")
    return {**{status: counts.get(status, 0) for status in _OPEN}, "inputs": int(waiting)}
