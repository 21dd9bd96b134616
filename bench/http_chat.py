"""`POST /chat`: what HTTP adds to the orchestrator's own work, and 500 requests of 100 users in one instant.

The bot is a process of its own (`http_bot.py`) with a model and a portal that answer at once, SQLite on disk with synchronous=FULL. Its own
work is measured in the same process in turns with the requests, which come one after the other over one connection.
"""

import asyncio
import contextlib
import http.client
import json
import statistics
import sys
import time
from collections import Counter
from typing import Any

import aiohttp

from bench.http_bot import TOKEN
from bench.idle import read_cpu_seconds
from bench.servers import ROOT

ROUNDS, EACH, WARM_UP = 5, 60, 40
AT_ONCE, USERS = 500, 100
_HEADERS = {"X-API-Key": TOKEN, "Content-Type": "application/json"}


async def http_benches() -> list[dict[str, Any]]:
    """The rows."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.http_bot", cwd=ROOT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 24
    )
    try:
        port = json.loads(await _line(process))["port"]
        await _direct(process, WARM_UP)
        await asyncio.to_thread(_over_http, port, WARM_UP)
        own, whole, spent = [], [], 0.0
        for _ in range(ROUNDS):
            own.extend(await _direct(process, EACH))
            before = read_cpu_seconds(process.pid)
            whole.extend(await asyncio.to_thread(_over_http, port, EACH))
            spent += read_cpu_seconds(process.pid) - before
        times, statuses = await _crowd(port)
    finally:
        if process.stdin is not None:
            process.stdin.close()
        with contextlib.suppress(ProcessLookupError):
            await asyncio.wait_for(process.wait(), 20)
    own_ms, whole_ms = (1000 * statistics.median(each) for each in (own, whole))
    over = round(whole_ms - own_ms, 2)
    p99 = round(sorted(times)[len(times) * 99 // 100 - 1], 3)
    told = f"orchestrator alone {own_ms:.2f} ms, over HTTP {whole_ms:.2f} ms"
    one = spent / (ROUNDS * EACH)
    bound = 1.3 * AT_ONCE * one
    failed = AT_ONCE - statuses[200]
    return [
        _row("/chat: overhead over the orchestrator's own, p50", over, "ms", "<= 3 ms", holds=over <= 3) | {"versus": told},
        _row(f"/chat: {AT_ONCE} at once of {USERS} users, p99", p99, "s", f"<= {bound:.2f} s", holds=p99 <= bound)
        | {"versus": f"bar: 1.3 x {AT_ONCE} x {1000 * one:.2f} ms CPU of one /chat; p50 {statistics.median(times):.2f} s"},
        _row(f"/chat: {AT_ONCE} at once of {USERS} users, not answered", failed, "", "0", holds=failed == 0)
        | {"versus": " ".join(f"{status}: {count}" for status, count in sorted(statuses.items()))},
    ]


async def _line(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    line = await asyncio.wait_for(process.stdout.readline(), 60)
    if not line:
        raise RuntimeError("the bot of the bench has ended")
    return line


async def _direct(process: asyncio.subprocess.Process, count: int) -> list[float]:
    assert process.stdin is not None
    process.stdin.write(f"{count}\n".encode())
    return list(json.loads(await _line(process)))


def _over_http(port: int, count: int) -> list[float]:
    """Seconds of each request; the plainest client there is, so that little of its own time is in it."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    body = json.dumps({"user_id": "one", "message": "готов?"}).encode()
    times = []
    for _ in range(count):
        begun = time.perf_counter()
        connection.request("POST", "/chat", body, _HEADERS)
        answer = connection.getresponse()
        answer.read()
        times.append(time.perf_counter() - begun)
        assert answer.status == 200, answer.status
    connection.close()
    return times


async def _crowd(port: int) -> tuple[list[float], Counter[int]]:
    """Everybody at once: the time of each answer, and the statuses."""
    statuses: Counter[int] = Counter()
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, headers=_HEADERS, timeout=aiohttp.ClientTimeout(60)) as client:

        async def one(number: int) -> float:
            begun = time.perf_counter()
            body = {"user_id": f"user {number % USERS}", "message": f"готов? {number}"}
            async with client.post(f"http://127.0.0.1:{port}/chat", json=body) as answer:
                await answer.read()
                statuses[answer.status] += 1
            return time.perf_counter() - begun

        return await asyncio.gather(*(one(number) for number in range(AT_ONCE))), statuses


def _row(name: str, value: float, unit: str, bar: str, *, holds: bool | None) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "bar": bar, "holds": holds, "versus": ""}
