"""The whole product for the benches of a turn, with the least portal and model that it needs, and who sends it requests and approvals."""

import asyncio
import contextlib
import gc
import json
import re
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
from pydantic import SecretStr

from bitrix.answers import Answer
from bitrix.client.client import BitrixClient
from bitrix.limits.limiter import Limiter
from bot.composition.database import open_async_store
from bot.composition.people import People
from bot.settings.settings import Settings
from orchestrator.domain.actor import Actor
from orchestrator.domain.models import ModelAnswer
from orchestrator.domain.outputs import Notice
from orchestrator.model_client.client import ModelClient
from orchestrator.model_client.settings import ModelSettings
from orchestrator.runtime.worker import Orchestrator
from state.clock import SystemClock, generate_id
from state.journal.async_store import AsyncStore
from state.journal.store import Commit, InboxRow, OutboxRow
from tests.assembly_kit import assemble

SESSION = "tg:7"
PERSON = 7
DEAL = 481
DEAL_NAMED = re.compile(r"сделки (\d+)")
PLAN = [{"method": "crm.deal.update", "params": {"id": DEAL, "fields": {"OPPORTUNITY": 0}}, "comment": "Меняю сумму"}]
WINDOW = 100


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
            orchestrator = assemble(
                settings,
                store,
                clients.bitrix,
                clients.model,
                clock=SystemClock(),
                people=People(report_trouble=ignore_trouble, show_partial=show_nothing),
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


async def ignore_trouble(session: str, notice: Notice) -> None:
    del session, notice


async def show_nothing(session: str, text: Any) -> None:
    del session, text
