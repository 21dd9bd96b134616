"""Adds the authors' texts of stored definitions, with comments and order. What was stored before this schema has none."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table, and the column with the digest of a version's text there; "" for none."""
    columns = (sa.Column(name, sa.Text(), nullable=False) for name in ("digest", "text"))
    op.create_table("definition_sources", *columns, sa.PrimaryKeyConstraint("digest", name="pk_definition_sources"))
    op.add_column("definitions", sa.Column("source", sa.Text(), nullable=False, server_default=""))
