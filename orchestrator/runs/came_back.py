"""Tells which runs may have begun before the database was restored from a backup: they may have gone on after the backup was made."""

from datetime import datetime

import orjson

from state.clock import parse_iso
from state.journal.async_store import AsyncStore
from state.journal.restored_rows import RESTORED


class RestoreTime:
    """When the database was last restored. That is read once, since no restore begins while a program works on the database."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._known = False
        self._at: datetime | None = None

    async def has_come_back(self, since: str, store: AsyncStore) -> bool:
        """Return whether a run that may have worked since this ISO time may have done so before the restore. Raises StoreError.

        A child that begins after the restore, and the run of a schedule whose moment was before it, may have begun in the lost database,
        too, with the same key.
        """
        if not self._known:
            text = await store.get_value(RESTORED)
            self._at = parse_iso(orjson.loads(text)["restored_at"]) if text else None
            self._known = True
        return self._at is not None and parse_iso(since) <= self._at
