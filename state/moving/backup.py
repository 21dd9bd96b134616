"""Makes a backup beside those who work with the database (ring 1): rows of one moment, audit logs of just before it. Changes nothing."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import orjson

from state.clock import iso, new_id
from state.log_archives import logs_in
from state.log_ledger import ledger_path
from state.log_locks import archive_lock_path, lock_path, shared
from state.log_staging import files_of, home
from state.moving.archive import NotWritten, Progress, Writer, written
from state.moving.manifest import FORMAT, MANIFEST, ErasedPerson, Heads, Manifest, Part, TablePart, log_name
from state.moving.tables import NothingThere, Reading, Shape, Summing, lines, reading
from state.sql.closed import ClosedDatabase, sentence
from state.store import StoreError

TRIES = 3
_OPEN = ("requested", "approved", "started", "unknown")


class ErasedMeanwhile(StoreError):
    """Somebody was erased while the audit logs were copied, so the copy may still hold them."""


@dataclass(frozen=True, kw_only=True)
class Made:
    """A backup that was written."""

    path: Path
    manifest: Manifest
    size: int


def make(url: str, logs: Path, to: Path, *, now: Callable[[], datetime], program: str, progress: Progress = lambda _: None) -> Made:
    """Write the backup to the file `to`; NotWritten or another StoreError where it could not be, and nothing is left of it."""
    for attempt in range(TRIES):
        try:
            manifest = _made(url, logs, to, now=now, program=program, progress=progress)
        except ErasedMeanwhile:
            if attempt == TRIES - 1:
                raise
            progress("somebody was erased meanwhile: beginning anew")
            continue
        return Made(path=to, manifest=manifest, size=to.stat().st_size)
    raise NotWritten(f"the backup {to} was not written")


def _made(url: str, logs: Path, to: Path, *, now: Callable[[], datetime], program: str, progress: Progress) -> Manifest:
    with reading(url) as before:
        if not before.schema:
            raise NothingThere("the database is empty: there is nothing to back up")
        if before.mark is not None:
            raise ClosedDatabase(sentence(before.mark))
        erased = _erased(before)
    with written(to) as file:
        writer = Writer(file)
        # A turn is stored before it is logged: so what these logs tell of is in the rows that are read after them.
        log_parts = _logs(logs, writer, progress)
        with reading(url) as found:
            made_at = iso(now())
            if _erased(found) != erased:
                raise ErasedMeanwhile("somebody was erased while the backup was made: make it again")
            tables = {shape.name: _table(found, shape, writer, progress) for shape in found.shapes}
            manifest = Manifest(
                format=FORMAT,
                id=new_id(),
                made_at=made_at,
                program=program,
                kind="sqlite" if found.is_sqlite else "postgresql",
                revision=found.schema,
                tables=tables,
                logs=log_parts,
                heads=heads_of(found),
                open=_open(found),
                erased=erased,
            )
        writer.whole(MANIFEST, orjson.dumps(manifest.model_dump(mode="json"), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))
    return manifest


def heads_of(found: Reading) -> Heads:
    """Where every stream of it ends."""
    digest, streams, records = sha256(), 0, 0
    order = "" if found.is_sqlite else ' COLLATE "C"'
    for session, seq, hash_ in found.asked(f"SELECT session, seq, hash FROM leases WHERE seq > 0 ORDER BY session{order}"):  # noqa: S608 - our own word
        digest.update(orjson.dumps([session, seq, hash_]) + b"\n")
        streams, records = streams + 1, records + seq
    return Heads(streams=streams, records=records, sha256=digest.hexdigest())


def _table(found: Reading, shape: Shape, writer: Writer, progress: Progress) -> TablePart:
    summing, told = Summing(), 0
    with writer.part(f"tables/{shape.name}.jsonl") as write:
        for page in found.pages(shape):
            text = lines(shape, page)
            write(text)
            summing.add(text, len(page))
            told += len(page)
            progress(f"{shape.name}: {told:,} rows")
    added = summing.sum()
    return TablePart(columns=shape.columns, key=shape.key, rows=added.rows, size=added.size, sha256=added.sha256)


def _logs(folder: Path, writer: Writer, progress: Progress) -> dict[str, Part]:
    parts: dict[str, Part] = {}
    for log in logs_in(folder) if folder.is_dir() else []:
        progress(f"audit log {log.name}")
        for name, data in _files(log):
            parts[name] = writer.whole(f"logs/{name}", data)
    return parts


def _files(log: Path) -> list[tuple[str, bytes]]:
    """Every file of a log as they stood at one moment, read while its writers wait; a rewriting that is not yet in place counts."""
    try:
        with ExitStack() as locks:
            locks.enter_context(shared(archive_lock_path(log)))
            locks.enter_context(shared(lock_path(log)))
            place = home(log)
            paths = [*files_of(place), lock_path(place), ledger_path(place)]
            return [(log_name(path.name), path.read_bytes()) for path in paths if path.is_file() and not path.name.endswith(".tmp")]
    except (OSError, TimeoutError, ValueError) as error:
        raise NotWritten(f"the audit log {log.name} cannot be copied: {error}") from None


def _erased(found: Reading) -> tuple[ErasedPerson, ...]:
    if not any(shape.name == "person_keys" for shape in found.shapes):
        return ()
    rows = found.asked("SELECT person, key_id, erased_at FROM person_keys WHERE secret = '' ORDER BY erased_at, key_id")
    return tuple(ErasedPerson(person=person, key_id=key_id, erased_at=at) for person, key_id, at in rows)


def _open(found: Reading) -> dict[str, int]:
    counts = {str(status): int(number) for status, number in found.asked("SELECT status, count(*) FROM effects GROUP BY status")}
    [(waiting,)] = found.asked("SELECT count(*) FROM inbox WHERE status = 'new'")
    return {**{status: counts.get(status, 0) for status in _OPEN}, "inputs": int(waiting)}
