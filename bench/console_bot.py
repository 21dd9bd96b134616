"""A running bot with the console over a long journal, and a person who looks at it: for the bench of the console.

The real `sdelka run` as a process of its own. The person logs in with a link that is signed with the bot's own secret; open pages are
sockets of the same library that browsers use.
"""

import asyncio
import contextlib
import re
import socket
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
from orchestrator.sessions.steps import index_run
from state.canonical import dumps, hash_text
from state.clock import generate_id
from state.events.codec import encode
from state.events.runs import RunFinished, RunStarted
from state.journal.store import Commit
from state.sql import build_sqlite_url, open_store

SECRET: Final = "the secret of a console that only the bench uses"  # noqa: S105 - of the bench
TOKEN: Final = "0" * 32
ADMIN: Final = {"telegram_id": 1001, "name": "Olga", "bitrix_user_id": 1, "role": "admin"}
TURNS: Final = 1_250
"""Of eight events each."""
RUNS: Final = 1_000
ASKED: Final = "Поставь сумму 1 200 000 в сделке 481"
"""What the sandbox's model understands, and what needs an approval."""
WORKFLOW: Final = "meeting_notes"
NOTES: Final = "Договорились о скидке 5 процентов и о встрече в пятницу."
LISTED: Final = {spec.name: spec.path for spec in PAGES if spec.icon and "{" not in spec.path}
"""The pages of the navigation."""
_WORKFLOWS: Final = Path(__file__).resolve().parents[1] / "engines" / "workflows" / "examples"
_PAGE_ID: Final = re.compile(r"""['"]client_id['"]: ?['"]([0-9a-f-]{36})""")


@dataclass
class Running:
    """The running bot and a browser's cookie."""

    process: asyncio.subprocess.Process
    http: httpx.AsyncClient
    address: str
    telegram: str
    took: float
    """Seconds from the beginning of the process until its HTTP door answered."""
    cpu: float
    """Seconds of the processor in that time."""

    def read_cpu(self) -> float:
        """Return the seconds of the processor that the bot has used so far, in all threads."""
        return read_cpu_seconds(self.process.pid)


@contextlib.asynccontextmanager
async def run_bot(folder: Path, said: dict[str, str], *, has_console: bool = True) -> AsyncIterator[Running]:
    """Run the bot over what stands in the folder, beside the sandbox servers `said`."""
    async with contextlib.AsyncExitStack() as stack:
        port = find_free_port()
        told = {"HTTP_PORT": str(port), "HTTP_API_TOKENS": f"bench={TOKEN}:admin:full"} | (
            {"CONSOLE_SECRET": SECRET} if has_console else {}
        )
        address = f"http://127.0.0.1:{port}"
        http = await stack.enter_async_context(httpx.AsyncClient(base_url=address, trust_env=False, timeout=60))
        begun = time.monotonic()
        process = await started(stack, settings_of(said, folder) | told, "bot", "run")

        async def answers() -> bool:
            with contextlib.suppress(httpx.TransportError):
                return (await http.get("/healthz")).is_success
            return False

        await until(answers, "an HTTP door that answers")
        took = time.monotonic() - begun
        yield Running(process, http, address, said["telegram"], took, read_cpu_seconds(process.pid))
        await ended(process)


@contextlib.asynccontextmanager
async def prepare() -> AsyncIterator[tuple[Path, dict[str, str]]]:
    """Return a folder with a journal of 10,000 events and 1,000 runs, and the addresses of the sandbox servers."""
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        said = await sandboxes(stack)
        (folder / "access.yaml").write_text(yaml.safe_dump({"people": [ADMIN]}), encoding="utf-8")
        (folder / "state").mkdir()
        url = build_sqlite_url(folder / "state" / "sdelka.db")
        await asyncio.to_thread(write_conversations, url, TURNS)
        await asyncio.to_thread(_write_runs, url)
        yield folder, said


def find_free_port() -> int:
    """Return a loopback port on which nothing listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _write_runs(url: str) -> None:
    """Store finished and failed runs of one scenario."""
    store, begin = open_store(url), datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
    actor = Actor(key="tg:1001", name="Olga", role="admin", bitrix_user_id=1)
    text = dumps({"title": "Welcome"})
    digest = hash_text(text)
    for number in range(RUNS):
        run_id, now = generate_id(), begin + timedelta(seconds=number)
        lease = store.acquire(f"run:{run_id}", "bench", now, now + timedelta(days=1))
        if lease is None:
            raise RuntimeError("a lease of the bench is taken")
        first = RunStarted(
            engine="scenario", definition="welcome", version=1, digest=digest, replay=1, home=actor.key, mode="full",
            actor=actor.model_dump(mode="json"), title="Welcome",
        )  # fmt: skip
        last = RunFinished(status="failed" if number % 10 == 0 else "done", code="run-failed" if number % 10 == 0 else "")
        events = (first, last)
        step = Commit(stream=f"run:{run_id}", epoch=lease.epoch, actor=actor.key, now=now, events=events, blobs={digest: text})
        store.commit(index_run(step._replace(encoded_events=[encode(event) for event in events]), None))
        store.release(lease)
    store.close()


async def log_in(bot: Running) -> None:
    """Give the browser its cookie, and wait until NiceGUI is loaded; no page is shown yet."""
    link = ConsoleKeys(SecretStr(SECRET)).sign_link("tg:1001", datetime.now(UTC))
    answer = await bot.http.post("/console/login", data={"link": link}, headers={"Origin": bot.address})
    if answer.status_code != 303:
        raise RuntimeError(f"the console let nobody in: {answer.status_code}")
    await bot.http.get("/console/_nicegui/")


async def make_things(bot: Running) -> dict[str, str]:
    """Let there be a card that waits, a finished run of a workflow and its definition; return the pages of each by name."""
    async with httpx.AsyncClient(base_url=bot.telegram, trust_env=False, timeout=60) as telegram:
        (await telegram.post("/sandbox/users/1001/send", json={"chat_id": 1001, "text": ASKED})).raise_for_status()
    text = (_WORKFLOWS / f"{WORKFLOW}.yaml").read_bytes()
    path = f"/definitions/workflow/{WORKFLOW}"
    stored = await _call(bot, "POST", f"{path}/import", content=text, headers={"Content-Type": "application/yaml"})
    await _call(bot, "POST", f"{path}/versions/{stored['version']}/publish", json={}, headers={"If-Match": '"1"'})
    body = {"engine": "workflow", "definition": WORKFLOW, "args": {"deal": 481, "notes": NOTES}}
    run = (await _call(bot, "POST", "/runs", json=body))["id"]

    async def find_card() -> str:
        found = (await _call(bot, "GET", "/confirmations"))["confirmations"]
        return str(found[0]["id"]) if found else ""

    async def is_shown() -> bool:
        return (await _call(bot, "GET", f"/runs/{run}"))["status"] not in {"new", "running"}

    card = await until(find_card, "a card that waits")
    await until(is_shown, "a run that is over, or waits")
    return {
        "conversation": "/conversations/tg:1000",
        "approval": f"/approvals/{card}",
        "run": f"/runs/{run}",
        "definition-edit": f"/definitions/workflow/{WORKFLOW}/edit",
    }


async def _call(bot: Running, method: str, path: str, *, headers: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    answer = await bot.http.request(method, path, headers={"X-API-Key": TOKEN} | (headers or {}), **more)
    if answer.is_error:
        raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.text}")
    return dict(answer.json())


@contextlib.asynccontextmanager
async def open_page(bot: Running, path: str, told: asyncio.Event) -> AsyncIterator[None]:
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
