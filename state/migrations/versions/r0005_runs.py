"""Adds the table `runs`, the index of runs. It is empty at first, because older programs have no runs."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy import BigInteger, Column, Text

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table with its indexes."""
    names = ("run_id", "engine", "definition", "version", "home", "owner", "parent", "status", "started_at", "updated_at")
    columns: list[Column[Any]] = [Column(name, BigInteger if name == "version" else Text, nullable=False) for name in names]
    op.create_table("runs", *columns, sa.PrimaryKeyConstraint("run_id", name="pk_runs"), sqlite_with_rowid=False)
    op.create_index("ix_runs_home", "runs", ["home", "status"])
    op.create_index("ix_runs_owner", "runs", ["owner", "status"])
    op.create_index("ix_runs_status", "runs", ["status", "updated_at"])
