"""Who may read the database's file."""

import os
from pathlib import Path

import pytest

from state.sql import build_sqlite_url, open_store


def modes(folder: Path) -> dict[str, int]:
    """By file of the database: who may do what with it."""
    return {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir() if path.suffix != ".lock"}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_only_the_owner_reads_a_new_database(umask: int, tmp_path: Path) -> None:
    """Its write-ahead log and the log's index too, whatever the process's umask says."""
    before = os.umask(umask)
    try:
        store = open_store(build_sqlite_url(tmp_path / "new.db"))
        store.set_value("k", "v")
        found = modes(tmp_path)
        store.close()
    finally:
        os.umask(before)

    assert found == dict.fromkeys(("new.db", "new.db-wal", "new.db-shm"), 0o600)


def test_a_database_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    """Ops may have opened it to a group that makes backups."""
    path = tmp_path / "old.db"
    path.touch()
    path.chmod(0o640)
    store = open_store(build_sqlite_url(path))
    store.set_value("k", "v")
    found = modes(tmp_path)
    store.close()

    assert set(found.values()) == {0o640}
