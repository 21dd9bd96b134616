"""One change of 2,048 records (`change.all`): requests beside the floor, time, the longest hold-up of the loop, another person beside it.

The product is in this process with its real client and limits, the portal in one of its own. Floor: a request to read before, one to write
and one to read back for each fifty records; half a second for each request above the burst of fifty.
"""

import asyncio
import contextlib
import gc
import json
import math
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import httpx

from bench.servers import started, until
from bench.turn_world import ignore_trouble, show_nothing
from bitrix.client.client import BitrixClient
from bitrix.limits.limiter import Limiter
from bot.composition.database import open_async_store
from bot.composition.people import People
from bot.i18n.translate import Translator
from bot.settings.settings import Settings
from bot.telegram.view.message_builder import build_message
from orchestrator.domain.actor import Actor
from orchestrator.domain.models import ModelAnswer
from orchestrator.runtime.worker import Orchestrator
from state.clock import SystemClock, generate_id
from state.journal.async_store import AsyncStore
from state.journal.store import InboxRow
from tests.assembly_kit import assemble

COUNT: Final = 2_048
FIRST: Final = 482
PART: Final = 50
BURST: Final = 50
RATE: Final = 2.0
LEAD: Final = Actor(key="tg:6", name="Вера", role="lead", bitrix_user_id=6, sees="all")
OTHER: Final = Actor(key="tg:8", name="Борис", bitrix_user_id=8)
_PEOPLE: Final = {actor.key: actor for actor in (LEAD, OTHER)}
POLICY: Final = "bulk: {most: 5000}\ncaps: {writes_per_day: 1000000}\n"
_LAG_TICK: Final = 0.005
_LONG: Final = 1_200.0
Row = dict[str, Any]


def build_change(least: int, value: str) -> Row:
    return {"of": "deals", "filter": {">=ID": least}, "fields": {"COMMENTS": value}}


@dataclass(frozen=True)
class Trouble:
    settings: Row = field(default_factory=dict)
    faults: tuple[Row, ...] = ()


TROUBLED: Final = 300
VALUE: Final = "Проверено"
TROUBLES: Final = {
    "portal takes 1 request a second": Trouble({"limits": {"bucket": "1/2", "level": 2}}),
    "portal refuses each tenth": Trouble(
        faults=tuple({"kind": "query_limit", "method": "batch", "after_calls": n} for n in range(9, 60, 10))
    ),
    "portal stops in the middle": Trouble(
        faults=(
            {"kind": "commit_then_drop", "method": "batch", "after_calls": 7},
            {"kind": "html_200", "method": "batch", "after_calls": 7, "times": 4},
        )
    ),
}


class _Model:
    """Does what the text says: a change of all, or a look at one deal."""

    async def stream_chat(self, payload: Row, _on_delta: Any = None) -> ModelAnswer:
        said = str(payload["messages"][-1]["content"])
        asked = next((str(one["content"]) for one in reversed(payload["messages"]) if one["role"] == "user"), "")
        steps: list[Row] = []
        if not said.startswith("OBSERVATION"):
            if "всех" in asked:
                words = asked.rpartition("№")[2].split()
                steps = [
                    {"method": "change.all", "params": build_change(int(words[0]), words[1]), "comment": "так попросили", "last": True}
                ]
            else:
                steps = [{"method": "crm.deal.get", "params": {"id": 481}, "comment": "смотрю"}]
        text = f"THOUGHT:\nдумаю\nACTION:\n{json.dumps(steps, ensure_ascii=False)}\nASSISTANT:\nСмотрю."
        return ModelAnswer(text, 1, 1, "instant", "stop", 0.0)


@dataclass
class _Lag:
    """The longest time in which the loop did nothing else, by phase."""

    phase: str = "idle"
    longest: dict[str, float] = field(default_factory=dict)

    async def watch(self) -> None:
        while True:
            begun = time.perf_counter()
            await asyncio.sleep(_LAG_TICK)
            late = time.perf_counter() - begun - _LAG_TICK
            self.longest[self.phase] = max(self.longest.get(self.phase, 0.0), late)


