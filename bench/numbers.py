"""What the mirror asks of a portal with 50,000 deals, 240,000 moves: requests, its share of the time budget, who waits beside it.

Then how long reports over all of that take, and how long the loop waits meanwhile.

The portal limits requests as the standard plan does. A batch takes 430 ms, a page of deals 0.1 s and one of the history 0.11 s of the
method's 480 s; these are given back after one minute instead of ten, so that the whole history takes minutes.
"""

import asyncio
import contextlib
import json
import random
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import httpx

from bench.reports import measure_reports
from bench.servers import started
from bitrix.client.client import BitrixClient
from bitrix.limits.limiter import Limiter
from orchestrator.mirror.keeper import MirrorKeeper
from state.clock import SystemClock

BUDGET: Final = 480.0
LIMITS: Final = {"bucket": "2/50", "operating": BUDGET, "window": 60.0, "cost": {"crm.deal.list": 0.1, "crm.stagehistory.list": 0.11}}
LATENCY: Final = {"request": 0.03, "command": 0.008}
CHANGES: Final = 600
DELETED: Final = 96
PARTS: Final = ("deals", "leads", "activities", "calls", "tasks", "invoices", "history", "older_history")
HISTORY: Final = "crm.stagehistory.list"
Row = dict[str, Any]


async def number_benches() -> list[Row]:
    """All rows; about four minutes, most of them waiting for the budget."""
    async with contextlib.AsyncExitStack() as stack:
        process = await started(stack, {}, "sandbox.portal", "--port", "0", "--bucket", "off", "--firm", "big")
        assert process.stdout is not None
        told = json.loads(await process.stdout.readline())
        http = await stack.enter_async_context(httpx.AsyncClient(base_url=told["portal"], timeout=120))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        client = await stack.enter_async_context(BitrixClient(told["webhook"], limiter=Limiter()))
        people = await stack.enter_async_context(BitrixClient(told["webhook"], limiter=Limiter.create_unlimited()))
        world = _World(http, client, people, MirrorKeeper(client, folder, SystemClock()))
        stack.callback(world.keeper.close)
        for name, values in (("limits", LIMITS), ("latency", LATENCY)):
            (await http.post(f"/sandbox/{name}", json=values)).raise_for_status()
        loaded = await _load(world)
        reports = await measure_reports(world.keeper.file.path)
        return [*loaded, *reports, *await _refresh(world)]


@dataclass(frozen=True)
class _World:
    http: httpx.AsyncClient
    client: BitrixClient
    people: BitrixClient
    """Who change deals, and wait for no limit."""
    keeper: MirrorKeeper

    async def count(self, method: str = "") -> int:
        stats = (await self.http.get("/sandbox/stats")).json()
        return int(stats["methods"].get(method, {}).get("calls", 0) if method else stats["requests"])

    def is_ready(self, *parts: str) -> bool:
        state = self.keeper.read_state()
        return state is not None and state.is_ready(*parts)


async def _load(world: _World) -> list[Row]:
    watch, started_at = _Watch(world), time.monotonic()
    ready: dict[str, tuple[float, int]] = {}
    async with watch.run():
        load = asyncio.create_task(world.keeper.load())
        while not load.done():
            for part in PARTS:
                if part not in ready and world.is_ready(part):
                    ready[part] = (time.monotonic() - started_at, await world.count() - watch.asked)
            await asyncio.wait([load], timeout=0.05)
        await load
        ready |= {part: (time.monotonic() - started_at, await world.count() - watch.asked) for part in PARTS if part not in ready}
    history = await world.count(HISTORY) - watch.asked_history
    requests = ready["older_history"][1] - ready["invoices"][1]
    share = max(watch.spent, default=0.0) / BUDGET
    waits = sorted(watch.waits)
    p99 = waits[int(len(waits) * 0.99)]
    refused = (await world.http.get("/sandbox/stats")).json()["refused_429"]
    return [
        _row("deals cold: requests", ready["deals"][1], "", "<= 25", ready["deals"][1] <= 25, f"{ready['deals'][0]:.0f} s"),
        _row("all but history cold: requests", ready["invoices"][1], "", "", None, f"{ready['invoices'][0]:.0f} s"),
        _row("history: requests", requests, "", "<= 100", requests <= 100, f"{history:,} pages, {ready['older_history'][0]:.0f} s"),
        _row("history: share of the budget", round(100 * share), "%", "<= 50", share <= 0.5, f"refused {refused}"),
        _row(
            "people's reads beside it, p99",
            round(p99, 2),
            "s",
            "<= 2",
            p99 <= 2 and not watch.failed,
            f"{len(waits)} reads, median {statistics.median(waits):.2f}, max {waits[-1]:.2f}, failed {watch.failed}",
        ),
    ]


