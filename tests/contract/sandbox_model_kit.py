"""What the tests of the demo model share: an app behind httpx, messages in the agent's wire protocol, answers read back."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from orchestrator.engines.crm_agent.blocks import Blocks, parse
from sandbox.model.app import create_app
from sandbox.model.server import build_servers, serve_all

ROOT = Path(__file__).resolve().parents[2]
NOW = "2026-11-21T18:00:00+03:00"
SYSTEM = {"role": "system", "content": "Answer with THOUGHT, ACTION and ASSISTANT."}
CURRENT = {"deal": {"id": 481, "label": "Ромашка"}}


@asynccontextmanager
async def model() -> AsyncIterator[httpx.AsyncClient]:
    """A fresh demo model with a clock that stands still."""
    transport = httpx.ASGITransport(app=create_app(now=lambda: 1_795_000_000.0))
    async with httpx.AsyncClient(transport=transport, base_url="http://model") as client:
        yield client


def state(current: Mapping[str, Any] | None = None, rows: Sequence[str] = ()) -> dict[str, str]:
    """The STATE message; `rows` are the records in the rows of the list shown last."""
    body = {
        "state": {},
        "me": {"name": "Борис", "bitrix_user_id": 7},
        "now": NOW,
        "zone": "Europe/Moscow",
        "current": current or {"deal": None},
    }
    if rows:
        body["last_shown"] = {"total": len(rows), "rows": {str(number): record for number, record in enumerate(rows, 1)}}
    return {"role": "system", "content": "STATE " + json.dumps(body, ensure_ascii=False)}


def turn(text: str, *more: dict[str, str], current: Mapping[str, Any] | None = None, rows: Sequence[str] = ()) -> list[dict[str, str]]:
    """The messages of a turn: what the person wrote, then whatever happened since."""
    return [SYSTEM, state(current, rows), {"role": "user", "content": text}, *more]


def observed(*steps: Mapping[str, Any], iteration: int = 1) -> dict[str, str]:
    """One OBSERVATION message, fenced."""
    lines = "\n".join(json.dumps({"step": number, **step}, ensure_ascii=False) for number, step in enumerate(steps, 1))
    return {"role": "user", "content": f"OBSERVATION {iteration}\n<<<DATA 7f3a\n{lines}\nDATA 7f3a>>>"}


def said(text: str) -> dict[str, str]:
    """An earlier message of the model."""
    return {"role": "assistant", "content": text}


async def raw(client: httpx.AsyncClient, messages: Sequence[Mapping[str, Any]], **options: Any) -> str:
    """The text of one answer."""
    answer = await client.post("/v1/chat/completions", json={"model": "any", "messages": list(messages), **options})
    assert answer.status_code == 200, answer.text
    content = answer.json()["choices"][0]["message"]["content"]
    assert isinstance(content, str)
    return content


async def blocks(client: httpx.AsyncClient, messages: Sequence[Mapping[str, Any]]) -> Blocks:
    """One answer, read by the product's own parser."""
    return parse(await raw(client, messages))


async def then(client: httpx.AsyncClient, text: str, *steps: Mapping[str, Any], current: Mapping[str, Any] | None = None) -> Blocks:
    """Let the model plan, show it what the steps brought, and read how it goes on."""
    plan = await raw(client, turn(text, current=current))
    return await blocks(client, turn(text, said(plan), observed(*steps), current=current))


@dataclass(frozen=True)
class ModelServer:
    """A running demo model: its addresses, and the file of the authority that signed its certificate."""

    url: str
    tls: str
    ca_file: Path


@asynccontextmanager
async def a_model_server(folder: Path) -> AsyncIterator[ModelServer]:
    """The demo model on free ports of the loopback, over HTTP and HTTPS, inside of this loop."""
    app = create_app()
    with socket.create_server(("127.0.0.1", 0)) as plain, socket.create_server(("127.0.0.1", 0)) as secure:
        servers = build_servers(app, "127.0.0.1", [plain, secure], folder)
        for server in servers:
            server.capture_signals = nullcontext  # type: ignore[assignment,method-assign]  # signals are those of the tests
        serving = asyncio.create_task(serve_all(servers, [plain, secure]))
        try:
            ports = [one.getsockname()[1] for one in (plain, secure)]
            yield ModelServer(f"http://127.0.0.1:{ports[0]}", f"https://127.0.0.1:{ports[1]}", folder / "ca.pem")
        finally:
            servers[0].should_exit = True
            await serving
