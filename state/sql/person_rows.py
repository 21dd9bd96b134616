"""Which rows belong to a person.

A run's rows are its owner's, except what others did in it.
"""

from binascii import Error as NotBase64
from binascii import a2b_base64
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, and_, or_, select, true

from state import canonical
from state.events.runs import RunStarted
from state.journal.encryption import ERASED, FIELD, find_key_owner
from state.journal.schedule_index import TIMER
from state.sql.tables import blobs, effects, events, inbox, mentions, person_keys, timers

SEALED = f'"{FIELD}":"'
"""In every record with an encrypted part, and in no other."""
_KEY_BYTES = 32


@dataclass(frozen=True, kw_only=True)
class StoredText:
    """`place` is "<table> <primary key>", `owner` "" for nobody."""

    place: str
    owner: str
    text: str


def select_runs(person: str) -> Select[Any]:
    return select(events.c.stream).where(events.c.type == RunStarted.__name__, events.c.actor == person)


def load_run_owners(connection: Connection) -> dict[str, str]:
    begun = select(events.c.stream, events.c.actor).where(events.c.type == RunStarted.__name__)
    return {str(row.stream): str(row.actor) for row in connection.execute(begun)}


def match_session(table: Table, person: str) -> ColumnElement[bool]:
    chats = or_(table.c.session == person, table.c.session.startswith(f"{person}:", autoescape=True))
    return or_(chats, table.c.session.in_(select_runs(person)))


def match_timers(person: str) -> ColumnElement[bool]:
    """Match also those of their schedules, which a group may show."""
    own = timers.c.body.contains(f'"owner":{canonical.dumps(person)}', autoescape=True)
    return or_(match_session(timers, person), and_(timers.c.kind == TIMER, own))


def match_inputs(person: str) -> ColumnElement[bool]:
    return or_(match_session(inbox, person), inbox.c.actor.contains(f'"key":{canonical.dumps(person)}', autoescape=True))


def match_calls(person: str) -> ColumnElement[bool]:
    stream = f"session:{person}"
    requested = effects.c.call.contains(f'"requested_by":{canonical.dumps(person)}', autoescape=True)
    chats = or_(effects.c.stream == stream, effects.c.stream.startswith(f"{stream}:", autoescape=True))
    return or_(chats, effects.c.stream.in_(select_runs(person)), requested)


def match_index_entries(connection: Connection, person: str) -> ColumnElement[bool]:
    """Match rows about their calls, and "look" rows of events under their key."""
    calls = mentions.c.effect_id.in_(select(effects.c.effect_id).where(match_calls(person)))
    looks = and_(
        mentions.c.what == "look", mentions.c.event_id.in_(select(events.c.id).where(match_encrypted(list_live_keys(connection, person))))
    )
    return or_(calls, looks)


def list_live_keys(connection: Connection, person: str) -> list[str]:
    return [row["key_id"] for row in read_keys_of(connection, person) if row["secret"] != ERASED]


def match_keys(person: str) -> ColumnElement[bool]:
    """A run has a key if something was noted before its owner was known."""
    return or_(person_keys.c.person == person, person_keys.c.person.in_(select_runs(person)))


def read_keys_of(connection: Connection, person: str) -> list[dict[str, str]]:
    owners = {person, *(stream for (stream,) in connection.execute(select_runs(person)))}
    return [row for row, _ in read_keys(connection) if row["person"] in owners]


def match_encrypted(keys: list[str]) -> ColumnElement[bool]:
    marks = [events.c.data.contains(f"{SEALED}{key}.", autoescape=True) for key in keys]
    return or_(*marks) if marks else ~true()


def match_stream(person: str) -> ColumnElement[bool]:
    stream = f"session:{person}"
    chats = or_(events.c.stream == stream, events.c.stream.startswith(f"{stream}:", autoescape=True))
    return or_(chats, events.c.stream.in_(select_runs(person)))


def list_streams(connection: Connection, person: str) -> list[str]:
    """List their own, and those in which they acted."""
    acted = or_(events.c.actor == person, match_stream(person))
    return [row[0] for row in connection.execute(select(events.c.stream).where(acted).distinct())]


def read_keys(connection: Connection) -> Iterator[tuple[dict[str, str], str]]:
    """Yield each row and its damage ("" for none).

    As bytes, since SQLite's driver quotes undecodable texts, perhaps a key.
    """
    names = [column.name for column in person_keys.columns]
    if connection.dialect.name != "sqlite":
        for row in connection.execute(select(person_keys)):
            yield row._asdict(), _describe_damage(row._asdict(), [])
        return
    columns = ", ".join([*(f"CAST({name} AS BLOB)" for name in names), *(f"typeof({name})" for name in names)])
    for cells in connection.exec_driver_sql(f"SELECT {columns} FROM {person_keys.name}").all():  # noqa: S608 - names of our table
        raw, kinds = cells[: len(names)], cells[len(names) :]
        texts = {name: bytes(cell).decode(errors="replace") for name, cell in zip(names, raw, strict=True)}
        odd = [name for name, cell, kind in zip(names, raw, kinds, strict=True) if kind != "text" or bytes(cell) != texts[name].encode()]
        yield texts, _describe_damage(texts, odd)


def _describe_damage(row: Mapping[str, str], odd: Collection[str]) -> str:
    if odd:
        return f"{', '.join(odd)}: not as any text is written"
    if (row["secret"] == ERASED) != (row["erased_at"] != ""):
        return "it is neither erased nor alive"
    return "" if row["secret"] == ERASED or _is_key(row["secret"]) else "secret: no key"


def _is_key(secret: str) -> bool:
    try:
        return len(a2b_base64(secret.encode(), strict_mode=True)) == _KEY_BYTES
    except NotBase64:
        return False


def build_text(table: Table, row: Mapping[str, Any], run_owners: Mapping[str, str]) -> StoredText:
    key = " ".join(str(row[column.name]) for column in table.primary_key)
    text = "\n".join(value for value in row.values() if isinstance(value, str))
    return StoredText(place=f"{table.name} {key}", owner=_find_owner(table, row, run_owners), text=text)


def _find_owner(table: Table, row: Mapping[str, Any], run_owners: Mapping[str, str]) -> str:
    if "person" in row:
        return run_owners.get(str(row["person"]), str(row["person"]))
    if "owner" in row and "run_id" in row:
        return str(row["owner"])
    if table is blobs:  # that of a run begins with the run's key
        return run_owners.get(str(row["content"]).partition("\n")[0], "")
    session = str(row.get("session") or row.get("stream", "").removeprefix("session:"))
    actor = str(row.get("actor", ""))
    if table is inbox:
        actor = str(canonical.loads(actor).get("key", ""))
    return find_record_owner(actor, session, run_owners) if actor or session else ""


def find_record_owner(actor: str, session: str, run_owners: Mapping[str, str]) -> str:
    """Return whose key encrypts such a record; a run's is its owner's."""
    return find_key_owner(actor, run_owners.get(session, session))
