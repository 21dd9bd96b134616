"""The history of the database schema, run by `state.sql.schema`. A released revision is never edited."""

HEAD = "0009"
"""The newest revision, written here so that a start need not load Alembic. A test compares it with the folder `versions`."""
