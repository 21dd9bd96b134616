"""Bulk reads beside fast_bitrix24 and b24pysdk: one sandbox portal, each job in a process of its own.

Portals: `unlimited`; `slow` (30 ms a request and 8 ms a command, no limit); `hot` (2 a second, the bucket full at the
start); `cold` (the same, empty). Floor: 2,500 rows a request, and half a second for each above the burst.
"""

import asyncio
import json
import math
import statistics
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parents[1]
DEALS = 50_000
SEEDED = 48
RATE = 2.0
RUNS = 3
OURS, SDK, FAST = "sdelka", "b24pysdk", "fast_bitrix24"
PORTALS: dict[str, dict[str, Any]] = {
    "unlimited": {"limits": {"bucket": "off"}, "latency": {}},
    "slow": {"limits": {"bucket": "off"}, "latency": {"request": 0.03, "command": 0.008}},
    "hot": {"limits": {"bucket": "2/50", "level": 50}, "latency": {}},
    "cold": {"limits": {"bucket": "2/50", "level": 0}, "latency": {}},
}
Row = dict[str, Any]


@dataclass(frozen=True)
class Portal:
    """The sandbox as a process, and one way to ask it."""

    webhook: str
    http: httpx.AsyncClient

    async def run(self, client: str, job: str, count: int, portal: str) -> Row:
        """What one job cost its client, and what the portal saw of it."""
        child = await asyncio.create_subprocess_exec(
            *[sys.executable, "-m", "bench.bulk_jobs", client, f"{job} {portal}", str(count), self.webhook],
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        if child.stdout is None or child.stdin is None or not await child.stdout.readline():
            msg = f"{client} did not start"
            raise RuntimeError(msg)
        set_up = PORTALS["cold" if portal == "busy" else portal]  # a busy client fills the bucket itself
        for name, values in set_up.items():
            (await self.http.post(f"/sandbox/{name}", json=values)).raise_for_status()
        await self.http.delete("/sandbox/stats")
        out, _ = await child.communicate(b"go\n")
        said: Row = json.loads(out)
        stats = (await self.http.get("/sandbox/stats")).json()
        return said | {"requests": stats["requests"] - said.get("spent", 0), "limited": stats["refused_503"]}


@asynccontextmanager
async def _portal() -> AsyncIterator[Portal]:
    arguments = ["-m", "sandbox.portal", "--port", "0", "--bulk-deals", str(DEALS - SEEDED)]
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    try:
        if process.stdout is None:
            raise RuntimeError
        told = json.loads(await asyncio.wait_for(process.stdout.readline(), 60))
        async with httpx.AsyncClient(base_url=told["portal"], timeout=30) as http:
            yield Portal(told["webhook"], http)
    finally:
        process.terminate()
        await process.wait()


async def bulk_benches() -> list[Row]:
    """All rows; about three minutes, for the portal's limit is real time."""
    async with _portal() as portal:
        rows = await _processor(portal)
        rows += await _slow(portal, "read", DEALS)
        rows += await _full_read(portal)
    return rows


async def _processor(portal: Portal) -> list[Row]:
    """Processor time and memory of a read that no limit slows down: the median of three."""
    runs = {name: [await portal.run(name, "read", DEALS, "unlimited") for _ in range(RUNS)] for name in (OURS, SDK, FAST)}
    cpu = {name: statistics.median(run["cpu"] for run in of) for name, of in runs.items()}
    mb = {name: statistics.median(run["mb"] for run in of) for name, of in runs.items()}
    first = runs[OURS][0]
    growth = max(run["mb"] for run in runs[OURS]) / max(1.0, *(run["mb_at_half"] for run in runs[OURS]))
    whole = all(run["rows"] == DEALS and run["ordered"] for run in runs[OURS])
    return [
        _row("read 50,000: requests", first["requests"], "", "<= 21, ordered", whole and first["requests"] <= 21, _each(runs, "requests")),
        _row("read 50,000: processor", round(cpu[OURS], 2), "s", f"<= {SDK}'s", cpu[OURS] <= cpu[SDK], _texts(cpu, ".2f")),
        _row("read 50,000: memory grows", round(mb[OURS]), "MB", "", None, _texts(mb, ".0f")),
        _row("read 50,000: peak, end / half way", round(growth, 2), "x", "<= 1.1", growth <= 1.1, "iterated"),
    ]


async def _slow(portal: Portal, job: str, count: int) -> list[Row]:
    """A batch takes 430 ms: how much several in flight are worth."""
    runs = {name: await portal.run(name, job, count, "slow") for name in (OURS, SDK, FAST)}
    ratio = runs[SDK]["seconds"] / runs[OURS]["seconds"]
    return [_row(f"{job} {count:,}, 430 ms a batch: {SDK} / ours", round(ratio, 2), "x", ">= 3", ratio >= 3, _each(runs, "seconds"))]


async def _full_read(portal: Portal) -> list[Row]:
    runs = {
        OURS: await portal.run(OURS, "read", DEALS, "busy"),
        **{name: await portal.run(name, "read", DEALS, "hot") for name in (SDK, FAST)},
    }
    ours = runs[OURS]
    floor = math.ceil(DEALS / 2500) / RATE
    whole = ours["rows"] == DEALS and ours["ordered"]
    return [
        _against("read 50,000, full bucket", ours, floor, runs, whole=whole),
        _row("read 50,000, full bucket: refused", ours["limited"], "", "0", ours["limited"] == 0, _each(runs, "limited")),
    ]


def _against(name: str, ours: Row, floor: float, runs: dict[str, Row], *, whole: bool) -> Row:
    ratio = ours["seconds"] / floor
    return _row(
        f"{name}: time / floor", round(ratio, 3), "x", "<= 1.05", whole and ratio <= 1.05, f"floor {floor:g} s; {_each(runs, 'seconds')}"
    )


def _each(runs: dict[str, Any], what: str) -> str:
    lasts = {name: run[-1] if isinstance(run, list) else run for name, run in runs.items()}
    return ", ".join(
        f"{name} {run.get(what, 0):.4g}{' FAILED: ' + run['failed'] if 'failed' in run else ''}" for name, run in lasts.items()
    )


def _texts(values: dict[str, float], form: str) -> str:
    return ", ".join(f"{name} {value:{form}}" for name, value in values.items())


def _row(name: str, value: float, unit: str, bar: str, holds: bool | None, versus: str) -> Row:  # noqa: FBT001 - one line of the table
    return {"name": name, "value": value, "unit": unit, "bar": bar, "holds": holds, "versus": versus}
