"""One key a person: what is personal in records from now on is sealed under it, and gone when it is. An index for PostgreSQL's outbox."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Column, Text

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_COLUMNS = ("key_id", "person", "secret", "created_at", "erased_at")


def upgrade() -> None:
    """Add the table; records that are there stay as they are, in clear."""
    op.create_table(
        "person_keys",
        *(Column(name, Text, nullable=False) for name in _COLUMNS),
        sa.PrimaryKeyConstraint("key_id", name="pk_person_keys"),
        sqlite_with_rowid=False,
    )
    live = sa.text("secret <> ''")
    op.create_index("ix_person_keys_live", "person_keys", ["person"], unique=True, sqlite_where=live, postgresql_where=live)
    if op.get_bind().dialect.name == "postgresql":
        # SQLite's outbox holds only what is to be delivered. PostgreSQL's holds, until it is vacuumed, all that ever was.
        columns = ["session", "key", "pos"]
        op.create_index("ix_outbox_new", "outbox", columns, postgresql_where=sa.text("status = 'new'"))
