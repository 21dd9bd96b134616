"""Adds the table of keys, one per person: personal data of new records is encrypted with it and erased with it.

Adds an index for the outbox in PostgreSQL.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Column, Text

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_COLUMNS = ("key_id", "person", "secret", "created_at", "erased_at")


def upgrade() -> None:
    """Add the table of encryption keys; existing records stay unencrypted."""
    op.create_table(
        "person_keys",
        *(Column(name, Text, nullable=False) for name in _COLUMNS),
        sa.PrimaryKeyConstraint("key_id", name="pk_person_keys"),
        sqlite_with_rowid=False,
    )
    live = sa.text("secret <> ''")
    op.create_index("ix_person_keys_live", "person_keys", ["person"], unique=True, sqlite_where=live, postgresql_where=live)
    if op.get_bind().dialect.name == "postgresql":
        # SQLite's outbox holds only what is still to be delivered. PostgreSQL's holds every removed row until it is vacuumed.
        columns = ["session", "key", "pos"]
        op.create_index("ix_outbox_new", "outbox", columns, postgresql_where=sa.text("status = 'new'"))
