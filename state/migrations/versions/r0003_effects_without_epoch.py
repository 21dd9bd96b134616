"""Drops the column `effects.epoch`, which was written with every change and never read.

Each commit is already protected by the epoch (number) of the session's lease, the right of one process to write the session.
"""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Drop the column `effects.epoch`."""
    op.execute("ALTER TABLE effects DROP COLUMN epoch")
