"""The tables; a test compares them with `state.migrations`.

Times are ISO texts of fixed width, JSON is canonical text.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    literal_column,
)
from sqlalchemy.dialects import postgresql

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)

Position = BigInteger().with_variant(Integer, "sqlite")


def _text(name: str, **more: Any) -> Column[str]:
    return Column(name, Text, nullable=False, **more)


def _name(name: str, **more: Any) -> Column[str]:
    """Names that sort byte by byte in every database."""
    return Column(name, Text().with_variant(postgresql.TEXT(collation="C"), "postgresql"), nullable=False, **more)


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False)


def _position() -> Column[int]:
    return Column("pos", Position, primary_key=True, autoincrement=True)


def _keyed(name: str, *columns: Column[Any]) -> Table:
    """SQLite then writes one page instead of two."""
    return Table(name, metadata, *columns, sqlite_with_rowid=False)


events = Table(
    "events",
    metadata,
    _text("stream"),
    _number("seq"),
    _text("id"),
    _text("ts"),
    _text("type"),
    _number("v"),
    _text("actor"),
    _text("data"),
    # The hash covers this record and the previous hash, and so all records before; the previous hash is in the previous row.
    _text("hash"),
    PrimaryKeyConstraint("stream", "seq"),
    UniqueConstraint("id"),
)

leases = _keyed(
    "leases",
    _text("session", primary_key=True),
    _text("owner"),
    _number("epoch"),
    _text("until"),
    # The end of the stream that this lease guards: its last seq, and proof that no records were cut off.
    _number("seq"),
    _text("hash"),
)

inbox = Table(
    "inbox",
    metadata,
    _position(),
    _text("id"),
    _text("source"),
    _text("session"),
    _text("lane"),
    _text("kind"),
    _text("actor"),
    _text("body"),
    _text("received_at"),
    _text("status"),
    _number("attempts"),
    _text("note"),
    UniqueConstraint("id"),
    UniqueConstraint("source"),
)
_new = inbox.c.status == "new"
Index("ix_inbox_new", inbox.c.session, inbox.c.lane, inbox.c.pos, sqlite_where=_new, postgresql_where=_new)

# Holds only rows that wait for delivery or have failed. These may be thousands while a messenger cannot be reached, and each commit looks
# for rows with the keys of its messages.
outbox = Table(
    "outbox",
    metadata,
    _position(),
    _text("id"),
    _text("session"),
    _text("channel"),
    _text("kind"),
    _text("body"),
    _text("key"),
    _text("created_at"),
    _text("status"),
    _number("attempts"),
    _text("due_at"),
    _text("note"),
    UniqueConstraint("id"),
)
_unsent, _replaced = outbox.c.status == "new", outbox.c.status == "replaced"
# What a look for due messages asks of each unsent one stands in the index, so that only due rows are read.
_asked = (outbox.c.session, outbox.c.pos, outbox.c.key, outbox.c.channel, outbox.c.due_at, outbox.c.attempts, outbox.c.created_at)
Index("ix_outbox_new", *_asked, sqlite_where=_unsent, postgresql_where=_unsent)
Index("ix_outbox_replaced", outbox.c.session, outbox.c.key, sqlite_where=_replaced, postgresql_where=_replaced)

deliveries = _keyed("deliveries", _text("session", primary_key=True), _text("key", primary_key=True), _text("sent_ref"))

effects = _keyed(
    "effects",
    _text("effect_id", primary_key=True),
    _text("stream"),
    _text("status"),
    _text("fingerprint"),
    _text("call"),
    _text("updated_at"),
    Column("outcome", Text),
)
Index("ix_effects_stream", effects.c.stream, effects.c.status)

# Follows from journal and effects by the rule of `state.journal.record_index`; a row is removed when its call is erased.
mentions = _keyed(
    "mentions",
    _text("about", primary_key=True),
    _text("what", primary_key=True),
    _text("event_id", primary_key=True),
    _text("effect_id"),
)

timers = _keyed("timers", _text("id", primary_key=True), _text("due_at"), _text("session"), _text("kind"), _text("body"))
Index("ix_timers_due_at", timers.c.due_at)

# Follows from the streams of runs by the rule of `state.journal.run_index`.
runs = _keyed(
    "runs",
    _text("run_id", primary_key=True),
    _text("engine"),
    _text("definition"),
    _number("version"),
    _text("home"),
    _text("owner"),
    _text("parent"),
    _text("status"),
    _text("started_at"),
    _text("updated_at"),
)
Index("ix_runs_home", runs.c.home, runs.c.status)
Index("ix_runs_owner", runs.c.owner, runs.c.status)
Index("ix_runs_status", runs.c.status, runs.c.updated_at)

snapshots = _keyed("snapshots", _text("stream", primary_key=True), _number("seq"), _text("state"))

blobs = Table("blobs", metadata, _text("digest", primary_key=True), _text("content"))

# The lease of session `definitions` guards the five tables of definitions. PostgreSQL also has definition_texts.document_jsonb, which it
# computes from the text. That column and the views stand only in r0006, because no statement of this program uses them.
definition_keys = _keyed(
    "definition_keys",
    _name("kind", primary_key=True),
    _name("key", primary_key=True),
    _text("title"),
    _number("enabled"),
    _number("active_version"),
    _number("last_version"),
    _number("drafts"),
    _number("revision"),
    _text("updated_at"),
    _text("updated_by"),
)

definitions = Table(
    "definitions",
    metadata,
    _text("id", primary_key=True),
    _name("kind"),
    _name("key"),
    _number("version"),
    _text("status"),
    _number("revision"),
    _text("title"),
    _text("digest"),
    _text("note"),
    _text("author"),
    _text("author_name"),
    _text("writers"),
    _text("created_at"),
    _text("updated_at"),
    _text("updated_by"),
    _text("published_by"),
    _text("published_by_name"),
    _text("published_at"),
    Column("edition", BigInteger, nullable=False, server_default="0"),
    _text("source", server_default=""),
    UniqueConstraint("kind", "key", "version"),
)

definition_texts = Table("definition_texts", metadata, _text("digest", primary_key=True), _text("document"))

definition_sources = Table("definition_sources", metadata, _text("digest", primary_key=True), _text("text"))

definition_history = Table(
    "definition_history",
    metadata,
    _text("id", primary_key=True),
    _number("seq"),
    _text("at"),
    _name("kind"),
    _name("key"),
    _number("version"),
    _text("what"),
    _text("by"),
    _text("by_name"),
    _text("note"),
    _text("digest"),
)
Index("ix_definition_history_key", definition_history.c.kind, definition_history.c.key, definition_history.c.seq)

values = _keyed("values", _text("key", primary_key=True), _text("value"))

person_keys = _keyed(
    "person_keys",
    _text("key_id", primary_key=True),
    _text("person"),
    # Empty once the person is erased: the row stays, to tell erasure from damage and to repeat the erasure after a restore.
    _text("secret"),
    _text("created_at"),
    _text("erased_at"),
)
LIVE: ColumnElement[bool] = literal_column("secret <> ''")
"""A literal, not a parameter, so that SQLite uses the partial index below."""
Index("ix_person_keys_live", person_keys.c.person, unique=True, sqlite_where=LIVE, postgresql_where=LIVE)
