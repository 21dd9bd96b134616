"""Keeps the mirror: loads it, refreshes it when somebody asks and every fifteen minutes, begins anew when the file is gone.

Of several processes one loads and one refreshes at a time; all read.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from bitrix.client.read_only import PortalCaller
from bitrix.errors import BitrixError
from bitrix.limits.askers import Asker, ask_for
from bitrix.limits.limiter import Priority
from orchestrator.mirror.load import begin_load, load_history, load_records, must_begin
from orchestrator.mirror.refresh import refresh
from orchestrator.mirror.session import MirrorSession
from orchestrator.mirror.sources import DEALS, HISTORY
from state.clock import Clock
from state.mirror.file import DiskFull, MirrorDamaged, MirrorError, MirrorFile, NoMirror, report_trouble
from state.mirror.reading import MirrorState, read_state
from state.mirror.writing import MirrorWriter

log = logging.getLogger(__name__)

ASKED_AGE: Final = timedelta(seconds=60)
REFRESH_EVERY: Final = timedelta(minutes=15)
ROUND_SECONDS: Final = 60.0
BUDGET_SHARE: Final = 0.35
"""Of a method's time: batches under way when it is used up come on top, and the whole stays below a half."""
_WAIT_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.2
Pause = Callable[[float], Awaitable[None]]
T = TypeVar("T")
OLDER: Final = "older_history"
NIGHT_HOURS: Final = frozenset({22, 23, 0, 1, 2, 3, 4, 5})


class MirrorKeeper:
    """`client` refuses everything but reads. `folder` is STATE_DIR."""

    def __init__(self, client: PortalCaller, folder: Path, clock: Clock, *, pause: Pause = asyncio.sleep) -> None:
        self.file = MirrorFile(folder, client.portal)
        self._client, self._clock, self._pause = client, clock, pause
        self._session: MirrorSession | None = None
        self._opening = asyncio.Lock()

    def read_state(self) -> MirrorState | None:
        """None if there is no file yet. Raises MirrorError."""
        try:
            with contextlib.closing(self.file.open_for_reading()) as connection, report_trouble():
                return read_state(connection)
        except NoMirror:
            return None

    async def run(self) -> None:
        """Until cancelled: load what is missing, refresh every fifteen minutes. A trouble is logged and tried again a minute later."""
        while True:
            await self._run_round()
            await self._pause(ROUND_SECONDS)

    async def load(self, *, with_old_history: bool = True) -> None:
        """Everything that is missing, at whatever hour. May raise BitrixError and MirrorError."""
        with _ask_as_mirror():
            await self._load_records()
            async with self._open_session() as session:
                await load_history(session)
                if with_old_history:
                    await load_history(session, OLDER)

    async def refresh_if_older(self, age: timedelta = ASKED_AGE, *, asked: bool = True) -> bool:
        """Say whether the data is now at most so old; another process that refreshes is waited for.

        `asked`: a person waits, and gets old numbers sooner than none. May raise BitrixError, MirrorError.
        """
        for _ in range(int(_WAIT_SECONDS / _POLL_SECONDS)):
            if not self.is_older(age):
                return True
            with self.file.lease("refresh") as is_ours:
                if is_ours and self.is_older(age):
                    async with self._open_session() as session:
                        if session.writer.read_mark(f"part.{DEALS.part}") != "ready":
                            return False
                        await refresh(session.build_asked() if asked else session, self._clock)
                    return True
            await self._pause(_POLL_SECONDS)
        return False

    def is_older(self, age: timedelta) -> bool:
        """By a clock that nobody sets; True if there is no data, or it is of another machine or from before its start."""
        state = self.read_state()
        measured = None if state is None or not state.refreshed else self._clock.measure_since(state.refreshed)
        return measured is None or not timedelta() <= measured <= age

    async def write(self, work: Callable[[MirrorWriter], T]) -> T:
        """In one transaction. Raises MirrorError."""
        async with self._open_session() as session:
            return await session.write(partial(work, session.writer))

    def close(self) -> None:
        if self._session is not None:
            self._session.writer.close()
            self._session = None

    async def _run_round(self) -> None:
        try:
            with self.file.lease("load") as is_ours, _ask_as_mirror():
                if is_ours:
                    await self._load_and_refresh()
        except DiskFull as error:
            log.error("no room for the mirror: numbers stay as they were: %s", error, extra={"action": "mirror.disk_full"})  # noqa: TRY400 - the sentence says all
        except (MirrorError, BitrixError) as error:
            log.warning("the mirror cannot be kept now: %s", error, extra={"action": "mirror.in_doubt"})

    async def _load_and_refresh(self) -> None:
        await self._load_records()
        history = asyncio.create_task(self._load_history())
        try:
            while not history.done():
                # A refresh is small. It must not wait until the load has its share again: others wait for the refresh.
                with _ask_as_mirror(share=1.0):
                    await self.refresh_if_older(REFRESH_EVERY, asked=False)
                await asyncio.wait([history], timeout=ROUND_SECONDS)
            await history
        finally:
            history.cancel()
            await asyncio.wait([history])

    async def _load_records(self) -> None:
        async with self._open_session() as session:
            if await session.write(partial(must_begin, session.writer)):
                await begin_load(session, self._clock.mark())
            await load_records(session)

    async def _load_history(self) -> None:
        async with self._open_session() as session:
            await load_history(session)
            state = await asyncio.to_thread(self.read_state)
            if state is not None and state.is_ready(HISTORY.part) and is_night(state):
                await load_history(session, OLDER)

    @contextlib.asynccontextmanager
    async def _open_session(self) -> AsyncIterator[MirrorSession]:
        async with self._opening:
            if self._session is None:
                self._session = MirrorSession(self._client, await asyncio.to_thread(MirrorWriter, self.file))
            session = self._session
        try:
            yield session
        except (NoMirror, MirrorDamaged) as error:
            self.close()
            if isinstance(error, MirrorDamaged):
                self.file.set_aside()
            raise


def _ask_as_mirror(share: float = BUDGET_SHARE) -> contextlib.AbstractContextManager[Asker]:
    return ask_for(Asker(source="mirror", urgency=Priority.BULK, share=share))


def is_night(state: MirrorState) -> bool:
    """Where the portal is."""
    return state.as_of is not None and (state.as_of + timedelta(minutes=state.utc_offset_minutes)).hour in NIGHT_HOURS
