"""What the tests of the demo model share: an app behind httpx, messages in the agent's wire protocol, answers read back."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from orchestrator.engines.crm_agent.blocks import Blocks, parse
from sandbox.model.app import create_app

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


def state(current: Mapping[str, Any] | None = None) -> dict[str, str]:
    """The STATE message."""
    body = {
        "state": {},
        "me": {"name": "Борис", "bitrix_user_id": 7},
        "now": NOW,
        "zone": "Europe/Moscow",
        "current": current or {"deal": None},
    }
    return {"role": "system", "content": "STATE " + json.dumps(body, ensure_ascii=False)}


def turn(text: str, *more: dict[str, str], current: Mapping[str, Any] | None = None) -> list[dict[str, str]]:
    """The messages of a turn: what the person wrote, then whatever happened since."""
    return [SYSTEM, state(current), {"role": "user", "content": text}, *more]


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
