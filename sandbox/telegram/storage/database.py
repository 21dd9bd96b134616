"""The SQLite database of the sandbox: its tables, and how to run statements and store single values.

Only the server's event loop writes to it.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS chats (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, title TEXT NOT NULL, members TEXT NOT NULL DEFAULT '[]');
CREATE TABLE IF NOT EXISTS people (
    id INTEGER PRIMARY KEY, first_name TEXT NOT NULL, username TEXT NOT NULL, role TEXT NOT NULL,
    bitrix_id INTEGER, language_code TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS messages (
    message_id INTEGER PRIMARY KEY AUTOINCREMENT, chat_id INTEGER NOT NULL, body TEXT NOT NULL,
    deleted INTEGER NOT NULL DEFAULT 0, reactions TEXT NOT NULL DEFAULT '[]');
CREATE INDEX IF NOT EXISTS messages_of_chat ON messages (chat_id, message_id);
CREATE TABLE IF NOT EXISTS updates (
    update_id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, body TEXT NOT NULL, expires_at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS callbacks (
    id TEXT PRIMARY KEY, chat_id INTEGER NOT NULL, message_id INTEGER NOT NULL, user_id INTEGER NOT NULL,
    data TEXT NOT NULL, pressed_at REAL NOT NULL, answer TEXT);
CREATE TABLE IF NOT EXISTS files (
    file_id TEXT PRIMARY KEY, path TEXT NOT NULL, name TEXT NOT NULL, mime TEXT NOT NULL, size INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS file_links (path TEXT PRIMARY KEY, until REAL NOT NULL);
CREATE TABLE IF NOT EXISTS standings (
    chat_id INTEGER PRIMARY KEY, state TEXT NOT NULL, moved_to INTEGER);
CREATE TABLE IF NOT EXISTS topics (
    thread_id INTEGER PRIMARY KEY, chat_id INTEGER NOT NULL, name TEXT NOT NULL);
"""


class Database:
    """One connection to the sandbox's SQLite database; `transaction` groups several statements."""

    def __init__(self, path: Path) -> None:
        # The server ensures single-thread use instead of sqlite3: uvicorn may run in a thread that did not open the file.
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.row_factory = sqlite3.Row
        # In WAL mode a killed process loses nothing even without fsync; only a power cut could, and this is a sandbox.
        self._connection.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;" + _SCHEMA)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Enter a context whose statements are committed together, or rolled back if it raises."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def empty(self) -> None:
        """Delete all rows except the settings of the bot (its menus, its webhook); the numbers of messages and updates continue."""
        with self.transaction():
            for table in ("chats", "people", "messages", "updates", "callbacks", "files", "file_links", "standings", "topics"):
                self.run(f"DELETE FROM {table}")  # noqa: S608 - the names stand in the line above

    def run(self, statement: str, *values: Any) -> sqlite3.Cursor:
        """Execute one statement with these values, and return the cursor of its result."""
        return self._connection.execute(statement, values)

    def one(self, statement: str, *values: Any) -> sqlite3.Row | None:
        """Return the first row of the result, or None if it is empty."""
        row: sqlite3.Row | None = self._connection.execute(statement, values).fetchone()
        return row

    def all(self, statement: str, *values: Any) -> list[sqlite3.Row]:
        """Return all rows of the result."""
        return self._connection.execute(statement, values).fetchall()

    def setting(self, name: str, default: Any = None) -> Any:
        """Return the single value that is stored under `name`, or the default."""
        row = self.one("SELECT value FROM meta WHERE name = ?", name)
        return orjson.loads(row["value"]) if row else default

    def remember(self, name: str, value: Any) -> None:
        """Store a single value under `name`."""
        self.run("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", name, orjson.dumps(value).decode())
