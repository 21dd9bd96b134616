"""The program that gets killed: forked from a process that has everything imported, it plays one conversation and dies where it is told.

Only this file installs hooks; the product knows nothing of them. A kill is SIGKILL: no handler, no flush, no goodbye.
"""

import asyncio
import functools
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent), str(ROOT / "tests" / "unit")]

import httpx  # noqa: E402 - after the path is set
from crash_faults import FAULTS  # noqa: E402
from pydantic import SecretStr  # noqa: E402

from bitrix.client import BitrixClient  # noqa: E402
from bitrix.limiter import Limiter  # noqa: E402
from bot import bootstrap  # noqa: E402
from bot.settings import Settings  # noqa: E402
from orchestrator import workers  # noqa: E402
from orchestrator.messages import Actor  # noqa: E402
from orchestrator.model_client.client import ModelClient  # noqa: E402
from orchestrator.model_client.settings import ModelSettings  # noqa: E402
from orchestrator.queries import open_cards  # noqa: E402
from orchestrator.workers import Orchestrator  # noqa: E402
from state.clock import new_id  # noqa: E402
from state.sql.database import Database  # noqa: E402
from state.sql.dialect import opening, sqlite_url  # noqa: E402
from state.sql.statements import Statements  # noqa: E402
from state.sql.store import SqlStore, open_store  # noqa: E402
from state.store import InboxRow, Lane, OutboxRow  # noqa: E402
from state.worker import AsyncStore  # noqa: E402

CHAT = "tg:1007"
ANNA = Actor(key=CHAT, name="Анна", bitrix_user_id=7)
STORE_CALLS = ("commit", "put_inbox", "next_inbox", "outbox_sent", "acquire")
WIRE = "handle_async_request"


class Shifted:
    """The machine's clock, some minutes on: the lease of a dead process is over."""

    def __init__(self, seconds: float) -> None:
        self._by = timedelta(seconds=seconds)

    def now(self) -> datetime:
        return datetime.now(UTC) + self._by


class Killer:
    """Counts the points a run passes and kills the process at the chosen one."""

    def __init__(self, at: int, kinds: list[str]) -> None:
        self._at, self._kinds, self._count = at, tuple(kinds), 0
        self._lock = threading.Lock()

    def point(self, name: str) -> None:
        if not name.startswith(self._kinds):
            return
        with self._lock:
            self._count += 1
            if self._count == self._at:
                sys.stderr.write(f"killed at {name}\n")
                os.kill(os.getpid(), signal.SIGKILL)
                time.sleep(60)

    def install(self) -> None:
        """Around every write of the store and every request on the wire."""
        for name in STORE_CALLS:
            setattr(SqlStore, name, self._around(name, getattr(SqlStore, name)))
        sent = httpx.AsyncHTTPTransport.handle_async_request

        async def send(transport: httpx.AsyncHTTPTransport, request: httpx.Request) -> httpx.Response:
            kind = "ask" if "completions" in request.url.path else "send" if _is_write(request) else "look"
            self.point(f"{kind}.before")
            response = await sent(transport, request)
            await response.aread()
            self.point(f"{kind}.after")
            return response

        setattr(httpx.AsyncHTTPTransport, WIRE, send)

    def _around(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def wrapped(store: SqlStore, *args: Any) -> Any:
            idle = name == "put_inbox" and not args[0]
            if not idle:
                self.point(f"{name}.before")
            found = call(store, *args)
            if not idle:
                self.point(f"{name}.after")
            return found

        return wrapped


def _is_write(request: httpx.Request) -> bool:
    method = request.url.path.rpartition("/")[2]
    return method.endswith((".add", ".update")) or (method == "batch" and b".update" in request.content)


class Door:
    """The chat: it delivers, writes down what the person saw, and presses every card twice."""

    def __init__(self, store: AsyncStore, orchestrator: Orchestrator, chat: Path, clock: Shifted) -> None:
        self._store, self._orchestrator, self._chat, self._clock = store, orchestrator, chat, clock

    async def converse(self, script: list[str]) -> None:
        """Say everything (once, whatever is said again), press what asks, until nothing is left."""
        await self._settle()
        for number, text in enumerate(script):
            await self._orchestrator.receive([self._row(f"m{number}", "message", "turn", {"text": text, "origin": "typed"})])
            await self._settle()
        for entry in await open_cards(self._store, CHAT):
            await self._press(entry)
        await self._settle()

    async def _settle(self) -> None:
        while True:
            rows = await self._store.due_outbox("tg", self._clock.now())
            for row in rows:
                await self._deliver(row)
            if not rows and await self._orchestrator.idle() and not await self._store.due_timers(self._clock.now()):
                return
            await asyncio.sleep(0.001)

    async def _deliver(self, row: OutboxRow) -> None:
        with self._chat.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"kind": row.kind, "key": row.key, "body": dict(row.body)}, ensure_ascii=False) + "\n")
        await self._store.outbox_sent(row.id, "77")
        if row.kind == "card" and row.body["status"] == "requested":
            await self._press(row.body)
        for choice in row.body.get("choices") or ()[:1]:
            question, _, option = choice["token"].rpartition(":")
            body = {"answers": question, "option": int(option), "origin": "choice"}
            await self._orchestrator.receive([self._row(f"choice:{question}", "message", "turn", body)])
            break

    async def _press(self, entry: Any) -> None:
        body = {"confirmation_id": entry["confirmation_id"], "nonce": entry["nonce"], "approve": True, "via": "button"}
        for _ in range(2):
            await self._orchestrator.receive([self._row(new_id(), "decision", "express", {**body, "callback_id": new_id()})])

    def _row(self, source: str, kind: str, lane: Lane, body: dict[str, Any]) -> InboxRow:
        return InboxRow(
            id=new_id(),
            source=source,
            session=CHAT,
            lane=lane,
            kind=kind,
            actor=ANNA.model_dump(mode="json"),
            body=body,
            received_at=self._clock.now(),
        )


