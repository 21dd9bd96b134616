"""What a turn costs beyond the model and the portal: text → card → approval → one write → answer stored, both answering at once.

Real orchestrator, gate, journal; SQLite on disk with synchronous=FULL. The model stands at the port `Model`, the portal behind the
client's `call`: no HTTP is part of the overhead. A row of its own tells what a turn costs with both HTTP clients and the door's delivery.
Beside it: the same turn in the agent frameworks, with the same fakes (`peers_turn`).
"""

import asyncio
import contextlib
import gc
import itertools
import json
import re
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from pydantic import SecretStr

from bench.peers_turn import Figures, peers
from bitrix.answers import Answer
from bitrix.client.client import BitrixClient
from bitrix.limits.limiter import Limiter
from bot.bootstrap import build_from_clients
from bot.database import open_async_store
from bot.settings import Settings
from orchestrator.domain.actor import Actor
from orchestrator.domain.models import ModelAnswer
from orchestrator.domain.outputs import Notice
from orchestrator.model_client.client import ModelClient
from orchestrator.model_client.settings import ModelSettings
from orchestrator.runtime.worker import Orchestrator
from state.clock import SystemClock, generate_id
from state.journal.async_store import AsyncStore
from state.journal.store import Commit, InboxRow, OutboxRow

WARM_UP = 10
EARLY = 20
LATE = 2000
WINDOW = 100
WITH_WIRES = 60
FRESH = 60
GROWTH_ROUNDS = 120
UNDELIVERED = 500
YOUNG = "young"
SESSION = "tg:7"
PERSON = 7
DEAL = 481
DEAL_NAMED = re.compile(r"сделки (\d+)")
PLAN = [{"method": "crm.deal.update", "params": {"id": DEAL, "fields": {"OPPORTUNITY": 0}}, "comment": "Меняю сумму"}]


class Portal:
    """The least portal that the turn needs: deals, which there are as soon as somebody asks for them, stages, funnels."""

    def __init__(self) -> None:
        self.deal = {"ID": str(DEAL), "TITLE": "Ромашка", "OPPORTUNITY": "120000.00", "CURRENCY_ID": "RUB", "STAGE_ID": "NEW"}
        self.deal |= {"ASSIGNED_BY_ID": "7", "CATEGORY_ID": "0", "CLOSED": "N"}
        self._others: dict[str, dict[str, str]] = {}
        self.writes = 0

    def _find_deal(self, number: str) -> dict[str, str]:
        return self.deal if number == self.deal["ID"] else self._others.setdefault(number, {**self.deal, "ID": number})

    def result(self, method: str, body: dict[str, Any]) -> Any:
        """The `result` of one call."""
        match method:
            case "crm.deal.get":
                return dict(self._find_deal(str(body["id"])))
            case "crm.deal.update":
                self.writes += 1
                self._find_deal(str(body["id"])).update({key: str(value) for key, value in body["fields"].items()})
                return True
            case "crm.category.list":
                return {"categories": [{"id": 0, "name": "Продажи"}]}
            case "crm.status.list":
                return [{"STATUS_ID": "NEW", "NAME": "Новая", "SORT": "10"}]
            case _:
                return []

    def wire(self, request: httpx.Request) -> httpx.Response:
        """The same over HTTP."""
        method = request.url.path.rsplit("/", 1)[-1]
        return httpx.Response(200, json={"result": self.result(method, json.loads(request.content)), "total": 1})


class InstantClient(BitrixClient):
    """The client without its wire: every call is answered at once."""

    def __init__(self, portal: Portal) -> None:
        super().__init__("http://127.0.0.1:9/rest/1/bench/", limiter=Limiter.create_unlimited())
        self._answers = portal

    async def call(self, method: str, params: Any, **_: Any) -> Answer:
        """What the portal says."""
        return Answer(self._answers.result(method, params), 1)


