"""The product over the sample firm, with the engine that changes many records."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import httpx

from engines.bulk_changes.wiring import build_bulk
from orchestrator.domain.actor import Actor
from orchestrator.domain.bulk import BULK_ENGINE
from orchestrator.runs.registry import Engines
from sandbox.portal.app import create_app
from sandbox.portal.firm.size import Firm as FirmSize
from sandbox.portal.portal import Portal as SandboxPortal
from sandbox.portal.portal import Settings
from state.clock import generate_id
from state.journal.store import OutboxRow
from tests.unit.gate.sandbox_kit import Wire, clock
from tests.unit.spine_kit import ANNA, BORIS, CHAT, VERA, World, _row, a_world, message, press, reply, step
from tests.unit.spine_portal import Portal

CHANGE: Mapping[str, Any] = {"of": "deals", "filter": {"CLOSED": "N"}, "fields": {"COMMENTS": "Проверено"}}


@dataclass
class Firm(Wire):
    """The sample firm, with what was written to it."""

    box: SandboxPortal = field(kw_only=True)
    """The portal itself, for what others do there."""
    meanwhile: Callable[[int], Awaitable[None]] | None = None
    """Called before each batch that writes, with its number from 1."""
    batches: int = 0
    watch: Callable[[httpx.Request], None] | None = None
    """Called as each request arrives."""

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        if self.meanwhile is not None and b".update?" in request.content:
            self.batches += 1
            await self.meanwhile(self.batches)
        if self.watch is not None:
            self.watch(request)
        return await super().__call__(request)

    def list_writes(self) -> list[str]:
        """The commands of all batches that write, in their order."""
        batches = [params["cmd"] for method, params in self.sent if method == "batch"]
        return [command for cmd in batches for command in cmd.values() if ".get?" not in command and ".list?" not in command]

    async def read(self, method: str, params: Mapping[str, Any]) -> Any:
        async with httpx.AsyncClient(transport=self.transport, base_url="http://portal") as client:
            return (await client.post(f"/rest/1/sandbox/{method}", json=dict(params))).json()["result"]


@asynccontextmanager
async def a_firm(size: FirmSize | None = None) -> AsyncIterator[Firm]:
    """It outlives the programs that work with it."""
    app = create_app(Settings(bucket=None, clock=clock, firm=size))
    yield Firm(httpx.ASGITransport(app), box=app.state.portal)
    await app.state.portal.events.aclose()
    app.state.portal.close()


@asynccontextmanager
async def a_program(folder: Path, firm: Firm, **more: Any) -> AsyncIterator[World]:
    engines = Engines(runs={BULK_ENGINE: build_bulk()})
    async with a_world(folder, portal=cast("Portal", firm), engines=engines, people=(ANNA, BORIS, VERA), **more) as world:
        yield world


@asynccontextmanager
async def a_bulk_world(folder: Path, **more: Any) -> AsyncIterator[World]:
    async with a_firm() as firm, a_program(folder, firm, **more) as world:
        yield world


async def propose(
    world: World,
    params: Mapping[str, Any] = CHANGE,
    *,
    method: str = "change.all",
    actor: Actor = ANNA,
    key: str = CHAT,
    is_refused: bool = False,
) -> list[OutboxRow]:
    world.model.will(reply({**step(method, params), "last": True}), *([reply(text="Не вышло.")] if is_refused else []))
    await world.work(message("поменяй во всех открытых сделках комментарий на «Проверено»", actor=actor, key=key))
    return world.outbox()


def find_card(rows: list[OutboxRow]) -> dict[str, Any]:
    (card,) = [row for row in rows if row.kind == "card"]
    return dict(card.body)


async def decide(world: World, card: Mapping[str, Any], *, actor: Actor = ANNA, key: str = CHAT, approve: bool = True) -> list[OutboxRow]:
    await world.work(press(card, actor=actor, key=key, approve=approve))
    return world.outbox()


async def click(world: World, words: list[str], *, actor: Actor = ANNA) -> list[OutboxRow]:
    await world.work(_row("press", "express", {"words": words, "callback_id": generate_id(), "message_id": 5}, actor, actor.key))
    return world.outbox()


def find_end(rows: list[OutboxRow]) -> dict[str, Any]:
    """The last message of the run."""
    return dict([row for row in rows if row.key.endswith(":progress")][-1].body)


def read_end(rows: list[OutboxRow]) -> list[tuple[str, dict[str, Any]]]:
    """Without the words for what was done to which kind of records."""
    ends = [(notice["code"], notice["args"]) for notice in find_end(rows)["notices"]]
    return [(code, {name: value for name, value in args.items() if name not in {"verb", "of"}}) for code, args in ends]