@functools.cache
def statements() -> Statements:
    """Compiled once, before the forks."""
    with opening("sqlite://") as dialect:
        return Statements(Database(dialect), dialect)


@functools.cache
def rules() -> Any:
    """Catalogue and policy, read once, before the forks."""
    return bootstrap._rules(Settings(_env_file=None))  # type: ignore[call-arg]


def opened(path: Path) -> SqlStore:
    """The real store on a file that has its schema already."""
    with opening(sqlite_url(path)) as dialect:
        store = SqlStore.__new__(SqlStore)
        store._database, store._statements = Database(dialect), statements()
        return store


async def play(told: dict[str, Any]) -> None:
    """The product, put together as it ships, for one conversation."""
    clock, folder = Shifted(told["shift"]), Path(told["folder"])
    base = f"http://127.0.0.1:{told['port']}"
    webhook = f"{base}/rest/1/{told['code']}/"
    settings = Settings(bitrix_webhook_url=webhook, agent_mode="full", log_dir=folder / "logs", _env_file=None)  # type: ignore[call-arg, arg-type]
    wire = httpx.AsyncHTTPTransport(verify=False)  # noqa: S501 - loopback, and reading certificates costs more than the rest
    store = AsyncStore(opened(folder / "sdelka.db"))

    async def silent(*args: Any) -> None:
        pass

    async with BitrixClient(webhook, limiter=Limiter.off(), transport=wire) as client:
        model = ModelClient(ModelSettings(base_url=f"{base}/v1", api_key=SecretStr("k")), transport=httpx.AsyncHTTPTransport(verify=False))  # noqa: S501
        with patch.object(bootstrap, "_rules", lambda _: rules()):
            orchestrator = bootstrap.assemble(settings, store, client, model, trouble=silent, partial=silent, clock=clock)
        working = asyncio.ensure_future(orchestrator.run())
        talking = asyncio.ensure_future(Door(store, orchestrator, folder / "chat.jsonl", clock).converse(told["script"]))
        done, _ = await asyncio.wait({working, talking}, return_when=asyncio.FIRST_COMPLETED, timeout=told["patience"])
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        if talking not in done:
            raise TimeoutError("the conversation did not come to its end")
        await talking
        await model.aclose()
    await store.aclose()


def child(told: dict[str, Any]) -> int:
    """One life; 0 when it came to its end."""
    workers.POLL = 0.05
    with Path(told["folder"], "stderr.txt").open("a", encoding="utf-8") as errors:
        sys.stderr = errors
        for name in told["faults"]:
            FAULTS[name]()
        Killer(told["kill_at"], told["kinds"]).install()
        try:
            asyncio.run(play(told))
        except BaseException:  # noqa: BLE001 - whatever it was, the parent reads it
            traceback.print_exc()
            return 1
        return 0


def main() -> None:
    """Fork a child for every line of the input; say how it ended."""
    statements()
    rules()
    template = Path(sys.argv[1])
    open_store(sqlite_url(template)).close()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            os._exit(child(json.loads(line)))
        _, status = os.waitpid(pid, 0)
        sys.stdout.write(json.dumps(os.waitstatus_to_exitcode(status)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
