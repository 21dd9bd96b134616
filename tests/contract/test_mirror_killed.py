"""A process that loads the mirror is killed with signal 9 at any moment: the next goes on, and the mirror is whole."""

import asyncio
import contextlib
import random
import sys
from pathlib import Path

from bitrix.client.client import BitrixClient
from bitrix.limits.limiter import Limiter
from orchestrator.mirror.keeper import MirrorKeeper
from state.clock import SystemClock
from tests.contract.mirror_kit import dump
from tests.contract.sandbox_portal_kit import ROOT, as_process

LOAD = """
import asyncio, sys
from pathlib import Path
from bitrix.client.client import BitrixClient
from bitrix.limits.limiter import Limiter
from orchestrator.mirror.keeper import MirrorKeeper
from state.clock import SystemClock

async def load():
    async with BitrixClient(sys.argv[1], limiter=Limiter.create_unlimited()) as client:
        print("begins", flush=True)
        keeper = MirrorKeeper(client, Path(sys.argv[2]), SystemClock(), pause=lambda _: asyncio.sleep(0.1))
        await (keeper.run() if sys.argv[3:] else keeper.load())

asyncio.run(load())
"""
KILLS = 12


async def test_a_load_that_is_killed_by_the_system_goes_on(tmp_path: Path) -> None:
    async with as_process(None, "--bulk-deals", "20000") as (portal, _):
        webhook = f"{portal.http.base_url}/rest/1/sandbox/"
        await portal.http.post("/sandbox/limits", json={"bucket": "off", "operating": None})
        killed = await kill_loads(webhook, tmp_path / "killed")
        async with BitrixClient(webhook, limiter=Limiter.create_unlimited()) as client:
            keepers = [MirrorKeeper(client, tmp_path / name, SystemClock()) for name in ("killed", "fresh")]
            for keeper in keepers:
                await keeper.load()
            assert dump(keepers[0]) == dump(keepers[1])
            for keeper in keepers:
                keeper.close()
    assert killed >= 3


async def kill_loads(webhook: str, folder: Path) -> int:
    """How many were killed before they came to their end."""
    draw, killed = random.Random(9), 0  # noqa: S311
    for _ in range(KILLS):
        process = await start(webhook, str(folder))
        await asyncio.wait([asyncio.ensure_future(process.wait())], timeout=draw.uniform(0.05, 1.2))
        if process.returncode is None:
            process.kill()
            killed += 1
        await process.communicate()
    return killed


async def start(*words: str) -> asyncio.subprocess.Process:
    """A process that loads, or keeps, a mirror; it has begun."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", LOAD, *words, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    assert await process.stdout.readline()
    return process


async def test_of_two_processes_one_loads_and_the_other_takes_over(tmp_path: Path) -> None:
    async with as_process(None, "--bulk-deals", "10000") as (portal, _):
        webhook = f"{portal.http.base_url}/rest/1/sandbox/"
        await portal.http.post("/sandbox/limits", json={"bucket": "off", "operating": None})

        async def count() -> int:
            return int((await portal.http.get("/sandbox/stats")).json()["requests"])

        async with BitrixClient(webhook, limiter=Limiter.create_unlimited()) as client:
            await MirrorKeeper(client, tmp_path / "alone", SystemClock()).load(with_old_history=False)
            alone = await count()
            keeper = MirrorKeeper(client, tmp_path / "both", SystemClock())
            processes = [await start(webhook, str(tmp_path / "both"), "run") for _ in range(2)]
            await wait_until_ready(keeper)
            assert await count() - alone <= alone + 2
            processes[0].kill()
            keeper.file.delete()
            await wait_until_ready(keeper)
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.communicate()


async def wait_until_ready(keeper: MirrorKeeper) -> None:
    async with asyncio.timeout(60):
        while (state := keeper.read_state()) is None or not state.is_ready("deals", "tasks", "history") or not state.refreshed:  # noqa: ASYNC110 - it waits for other processes
            await asyncio.sleep(0.05)
