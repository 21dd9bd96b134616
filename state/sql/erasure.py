"""Finds and removes what the database holds of one person. Journal records stay; only the key to their encrypted part is deleted.

It runs rarely and when an operator asks for it, so it uses SQLAlchemy itself and scans whole tables if it must.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, func, or_, select, update
from sqlalchemy.exc import DBAPIError

from state import canonical
from state.clock import format_iso
from state.journal.encryption import ERASED
from state.journal.run_index import PREFIX
from state.journal.store import InboxRow, StoreError
from state.model.run_state import ENDED
from state.sql import definition_people
from state.sql import row_mapping as rows
from state.sql.checksummed_json import encode_checksummed
from state.sql.database import translate_errors
from state.sql.dialect import Dialect
from state.sql.person_rows import (
    SEALED,
    StoredText,
    build_text,
    find_record_owner,
    list_live_keys,
    list_streams,
    load_run_owners,
    match_calls,
    match_encrypted,
    match_index_entries,
    match_inputs,
    match_keys,
    match_session,
    match_stream,
    match_timers,
    read_keys,
    read_keys_of,
    select_runs,
)
from state.sql.tables import (
    LIVE,
    blobs,
    deliveries,
    effects,
    events,
    inbox,
    leases,
    mentions,
    metadata,
    outbox,
    person_keys,
    runs,
    snapshots,
    timers,
)

Change = Callable[[Any], Any]
KEPT_CALL_FIELDS = ("turn_id", "slot", "confirmation_id", "requested_by", "approved_by", "proposed_by", "started_at")
"""The fields of an effect that an erasure leaves: a restart, a late button click or `verify` needs them, and none holds people's text."""
EMPTIED = "erased"
"""The value of the column `note` in an inbox row whose content was erased."""
_PAGE = 500
_MENTION_OF = select(mentions, events.c.stream, events.c.actor).outerjoin(events, events.c.id == mentions.c.event_id)
"""Finds the person to whom a row of `mentions` belongs: the one of the event that the row is about."""


@dataclass(frozen=True, kw_only=True)
class KeyRow:
    """A row of the table of encryption keys, one key per person, without the secret itself."""

    person: str
    key_id: str
    created_at: str
    erased_at: str
    damage: str = ""
    """What is wrong with the row, "" if it is intact."""


