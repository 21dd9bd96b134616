"""The console of a running bot over its real port: how long pages take over a long journal, and what open pages cost.

The processor's time of the bot is judged, and the wall clock stands beside it: on a machine with other work to do, the clock tells of that
work. The start is judged by the clock, and beside it stands the start without the console, in turn. First paint is measured in a Chromium,
beside an empty page of NiceGUI in turn, if the machine has one.
"""

import asyncio
import contextlib
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from playwright.async_api import Browser, Page, async_playwright

from bench.console_bot import LISTED, TOKEN, Running, find_free_port, log_in, make_things, open_page, prepare, run_bot
from bench.servers import ended
from bot.console.live import TOGETHER

TRIES: Final = 12
STARTS: Final = 3
PAINTS: Final = 5
QUIET: Final = 600
"""Milliseconds without a change of the page, after its socket is connected, by which it is known to be complete."""
OPEN: Final = 50
SETTLED: Final = 8.0
WATCHED: Final = 20.0
DROPPED: Final = 90.0
"""After so many seconds a page that no browser has connected to is dropped; the journal's verification, which a page has begun, is over."""
FIRST: Final = ("today", "health")
"""Pages whose first view after a start reads what later views remember."""
CHROMIUM: Final = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_WATCH: Final = """(() => {
  window.lastChange = 0;
  const watch = new MutationObserver(() => { window.lastChange = performance.now(); });
  watch.observe(document, {subtree: true, childList: true, characterData: true});
})()"""
_EMPTY: Final = "from nicegui import ui\n@ui.page('/')\ndef page(): ui.label('x')\nui.run(port={port}, show=False, reload=False)\n"


async def console_benches() -> list[dict[str, Any]]:
    """Start, pages over a long journal, first paint, an event on its way to an open page, fifty open pages at rest."""
    async with prepare() as (folder, said):
        rows = await _measure_starts(folder, said)
        async with run_bot(folder, said) as bot:
            await log_in(bot)
            await asyncio.sleep(SETTLED)  # the console reads the use of limits once it is loaded
            rows += [await _measure_first(bot, name) for name in FIRST]
            places = LISTED | await make_things(bot)
            rows += [await _measure_page(bot, name, path) for name, path in places.items()]
            await asyncio.sleep(DROPPED)
            rows.append(await _measure_event(bot))
            rows.append(await _measure_rest(bot, places))
            rows += await _measure_paint(bot, places)
    return rows


async def _measure_starts(folder: Path, said: dict[str, str]) -> list[dict[str, Any]]:
    """The start with the console and without, in turn: what it adds is the console's part, whatever else the machine does."""
    wall: dict[bool, list[float]] = {True: [], False: []}
    cpu: dict[bool, list[float]] = {True: [], False: []}
    shown: list[float] = []
    for _ in range(STARTS):
        for has_console in (False, True):
            async with run_bot(folder, said, has_console=has_console) as bot:
                wall[has_console].append(bot.took)
                cpu[has_console].append(bot.cpu)
                if has_console:  # its app is built after the start, and the first request waits for it
                    begun = time.perf_counter()
                    (await bot.http.get("/console/", follow_redirects=True)).raise_for_status()
                    shown.append(bot.took + time.perf_counter() - begun)
    added = min(cpu[True]) - min(cpu[False])
    return [
        _row("console: start of `sdelka run` with it", min(wall[True]), "s", "<= 2.5 s", holds=min(wall[True]) <= 2.5)
        | {"versus": f"least of {STARTS}; CPU {min(cpu[True]):.2f} s; without it {min(wall[False]):.2f} s, CPU {min(cpu[False]):.2f} s"},
        _row("console: what it adds to the CPU of the start", added, "s", "<= 0.1 s", holds=added <= 0.1)
        | {"versus": f"wall {min(wall[True]) - min(wall[False]):+.2f} s"},
        _row("console: its first page for a stranger, from the start of the program", min(shown), "s", "", holds=None),
    ]


async def _measure_first(bot: Running, name: str) -> dict[str, Any]:
    """The first view of a page after the start, before anybody has looked at another."""
    before, begun = bot.read_cpu(), time.perf_counter()
    (await bot.http.get(f"/console{LISTED[name]}")).raise_for_status()
    wall = 1000 * (time.perf_counter() - begun)
    spent = 1000 * (bot.read_cpu() - before)
    return _row(f"console: first view of {name} after a start, CPU", spent, "ms", "<= 150 ms", holds=spent <= 150) | {
        "versus": f"wall {wall:.0f} ms"
    }


async def _measure_page(bot: Running, name: str, path: str) -> dict[str, Any]:
    """The processor's time for a whole page in the server, judged, and the wall clock with the wire of the loopback."""
    took: list[float] = []
    (await bot.http.get(f"/console{path}")).raise_for_status()
    before = bot.read_cpu()
    for _ in range(TRIES):
        begun = time.perf_counter()
        (await bot.http.get(f"/console{path}")).raise_for_status()
        took.append(1000 * (time.perf_counter() - begun))
    spent = 1000 * (bot.read_cpu() - before) / TRIES
    return _row(f"console: page {name}, 10,000 events, CPU", spent, "ms", "<= 150 ms", holds=spent <= 150) | {
        "versus": f"wall {statistics.median(took):.0f} ms, {min(took):.0f} to {max(took):.0f}"
    }


