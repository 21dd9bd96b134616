"""The console of a running bot over its real port: how long pages take over a long journal, and what open pages cost.

The real `sdelka run` as a process of its own. People log in with links that are signed with the bot's own secret; open pages are sockets of
the same library that browsers use. First paint is measured in a Chromium, beside an empty page of NiceGUI, if the machine has one.
"""

import asyncio
import contextlib
import re
import shutil
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import httpx
import socketio
import yaml
from pydantic import SecretStr

from bench.history import write_conversations
from bench.idle import read_cpu_seconds
from bench.servers import ended, sandboxes, settings_of, started, until
from bot.console.keys import ConsoleKeys
from bot.console.page_list import PAGES
from orchestrator.domain.actor import Actor
from state.clock import generate_id
from state.events.runs import RunFinished, RunStarted
from state.journal.store import Commit
from state.sql import build_sqlite_url, open_store

SECRET: Final = "the secret of a console that only the bench uses"  # noqa: S105 - of the bench
TOKEN: Final = "0" * 32
ADMIN: Final = {"telegram_id": 1001, "name": "Olga", "bitrix_user_id": 1, "role": "admin"}
TURNS: Final = 1_250
"""Of eight events each."""
RUNS: Final = 1_000
TRIES: Final = 12
OPEN: Final = 50
SETTLED: Final = 8.0
WATCHED: Final = 20.0
SHOWN: Final = [spec for spec in PAGES if spec.icon and "{" not in spec.path]
CHROMIUM: Final = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_PAGE_ID: Final = re.compile(r"""['"]client_id['"]: ?['"]([0-9a-f-]{36})""")
_EMPTY: Final = "from nicegui import ui\n@ui.page('/')\ndef page(): ui.label('x')\nui.run(port={port}, show=False, reload=False)\n"


@dataclass
class Running:
    """The running bot and a browser's cookie."""

    process: asyncio.subprocess.Process
    http: httpx.AsyncClient
    address: str
    ready: float


async def console_benches() -> list[dict[str, Any]]:
    """Start, pages over a long journal, first paint, an event on its way to an open page, fifty open pages at rest."""
    async with _bot() as bot:
        rows = [_row("console: start of `sdelka run` with it", bot.ready, "s", "<= 2.5 s", holds=bot.ready <= 2.5)]
        await _log_in(bot)
        rows += [await _measure_page(bot, spec.name, spec.path) for spec in SHOWN]
        rows.append(await _measure_event(bot))
        rows.append(await _measure_rest(bot))
        rows += await _measure_paint(bot)
    return rows


@contextlib.asynccontextmanager
async def _bot() -> AsyncIterator[Running]:
    """The bot over a journal of 10,000 events and 1,000 runs."""
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        said = await sandboxes(stack)
        (folder / "access.yaml").write_text(yaml.safe_dump({"people": [ADMIN]}), encoding="utf-8")
        (folder / "state").mkdir()
        url = build_sqlite_url(folder / "state" / "sdelka.db")
        await asyncio.to_thread(write_conversations, url, TURNS)
        await asyncio.to_thread(_write_runs, url)
        port = find_free_port()
        told = {"HTTP_PORT": str(port), "HTTP_API_TOKENS": f"bench={TOKEN}:admin:full", "CONSOLE_SECRET": SECRET}
        begun = time.monotonic()
        process = await started(stack, settings_of(said, folder) | told, "bot", "run")
        address = f"http://127.0.0.1:{port}"
        http = await stack.enter_async_context(httpx.AsyncClient(base_url=address, trust_env=False, timeout=60))

        async def answers() -> bool:
            with contextlib.suppress(httpx.TransportError):
                return (await http.get("/healthz")).is_success
            return False

        await until(answers, "an HTTP door that answers")
        yield Running(process, http, address, time.monotonic() - begun)
        await ended(process)


