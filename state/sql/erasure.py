"""Finds and removes what the database holds of one person; of records only the key.

It may scan whole tables.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, func, or_, select, update
from sqlalchemy.exc import DBAPIError

from state import canonical
from state.clock import format_iso
from state.journal.encryption import ERASED
from state.journal.run_index import PREFIX
from state.journal.store import InboxRow, StoreError
from state.model.run_state import ENDED
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
    definition_history,
    definition_keys,
    definition_sources,
    definition_texts,
    definitions,
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

COMPANY: Final = "company"
"""An erasure names a person's words in such texts and leaves them."""
TABLES: Final = (definition_keys, definitions, definition_texts, definition_sources, definition_history)
_PERSONAL: Final[Mapping[Table, Mapping[str, tuple[str, ...]]]] = {
    definitions: {"author": ("author_name",), "updated_by": ("note",), "published_by": ("published_by_name",)},
    definition_history: {"by": ("by_name", "note")},
}


def count_personal(connection: Connection, person: str) -> dict[str, int]:
    return {
        table.name: connection.execute(select(func.count()).select_from(table).where(or_(*_match(table, person)))).scalar_one()
        for table in _PERSONAL
    }


def erase_personal(connection: Connection, person: str) -> dict[str, int]:
    """Documents and titles are the company's and stay."""
    counts = count_personal(connection, person)
    for table, parts in _PERSONAL.items():
        for condition, names in zip(_match(table, person), parts.values(), strict=True):
            connection.execute(update(table).where(condition).values(dict.fromkeys(names, "")))
    return counts


def build_texts(table: Table, row: Mapping[str, Any]) -> Iterator[StoredText]:
    """Yield each person's texts apart from others' and the company's."""
    whole = build_text(table, row, {})
    personal = {name for names in _PERSONAL.get(table, {}).values() for name in names}
    for key, names in _PERSONAL.get(table, {}).items():
        yield StoredText(place=whole.place, owner=row[key], text="\n".join(row[name] for name in names))
    rest = [value for name, value in row.items() if isinstance(value, str) and name not in personal]
    yield StoredText(place=whole.place, owner=COMPANY, text="\n".join(rest))


def _match(table: Table, person: str) -> list[ColumnElement[bool]]:
    return [and_(table.c[key] == person, or_(*(table.c[name] != "" for name in names))) for key, names in _PERSONAL[table].items()]


Change = Callable[[Any], Any]
KEPT_CALL_FIELDS = ("turn_id", "slot", "confirmation_id", "requested_by", "approved_by", "proposed_by", "started_at")
"""A restart, a late click or `verify` needs these."""
EMPTIED = "erased"
_PAGE = 500
_MENTION_OF = select(mentions, events.c.stream, events.c.actor).outerjoin(events, events.c.id == mentions.c.event_id)


@dataclass(frozen=True, kw_only=True)
class KeyRow:
    person: str
    key_id: str
    created_at: str
    erased_at: str
    damage: str = ""


