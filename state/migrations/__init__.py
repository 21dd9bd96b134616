"""The history of the database schema. A released revision is never edited."""

HEAD = "0010"
"""Written here so that a start need not load Alembic; a test compares it."""
