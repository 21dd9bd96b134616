"""Tells which runs had begun before the database was restored from a backup: they may have gone on after the backup was made."""

from datetime import datetime

import orjson

from orchestrator.runs.children import MAX_DEPTH
from state.clock import parse_iso
from state.journal.async_store import AsyncStore
from state.journal.restored_rows import RESTORED
from state.journal.run_index import PREFIX, RunFilter
from state.run_state import RunState


class RestoreTime:
    """When the database was last restored. That is read once, since no restore begins while a program works on the database."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._known = False
        self._at: datetime | None = None

    async def has_come_back(self, run: RunState, store: AsyncStore) -> bool:
        """Return whether the run, or one above it, had begun before the restore.

        A child that begins after the restore may have begun in the lost database, too, with the same key. Raises StoreError.
        """
        if not self._known:
            text = await store.get_value(RESTORED)
            self._at = parse_iso(orjson.loads(text)["restored_at"]) if text else None
            self._known = True
        if self._at is None:
            return False
        started_at, parent = run.started_at, run.parent
        for _ in range(MAX_DEPTH + 1):
            if not started_at or parse_iso(started_at) <= self._at:
                return True
            found = await store.list_runs(RunFilter(run_id=parent.removeprefix(PREFIX))) if parent else []
            if not found:
                return False
            started_at, parent = found[0].started_at, found[0].parent
        return True
