"""200 people at once, each with a turn of three calls: what the bot itself adds, who waits for whom, how soon /stop ends a turn.

The sandbox portal, Telegram and model are processes of their own, and so is the bot (`people_bot.py`): real polling, real pacing, SQLite
on disk. Our own delay of a turn is the time from Telegram's answer that handed the message over to the moment the reply is handed to the
wire, without the waits for our own pacing, the portal and the model. A wire's wait ends for us where the loop had looked at it in vain for
the last time: from there on its answer may have lain unread, and the time is ours, twice, since a connection may have been made first. Told
beside it is what no account could exceed: only time in which the loop had nothing at all to do counts as a wait.
"""

import asyncio
import contextlib
import json
import math
import signal
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import yaml

from bench.idle import read_cpu_seconds
from bench.servers import sandboxes, settings_of, started, until

PEOPLE = 200
FIRST = 5000
ALONE = 40
"""Turns one after the other, whose CPU says how long a crowd's turns may take."""
STOPS = 100
SPREAD = 20.0
"""Seconds over which 200 people write where they do not all write in the same instant: ten turns a second."""
DEAL, COMPANY = 481, 1


@dataclass(frozen=True, kw_only=True)
class Stage:
    """The servers of one bench, and the bot."""

    telegram: httpx.AsyncClient
    model: httpx.AsyncClient
    bot: asyncio.subprocess.Process

    async def post(self, http: httpx.AsyncClient, path: str, body: Any) -> Any:
        """One order to a sandbox."""
        answer = await http.post(path, json=body)
        answer.raise_for_status()
        return answer.json()

    async def script(self, match: str, *answers: str) -> None:
        """What the model says to whoever's text holds `match`."""
        await self.post(self.model, "/sandbox/script", {"answers": answers, "match": match})

    async def say(self, person: int, text: str) -> None:
        """A person writes."""
        await self.post(self.telegram, f"/sandbox/users/{person}/send", {"text": text, "chat_id": person})

    async def sent(self, after: int = 0) -> list[dict[str, Any]]:
        """Messages that the bot has sent, as Telegram saw them come."""
        calls = (await self.telegram.get("/sandbox/requests", params={"after": after})).json()["requests"]
        return [call for call in calls if call["method"] == "sendMessage"]

    async def asked(self) -> int:
        """How many requests the model has had."""
        return int((await self.model.get("/sandbox/requests", params={"after": 1 << 30})).json()["last"])

    async def marks(self) -> dict[str, Any]:
        """End the bot; what it has noted."""
        self.bot.send_signal(signal.SIGTERM)
        said, _ = await self.bot.communicate()
        return dict(json.loads(said))


async def people_benches() -> list[dict[str, Any]]:
    """Everybody at once, everybody within some seconds, one beside 199 whose model is silent, and /stop."""
    rows = []
    for name, spread in (("in one instant", 0.0), (f"within {SPREAD:g} s", SPREAD)):
        async with stage() as world:
            one = await _cost_of_one(world)
            await _turns(world, spread)
            rows.extend(_rows(name, await world.marks(), one))
    async with stage() as world:
        alone = await _beside_the_silent(world)
    async with stage() as world:
        stops = await _stops(world)
    beside = f"{PEOPLE - 1} others wait for their model"
    slow = _percentile(stops, 99)
    return [
        *rows,
        _row("answer beside people whose model is silent", alone, "s", "<= 1 s", holds=alone <= 1) | {"versus": beside},
        _row("/stop ends the turn, p50", statistics.median(stops), "s", "", holds=None),
        _row("/stop ends the turn, p99", slow, "s", "<= 1 s", holds=slow <= 1) | {"versus": f"longest of {len(stops)}: {max(stops):.3f} s"},
    ]


async def _cost_of_one(world: Stage) -> float:
    """Seconds of the processor for one turn while nobody else writes, which also warms the bot up: the same person asks again and again."""
    spent = 0.0
    for number in range(2 * ALONE):
        if number == ALONE:
            spent = read_cpu_seconds(world.bot.pid)
        match = f"разогрев №{number:04d}."
        await world.script(match, _plan(), _said(f"Разогрет, {match}"))
        await world.say(FIRST + PEOPLE, match)

        async def answered(match: str = match) -> bool:
            return any(f"Разогрет, {match}" in call["params"].get("text", "") for call in await world.sent())

        await until(answered, "the answer that warms up")
    return (read_cpu_seconds(world.bot.pid) - spent) / ALONE


