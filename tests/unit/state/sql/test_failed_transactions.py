"""A transaction that failed leaves no lock behind, also while somebody keeps its error."""

from pathlib import Path

import pytest

from state.journal.store import StoreUnwritable
from state.sql.database import Database, Transaction
from state.sql.dialect import build_sqlite_url, open_database


def fail_in_the_middle(database: Database) -> None:
    """Begin to write, and let the disk take nothing from then on."""
    with database.write() as transaction:
        transaction._cursor.execute("INSERT INTO kept VALUES (1) RETURNING number").fetchall()
        transaction._cursor.execute("PRAGMA query_only=ON")
        transaction._cursor.execute("INSERT INTO kept VALUES (2) RETURNING number").fetchall()


def test_a_failed_write_holds_no_lock_while_its_error_is_kept(tmp_path: Path) -> None:
    """The error keeps the frames of the transaction, and with them its cursor; the next write must not wait for it."""
    with open_database(build_sqlite_url(tmp_path / "a.db")) as dialect:
        database = Database(dialect)
        with database.begin(Transaction) as transaction:
            transaction._cursor.execute("CREATE TABLE kept (number INTEGER)")
        with pytest.raises(StoreUnwritable) as kept:
            fail_in_the_middle(database)
        with database.begin(Transaction) as transaction:
            transaction._cursor.execute("PRAGMA busy_timeout=0")
            transaction._cursor.execute("INSERT INTO kept VALUES (3)")
            stored = transaction._cursor.execute("SELECT number FROM kept").fetchall()
        database.close()

    assert "readonly" in str(kept.value)
    assert stored == [(3,)]