@dataclass
class World:
    http: httpx.AsyncClient
    orchestrator: Orchestrator
    store: AsyncStore
    lag: _Lag = field(default_factory=_Lag)
    shown: list[Row] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    async def count_requests(self) -> tuple[int, int]:
        """All, and those that were refused."""
        stats = (await self.http.get("/sandbox/stats")).json()
        return int(stats["requests"]), int(stats["refused_503"] + stats["refused_429"])

    async def put(self, actor: Actor, kind: str, body: Row) -> None:
        number = generate_id()
        row = InboxRow(
            id=number,
            source=f"bench:{number}",
            session=actor.key,
            lane="turn" if kind == "message" else "express",
            kind=kind,
            actor=actor.model_dump(mode="json"),
            body=body,
            received_at=SystemClock().now(),
        )
        await self.orchestrator.receive([row])

    async def deliver(self) -> None:
        """A door that makes messages and files as Telegram's does."""
        while True:
            for row in await self.store.list_due_outbox("tg", SystemClock().now() + timedelta(days=1)):
                make = asyncio.to_thread(build_message, row, Translator("ru")) if row.kind == "details" else None
                message = await make if make is not None else build_message(row, Translator("ru"))
                for file in message.files:
                    await asyncio.to_thread(file.build)
                self.shown.append({"kind": row.kind, "session": row.session, "key": row.key, "body": dict(row.body)})
                await self.store.mark_outbox_sent(row.id, "1")
            await asyncio.sleep(0.02)

    async def talk_beside(self) -> None:
        """Another person asks about a deal each second."""
        while True:
            begun, before = time.perf_counter(), len(self.list_shown(OTHER, "reply"))
            await self.put(OTHER, "message", {"text": "что со сделкой 481", "origin": "typed"})
            while len(self.list_shown(OTHER, "reply")) == before:  # noqa: ASYNC110 - the door fires no event
                await asyncio.sleep(0.005)
            self.waits.append(time.perf_counter() - begun)
            await asyncio.sleep(max(0.0, 1 - self.waits[-1]))

    def list_shown(self, actor: Actor, kind: str) -> list[Row]:
        return [row["body"] for row in self.shown if row["session"] == actor.key and row["kind"] == kind]

    async def propose(self, least: int, value: str) -> Row | None:
        """The card as it waits for the press, None for a refusal."""
        before = len(self.shown)
        await self.put(LEAD, "message", {"text": f"поменяй во всех №{least} {value}", "origin": "typed"})

        async def look() -> list[Row]:
            return [row for row in self.shown[before:] if row["session"] == LEAD.key and row["kind"] in {"card", "reply"}]

        first = await until(look, "a card", within=_LONG)
        cards = [row["body"] for row in first if row["kind"] == "card"] or await self._find_card(before)
        if not cards:
            return None
        await self.put(LEAD, "command", {"name": "details", "confirmation_id": cards[-1]["confirmation_id"]})

        async def look_opened() -> list[Row]:
            return [row["body"] for row in self.shown[before:] if row["kind"] == "card" and LEAD.key in row["body"].get("opened", ())]

        opened: list[Row] = await until(look_opened, "the opened card", within=_LONG)
        return opened[-1]

    async def _find_card(self, before: int) -> list[Row]:
        """It may come after the answer."""
        await asyncio.sleep(0.2)
        return [row["body"] for row in self.shown[before:] if row["kind"] == "card" and row["session"] == LEAD.key]

    async def carry_out(self, card: Row) -> list[Row]:
        """The notices of the end."""
        before = len(self.shown)
        given = {"confirmation_id": card["confirmation_id"], "nonce": card["nonce"], "approve": True, "via": "bench"}
        await self.put(LEAD, "decision", {**given, "callback_id": "b"})

        async def look() -> list[Row]:
            bodies = [row["body"] for row in self.shown[before:] if row["key"].endswith(":progress")]
            return [body for body in bodies if body["notices"][0]["code"] != "bulk-progress"]

        return list((await until(look, "the end", within=_LONG))[-1]["notices"])


@contextlib.asynccontextmanager
async def open_world(deals: int) -> AsyncIterator[World]:
    async with contextlib.AsyncExitStack() as stack:
        process = await started(stack, {}, "sandbox.portal", "--port", "0", "--bucket", "off", "--bulk-deals", str(deals))
        addresses = json.loads(await process.stdout.readline()) if process.stdout is not None else {}
        http = await stack.enter_async_context(httpx.AsyncClient(base_url=addresses["portal"], timeout=120))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        policy = folder / "policy.yaml"
        policy.write_text(POLICY, encoding="utf-8")
        settings = Settings(_env_file=None, state_dir=folder / "state", log_dir=folder / "logs", agent_mode="full", policy_file=policy)
        store = await stack.enter_async_context(open_async_store(settings))
        client = await stack.enter_async_context(BitrixClient(addresses["webhook"], limiter=Limiter()))
        people = People(report_trouble=ignore_trouble, show_partial=show_nothing, refresh_actor=lambda actor: _PEOPLE.get(actor.key))
        model: Any = _Model()
        orchestrator = assemble(settings, store, client, model, people, clock=SystemClock())
        gc.collect()
        gc.freeze()
        world = World(http, orchestrator, store)
        tasks = [asyncio.ensure_future(work) for work in (orchestrator.run(), world.lag.watch(), world.deliver())]
        try:
            yield world
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.to_thread(orchestrator.tools.audit.wait, 60)
            gc.unfreeze()


