"""The store on SQLAlchemy Core: SQLite in memory or in a file, or PostgreSQL."""

from state.sql.dialect import build_sqlite_url
from state.sql.schema import NewerDatabase
from state.sql.store import SqlStore, open_reader, open_store

__all__ = ["NewerDatabase", "SqlStore", "build_sqlite_url", "open_reader", "open_store"]