def find_free_port() -> int:
    """Return a loopback port on which nothing listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _write_runs(url: str) -> None:
    """Store finished and failed runs of one scenario."""
    store, begin = open_store(url), datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
    actor = Actor(key="tg:1001", name="Olga", role="admin", bitrix_user_id=1)
    for number in range(RUNS):
        run_id, now = generate_id(), begin + timedelta(seconds=number)
        lease = store.acquire(f"run:{run_id}", "bench", now, now + timedelta(days=1))
        if lease is None:
            raise RuntimeError("a lease of the bench is taken")
        first = RunStarted(
            engine="scenario", definition="welcome", version=1, digest="0" * 64, replay=1, home=actor.key, mode="full",
            actor=actor.model_dump(mode="json"), title="Welcome",
        )  # fmt: skip
        last = RunFinished(status="failed" if number % 10 == 0 else "done", code="run-failed" if number % 10 == 0 else "")
        store.commit(Commit(stream=f"run:{run_id}", epoch=lease.epoch, actor=actor.key, now=now, events=(first, last)))
        store.release(lease)
    store.close()


async def _log_in(bot: Running) -> None:
    link = ConsoleKeys(SecretStr(SECRET)).sign_link("tg:1001", datetime.now(UTC))
    answer = await bot.http.post("/console/login", data={"link": link}, headers={"Origin": bot.address})
    if answer.status_code != 303:
        raise RuntimeError(f"the console let nobody in: {answer.status_code}")
    await bot.http.get("/console/")  # NiceGUI is loaded


async def _measure_page(bot: Running, name: str, path: str) -> dict[str, Any]:
    """The time of a whole page in the server, with the wire of the loopback."""
    took = []
    for _ in range(TRIES):
        begun = time.perf_counter()
        (await bot.http.get(f"/console{path}")).raise_for_status()
        took.append(1000 * (time.perf_counter() - begun))
    middle = statistics.median(took)
    return _row(f"console: page {name}, 10,000 events, 1,000 runs", middle, "ms", "<= 150 ms", holds=middle <= 150) | {
        "versus": f"first {took[0]:.0f}, longest of the others {max(took[1:]):.0f} ms"
    }


@contextlib.asynccontextmanager
async def _open_page(bot: Running, path: str, told: asyncio.Event) -> AsyncIterator[None]:
    """An open page: its HTML was loaded and its socket is connected; `told` is set by every update."""
    page = (await bot.http.get(f"/console{path}")).text
    page_id = _PAGE_ID.findall(page)[0]
    client = socketio.AsyncClient(reconnection=False)
    client.on("update", lambda _: told.set())
    cookie = "; ".join(f"{name}={value}" for name, value in bot.http.cookies.items())
    query = f"client_id={page_id}&implicit_handshake=true&tab_id={generate_id()}&document_id={generate_id()}&next_message_id=0"
    address = f"{bot.address}/console/_nicegui_ws/?{query}"
    headers = {"Cookie": cookie, "Origin": bot.address}
    await client.connect(address, headers=headers, transports=["websocket"], socketio_path="/console/_nicegui_ws/socket.io")
    try:
        yield
    finally:
        await client.disconnect()


async def _measure_event(bot: Running) -> dict[str, Any]:
    """From the order to freeze all writing to the update of an open page that shows it."""
    told, took = asyncio.Event(), []
    async with _open_page(bot, "/", told):
        await asyncio.sleep(1)
        for number in range(10):
            told.clear()
            begun = time.perf_counter()
            path = "/freeze" if number % 2 == 0 else "/unfreeze"
            (await bot.http.post(path, headers={"X-API-Key": TOKEN}, json={})).raise_for_status()
            await asyncio.wait_for(told.wait(), 30)
            took.append(1000 * (time.perf_counter() - begun))
            await asyncio.sleep(0.5)
    middle = statistics.median(took)
    return _row("console: from an event to an open page", middle, "ms", "<= 500 ms", holds=max(took) <= 500) | {
        "versus": f"longest of {len(took)}: {max(took):.0f} ms"
    }


async def _measure_rest(bot: Running) -> dict[str, Any]:
    """What fifty open pages cost while nothing happens, beyond the bot without them."""
    alone = await _watch(bot)
    async with contextlib.AsyncExitStack() as stack:
        for number in range(OPEN):
            spec = SHOWN[number % len(SHOWN)]
            await stack.enter_async_context(_open_page(bot, spec.path, asyncio.Event()))
        share = await _watch(bot) - alone
    return _row(f"console: {OPEN} open pages at rest, of one core", share, "%", "<= 10 %", holds=share <= 10) | {
        "versus": f"the bot alone {alone:.1f} %"
    }


async def _watch(bot: Running) -> float:
    await asyncio.sleep(SETTLED)
    begun, before = time.monotonic(), read_cpu_seconds(bot.process.pid)
    await asyncio.sleep(WATCHED)
    return 100 * (read_cpu_seconds(bot.process.pid) - before) / (time.monotonic() - begun)


async def _measure_paint(bot: Running) -> list[dict[str, Any]]:
    """First contentful paint of each page beside an empty page of NiceGUI, in turn."""
    name = "console: first paint beside an empty page of NiceGUI"
    if CHROMIUM is None:
        return [_row(name, 0, "x", "<= 1.3 x", holds=None) | {"versus": "no Chromium on this machine"}]
    from playwright.async_api import async_playwright  # noqa: PLC0415 - not every machine has a browser

    async with contextlib.AsyncExitStack() as stack:
        folder, port = Path(stack.enter_context(tempfile.TemporaryDirectory())), find_free_port()
        (folder / "empty.py").write_text(_EMPTY.format(port=port), encoding="utf-8")
        empty = await asyncio.create_subprocess_exec(sys.executable, "empty.py", cwd=folder, stdout=asyncio.subprocess.DEVNULL)
        stack.push_async_callback(ended, empty)
        driver = await stack.enter_async_context(async_playwright())
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = await browser.new_context()
        await context.add_cookies([{"name": key, "value": value, "url": bot.address} for key, value in bot.http.cookies.items()])
        page = await context.new_page()
        places = {spec.name: f"{bot.address}/console{spec.path}" for spec in SHOWN}
        floor, took = [], {name: [] for name in places}  # type: ignore[var-annotated]
        await asyncio.sleep(3)
        for _ in range(7):
            floor.append(await _paint(page, f"http://127.0.0.1:{port}/"))
            for place, address in places.items():
                took[place].append(await _paint(page, address))
        await browser.close()
    base = statistics.median(floor)
    ratios = {place: statistics.median(times) / base for place, times in took.items()}
    worst = max(ratios, key=lambda place: ratios[place])
    return [_row(name, ratios[worst], "x", "<= 1.3 x", holds=ratios[worst] <= 1.3) | {"versus": f"worst: {worst}; empty {base:.0f} ms"}]


async def _paint(page: Any, address: str) -> float:
    await page.goto(address)
    await page.wait_for_timeout(300)
    return float(await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))


def _row(name: str, value: float, unit: str, bar: str, *, holds: bool | None) -> dict[str, Any]:
    return {"name": name, "value": round(value, 2), "unit": unit, "bar": bar, "holds": holds, "versus": ""}