class _Watch:
    """People's reads, one a second, and what the portal says of the budget."""

    def __init__(self, world: _World) -> None:
        self._world = world
        self.waits: list[float] = []
        self.spent: list[float] = []
        self.asked = self.asked_history = self.failed = 0

    @contextlib.asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(self._ask()), asyncio.create_task(self._look())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask(self) -> None:
        draw = random.Random(1)  # noqa: S311 - the same ids each time
        reads: list[tuple[str, Row]]
        while True:
            deal = draw.randrange(481, 50_000)
            reads = [("crm.deal.list", {"filter": {"ID": deal}}), (HISTORY, {"entityTypeId": 2, "filter": {"OWNER_ID": deal}})]
            method, params = reads[self.asked % 2]
            started_at = time.monotonic()
            try:
                self.asked += 1
                self.asked_history += method == HISTORY
                await self._world.client.call(method, params, repeatable=True)
            except Exception:  # noqa: BLE001 - a read that fails is a result
                self.failed += 1
            self.waits.append(time.monotonic() - started_at)
            await asyncio.sleep(1)

    async def _look(self) -> None:
        while True:
            self.spent.append(self._world.client.list_spent_times().get(HISTORY, 0.0))
            await asyncio.sleep(0.02)


async def _refresh(world: _World) -> list[Row]:
    (await world.http.post("/sandbox/limits", json={"bucket": "off", "operating": None})).raise_for_status()
    await world.keeper.refresh_if_older()
    warm = await _measure(world)
    (await world.http.post("/sandbox/latency", json={})).raise_for_status()
    deals = random.Random(2).sample(range(1000, 50_000), CHANGES + DELETED)  # noqa: S311 - as above
    for deal in deals[:CHANGES]:
        fields = {"OPPORTUNITY": deal, "ASSIGNED_BY_ID": 7, "STAGE_ID": "PREPARATION"}
        with contextlib.suppress(Exception):
            await world.people.call("crm.deal.update", {"id": deal, "fields": fields})
    (await world.http.post("/sandbox/latency", json=LATENCY)).raise_for_status()
    changed = await _measure(world)
    (await world.http.post("/sandbox/latency", json={})).raise_for_status()
    for deal in deals[CHANGES:]:
        await world.people.call("crm.deal.delete", {"id": deal})
    (await world.http.post("/sandbox/latency", json=LATENCY)).raise_for_status()
    deleted = await _measure(world)
    return [
        _row("warm, nothing changed: requests", warm[0], "", "1", warm[0] == 1, f"{warm[1]:.2f} s"),
        _row(f"after {CHANGES} changes: requests", changed[0], "", "<= 3", changed[0] <= 3, f"{changed[1]:.2f} s"),
        _row(f"after {DELETED} deletions: requests", deleted[0], "", "<= 21", deleted[0] <= 21, f"{deleted[1]:.2f} s"),
    ]


async def _measure(world: _World) -> tuple[int, float]:
    before, started_at = await world.count(), time.monotonic()
    assert await world.keeper.refresh_if_older(timedelta())
    return await world.count() - before, time.monotonic() - started_at


def _row(name: str, value: float, unit: str, bar: str, holds: bool | None, versus: str) -> Row:  # noqa: FBT001 - one line of the table
    return {"name": name, "value": value, "unit": unit, "bar": bar, "holds": holds, "versus": versus}
