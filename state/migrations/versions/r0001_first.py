"""The first schema: journal, leases, inbox, outbox, effects (proposed calls), timers, snapshots, blobs (large answers), values."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Column, Text

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

POSITION = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create every table in one transaction."""
    _journal()
    _queues()
    _small_tables()


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


def _number(name: str) -> Column[int]:
    return Column(name, sa.BigInteger, nullable=False)


def _journal() -> None:
    op.create_table(
        "events",
        *(_text("stream"), _number("seq"), _text("id"), _text("ts"), _text("type"), _number("v")),
        *(_text("actor"), _text("data"), _text("hash")),
        sa.PrimaryKeyConstraint("stream", "seq", name="pk_events"),
        sa.UniqueConstraint("id", name="uq_events_id"),
    )
    op.create_table(
        "leases",
        *(_text("session"), _text("owner"), _number("epoch"), _text("until"), _number("seq"), _text("hash")),
        sa.PrimaryKeyConstraint("session", name="pk_leases"),
        sqlite_with_rowid=False,
    )


def _queues() -> None:
    op.create_table(
        "inbox",
        Column("pos", POSITION, autoincrement=True, nullable=False),
        *(_text("id"), _text("source"), _text("session"), _text("lane"), _text("kind"), _text("actor"), _text("body")),
        *(_text("received_at"), _text("status"), _number("attempts"), _text("note")),
        sa.PrimaryKeyConstraint("pos", name="pk_inbox"),
        sa.UniqueConstraint("id", name="uq_inbox_id"),
        sa.UniqueConstraint("source", name="uq_inbox_source"),
    )
    new = sa.text("status = 'new'")
    columns = ["session", "lane", "pos"]
    op.create_index("ix_inbox_new", "inbox", columns, sqlite_where=new, postgresql_where=new)
    op.create_table(
        "outbox",
        Column("pos", POSITION, autoincrement=True, nullable=False),
        *(_text("id"), _text("session"), _text("channel"), _text("kind"), _text("body"), _text("key")),
        *(_text("created_at"), _text("status"), _number("attempts"), _text("due_at"), _text("note")),
        sa.PrimaryKeyConstraint("pos", name="pk_outbox"),
        sa.UniqueConstraint("id", name="uq_outbox_id"),
    )
    op.create_table(
        "deliveries",
        *(_text("session"), _text("key"), _text("sent_ref")),
        sa.PrimaryKeyConstraint("session", "key", name="pk_deliveries"),
        sqlite_with_rowid=False,
    )


def _small_tables() -> None:
    op.create_table(
        "effects",
        *(_text("effect_id"), _text("stream"), _text("status"), _text("fingerprint"), _text("call"), _number("epoch")),
        *(_text("updated_at"), Column("outcome", Text)),
        sa.PrimaryKeyConstraint("effect_id", name="pk_effects"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_effects_stream", "effects", ["stream", "status"])
    op.create_table(
        "timers",
        *(_text("id"), _text("due_at"), _text("session"), _text("kind"), _text("body")),
        sa.PrimaryKeyConstraint("id", name="pk_timers"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_timers_due_at", "timers", ["due_at"])
    for name, columns in (
        ("snapshots", (_text("stream"), _number("seq"), _text("state"))),
        ("values", (_text("key"), _text("value"))),
    ):
        op.create_table(name, *columns, sa.PrimaryKeyConstraint(columns[0].name, name=f"pk_{name}"), sqlite_with_rowid=False)
    op.create_table("blobs", _text("digest"), _text("content"), sa.PrimaryKeyConstraint("digest", name="pk_blobs"))
