"""What a turn costs beyond the model and the portal: text → card → approval → call → outcome, both answering at once.

Real orchestrator, gate, journal and clients; SQLite on disk with synchronous=FULL; only the two wires are replaced.
"""

import asyncio
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
from pydantic import SecretStr

from bitrix.client import BitrixClient
from bitrix.limiter import Limiter
from bot.bootstrap import assemble, opened_store
from bot.settings import Settings
from orchestrator.messages import Actor, Notice
from orchestrator.model_client.client import ModelClient
from orchestrator.model_client.settings import ModelSettings
from orchestrator.workers import Orchestrator
from state.clock import SystemClock, new_id
from state.store import InboxRow
from state.worker import AsyncStore

WARM_UP = 10
EARLY = 20
LATE = 2000
WINDOW = 40
PLAN = [{"method": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 0}}, "comment": "Меняю сумму"}]


class Portal:
    """The least portal that the turn needs: one deal, stages, funnels."""

    def __init__(self) -> None:
        self.deal = {"ID": "481", "TITLE": "Ромашка", "OPPORTUNITY": "120000.00", "CURRENCY_ID": "RUB", "STAGE_ID": "NEW"}
        self.deal |= {"ASSIGNED_BY_ID": "7", "CATEGORY_ID": "0", "CLOSED": "N"}
        self.writes = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """One answer."""
        method = request.url.path.rsplit("/", 1)[-1]
        body = json.loads(request.content)
        return httpx.Response(200, json={"result": self._result(method, body), "total": 1})

    def _result(self, method: str, body: dict[str, Any]) -> Any:
        match method:
            case "crm.deal.get":
                return self.deal
            case "crm.deal.update":
                self.writes += 1
                self.deal |= {key: str(value) for key, value in body["fields"].items()}
                return True
            case "crm.category.list":
                return {"categories": [{"id": 0, "name": "Продажи"}]}
            case "crm.status.list":
                return [{"STATUS_ID": "NEW", "NAME": "Новая", "SORT": "10"}]
            case _:
                return []


def _model(counter: list[int]) -> httpx.MockTransport:
    """Every answer proposes another sum, so that no two calls are the same."""

    def answer(request: httpx.Request) -> httpx.Response:
        del request
        counter[0] += 1
        steps = json.loads(json.dumps(PLAN))
        steps[0]["params"]["fields"]["OPPORTUNITY"] = 100_000 + counter[0]
        text = f"THOUGHT:\nменяю\nACTION:\n{json.dumps(steps, ensure_ascii=False)}\nASSISTANT:\nМеняю сумму сделки."
        choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return httpx.Response(200, json={"model": "instant", "choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})

    return httpx.MockTransport(answer)


async def turn_benches() -> list[dict[str, Any]]:
    """Overhead and journal bytes of a turn, early and late in one conversation."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(_env_file=None, state_dir=Path(folder) / "state", log_dir=Path(folder) / "logs", agent_mode="full")
        async with opened_store(settings) as store:
            portal, counter = Portal(), [0]
            client = BitrixClient("http://127.0.0.1:9/rest/1/bench/", limiter=Limiter.off(), transport=httpx.MockTransport(portal))
            base = ModelSettings(base_url="http://127.0.0.1:9/v1", api_key=SecretStr("bench"))
            model = ModelClient(base, transport=_model(counter))
            orchestrator = assemble(settings, store, client, model, trouble=_ignore, partial=_silent, clock=SystemClock())
            working = asyncio.ensure_future(orchestrator.run())
            runner = Runner(orchestrator, store)
            times, sizes = await runner.turns(LATE + WINDOW)
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            if portal.writes != LATE + WINDOW:
                msg = f"{portal.writes} writes for {LATE + WINDOW} approvals"
                raise RuntimeError(msg)
    return _rows(times, sizes)


class Runner:
    """Sends one request and one approval after the other, and waits for what comes of each."""

    def __init__(self, orchestrator: Orchestrator, store: AsyncStore) -> None:
        self._orchestrator = orchestrator
        self._store = store
        self._done = asyncio.Event()
        orchestrator.listeners.append(self._done.set)
        self._actor = Actor(key="tg:7", name="Борис", bitrix_user_id=7).model_dump(mode="json")

    async def turns(self, count: int) -> tuple[list[float], list[int]]:
        """Seconds and journal bytes of each turn."""
        times, sizes, before = [], [], 0
        for number in range(1, count + 1):
            started = time.perf_counter()
            await self._input("message", "turn", {"text": f"подними сумму сделки 481, раз {number}", "origin": "typed"})
            card = next(row for row in await self._take() if row.kind == "card")
            approval = {"confirmation_id": card.body["confirmation_id"], "nonce": card.body["nonce"], "approve": True, "via": "bench"}
            await self._input("decision", "express", approval)
            times.append(time.perf_counter() - started)
            await self._take()
            if number % WINDOW == 0:
                total = await self._journal_bytes(before)
                sizes.extend([total // WINDOW] * WINDOW)
                before = self._last
        return times, sizes

    async def _input(self, kind: str, lane: Any, body: dict[str, Any]) -> None:
        row_id = new_id()
        row = InboxRow(
            id=row_id,
            source=row_id,
            session="tg:7",
            lane=lane,
            kind=kind,
            actor=self._actor,
            body=body,
            received_at=SystemClock().now(),
        )
        self._done.clear()
        await self._orchestrator.receive([row])
        await self._done.wait()

    async def _take(self) -> list[Any]:
        """Everything that waits in the outbox, which gives one row of a chat at a time."""
        taken: list[Any] = []
        while rows := await self._store.due_outbox("tg", SystemClock().now()):
            for row in rows:
                await self._store.outbox_sent(row.id, "1")
            taken.extend(rows)
        return taken

    async def _journal_bytes(self, after: int) -> int:
        total = 0
        self._last = after
        while events := await self._store.read_events("session:tg:7", self._last, 1000):
            total += sum(len(event.raw.encode()) + len(event.hash) for event in events)
            self._last = events[-1].seq
        return total


def _rows(times: list[float], sizes: list[int]) -> list[dict[str, Any]]:
    early = statistics.median(times[WARM_UP : WARM_UP + WINDOW]) * 1000
    late = statistics.median(times[LATE - WINDOW : LATE + WINDOW]) * 1000
    return [
        _row(f"turn overhead p50, turn {EARLY}", round(early, 2), "ms", "<= 2 ms", holds=early <= 2),
        _row(f"turn overhead p50, turn {LATE}", round(late, 2), "ms", "", holds=None),
        _row(f"turn {LATE} / turn {EARLY}", round(late / early, 2), "x", "<= 1.2", holds=late / early <= 1.2),
        _row(f"journal bytes, turn {EARLY}", sizes[EARLY], "B", "<= 6144", holds=sizes[EARLY] <= 6144),
        _row(f"journal bytes, turn {LATE}", sizes[LATE - 1], "B", "not growing", holds=sizes[LATE - 1] <= 1.1 * sizes[EARLY]),
    ]


def _row(name: str, value: float, unit: str, bar: str, *, holds: bool | None) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "bar": bar, "holds": holds, "versus": ""}


async def _ignore(session: str, notice: Notice) -> None:
    del session, notice


async def _silent(session: str, text: str) -> None:
    del session, text