class Erasure:
    """Finds and removes the stored data of one person, named by key ("tg:7"). Every method may raise StoreError."""

    def __init__(self, dialect: Dialect) -> None:
        """Work on an opened database; `SqlStore.open_erasure` calls this."""
        self._dialect = dialect

    def list_keys(self) -> list[KeyRow]:
        """Return all encryption keys of all people, also erased ones, oldest first."""
        with self._begin() as connection:
            found = [(row, damage) for row, damage in read_keys(connection)]
        shown = [name for name in KeyRow.__dataclass_fields__ if name != "damage"]
        rows = [KeyRow(**{name: row[name] for name in shown}, damage=damage) for row, damage in found]
        return sorted(rows, key=lambda row: (row.created_at, row.key_id))

    def count_unkeyed(self, person: str) -> int:
        """Return how many records of the person are encrypted with a key that is not listed as theirs; more than 0 only after damage."""
        mine = and_(events.c.data.contains(SEALED, autoescape=True), or_(events.c.actor == person, match_stream(person)))
        with self._begin() as connection:
            keys = {row["key_id"] for row in read_keys_of(connection, person)}
            owners = load_run_owners(connection)
            found = connection.execute(select(events.c.actor, events.c.stream, events.c.data).where(mine))
            owned = (data for actor, stream, data in found if find_record_owner(actor, stream.removeprefix("session:"), owners) == person)
            return sum(data.partition(SEALED)[2].partition(".")[0] not in keys for data in owned)

    def drop_damaged(self, person: str, now: datetime) -> int:
        """If the row of a key of the person is damaged, mark the person's key as erased; return how many keys were changed (0 or 1).

        Reading the person's records then no longer fails.
        """
        with self._begin() as connection:
            if not any(damage for row, damage in read_keys(connection) if row["person"] == person):
                return 0
            gone = update(person_keys).where(person_keys.c.person == person, LIVE).values(secret=ERASED, erased_at=format_iso(now))
            return connection.execute(gone).rowcount

    def list_actors(self) -> dict[str, set[str]]:
        """Return by key ("tg:7") every person of whom an inbox row is stored, with the names they had when they sent the rows."""
        known: dict[str, set[str]] = {}
        with self._begin() as connection:
            for (text,) in connection.execute(select(inbox.c.actor).distinct()):
                actor = canonical.loads(text)
                if isinstance(actor, dict) and ":" in str(actor.get("key", "")):
                    known.setdefault(actor["key"], set()).update({str(actor.get("name", ""))} - {""})
        return known

    def count_holdings(self, person: str) -> dict[str, int]:
        """Return by table how many rows `erase` would empty or remove, without zeros; "events" are records that become unreadable."""
        with self._begin() as connection:
            counts = {table.name: _count(connection, table, match_session(table, person)) for table in (outbox, deliveries)}
            counts["timers"] = _count(connection, timers, match_timers(person))
            counts["inbox"] = _count(connection, inbox, and_(match_inputs(person), inbox.c.note != EMPTIED))
            counts["effects"] = _count(connection, effects, and_(match_calls(person), effects.c.call.contains('"call":')))
            counts["events"] = _count(connection, events, match_encrypted(list_live_keys(connection, person)))
            counts["mentions"] = _count(connection, mentions, match_index_entries(connection, person))
            counts |= definition_people.count_personal(connection, person)
            counts["snapshots"] = _count(connection, snapshots, snapshots.c.stream.in_(list_streams(connection, person)))
        return _drop_zeros(counts)

    def list_runs(self, person: str) -> list[str]:
        """Return the keys of the runs that the person owns, such as "run:0190…"."""
        with self._begin() as connection:
            return [row[0] for row in connection.execute(select_runs(person))]

    def list_waiting(self, person: str) -> list[str]:
        """Return the ids of the person's inbox rows that have not been handled yet, oldest first."""
        mine = and_(match_inputs(person), inbox.c.status == "new")
        with self._begin() as connection:
            return [row[0] for row in connection.execute(select(inbox.c.id).where(mine).order_by(inbox.c.pos))]

    def list_effects(self, person: str, statuses: Collection[str]) -> list[tuple[str, str, str]]:
        """Return (effect id, stream, status) of the person's calls with one of `statuses`, sorted by the time of their last change."""
        wanted = select(effects.c.effect_id, effects.c.stream, effects.c.status).where(match_calls(person), effects.c.status.in_(statuses))
        with self._begin() as connection:
            return [(row[0], row[1], row[2]) for row in connection.execute(wanted.order_by(effects.c.updated_at))]

    def list_records(self, person: str) -> list[tuple[str, int]]:
        """Return (stream, seq) of the person's readable records, whose key is not erased or which are old and were never encrypted."""
        with self._begin() as connection:
            clear = and_(~events.c.data.contains(SEALED, autoescape=True), or_(events.c.actor == person, match_stream(person)))
            mine = or_(match_encrypted(list_live_keys(connection, person)), clear)
            found = connection.execute(select(events.c.stream, events.c.seq).where(mine).order_by(events.c.stream, events.c.seq))
            return [(row[0], row[1]) for row in found]

    def iterate_inputs(self, person: str) -> Iterator[Any]:
        """Yield the bodies of the person's inbox rows, parsed from JSON."""
        with self._begin() as connection:
            for (body,) in connection.execute(select(inbox.c.body).where(match_inputs(person))):
                yield canonical.loads(body)

    def erase(
        self, person: str, now: datetime, *, digests: Collection[str], change: Change, end_run: Callable[[str], InboxRow] | None = None
    ) -> dict[str, int]:
        """Erase the person's keys and rows, and end every lease; return the number of changed rows by table.

        `digests` are the SHA-256 names of large answers to delete. `change` gets the body of an outbox row for somebody else and returns it
        without the person. `end_run` returns the input that ends the person's run with the given key; a run that is not over cannot go on
        without its owner. Because all leases (the right to write a session) end, every process loads its sessions anew: none encrypts with
        a deleted key or keeps the person's data in memory.
        """
        with self._begin() as connection:
            # This comes first, because it waits for the commits under way and blocks new ones.
            connection.execute(update(leases).values(owner=""))
            removed = {"snapshots": _delete(connection, snapshots, snapshots.c.stream.in_(list_streams(connection, person)))}
            removed["events"] = _count(connection, events, match_encrypted(list_live_keys(connection, person)))
            removed["inbox"] = _erase_inputs(connection, person)
            _release_runs(connection, self._dialect, person, end_run)
            removed["mentions"] = _delete(connection, mentions, match_index_entries(connection, person))
            removed["effects"] = _erase_calls(connection, person)
            removed["outbox"] = _delete(connection, outbox, match_session(outbox, person)) + _change_deliveries(connection, person, change)
            removed |= definition_people.erase_personal(connection, person)
            removed["deliveries"] = _delete(connection, deliveries, match_session(deliveries, person))
            removed["timers"] = _delete(connection, timers, match_timers(person))
            removed["blobs"] = _delete(connection, blobs, blobs.c.digest.in_(list(digests)))
            gone = update(person_keys).where(match_keys(person), LIVE).values(secret=ERASED, erased_at=format_iso(now))
            removed["person_keys"] = connection.execute(gone).rowcount
        return _drop_zeros(removed)

    def purge_disk(self) -> None:
        """Make the database remove deleted rows from its files on disk. Raises StoreError if another process still reads the old pages."""
        with translate_errors(self._get_driver_error()):
            if self._dialect.engine.dialect.name == "postgresql":
                names = ", ".join(f'"{name}"' for name in metadata.tables if name != events.name)
                with self._dialect.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                    connection.exec_driver_sql(f"VACUUM (FULL) {names}")
                return
            raw = self._dialect.engine.raw_connection()
            try:
                cursor = raw.cursor()
                cursor.execute("VACUUM")
                busy = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            finally:
                raw.close()
        if busy:
            raise StoreError("somebody else reads the database, so that its old pages could not be removed: stop that and erase again")

    def iterate_texts(self) -> Iterator[StoredText]:
        """Yield the text of every row of every table, with the table and key of the row and the person it belongs to."""
        with self._begin() as connection:
            owners = load_run_owners(connection)
            for table in metadata.tables.values():
                if table is person_keys:
                    yield from (build_text(table, row, owners) for row, _ in read_keys(connection))
                    continue
                told = _MENTION_OF if table is mentions else select(table)
                for row in connection.execution_options(yield_per=_PAGE).execute(told):
                    if table in definition_people.TABLES:
                        yield from definition_people.build_texts(table, row._asdict())
                    else:
                        yield build_text(table, row._asdict(), owners)

    def list_secrets(self, person: str) -> list[str]:
        """Return the secrets of the person's keys, to search for them after their deletion; they must never be shown."""
        with self._begin() as connection:
            return [row["secret"] for row in read_keys_of(connection, person) if row["secret"] != ERASED]

    @contextmanager
    def _begin(self) -> Iterator[Connection]:
        with translate_errors(self._get_driver_error()), self._dialect.engine.begin() as connection:
            if connection.dialect.name == "sqlite":
                connection.exec_driver_sql("PRAGMA secure_delete=ON")
            with _hide_quoted():
                yield connection

    def _get_driver_error(self) -> type[Exception]:
        error: type[Exception] = self._dialect.engine.dialect.loaded_dbapi.Error
        return error


