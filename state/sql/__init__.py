"""The store over SQLAlchemy Core (ring 1): SQLite in memory or a file, or PostgreSQL."""

from state.sql.dialect import build_sqlite_url
from state.sql.schema import NewerDatabase
from state.sql.store import SqlStore, open_reader, open_store

__all__ = ["NewerDatabase", "SqlStore", "build_sqlite_url", "open_reader", "open_store"]
