"""An embedded database belongs to one process: a second one is kept out, and the next one begins at once."""

import threading
from pathlib import Path

import pytest
from filelock import FileLock

from bot.composition import database
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError


def build_settings(folder: Path) -> Settings:
    return Settings(_env_file=None, state_dir=folder)


@pytest.mark.req("G1")
async def test_the_lock_of_a_process_that_was_just_killed_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the dead one was starting, such as the process of a script, held its lock for some milliseconds: the next one refused to start."""
    monkeypatch.setattr(database, "LOCK_PATIENCE", 30.0)
    lock = FileLock(tmp_path / "sdelka.lock", thread_local=False)
    lock.acquire()
    threading.Timer(0.02, lock.release).start()
    async with database.open_async_store(build_settings(tmp_path)) as store:
        assert await store.list_ready_sessions() == []


async def test_a_second_process_reads_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two bots on one file would both answer."""
    monkeypatch.setattr(database, "LOCK_PATIENCE", 0.0)
    with FileLock(tmp_path / "sdelka.lock"), pytest.raises(SettingsError, match="stop it first, or set DATABASE_URL"):
        async with database.open_async_store(build_settings(tmp_path)):
            pass
