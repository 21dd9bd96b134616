"""Adds `definitions.edition`: by which rules a version is played. What was published before this schema keeps those of then."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; every version that is there gets 0, and a draft among them the present edition when it is published."""
    op.add_column("definitions", sa.Column("edition", sa.BigInteger(), nullable=False, server_default="0"))