@contextmanager
def _hide_quoted() -> Iterator[None]:
    """Replace the driver's error about a text that cannot be decoded by one that does not quote the text."""
    try:
        yield
    except DBAPIError as error:
        if "decode" not in str(error.orig):
            raise
        raise StoreError("a text in the database cannot be decoded: `sdelka journal verify` names the place") from None


def _drop_zeros(counts: Mapping[str, int]) -> dict[str, int]:
    """Return `counts` without zeros; its keys, SQLAlchemy's table names, become plain strings."""
    return {str(name): count for name, count in counts.items() if count}


def _count(connection: Connection, table: Table, where: ColumnElement[bool]) -> int:
    return connection.execute(select(func.count()).select_from(table).where(where)).scalar_one()


def _delete(connection: Connection, table: Table, where: ColumnElement[bool]) -> int:
    return connection.execute(delete(table).where(where)).rowcount


def _erase_inputs(connection: Connection, person: str) -> int:
    """Empty the person's inbox rows and set the waiting ones to "done"; return how many were emptied.

    The rows keep their `source`, so that the same input is not accepted again.
    """
    connection.execute(update(inbox).where(match_inputs(person), inbox.c.status == "new").values(status="done"))
    full = and_(match_inputs(person), inbox.c.note != EMPTIED)
    changed = connection.execute(update(inbox).where(full).values(body="{}", note=EMPTIED)).rowcount
    mine = inbox.c.actor.contains(f'"key":{canonical.dumps(person)}', autoescape=True)
    connection.execute(update(inbox).where(mine).values(actor=canonical.dumps({"key": person, "name": ""})))
    return changed


