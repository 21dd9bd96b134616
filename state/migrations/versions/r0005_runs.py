"""Adds the table `runs`, the index of runs. It is empty at first, because older programs have no runs."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import BigInteger, Column, Text

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table with its indexes."""
    texts = ("engine", "definition", "home", "owner", "parent", "status", "started_at", "updated_at")
    columns = {name: Column(name, Text, nullable=False) for name in ("run_id", *texts)}
    columns["version"] = Column("version", BigInteger, nullable=False)
    order = ("run_id", "engine", "definition", "version", "home", "owner", "parent", "status", "started_at", "updated_at")
    op.create_table("runs", *(columns[name] for name in order), sa.PrimaryKeyConstraint("run_id", name="pk_runs"), sqlite_with_rowid=False)
    op.create_index("ix_runs_home", "runs", ["home", "status"])
    op.create_index("ix_runs_owner", "runs", ["owner", "status"])
    op.create_index("ix_runs_status", "runs", ["status", "updated_at"])
