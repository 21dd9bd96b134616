"""Adds indexes of the outbox, so that thousands of messages that wait for delivery slow down neither commits nor delivery.

PostgreSQL has the first of them since 0002.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the indexes; the rows stay as they are."""
    if op.get_bind().dialect.name == "sqlite":
        op.create_index("ix_outbox_new", "outbox", ["session", "key", "pos"], sqlite_where=sa.text("status = 'new'"))
    replaced = sa.text("status = 'replaced'")
    op.create_index("ix_outbox_replaced", "outbox", ["session", "key"], sqlite_where=replaced, postgresql_where=replaced)