def _release_runs(connection: Connection, dialect: Dialect, person: str, end_run: Callable[[str], InboxRow] | None) -> None:
    """Store the inputs that end the person's unfinished runs, and take the person out of the index of runs."""
    mine = (PREFIX + runs.c.run_id).in_(select_runs(person))
    unfinished = connection.execute(select(runs.c.run_id).where(mine, runs.c.status.not_in(ENDED))).all()
    for inbox_row in [end_run(PREFIX + run_id) for (run_id,) in unfinished] if end_run is not None else []:
        new = dialect.insert(inbox).values({**rows.to_inbox_params(inbox_row), "note": EMPTIED})
        connection.execute(new.on_conflict_do_update(index_elements=["source"], set_={"status": "new", "body": new.excluded.body}))
    connection.execute(update(runs).where(runs.c.owner == person).values(owner=""))


def _erase_calls(connection: Connection, person: str) -> int:
    """Remove the request and outcome from the effect rows of the person's calls; return how many rows were changed.

    The rows keep their status, so that no call is made twice.
    """
    found = connection.execute(select(effects.c.effect_id, effects.c.call, effects.c.outcome).where(match_calls(person))).all()
    changed = 0
    for effect_id, text, outcome in found:
        call = canonical.loads(text)  # a call with a wrong digest is erased too
        bare = encode_checksummed(rows.build_call_place(effect_id), {key: call[key] for key in KEPT_CALL_FIELDS if key in call})
        if (bare, None) != (text, outcome):
            connection.execute(update(effects).where(effects.c.effect_id == effect_id).values(call=bare, outcome=None))
            changed += 1
    return changed


def _change_deliveries(connection: Connection, person: str, change: Change) -> int:
    """Apply `change` to the outbox rows for others that mention the person by key (`person`, "tg:7"); return how many were changed."""
    named = outbox.c.body.contains(canonical.dumps(person), autoescape=True)
    changed = 0
    for position, text in connection.execute(select(outbox.c.pos, outbox.c.body).where(named)).all():
        new = canonical.dumps(change(canonical.loads(text)))
        if new != text:
            connection.execute(update(outbox).where(outbox.c.pos == position).values(body=new))
            changed += 1
    return changed