async def _set_portal(world: World, **portal: Row) -> None:
    for name, values in portal.items():
        (await world.http.post(f"/sandbox/{name}", json=values)).raise_for_status()


async def change_benches() -> list[Row]:
    """All rows; about five minutes."""
    async with open_world(COUNT) as world:
        await _set_portal(world, limits={"bucket": "2/50"})
        rows = await _measure(world)
    return [*rows, *[await _measure_trouble(name, trouble) for name, trouble in TROUBLES.items()]]


async def _measure_trouble(name: str, trouble: Trouble) -> Row:
    """Whether the end tells the truth about each record."""
    async with open_world(TROUBLED) as world:
        card = await world.propose(FIRST, VALUE)
        if card is None:
            msg = "no card"
            raise RuntimeError(msg)
        await _set_portal(world, **trouble.settings)
        for fault in trouble.faults:
            (await world.http.post("/sandbox/faults", json=fault)).raise_for_status()
        begun = time.perf_counter()
        head, *left = await world.carry_out(card)
        seconds = time.perf_counter() - begun
        deals = (await world.http.get("/sandbox/records/deal")).json()
        written = sum(deal["COMMENTS"] == VALUE for deal in deals)
        named = sum(one["args"]["count"] for one in left)
        told = head["args"]["made"], head["args"]["count"]
        is_true = told == (written, TROUBLED) and written + named == TROUBLED
        reasons = ", ".join(f"{one['args']['why']} {one['args']['count']}" for one in left)
        return _row(
            f"{TROUBLED} records, {name}", round(seconds, 1), "s", "told truly", is_true, f"{written} written; {reasons or 'none left'}"
        )


async def _measure(world: World) -> list[Row]:
    beside = asyncio.ensure_future(world.talk_beside())
    await asyncio.sleep(5)
    alone, world.waits = world.waits, []
    world.lag.phase = "freeze"
    before, begun = await world.count_requests(), time.perf_counter()
    card = await world.propose(FIRST, VALUE)
    if card is None:
        msg = "no card"
        raise RuntimeError(msg)
    frozen, frozen_at = await world.count_requests(), time.perf_counter()
    world.lag.phase, turns_at_freeze = "run", len(world.waits)
    notices = await world.carry_out(card)
    ended, ended_at = await world.count_requests(), time.perf_counter()
    beside.cancel()
    await asyncio.gather(beside, return_exceptions=True)
    others = len(world.waits) - turns_at_freeze
    floor = 3 * math.ceil(COUNT / PART)
    requests = ended[0] - frozen[0] - others
    refused = ended[1] - before[1]
    waits = sorted(world.waits)
    p99 = waits[int(len(waits) * 0.99)]
    return [
        _row(
            "2,048 records: requests / floor",
            round(requests / floor, 3),
            "x",
            "<= 1.05",
            requests <= 1.05 * floor,
            f"{requests} of {floor}, {others} turns beside",
        ),
        _row(
            "2,048 records: refused requests",
            refused,
            "",
            "<= 2",
            refused <= 2,
            f"{notices[0]['args']['made']} made, {len(notices) - 1} reasons for others",
        ),
        _row("2,048 records: frozen", round(frozen_at - begun, 2), "s", "", None, f"{frozen[0] - before[0]} requests"),
        _row(
            "2,048 records: changed",
            round(ended_at - frozen_at, 1),
            "s",
            "",
            None,
            f"floor {max(0, requests + others - BURST) / RATE:.0f} s with the turns beside",
        ),
        *(
            _row(
                f"2,048 records: longest hold-up, {name}",
                round(1000 * world.lag.longest[name]),
                "ms",
                "<= 100",
                world.lag.longest[name] <= 0.1,
                "",
            )
            for name in ("freeze", "run")
        ),
        _row(
            "another person beside it, p99",
            round(p99, 2),
            "s",
            "<= 2",
            p99 <= 2,
            f"{len(waits)} turns, max {waits[-1]:.2f}, alone {max(alone):.2f}",
        ),
    ]


def _row(name: str, value: float, unit: str, bar: str, holds: bool | None, versus: str) -> Row:  # noqa: FBT001 - one line of the table
    return {"name": name, "value": value, "unit": unit, "bar": bar, "holds": holds, "versus": versus}