class InstantModel:
    """The port `Model`; every plan proposes another sum, so that no two calls are the same. What became of a card ends the turn."""

    def __init__(self) -> None:
        self._answered = 0

    def answer(self, messages: list[dict[str, Any]]) -> str:
        """What it says to these messages."""
        said = str(messages[-1]["content"])
        if said.startswith("OBSERVATION"):
            return "THOUGHT:\nвсё сделано\nACTION:\n[]\nASSISTANT:\n"
        self._answered += 1
        steps = json.loads(json.dumps(PLAN))
        steps[0]["params"]["fields"]["OPPORTUNITY"] = 100_000 + self._answered
        if named := DEAL_NAMED.search(said):
            steps[0]["params"]["id"] = int(named[1])
        return f"THOUGHT:\nменяю\nACTION:\n{json.dumps(steps, ensure_ascii=False)}\nASSISTANT:\nМеняю сумму сделки."

    async def stream_chat(self, payload: dict[str, Any], on_delta: Any) -> ModelAnswer:
        """One answer in one piece."""
        text = self.answer(payload["messages"])
        if on_delta is not None:
            await on_delta(text)
        return ModelAnswer(text, 1, 1, "instant", "stop", 0.0)

    def wire(self, request: httpx.Request) -> httpx.Response:
        """The same over HTTP."""
        text = self.answer(json.loads(request.content)["messages"])
        choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return httpx.Response(200, json={"model": "instant", "choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})


@dataclass(frozen=True, kw_only=True)
class Clients:
    """What reaches the portal and the model."""

    bitrix: BitrixClient
    model: Any


def instant(portal: Portal) -> Clients:
    """No wires."""
    return Clients(bitrix=InstantClient(portal), model=InstantModel())


def over_http(portal: Portal) -> Clients:
    """Both HTTP clients as they are, with a transport that answers at once."""
    bitrix = BitrixClient(
        "http://127.0.0.1:9/rest/1/bench/", limiter=Limiter.create_unlimited(), transport=httpx.MockTransport(portal.wire)
    )
    base = ModelSettings(base_url="http://127.0.0.1:9/v1", api_key=SecretStr("bench"))
    return Clients(bitrix=bitrix, model=ModelClient(base, transport=httpx.MockTransport(InstantModel().wire)))


async def turn_benches() -> list[dict[str, Any]]:
    """Overhead and journal bytes of a turn, early and late in one conversation; the same of the peers."""
    async with product(instant) as runner:
        times, sizes = await runner.turns(LATE)
        fresh = [await runner.turn(f"tg:{1000 + number}", number) for number in range(FRESH)]
        async with product(instant) as young:
            growth = await _measure_growth(runner, young)
    async with product(over_http) as runner:
        wired = [await runner.turn(SESSION, number, delivered=True) for number in range(WITH_WIRES)]
    ours = Figures(name="sdelka", fresh=_ms(fresh[WARM_UP:]), early=_ms(times[WARM_UP : WARM_UP + WINDOW]), late=_ms(times[-WINDOW:]))
    return [*_rows(ours, sizes, _ms(wired[WARM_UP:])), *_show_growth(growth), *_show_peers(await asyncio.to_thread(peers))]


class Growth(NamedTuple):
    """What a turn costs in one case: CPU milliseconds of it and of a young turn (medians), and the median of their ratios in one round."""

    spent: float
    young: float
    ratio: float


async def _measure_growth(old: "Runner", young: "Runner") -> dict[str, Growth]:
    """What a turn costs with a journal of 2,000 turns of one person in one conversation, by case.

    In the cases but the first, a young conversation goes on: what is old is only what the case names.
    """
    numbers = itertools.count(10_000)
    cases: dict[str, Callable[[], Awaitable[float]]] = {
        YOUNG: lambda: young.turn(SESSION, 0, deal=next(numbers)),
        "of one conversation": lambda: old.turn(SESSION, 0, deal=next(numbers)),
        "of one deal": lambda: old.turn("tg:2001", 0, person=2001),
        "of one person in a day": lambda: old.turn("tg:2002", 0, deal=next(numbers)),
    }
    found = await _measure_cases(cases)
    await old.leave_undelivered(UNDELIVERED)
    away = f"with {UNDELIVERED} messages undelivered"
    with_away = await _measure_cases({YOUNG: cases[YOUNG], away: cases["of one person in a day"]})
    return found | with_away


async def _measure_cases(cases: Mapping[str, Callable[[], Awaitable[float]]]) -> dict[str, Growth]:
    """What a turn costs by case, beside the case `YOUNG`: one turn of each case in every round, compared with the young one of that round.

    A machine that others use has quick and slow seconds. The least of longer windows compares one case's quick second with another's slow
    one (0.8 and 1.4 for the same code); two turns that follow each other meet the same second.
    """
    spent: dict[str, list[float]] = {name: [] for name in cases}
    for number in range(EARLY + GROWTH_ROUNDS):
        for name, turn in cases.items():
            started = time.process_time()
            await turn()
            if number >= EARLY:  # the first ones warm up
                spent[name].append(1000 * (time.process_time() - started))
    young = spent.pop(YOUNG)
    medians = {name: round(statistics.median(times), 2) for name, times in spent.items()}
    beside = round(statistics.median(young), 2)
    return {
        name: Growth(medians[name], beside, statistics.median(one / other for one, other in zip(times, young, strict=True)))
        for name, times in spent.items()
    }


@contextlib.asynccontextmanager
async def product(clients_of: Callable[[Portal], Clients]) -> AsyncIterator["Runner"]:
    """The whole product on a fresh disk; at the end it is checked that every approval made one write."""
    with tempfile.TemporaryDirectory() as folder:
        policy = Path(folder) / "policy.yaml"
        policy.write_text("caps: {writes_per_day: 1000000}\n", encoding="utf-8")  # nobody makes so many changes a day as a bench
        settings = Settings(
            _env_file=None, state_dir=Path(folder) / "state", log_dir=Path(folder) / "logs", agent_mode="full", policy_file=policy
        )
        async with open_async_store(settings) as store:
            portal = Portal()
            clients = clients_of(portal)
            orchestrator = build_from_clients(
                settings, store, clients.bitrix, clients.model, trouble=_ignore, partial=_silent, clock=SystemClock()
            )
            # What falls due by itself is no part of a turn, and would end the wait for one too early.
            orchestrator.tools = replace(orchestrator.tools, features=replace(orchestrator.tools.features, periodic_tasks=()))
            working = asyncio.ensure_future(orchestrator.run())
            runner = Runner(orchestrator, store)
            gc.collect()
            gc.freeze()  # as `sdelka run` does: what was imported is not looked through for garbage
            yield runner
            gc.unfreeze()
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            await asyncio.to_thread(orchestrator.tools.audit.wait, 60)  # a writer of its own; the folder goes away
            if portal.writes != runner.approvals:
                msg = f"{portal.writes} writes for {runner.approvals} approvals"
                raise RuntimeError(msg)


class Runner:
    """Sends one request and one approval after the other, and waits for what comes of each."""

    def __init__(self, orchestrator: Orchestrator, store: AsyncStore) -> None:
        self._orchestrator = orchestrator
        self._store = store
        self._handled = asyncio.Semaphore(0)
        orchestrator.listeners.append(self._handled.release)
        self._last = 0
        self.approvals = 0
        self.delivering = 0.0
        """Seconds of the processor for taking messages from the outbox in the door's place, while nothing else is at work."""

    async def turns(self, count: int) -> tuple[list[float], list[int]]:
        """Seconds and journal bytes of each turn of one conversation about one deal."""
        times, sizes = [], []
        for number in range(1, count + 1):
            times.append(await self.turn(SESSION, number))
            if number % WINDOW == 0:
                sizes.extend([await self._journal_bytes() // WINDOW] * WINDOW)
        return times, sizes

    async def turn(self, session: str, number: int, *, deal: int = DEAL, person: int = PERSON, delivered: bool = False) -> float:
        """Seconds from the text to the stored card, and from the approval to the stored end; `delivered` adds the door's part."""
        started = time.perf_counter()
        sees = "own" if person == PERSON else "all"  # all deals are of the first person
        actor = Actor(key=session, name="Борис", bitrix_user_id=person, sees=sees).model_dump(mode="json")
        asked = {"text": f"подними сумму сделки {deal}, раз {number}", "origin": "typed"}
        await self._input(session, actor, "message", "turn", asked)
        paused = time.perf_counter()
        card = next(row for row in await self._take() if row.kind == "card" and row.session == session)
        approval = {"confirmation_id": card.body["confirmation_id"], "nonce": card.body["nonce"], "approve": True, "via": "bench"}
        resumed = time.perf_counter()
        await self._input(session, actor, "decision", "express", approval, handled=2)  # the turn goes on, and reads what became of it
        answered = time.perf_counter()
        await self._take()
        self.approvals += 1
        return time.perf_counter() - started if delivered else (paused - started) + (answered - resumed)

    async def receive(self, rows: list[InboxRow]) -> None:
        """Take inputs of other sessions in."""
        await self._orchestrator.receive(rows)

    async def rest(self) -> None:
        """Wait until nothing is at work, such as a turn that goes on after its card; what was said is taken as delivered."""
        while not await self._orchestrator.is_idle():  # noqa: ASYNC110 - the end of work is told before all of it is over
            await asyncio.sleep(0)
        await self._take()

    async def write(self, function: Callable[..., None], *args: Any) -> None:
        """Call `function` with the store and `args`."""
        await self._store.write(function, *args)

    async def leave_undelivered(self, count: int) -> None:
        """Store so many messages of another channel that nobody delivers, in as many chats."""
        now = SystemClock().now()
        lease = await self._store.acquire("bench:away", "bench", now, now + timedelta(minutes=1))
        assert lease is not None
        rows = [
            OutboxRow(
                id=generate_id(),
                session=f"away:{number}",
                channel="away",
                kind="reply",
                key=f"turn:{number}",
                body={"text": "x" * 500},
                created_at=now,
                due_at=now,
            )
            for number in range(count)
        ]
        await self._store.commit(Commit(stream="session:bench:away", epoch=lease.epoch, actor="system", now=now, outbox=rows))

    async def _input(self, session: str, actor: dict[str, Any], kind: str, lane: Any, body: dict[str, Any], *, handled: int = 1) -> None:
        while not self._handled.locked():  # what others' inputs have left
            await self._handled.acquire()
        row_id = generate_id()
        row = InboxRow(
            id=row_id,
            source=row_id,
            session=session,
            lane=lane,
            kind=kind,
            actor=actor,
            body=body,
            received_at=SystemClock().now(),
        )
        await self._orchestrator.receive([row])
        for _ in range(handled):
            await self._handled.acquire()

    async def _take(self) -> list[Any]:
        """Everything that waits in the outbox, which gives one row of a chat at a time."""
        begun = time.process_time()
        taken: list[Any] = []
        while rows := await self._store.list_due_outbox("tg", SystemClock().now()):
            for row in rows:
                await self._store.mark_outbox_sent(row.id, "1")
            taken.extend(rows)
        self.delivering += time.process_time() - begun
        return taken

    async def _journal_bytes(self) -> int:
        total = 0
        while events := await self._store.read_events(f"session:{SESSION}", self._last, 1000):
            total += sum(len(event.raw.encode()) + len(event.hash) for event in events)
            self._last = events[-1].seq
        return total


def _rows(ours: Figures, sizes: list[int], wired: float) -> list[dict[str, Any]]:
    return [
        _row(f"turn overhead p50, turn {EARLY}", ours.early, "ms", "", holds=None),
        _row(f"turn overhead p50, turn {LATE}", ours.late, "ms", "", holds=None),
        _row("turn p50, first of a conversation", ours.fresh, "ms", "", holds=None),
        _row("turn p50 with HTTP clients and delivery", wired, "ms", "", holds=None),
        _row(f"journal bytes, turn {EARLY}", sizes[EARLY], "B", "<= 6144", holds=sizes[EARLY] <= 6144),
        _row(f"journal bytes, turn {LATE}", sizes[LATE - 1], "B", "not growing", holds=sizes[LATE - 1] <= 1.1 * sizes[EARLY]),
    ]


def _show_growth(growth: Mapping[str, Growth]) -> list[dict[str, Any]]:
    """Rows of the ratios: turn 2,000 / turn 20."""
    rows = []
    for name, case in growth.items():
        ratio = round(case.ratio, 2)
        told = f"{case.spent} / {case.young} ms of CPU, median of {GROWTH_ROUNDS} pairs"
        rows.append(_row(f"turn {LATE} / turn {EARLY} {name}", ratio, "x", "<= 1.1", holds=ratio <= 1.1) | {"versus": told})
    return rows


def _show_peers(others: list[Figures]) -> list[dict[str, Any]]:
    rows = []
    for other in others:
        told = f"turn 200 of one thread: {other.late} ms"
        rows.append(_row(f"{other.name}: same turn p50, fresh thread", other.fresh, "ms", "", holds=None) | {"versus": told})
    return rows


def _row(name: str, value: float, unit: str, bar: str, *, holds: bool | None) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "bar": bar, "holds": holds, "versus": ""}


def _ms(seconds: list[float]) -> float:
    return round(statistics.median(seconds) * 1000, 2)


async def _ignore(session: str, notice: Notice) -> None:
    del session, notice


async def _silent(session: str, text: Any) -> None:
    del session, text
