"""Restores a backup into an empty place.

It is prepared beside the place, which stays untouched until the last step.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson
from sqlalchemy import Connection, and_, or_, select, update

from state.audit_log.log_files import FOLDER_MODE, sync_folder, write_durably
from state.events.runs import RunStarted
from state.journal.store import RESTORED, RESTORED_CARD, SET_ASIDE, StoreUnwritable
from state.migrations import HEAD
from state.sql import row_mapping
from state.sql.checksummed_json import DamagedRow, decode_checksummed, encode_checksummed
from state.sql.dialect import Dialect, build_sqlite_url, open_database
from state.sql.schema import NewerDatabase, upgrade_schema
from state.sql.tables import effects, events, inbox, leases, values
from state.transfer.archive import read_manifest, unpack_backup
from state.transfer.manifest import DATABASE, LOGS, BackupHeader, BadBackup, is_log_name
from state.transfer.staging import NotEmpty, Progress, open_staging
from state.transfer.table_copy import copy_database, hold_empty, open_reading, translate_errors
from state.verify.database import OLDER, find_sqlite_path

NOTE = "came back with a backup: it may have been worked on since"


NEWS_OF_RUNS = (
    "run_play",
    "run_child_end",
    "run_message",
    "run_question",
    "run_owner_gone",
    "run_forget",
    "run_engine_back",
    "schedules_restored",
    "orders_restored",
)
ANSWERS_TO_RUNS = ("run_answer", "run_file")
"""A paused run takes none: it has the chat listen again."""
_IS_RETRY = and_(inbox.c.kind == "run_order", inbox.c.source.like("retry:run:%"))


@dataclass(frozen=True, kw_only=True)
class SetAside:
    """Marked by many `attempts`, so that it is not handled again."""

    session: str
    kind: str
    received_at: str


def expire_leases(connection: Connection) -> None:
    connection.execute(update(leases).values(owner=""))


def set_aside(connection: Connection) -> list[SetAside]:
    """Mark waiting inbox rows that may have been handled since; their senders are asked to check.

    What runs need to go on stays.
    """
    begun = and_(inbox.c.kind == "run_start", inbox.c.session.in_(select(events.c.stream).where(events.c.type == RunStarted.__name__)))
    of_runs = or_(inbox.c.kind.in_((*NEWS_OF_RUNS, *ANSWERS_TO_RUNS)), begun, _IS_RETRY)
    harmless = or_(inbox.c.kind == "timer", inbox.c.session.like("portal:%"), of_runs)
    waiting = and_(inbox.c.status == "new", inbox.c.attempts < SET_ASIDE, ~harmless)
    rows = connection.execute(select(inbox.c.session, inbox.c.kind, inbox.c.received_at).where(waiting).order_by(inbox.c.pos))
    rows_set_aside = [SetAside(session=session, kind=kind, received_at=at) for session, kind, at in rows]
    connection.execute(update(inbox).where(waiting).values(attempts=inbox.c.attempts + SET_ASIDE, note=NOTE))
    return rows_set_aside


def list_retries(connection: Connection) -> list[tuple[str, str]]:
    """Return (id, session of the child); the parent then waits for the child."""
    waiting = and_(inbox.c.status == "new", _IS_RETRY)
    return [(row_id, session) for row_id, session in connection.execute(select(inbox.c.id, inbox.c.session).where(waiting))]


def mark_cards(connection: Connection, made_at: str) -> tuple[list[str], list[str]]:
    """Return the effect ids marked and those damaged; `made_at` is ISO."""
    waiting = select(effects.c.effect_id, effects.c.call).where(effects.c.status == "requested").order_by(effects.c.effect_id)
    cards, damaged = [], []
    for effect_id, text in connection.execute(waiting).all():
        place = row_mapping.build_call_place(effect_id)
        try:
            known = decode_checksummed(place, text)  # a card that came back before may have run since the first backup
            call = {
                **known,
                RESTORED_CARD: min(made_at, str(known.get(RESTORED_CARD, made_at))),
            }
        except DamagedRow:  # a damaged call can never run
            damaged.append(effect_id)
            continue
        connection.execute(update(effects).where(effects.c.effect_id == effect_id).values(call=encode_checksummed(place, call)))
        cards.append(effect_id)
    return cards, damaged


def list_running_calls(connection: Connection) -> list[tuple[str, str]]:
    """Return (effect id, stream): nobody knows whether they ran."""
    doubtful = select(effects.c.effect_id, effects.c.stream).where(effects.c.status.in_(("approved", "started")))
    return [(effect_id, stream) for effect_id, stream in connection.execute(doubtful.order_by(effects.c.updated_at))]


def record_restore(connection: Connection, *, made_at: str, at: str) -> None:
    """Channels may deliver old inputs a second time."""
    value = orjson.dumps({"made_at": made_at, "restored_at": at}).decode()
    connection.execute(values.delete().where(values.c.key == RESTORED))
    connection.execute(values.insert().values(key=RESTORED, value=value))


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