async def _measure_event(bot: Running) -> dict[str, Any]:
    """From the order to freeze all writing to the update of an open page that shows it.

    The processor's time for the event is judged, with the wait in which changes are told together, which needs none.
    """
    told, took = asyncio.Event(), []
    async with open_page(bot, "/", told):
        await asyncio.sleep(2)
        before = bot.read_cpu()
        for number in range(10):
            told.clear()
            begun = time.perf_counter()
            order = {"frozen": number % 2 == 0, "reason": "bench"}
            (await bot.http.post("/freeze", headers={"X-API-Key": TOKEN}, json=order)).raise_for_status()
            await asyncio.wait_for(told.wait(), 30)
            took.append(1000 * (time.perf_counter() - begun))
            await asyncio.sleep(0.5)
        spent = 1000 * (bot.read_cpu() - before) / len(took)
    whole = spent + 1000 * TOGETHER
    return _row("console: from an event to an open page, CPU + wait", whole, "ms", "<= 500 ms", holds=whole <= 500) | {
        "versus": f"wall {statistics.median(took):.0f} ms, {min(took):.0f} to {max(took):.0f}"
    }


async def _measure_rest(bot: Running, places: dict[str, str]) -> dict[str, Any]:
    """What fifty open pages cost while nothing happens, beyond the bot without them."""
    alone, paths = await _watch(bot), list(places.values())
    async with contextlib.AsyncExitStack() as stack:
        for number in range(OPEN):
            await stack.enter_async_context(open_page(bot, paths[number % len(paths)], asyncio.Event()))
        share = await _watch(bot) - alone
    return _row(f"console: {OPEN} open pages at rest, CPU of one core", share, "%", "<= 10 %", holds=share <= 10) | {
        "versus": f"the bot alone {alone:.1f} %"
    }


async def _watch(bot: Running) -> float:
    await asyncio.sleep(SETTLED)
    begun, before = time.monotonic(), bot.read_cpu()
    await asyncio.sleep(WATCHED)
    return 100 * (bot.read_cpu() - before) / (time.monotonic() - begun)


async def _measure_paint(bot: Running, places: dict[str, str]) -> list[dict[str, Any]]:
    """First contentful paint of each page by an empty page of NiceGUI, which is painted before and after it; and when each is complete."""
    name = "console: first paint by an empty page of NiceGUI"
    if CHROMIUM is None:
        return [_row(name, 0, "x", "<= 1.3 x", holds=None) | {"versus": "no Chromium on this machine"}]
    async with contextlib.AsyncExitStack() as stack:
        folder, port = Path(stack.enter_context(tempfile.TemporaryDirectory())), find_free_port()
        (folder / "empty.py").write_text(_EMPTY.format(port=port), encoding="utf-8")
        empty = await asyncio.create_subprocess_exec(sys.executable, "empty.py", cwd=folder, stdout=asyncio.subprocess.DEVNULL)
        stack.push_async_callback(ended, empty)
        driver = await stack.enter_async_context(async_playwright())
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        stack.push_async_callback(browser.close)
        page = await _open_tab(browser, bot)
        await asyncio.sleep(3)
        nothing = f"http://127.0.0.1:{port}/"
        floor: list[_Shown] = []
        took: dict[str, list[_Shown]] = {place: [] for place in places}
        for number in range(PAINTS + 1):
            for place, path in places.items():
                shown = await _paint(page, nothing), await _paint(page, f"{bot.address}/console{path}")
                if number:  # in the first round the browser has nothing of either yet
                    floor.append(shown[0])
                    took[place].append(shown[1])
    base = statistics.median(one.painted for one in floor)
    ratios = {place: statistics.median(one.painted for one in all_) / base for place, all_ in took.items()}
    complete = {place: statistics.median(one.complete for one in all_) for place, all_ in took.items()}
    bare = statistics.median(one.complete for one in floor)
    return [
        _row(name, max(ratios.values()), "x", "<= 1.3 x", holds=max(ratios.values()) <= 1.3)
        | {"versus": f"{_name_worst(ratios, '.2f')}; empty {base:.0f} ms"},
        _row("console: until a page is complete", max(complete.values()), "ms", "", holds=None)
        | {"versus": f"{_name_worst(complete, '.0f')}; empty {bare:.0f} ms"},
    ]


@dataclass(frozen=True)
class _Shown:
    """Milliseconds from the beginning of the navigation."""

    painted: float
    complete: float
    """When the page has changed for the last time, with all that comes after it over the socket."""


def _name_worst(figures: dict[str, float], form: str) -> str:
    return ", ".join(f"{place} {figures[place]:{form}}" for place in sorted(figures, key=lambda place: -figures[place])[:4])


async def _open_tab(browser: Browser, bot: Running) -> Page:
    context = await browser.new_context()
    await context.add_cookies([{"name": key, "value": value, "url": bot.address} for key, value in bot.http.cookies.items()])
    await context.add_init_script(_WATCH)
    return await context.new_page()


async def _paint(page: Page, address: str) -> _Shown:
    await page.goto(address)
    await page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
    painted = float(await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
    await page.wait_for_function(f"window.did_handshake && performance.now() - window.lastChange > {QUIET}", polling=100)
    return _Shown(painted, float(await page.evaluate("window.lastChange")))


def _row(name: str, value: float, unit: str, bar: str, *, holds: bool | None) -> dict[str, Any]:
    return {"name": name, "value": round(value, 2), "unit": unit, "bar": bar, "holds": holds, "versus": ""}
