"""`/chat` over the spine's world, with every middleware of the real app."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

from bot.access.access import Access
from bot.http_api.api import Api
from bot.http_api.server.app import build_app
from bot.settings.settings import Settings
from orchestrator.runs.feature import build_feature
from orchestrator.runs.stored_definitions import add_stored_definitions
from orchestrator.turns.feature import merge_features
from state.sql.store import SqlStore
from tests.unit.runs.runs_kit import build_engines
from tests.unit.spine_kit import World, a_world

SITE, SHOP, CHIEF = "site-0123456789abcdef", "shop-0123456789abcdef", "chief-0123456789abcdef"
LISTED = f"site={SITE}:manager:full,shop={SHOP}:manager:canary,chief={CHIEF}:admin:full"


@dataclass
class Door:
    """The product at work with its API."""

    world: World
    api: Api
    http: httpx.AsyncClient

    async def chat(self, message: Any, user: Any = "42", *, token: str = SITE, key: str = "", **more: Any) -> httpx.Response:
        headers = {"X-API-Key": token} | ({"Idempotency-Key": key} if key else {})
        return await self.http.post("/chat", json={"user_id": user, "message": message, **more}, headers=headers)

    async def events(self, message: str, user: str = "42") -> list[tuple[str, str, Any]]:
        """The same as it comes: (event, id, data)."""
        headers = {"X-API-Key": SITE, "Accept": "text/event-stream"}
        answer = await self.http.post("/chat", json={"user_id": user, "message": message}, headers=headers)
        assert answer.headers["content-type"].startswith("text/event-stream")
        blocks = [block for block in answer.text.split("\n\n") if block and not block.startswith(":")]
        fields = [dict(line.split(": ", 1) for line in block.splitlines()) for block in blocks]
        return [(item["event"], item["id"], json.loads(item["data"])) for item in fields]


def settings_of(folder: Path, **over: Any) -> Settings:
    told = {"http_api_tokens": LISTED, "agent_mode": "full", "state_dir": folder / "state", "log_dir": folder / "logs", **over}
    return Settings(_env_file=None, **told)


@asynccontextmanager
async def a_door(
    folder: Path, *, store: SqlStore | None = None, documents: Mapping[tuple[str, str], Any] | None = None, **over: Any
) -> AsyncIterator[Door]:
    """The product at work; with `documents`, (engine, key) → definition, it has the example engines of runs."""
    async with a_world(folder, store=store) as world:
        api = Api(settings_of(folder, **over), world.store, Access([]), world.clock)
        world.orchestrator.tools = replace(world.tools, refresh_actor=api.tokens.refresh_actor, show_partial=api.mailbox.report_partial)
        world.orchestrator._trouble = api.mailbox.report_trouble
        engines = build_engines(documents or {})
        if documents is not None:
            world.orchestrator.tools = replace(
                world.tools, features=merge_features(world.tools.features, build_feature(add_stored_definitions(engines, world.store)))
            )
        app = build_app(*api.build_routers(world.orchestrator, engines), identity=api.identity)
        transport = httpx.ASGITransport(app=app)
        watching = asyncio.ensure_future(api.run())
        async with world.working(), httpx.AsyncClient(transport=transport, base_url="http://bot") as http:
            await asyncio.sleep(0)
            yield Door(world, api, http)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


def error_of(answer: httpx.Response) -> tuple[int, str]:
    """Status and code; whatever is refused has the one form."""
    body = answer.json()
    assert set(body) == {"error"}
    assert {"code", "message"} <= set(body["error"]) <= {"code", "message", "findings", "present", "diff", "more"}
    assert body["error"]["message"]
    return answer.status_code, body["error"]["code"]


__all__ = ["CHIEF", "LISTED", "SHOP", "SITE", "Door", "a_door", "error_of", "settings_of"]