async def _turns(world: Stage, spread: float) -> None:
    """Each person's text, three calls, answer."""
    for number in range(PEOPLE):
        match = f"я №{number:04d}."
        await world.script(match, _plan(), _said(f"Проверено, {match}"))
    begun = time.monotonic()

    async def write(number: int) -> None:
        await asyncio.sleep(max(0.0, begun + spread * number / PEOPLE - time.monotonic()))
        await world.say(FIRST + number, f"проверь сделку {DEAL}, я №{number:04d}.")

    await asyncio.gather(*(write(number) for number in range(PEOPLE)))

    async def all_answered() -> bool:
        return sum("Проверено, я №" in call["params"].get("text", "") for call in await world.sent()) == PEOPLE

    await until(all_answered, "an answer for everybody", pause=0.5)


async def _beside_the_silent(world: Stage) -> float:
    """Seconds to the answer of one person whose model speaks, while those of all others are silent."""
    await world.post(world.model, "/sandbox/faults", {"kind": "stall", "times": PEOPLE - 1, "seconds": 600})
    for number in range(PEOPLE - 1):
        await world.say(FIRST + number, "проверь сделку")

    async def all_silent() -> bool:
        return await world.asked() >= PEOPLE - 1

    with contextlib.suppress(TimeoutError):
        await until(all_silent, "that everybody's model was asked", within=20)
    person, begun = FIRST + PEOPLE, time.time()
    await world.script("ты тут", _said("Тут."))
    await world.say(person, "ты тут?")

    async def answered() -> dict[str, Any] | None:
        return next((call for call in await world.sent() if str(call["params"]["chat_id"]) == str(person)), None)

    try:
        found = await until(answered, "the answer of one", within=20)
    except TimeoutError:
        return 20.0
    return round(_moment(found) - begun, 3)


async def _stops(world: Stage) -> list[float]:
    """Seconds from a person's /stop to the sentence that the turn is stopped, as Telegram sees both."""
    await world.post(world.model, "/sandbox/faults", {"kind": "stall", "times": 10_000, "seconds": 600})
    found = []
    for number in range(STOPS):
        person, before = FIRST + number, await world.asked()
        await world.say(person, "проверь сделку")

        async def silent(before: int = before) -> bool:
            return await world.asked() > before

        await until(silent, "that the model was asked")
        begun = time.time()
        await world.say(person, "/stop")

        async def stopped(person: int = person) -> dict[str, Any] | None:
            mine = [call for call in await world.sent() if str(call["params"]["chat_id"]) == str(person)]
            return next((call for call in mine if "становлено" in call["params"]["text"]), None)

        found.append(round(_moment(await until(stopped, "that the turn is stopped")) - begun, 3))
    return found


def _rows(name: str, marks: Mapping[str, Any], one: float) -> list[dict[str, Any]]:
    """The rows of a crowd; `one` is the CPU of one turn alone in seconds, and the bar 1.3 times what all turns need of it."""
    own, most, behind, whole = [], [], [], []
    first, last = math.inf, 0.0
    for number in range(PEOPLE):
        key = f"tg:{FIRST + number}"
        came, sent = marks["came"][key][0], marks["sent"][key][-1]
        waits = [wait for wait in marks["waits"].get(key, ()) if wait[1] < sent and wait[2] > came]
        own.append(sent - came - _waited(waits))
        most.append(sent - came - _surely_waited(waits))
        behind.append(marks["begun"][key][0] - came)
        whole.append(sent - came)
        first, last = min(first, came), max(last, sent)
    cost = 1000 * marks["cpu"] / PEOPLE
    told = f"{PEOPLE / (last - first):.1f} turns/s; {cost:.0f} ms CPU a turn; whole wait {statistics.median(whole):.2f} s"
    p99, bound = _percentile(own, 99), 1.3 * PEOPLE * one
    told += f"; alone {1000 * one:.0f} ms CPU a turn"
    most_told = f"bar: 1.3 x CPU of {PEOPLE} turns; at the very most p50 {statistics.median(most):.2f} s, p99 {_percentile(most, 99):.2f} s"
    return [
        _row(f"{PEOPLE} people {name}: own delay p50", statistics.median(own), "s", "", holds=None) | {"versus": told},
        _row(f"{PEOPLE} people {name}: own delay p95", _percentile(own, 95), "s", "", holds=None),
        _row(f"{PEOPLE} people {name}: own delay p99", p99, "s", f"<= {bound:.2f} s", holds=p99 <= bound) | {"versus": most_told},
        _row(f"{PEOPLE} people {name}: longest until a turn begins", max(behind), "s", "", holds=None),
    ]


