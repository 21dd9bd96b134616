"""A bot with nothing to do: how much of a processor and of memory it takes, and how long it takes to begin.

The real `sdelka run` as a process of its own, beside sandbox servers: polling, rounds, leases, timers, the HTTP door.
"""

import asyncio
import contextlib
import os
import socket
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import yaml

from bench.servers import ended, sandboxes, settings_of, started, until

SETTLED = 10.0
"""Seconds after the start, when caches are filled and what was found at the start is told."""
WATCHED = 30.0
_TICKS = os.sysconf("SC_CLK_TCK")


async def idle_benches() -> list[dict[str, Any]]:
    """Start, share of one processor while nobody writes, memory."""
    async with _bot() as (process, ready):
        await asyncio.sleep(SETTLED)
        begun, before = time.monotonic(), read_cpu_seconds(process.pid)
        await asyncio.sleep(WATCHED)
        share = 100 * (read_cpu_seconds(process.pid) - before) / (time.monotonic() - begun)
        memory = _memory(process.pid)
    return [
        _row("start of `sdelka run` until /healthz answers", ready, "s", "<= 2.5 s", holds=ready <= 2.5),
        _row("idle bot: share of one processor", share, "%", "< 1 %", holds=share < 1) | {"versus": f"over {WATCHED:g} s"},
        _row("idle bot: memory (RSS)", memory, "MB", "< 200 MB", holds=memory < 200),
    ]


@contextlib.asynccontextmanager
async def _bot() -> AsyncIterator[tuple[asyncio.subprocess.Process, float]]:
    """The running bot, and the seconds until its HTTP door answered."""
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        said = await sandboxes(stack)
        people = [{"telegram_id": 1007, "name": "Борис", "bitrix_user_id": 7, "role": "manager"}]
        (folder / "access.yaml").write_text(yaml.safe_dump({"people": people}, allow_unicode=True), encoding="utf-8")
        port = _free_port()
        told = settings_of(said, folder) | {"HTTP_PORT": str(port), "HTTP_API_TOKENS": "bench=" + "0" * 32 + ":manager:full"}
        begun = time.monotonic()
        process = await started(stack, told, "bot", "run")
        http = await stack.enter_async_context(httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False))

        async def answers() -> bool:
            with contextlib.suppress(httpx.TransportError):
                return (await http.get("/healthz")).is_success
            return False

        await until(answers, "an HTTP door that answers")
        yield process, time.monotonic() - begun
        await ended(process)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def read_cpu_seconds(pid: int) -> float:
    """Seconds of the processor so far, of all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _memory(pid: int) -> float:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


def _row(name: str, value: float, unit: str, bar: str, *, holds: bool | None) -> dict[str, Any]:
    return {"name": name, "value": round(value, 2), "unit": unit, "bar": bar, "holds": holds, "versus": ""}
