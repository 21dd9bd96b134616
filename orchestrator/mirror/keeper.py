"""Keeps the mirror: loads it, refreshes it when somebody asks and every fifteen minutes, begins anew when the file is gone."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Final

from bitrix.client.read_only import PortalCaller
from orchestrator.mirror.load import begin_load, load_history, load_records
from orchestrator.mirror.session import MirrorSession
from state.clock import Clock
from state.mirror.file import MirrorDamaged, MirrorFile, NoMirror
from state.mirror.reading import MirrorState, read_state
from state.mirror.writing import MirrorWriter

log = logging.getLogger(__name__)

ASKED_AGE: Final = timedelta(seconds=60)
REFRESH_EVERY: Final = timedelta(minutes=15)
_ROUND_SECONDS: Final = 60.0


class MirrorKeeper:
    """`client` refuses everything but reads. `folder` is STATE_DIR."""

    def __init__(self, client: PortalCaller, folder: Path, clock: Clock) -> None:
        self.file = MirrorFile(folder, client.portal)
        self._client, self._clock = client, clock
        self._session: MirrorSession | None = None

    def read_state(self) -> MirrorState | None:
        """None if there is no file yet. Raises MirrorError."""
        try:
            with contextlib.closing(self.file.open_for_reading()) as connection:
                return read_state(connection)
        except NoMirror:
            return None

    async def load(self) -> None:
        """Everything that is missing, whatever the hour; what a test and the bench call. May raise BitrixError and MirrorError."""
        async with self._open_session() as session:
            await begin_load(session)
            await load_records(session)
            await load_history(session)
            await load_history(session, "older_history")

    def close(self) -> None:
        if self._session is not None:
            self._session.writer.close()
            self._session = None

    @contextlib.asynccontextmanager
    async def _open_session(self) -> AsyncIterator[MirrorSession]:
        if self._session is None:
            self._session = MirrorSession(self._client, await asyncio.to_thread(MirrorWriter, self.file))
        try:
            yield self._session
        except (NoMirror, MirrorDamaged) as error:
            self.close()
            if isinstance(error, MirrorDamaged):
                self.file.set_aside()
            raise