class Erasure:
    """A person is named by key ("tg:7"). Every method may raise StoreError."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    def list_keys(self) -> list[KeyRow]:
        with self._begin() as connection:
            key_rows = [(row, damage) for row, damage in read_keys(connection)]
        field_names = [name for name in KeyRow.__dataclass_fields__ if name != "damage"]
        rows = [KeyRow(**{name: row[name] for name in field_names}, damage=damage) for row, damage in key_rows]
        return sorted(rows, key=lambda row: (row.created_at, row.key_id))

    def count_unkeyed(self, person: str) -> int:
        """Count records under a key that is not the person's: 0 without damage."""
        mine = and_(events.c.data.contains(SEALED, autoescape=True), or_(events.c.actor == person, match_stream(person)))
        with self._begin() as connection:
            keys = {row["key_id"] for row in read_keys_of(connection, person)}
            owners = load_run_owners(connection)
            records = connection.execute(select(events.c.actor, events.c.stream, events.c.data).where(mine))
            owned = (data for actor, stream, data in records if find_record_owner(actor, stream.removeprefix("session:"), owners) == person)
            return sum(data.partition(SEALED)[2].partition(".")[0] not in keys for data in owned)

    def drop_damaged(self, person: str, now: datetime) -> int:
        """Mark a damaged key as erased, so that reading no longer fails."""
        with self._begin() as connection:
            if not any(damage for row, damage in read_keys(connection) if row["person"] == person):
                return 0
            gone = update(person_keys).where(person_keys.c.person == person, LIVE).values(secret=ERASED, erased_at=format_iso(now))
            return connection.execute(gone).rowcount

    def list_actors(self) -> dict[str, set[str]]:
        known: dict[str, set[str]] = {}
        with self._begin() as connection:
            for (text,) in connection.execute(select(inbox.c.actor).distinct()):
                actor = canonical.loads(text)
                if isinstance(actor, dict) and ":" in str(actor.get("key", "")):
                    known.setdefault(actor["key"], set()).update({str(actor.get("name", ""))} - {""})
        return known

    def count_holdings(self, person: str) -> dict[str, int]:
        """Rows by table that `erase` would change, without zeros."""
        with self._begin() as connection:
            counts = {table.name: _count(connection, table, match_session(table, person)) for table in (outbox, deliveries)}
            counts["timers"] = _count(connection, timers, match_timers(person))
            counts["inbox"] = _count(connection, inbox, and_(match_inputs(person), inbox.c.note != EMPTIED))
            counts["effects"] = _count(connection, effects, and_(match_calls(person), effects.c.call.contains('"call":')))
            counts["events"] = _count(connection, events, match_encrypted(list_live_keys(connection, person)))
            counts["mentions"] = _count(connection, mentions, match_index_entries(connection, person))
            counts |= count_personal(connection, person)
            counts["snapshots"] = _count(connection, snapshots, snapshots.c.stream.in_(list_streams(connection, person)))
        return _drop_zeros(counts)

    def list_runs(self, person: str) -> list[str]:
        with self._begin() as connection:
            return [row[0] for row in connection.execute(select_runs(person))]

    def list_waiting(self, person: str) -> list[str]:
        """Without those that an erasure left, such as the order to end a run."""
        mine = and_(match_inputs(person), inbox.c.status == "new", inbox.c.note != EMPTIED)
        with self._begin() as connection:
            return [row[0] for row in connection.execute(select(inbox.c.id).where(mine).order_by(inbox.c.pos))]

    def list_effects(self, person: str, statuses: Collection[str]) -> list[tuple[str, str, str]]:
        query = select(effects.c.effect_id, effects.c.stream, effects.c.status).where(match_calls(person), effects.c.status.in_(statuses))
        with self._begin() as connection:
            return [(row[0], row[1], row[2]) for row in connection.execute(query.order_by(effects.c.updated_at))]

    def list_records(self, person: str) -> list[tuple[str, int]]:
        """Return (stream, seq) of those with a live key or never encrypted."""
        with self._begin() as connection:
            clear = and_(~events.c.data.contains(SEALED, autoescape=True), or_(events.c.actor == person, match_stream(person)))
            mine = or_(match_encrypted(list_live_keys(connection, person)), clear)
            records = connection.execute(select(events.c.stream, events.c.seq).where(mine).order_by(events.c.stream, events.c.seq))
            return [(row[0], row[1]) for row in records]

    def erase(
        self, person: str, now: datetime, *, digests: Collection[str], change: Change, end_run: Callable[[str], InboxRow] | None = None
    ) -> dict[str, int]:
        """Erase keys and rows, and end every lease; return changed rows by table.

        `change` takes the person out of others' outbox bodies. Without leases every process loads its sessions anew: none keeps the key in
        memory.
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
            removed |= erase_personal(connection, person)
            removed["deliveries"] = _delete(connection, deliveries, match_session(deliveries, person))
            removed["timers"] = _delete(connection, timers, match_timers(person))
            removed["blobs"] = _delete(connection, blobs, blobs.c.digest.in_(list(digests)))
            gone = update(person_keys).where(match_keys(person), LIVE).values(secret=ERASED, erased_at=format_iso(now))
            removed["person_keys"] = connection.execute(gone).rowcount
        return _drop_zeros(removed)

    def purge_disk(self) -> None:
        """Raises StoreError while others read the old pages."""
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
        with self._begin() as connection:
            owners = load_run_owners(connection)
            for table in metadata.tables.values():
                if table is person_keys:
                    yield from (build_text(table, row, owners) for row, _ in read_keys(connection))
                    continue
                query = _MENTION_OF if table is mentions else select(table)
                for row in connection.execution_options(yield_per=_PAGE).execute(query):
                    if table in TABLES:
                        yield from build_texts(table, row._asdict())
                    else:
                        yield build_text(table, row._asdict(), owners)

    def list_secrets(self, person: str) -> list[str]:
        """To search for them afterwards; never shown."""
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
    """Hide the driver's error, which quotes an undecodable text."""
    try:
        yield
    except DBAPIError as error:
        if "decode" not in str(error.orig):
            raise
        raise StoreError("a text in the database cannot be decoded: `sdelka journal verify` names the place") from None


