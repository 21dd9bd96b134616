"""Checks whether each party (Telegram, database, portal, model, disk …) works, and since when.

Every check has a timeout. Calls made only for a check are rare.
"""

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from bot.monitoring.reachability import Reachability
from orchestrator.runtime.worker import Orchestrator
from state.clock import Clock, format_iso, read_boottime
from state.journal.async_store import AsyncStore
from state.journal.store import StoreError
from state.journal.thread_worker import ThreadWorker

LOOK_AGAIN: Final = 5.0
"""Seconds for which the result of a check is reused."""
PATIENCE: Final = 2.0
"""Seconds that one request waits for the checks."""
FRESH: Final = 60.0
"""Seconds for which the last call tells the health; after that a probe (a cheap call) is made."""
HANGS_AFTER: Final = 15.0
FREE_BYTES: Final = 200_000_000
"""Below it a disk counts as full."""


@dataclass(frozen=True)
class PartyHealth:
    """`why` says for operators what is wrong."""

    name: str
    ok: bool
    since: datetime
    why: str = ""


Check = Callable[[], Awaitable[str]]
"""What is wrong in a few words, never the party's own text; "" if nothing is."""


@dataclass
class _CheckedParty:
    check: Check
    ok: bool | None = None
    why: str = ""
    since: datetime | None = None
    checked_at: float = float("-inf")
    task: asyncio.Task[None] | None = field(default=None)


class HealthChecks:
    def __init__(self, checks: Mapping[str, Check], clock: Clock) -> None:
        self._parties = {name: _CheckedParty(check) for name, check in checks.items()}
        self._clock = clock

    async def check_all(self) -> list[PartyHealth]:
        """After `PATIENCE` seconds a party counts as not working."""
        for party in self._parties.values():
            idle = party.task is None or party.task.done()
            if idle and read_boottime() - party.checked_at >= LOOK_AGAIN:
                party.task = asyncio.create_task(self._check_party(party))
        waiting = [party.task for party in self._parties.values() if party.task is not None and not party.task.done()]
        if waiting:
            await asyncio.wait(waiting, timeout=PATIENCE)
        for party in self._parties.values():
            if party.task is not None and not party.task.done():
                self._record_result(party, "no answer in time")
        return [PartyHealth(name, party.ok is True, party.since or self._clock.now(), party.why) for name, party in self._parties.items()]

    async def _check_party(self, party: _CheckedParty) -> None:
        try:
            why = await party.check()
        except Exception as error:  # noqa: BLE001 - a check that fails is a result too
            why = f"cannot be checked ({type(error).__name__})"
        party.checked_at = read_boottime()
        self._record_result(party, why)

    def _record_result(self, party: _CheckedParty, why: str) -> None:
        ok = not why
        if party.ok is not ok:
            party.ok, party.since = ok, self._clock.now()
        party.why = why


def build_reachability_check(ear: Reachability, probe: Callable[[], Awaitable[object]] | None) -> Check:
    """Whether the last call succeeded; after a minute without calls `probe` is called."""
    asked_at = float("-inf")

    async def check() -> str:
        nonlocal asked_at
        if probe is not None and ear.measure_silence() >= FRESH and read_boottime() - asked_at >= FRESH:
            asked_at, before = read_boottime(), ear.at
            try:
                await probe()
            except Exception:  # noqa: BLE001 - the client has recorded what failed; if not, it counts as no answer
                if ear.at == before:
                    ear.record(answers=False, why="no answer")
        return "" if ear.answers else ear.why

    return check


def build_database_check(store: AsyncStore, clock: Clock) -> Check:
    """Whether a value can be written."""

    async def check() -> str:
        try:
            await store.set_value("health", format_iso(clock.now()))
        except StoreError:
            return "cannot be written"
        return ""

    return check


def build_workers_check(orchestrator: Orchestrator) -> Check:
    """Whether the orchestrator looked for work within `HANGS_AFTER` seconds."""

    async def check() -> str:
        at = orchestrator.polled_at
        if at is None:
            return "not running"
        return "" if read_boottime() - at < HANGS_AFTER else "has not looked for work for a while"

    return check


def build_disks_check(folders: Mapping[str, Path]) -> Check:
    """Each folder, or its nearest parent, is writable and has `FREE_BYTES`."""
    worker = ThreadWorker("disks")

    async def check() -> str:
        return await worker.call(_find_full_disks, folders)

    return check


def _find_full_disks(folders: Mapping[str, Path]) -> str:
    places = {name: _find_existing_folder(folder) for name, folder in folders.items()}
    closed = [name for name, place in places.items() if not os.access(place, os.W_OK | os.X_OK) or not os.statvfs(place).f_blocks]
    if closed:
        return f"no files can be made: {', '.join(closed)}"
    short = [name for name, place in places.items() if shutil.disk_usage(place).free < FREE_BYTES]
    return f"less than {FREE_BYTES // 1_000_000} MB free: {', '.join(short)}" if short else ""


def _find_existing_folder(folder: Path) -> Path:
    folder = folder.absolute()
    return next(path for path in (folder, *folder.parents) if os.access(path, os.F_OK))
