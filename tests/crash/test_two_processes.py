"""Two processes on one database: the embedded one belongs to one of them, a shared one lets each session be worked by one."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from state.sql.store import open_reader
from tests.crash.lab import Evidence, Nursery, World, opened_world, told
from tests.crash.lab_checks import findings
from tests.crash.lab_script import FREE, SUM

REFUSED = 4
PATIENCE = 60.0


async def until(holds: Callable[[], object]) -> None:
    """Wait for something that can be seen."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it did not come about in time"
        await asyncio.sleep(0.01)


def said(folder: Path, kind: str) -> bool:
    """Whether that process has written such a line."""
    return any(line["kind"] == kind for line in told(folder))


class Process:
    """One child with a folder of its own."""

    def __init__(self, nursery: Nursery, folder: Path, world: World, **more: Any) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        common = {"folder": str(folder), "port": world.port, "until_stopped": True, "settles": False, "script": ""}
        self._task = asyncio.ensure_future(asyncio.to_thread(nursery.run, {**common, "generation": 0, **more}))

    async def begun(self) -> None:
        """Until it has opened the database."""
        await until(lambda: said(self.folder, "begun"))

    async def rested(self) -> None:
        """Until it has found nothing more to do."""
        await until(lambda: said(self.folder, "rested"))

    def wake(self, after: float) -> None:
        """Let a stopped process go on, to which so many seconds have passed meanwhile."""
        (self.folder / "slept").write_text(str(after), encoding="utf-8")
        os.kill(next(line["pid"] for line in told(self.folder) if line["kind"] == "begun"), signal.SIGCONT)

    async def ended(self) -> int:
        """Tell it to stop; its exit code."""
        (self.folder / "stop").touch()
        return await self._task

    async def over(self) -> int:
        """The exit code of one that ends by itself."""
        return await self._task

    async def done_with(self) -> None:
        """Nothing of it is left, whatever the test came to; one that was stopped would keep the nursery waiting for ever."""
        if not self._task.done():
            for line in told(self.folder):
                if line["kind"] == "begun":
                    with suppress(ProcessLookupError):
                        os.kill(line["pid"], signal.SIGKILL)
        await self._task

    @property
    def log(self) -> str:
        """Its own log."""
        file = self.folder / "child.log"
        return file.read_text(encoding="utf-8") if file.exists() else ""


Start = Callable[..., Process]


def inputs(url: str) -> list[tuple[str, str, str]]:
    """(id, source, status) of every input."""
    store = open_reader(url)
    try:
        with store._database.read() as transaction:
            return list(transaction._cursor.execute("SELECT id, source, status FROM inbox ORDER BY pos").fetchall())
    finally:
        store.close()


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Start processes; none outlives the test."""
    begun: list[Process] = []

    def starting(*given: Any, **more: Any) -> Process:
        begun.append(Process(*given, **more))
        return begun[-1]

    yield starting
    for process in begun:
        await process.done_with()


async def test_the_embedded_database_belongs_to_one(nursery: Nursery, second_nursery: Nursery, tmp_path: Path, start: Start) -> None:
    """The second process ends with a sentence that says what to do; once the first is gone the next one begins at once."""
    async with opened_world() as world:
        first = start(nursery, tmp_path / "data", world, database_url=None)
        await first.begun()
        second = start(second_nursery, tmp_path / "data", world, database_url=None, generation=1)
        assert await second.over() == REFUSED
        sentence = next(line["text"] for line in told(tmp_path / "data") if line["kind"] == "refused")
        assert sentence.startswith("another process works with STATE_DIR")
        assert sentence.endswith("stop it first, or set DATABASE_URL for several")
        assert await first.ended() == 0
        assert await start(second_nursery, tmp_path / "data", world, database_url=None).over() == 0


@pytest.mark.req("G1")
async def test_a_session_is_worked_by_one(nursery: Nursery, second_nursery: Nursery, tmp_path: Path, start: Start, shared: str) -> None:
    """While one process holds the lease the other leaves the session alone, and hands it the inputs it takes in itself."""
    async with opened_world() as world:
        held = world.model_waits = asyncio.Event()
        first = start(nursery, tmp_path / "first", world, script="free", database_url=shared)
        await world.model_reached.wait()
        second = start(second_nursery, tmp_path / "second", world, script="sum", database_url=shared)
        await second.begun()
        await asyncio.sleep(0.2)  # ten looks of the second, which must find nothing for it
        assert [question.text for question in world.asked] == [FREE]
        held.set()
        await second.rested()
        assert await second.ended() == 0
        assert await first.ended() == 0
        assert [(question.text, question.iteration) for question in world.asked] == [(FREE, 1), (FREE, 2), (SUM, 1)]
        assert [world.written(mark) for mark in ("Осина", "Позвонить", "Записка")] == [1, 1, 1]
        assert {status for _, _, status in inputs(shared)} == {"done"}


PAUSES = {
    "before its answer is stored": ("send(completions):after", 61.0, 1, "succeeded"),
    "between intent and call": (r"~CallStarted,->started.*:after", 80.0, 0, "refused"),
    "at the wire": ("send(crm.deal.add):before", 61.0, 1, "succeeded"),
}


@pytest.mark.req("G1", "G2", "S004-A2")
@pytest.mark.parametrize("pause", PAUSES)
async def test_a_paused_owner_writes_nothing_late(
    pause: str, nursery: Nursery, second_nursery: Nursery, tmp_path: Path, start: Start, shared: str
) -> None:
    """A process that sleeps past its lease finds its session taken over: what it still wants to store is refused, and nothing is done twice."""
    place, asleep, written, status = PAUSES[pause]
    async with opened_world() as world:
        first = start(nursery, tmp_path / "first", world, script="one", kill={"at": place, "how": "stop"}, database_url=shared)
        await until((tmp_path / "first" / "stopped").exists)
        second = start(second_nursery, tmp_path / "second", world, ahead=asleep, settles=True, generation=1, database_url=shared)
        await second.rested()
        first.wake(asleep)
        await until(lambda: "session was taken over" in first.log)
        codes = [await first.ended(), await second.ended()]
        lines = [*told(first.folder), *told(second.folder)]
        run = Evidence(script="one", world=world, lines=lines, inbox=inputs(shared), codes=codes)
        assert findings(run) == []
        assert world.written("Ольха") == written
        assert [row["status"] for row in run.report["effects"] if "Ольха" in str(row["call"])] == [status]
        assert run.report["events"].count("TurnFinished") == 1