def _drop_zeros(counts: Mapping[str, int]) -> dict[str, int]:
    return {str(name): count for name, count in counts.items() if count}


def _count(connection: Connection, table: Table, where: ColumnElement[bool]) -> int:
    return connection.execute(select(func.count()).select_from(table).where(where)).scalar_one()


def _delete(connection: Connection, table: Table, where: ColumnElement[bool]) -> int:
    return connection.execute(delete(table).where(where)).rowcount


def _erase_inputs(connection: Connection, person: str) -> int:
    """`source` stays, so that no input is accepted twice."""
    connection.execute(update(inbox).where(match_inputs(person), inbox.c.status == "new").values(status="done"))
    full = and_(match_inputs(person), inbox.c.note != EMPTIED)
    changed = connection.execute(update(inbox).where(full).values(body="{}", note=EMPTIED)).rowcount
    mine = inbox.c.actor.contains(f'"key":{canonical.dumps(person)}', autoescape=True)
    connection.execute(update(inbox).where(mine).values(actor=canonical.dumps({"key": person, "name": ""})))
    return changed


def _release_runs(connection: Connection, dialect: Dialect, person: str, end_run: Callable[[str], InboxRow] | None) -> None:
    """Store the inputs that end unfinished runs; unname their owner."""
    mine = (PREFIX + runs.c.run_id).in_(select_runs(person))
    unfinished = connection.execute(select(runs.c.run_id).where(mine, runs.c.status.not_in(ENDED))).all()
    for inbox_row in [end_run(PREFIX + run_id) for (run_id,) in unfinished] if end_run is not None else []:
        new = dialect.insert(inbox).values({**rows.to_inbox_params(inbox_row), "note": EMPTIED})
        connection.execute(new.on_conflict_do_update(index_elements=["source"], set_={"status": "new", "body": new.excluded.body}))
    connection.execute(update(runs).where(runs.c.owner == person).values(owner=""))


def _erase_calls(connection: Connection, person: str) -> int:
    """Statuses stay, so that no call is made twice."""
    calls = connection.execute(select(effects.c.effect_id, effects.c.call, effects.c.outcome).where(match_calls(person))).all()
    changed = 0
    for effect_id, text, outcome in calls:
        call = canonical.loads(text)  # a call with a wrong digest is erased too
        bare = encode_checksummed(rows.build_call_place(effect_id), {key: call[key] for key in KEPT_CALL_FIELDS if key in call})
        if (bare, None) != (text, outcome):
            connection.execute(update(effects).where(effects.c.effect_id == effect_id).values(call=bare, outcome=None))
            changed += 1
    return changed


def _change_deliveries(connection: Connection, person: str, change: Change) -> int:
    """Change rows for others that mention the person."""
    mentioning = outbox.c.body.contains(canonical.dumps(person), autoescape=True)
    changed = 0
    for position, text in connection.execute(select(outbox.c.pos, outbox.c.body).where(mentioning)).all():
        new = canonical.dumps(change(canonical.loads(text)))
        if new != text:
            connection.execute(update(outbox).where(outbox.c.pos == position).values(body=new))
            changed += 1
    return changed
