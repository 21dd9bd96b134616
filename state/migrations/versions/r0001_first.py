"""The first schema: journal, leases, inbox, outbox, effects, timers, snapshots, blobs, values."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Column, Text

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

POSITION = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create every table; all of it or nothing."""
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
        *(_text("actor"), _text("data"), _text("prev"), _text("hash")),
        sa.PrimaryKeyConstraint("stream", "seq", name="pk_events"),
        sa.UniqueConstraint("id", name="uq_events_id"),
    )
    op.create_table(
        "leases",
        *(_text("session"), _text("owner"), _number("epoch"), _text("until"), _number("seq"), _text("hash")),
        sa.PrimaryKeyConstraint("session", name="pk_leases"),
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
    _partial("ix_inbox_new", "inbox", ["session", "lane", "pos"], "status = 'new'")
    op.create_table(
        "outbox",
        Column("pos", POSITION, autoincrement=True, nullable=False),
        *(_text("id"), _text("session"), _text("channel"), _text("kind"), _text("body"), _text("key")),
        *(_text("created_at"), _text("status"), _number("attempts"), _text("due_at"), _text("sent_ref"), _text("note")),
        sa.PrimaryKeyConstraint("pos", name="pk_outbox"),
        sa.UniqueConstraint("id", name="uq_outbox_id"),
    )
    _partial("ix_outbox_new", "outbox", ["session", "pos"], "status = 'new'")
    _partial("ix_outbox_key", "outbox", ["session", "key"], "key != ''")


def _small_tables() -> None:
    op.create_table(
        "effects",
        *(_text("effect_id"), _text("stream"), _text("status"), _text("fingerprint"), _text("call"), _number("epoch")),
        *(_text("updated_at"), Column("outcome", Text)),
        sa.PrimaryKeyConstraint("effect_id", name="pk_effects"),
    )
    op.create_index("ix_effects_stream", "effects", ["stream", "status"])
    op.create_table(
        "timers",
        *(_text("id"), _text("due_at"), _text("session"), _text("kind"), _text("body")),
        sa.PrimaryKeyConstraint("id", name="pk_timers"),
    )
    op.create_index("ix_timers_due_at", "timers", ["due_at"])
    for name, columns in (
        ("snapshots", (_text("stream"), _number("seq"), _text("state"))),
        ("blobs", (_text("digest"), _text("content"))),
        ("values", (_text("key"), _text("value"))),
    ):
        op.create_table(name, *columns, sa.PrimaryKeyConstraint(columns[0].name, name=f"pk_{name}"))


def _partial(name: str, table: str, columns: list[str], where: str) -> None:
    op.create_index(name, table, columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))
