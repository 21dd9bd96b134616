"""Opens the database of a process, and keeps others out of an embedded one."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from bitrix.masking import mask
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from state.journal.async_store import AsyncStore
from state.journal.store import StoreError
from state.sql.notifier import create_notifier
from state.sql.store import SqlStore, open_store

LOCK_PATIENCE: Final = 0.5
"""In seconds: what a killed process was just starting still holds the lock."""


@contextlib.asynccontextmanager
async def open_async_store(settings: Settings) -> AsyncIterator[AsyncStore]:
    """Open and migrate the database. Raises SettingsError if it cannot be opened or another process uses an embedded one.

    Leases in an embedded one were left by ended processes and expire at once.
    """
    with contextlib.ExitStack() as stack:
        embedded = settings.database_url is None
        if embedded:
            _lock(settings.state_dir, stack)
        opened = await asyncio.to_thread(_open_sql_store, settings)
        store = AsyncStore(opened, threads=opened.threads, hints=create_notifier(settings.database.get_secret_value()))
        try:
            if embedded:
                await store.expire_leases()
            yield store
        finally:
            await store.aclose()


def _lock(folder: Path, stack: contextlib.ExitStack) -> None:
    try:
        folder.mkdir(0o750, parents=True, exist_ok=True)
        stack.enter_context(FileLock(folder / "sdelka.lock", timeout=LOCK_PATIENCE))
    except Timeout:
        raise SettingsError(f"another process works with STATE_DIR {folder}: stop it first, or set DATABASE_URL for several") from None
    except OSError as error:
        why = f"STATE_DIR {folder} cannot be used: {error.strerror}"
        raise SettingsError(f"{why} (choose another, or chown it to the user of the bot, now uid {os.getuid()})") from error


def _open_sql_store(settings: Settings) -> SqlStore:
    try:
        return open_store(settings.database.get_secret_value())
    except StoreError as error:
        raise SettingsError(f"the database cannot be opened: {mask(str(error))}") from None