def _percentile(values: Sequence[float], part: int) -> float:
    return sorted(values)[len(values) * part // 100 - 1]


def _waited(waits: Sequence[Any]) -> float:
    """Seconds of waits, those side by side once; see the module docstring."""
    spans = sorted((begun, to if what == "pacing" else max(begun, 2 * unseen - to)) for what, begun, to, unseen, _ in waits)
    total, until = 0.0, 0.0
    for begun, end in spans:
        total += max(0.0, end - max(begun, until))
        until = max(until, end)
    return total


def _surely_waited(waits: Sequence[Any]) -> float:
    """Seconds of pacing, and of wires while the loop was idle; of those side by side the shorter does not count."""
    pacing = sum(to - begun for what, begun, to, _, _ in waits if what == "pacing")
    wires = sorted((begun, to, idle) for what, begun, to, _, idle in waits if what != "pacing")
    twice = sum(min(one[2], other[2]) for one, other in pairwise(wires) if other[0] < one[1])
    return float(pacing + sum(idle for _, _, idle in wires) - twice)


@contextlib.asynccontextmanager
async def stage() -> AsyncIterator[Stage]:
    """Fresh servers, fresh people, a fresh bot; all ended at the end."""
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        said = await sandboxes(stack)
        telegram = await stack.enter_async_context(httpx.AsyncClient(base_url=said["telegram"], trust_env=False, timeout=30))
        model = await stack.enter_async_context(httpx.AsyncClient(base_url=said["model"].removesuffix("/v1"), trust_env=False, timeout=30))
        people = []
        for number in range(FIRST, FIRST + PEOPLE + 1):
            met = await telegram.post("/sandbox/users", json={"id": number, "first_name": f"Человек {number}", "role": "lead"})
            met.raise_for_status()
            people.append({"telegram_id": number, "name": f"Человек {number}", "bitrix_user_id": 6, "role": "lead"})
        (folder / "access.yaml").write_text(yaml.safe_dump({"people": people}, allow_unicode=True), encoding="utf-8")
        bot = await started(stack, settings_of(said, folder), "bench.people_bot")
        world = Stage(telegram=telegram, model=model, bot=bot)

        async def polls() -> bool:
            return bool((await telegram.get("/sandbox/counters")).json()["by_method"].get("getUpdates"))

        await until(polls, "a bot that polls")
        yield world


def _plan() -> str:
    steps = [
        {"method": "crm.deal.get", "params": {"id": DEAL}, "comment": ""},
        {"method": "crm.company.get", "params": {"id": COMPANY}, "comment": ""},
        {"method": "crm.deal.list", "params": {"filter": {"ID": DEAL}, "select": ["ID", "TITLE"]}, "comment": ""},
    ]
    return f"THOUGHT: читаю\nACTION: {json.dumps(steps)}\nASSISTANT: Смотрю."


def _said(text: str) -> str:
    return f"THOUGHT: готово\nACTION: []\nASSISTANT: {text}"


def _moment(call: Mapping[str, Any]) -> float:
    return datetime.fromisoformat(call["time"]).timestamp()


def _row(name: str, value: float, unit: str, bar: str, *, holds: bool | None) -> dict[str, Any]:
    return {"name": name, "value": round(value, 3), "unit": unit, "bar": bar, "holds": holds, "versus": ""}
