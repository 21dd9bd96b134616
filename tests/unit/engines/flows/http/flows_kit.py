"""The API of flows and agents over the spine's world, with every middleware of the real app and callers of every role."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
from pydantic import SecretStr

from bot.access.access_file import TokenGrant
from bot.http_api.routers import build_read_routers
from bot.http_api.server.app import build_app
from bot.http_api.server.authentication import Authenticator
from bot.http_api.server.tokens import Tokens, read_tokens
from engines.flows.wiring import build_flows, connect
from orchestrator.runs.feature import build_feature
from orchestrator.runs.registry import Engines
from orchestrator.runs.stored_definitions import add_stored_definitions
from orchestrator.turns.feature import merge_features
from state.sql.store import SqlStore
from tests.unit.bot.http_api.api_kit import LISTED, SECRETS
from tests.unit.engines.flows.flow_kit import agent
from tests.unit.spine_kit import World, a_world

FLOWS, AGENTS = "/api/flows/definitions", "/api/agents"


@dataclass
class FlowApi:
    """One product with the API of flows; `grants` is what the access file says of tokens. Without a caller it is an administrator."""

    http: httpx.AsyncClient
    sql: SqlStore
    grants: dict[str, TokenGrant] = field(default_factory=dict)

    async def call(self, method: str, path: str, body: Any = None, caller: str = "chief", **headers: str) -> httpx.Response:
        return await self.http.request(method, path, json=body, headers={"X-API-Key": SECRETS.get(caller, caller), **headers})

    async def get(self, path: str, caller: str = "chief", **query: Any) -> httpx.Response:
        return await self.http.get(path, params=query, headers={"X-API-Key": SECRETS.get(caller, caller)})

    async def post(self, path: str, body: Any = None, caller: str = "chief", **headers: str) -> httpx.Response:
        return await self.call("POST", path, body, caller, **headers)

    async def put(self, path: str, body: Any, caller: str = "chief", **headers: str) -> httpx.Response:
        return await self.call("PUT", path, body, caller, **headers)

    async def send(self, path: str, content: bytes, kind: str, caller: str = "chief", **query: str) -> httpx.Response:
        """A body as it is."""
        headers = {"X-API-Key": SECRETS[caller], "Content-Type": kind}
        return await self.http.post(path, content=content, params=query, headers=headers)

    async def create(self, document: Mapping[str, Any], path: str = FLOWS, **more: Any) -> dict[str, Any]:
        """A new draft."""
        answer = await self.post(path, {"definition": document, **more})
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    async def publish(self, made: Mapping[str, Any], path: str = FLOWS) -> dict[str, Any]:
        """The version, published."""
        answer = await self.post(f"{path}/{made['id']}/publish")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def hire(self, key: str = "writer", **fields: Any) -> dict[str, Any]:
        """A published agent."""
        return await self.publish(await self.create(agent(**fields), AGENTS, key=key), AGENTS)


@asynccontextmanager
async def a_flow_api(folder: Path, engines: Engines | None = None, policy: Mapping[str, Any] | None = None) -> AsyncIterator[FlowApi]:
    """The API with the engine of flows, or with those engines."""
    grants: dict[str, TokenGrant] = {}
    tokens = Tokens(read_tokens(SecretStr(LISTED), "full"), grants.get)
    async with a_world(folder, policy=policy) as world:
        routers = build_read_routers(world.orchestrator, world.clock, engines or Engines(runs={"flow": build_flows()}))
        app = build_app(*routers, identity=Authenticator(tokens))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://bot") as http:
            yield FlowApi(http, world.sql, grants)


@asynccontextmanager
async def a_running_flow_api(folder: Path, policy: Mapping[str, Any] | None = None) -> AsyncIterator[tuple[FlowApi, World]]:
    """The API in a product that plays runs of flows, whose agents are those of its store."""
    grants: dict[str, TokenGrant] = {}
    tokens = Tokens(read_tokens(SecretStr(LISTED), "full"), grants.get)
    async with a_world(folder, policy=policy) as world:
        world.gate._deps = replace(world.gate._deps, present=tokens.refresh_actor)
        engines = add_stored_definitions(
            Engines(runs={"flow": connect(build_flows(), SimpleNamespace(store=world.store, find_documents=None))}), world.store
        )
        features = merge_features(world.tools.features, build_feature(engines))
        world.orchestrator.tools = replace(world.tools, refresh_actor=tokens.refresh_actor, features=features)
        app = build_app(*build_read_routers(world.orchestrator, world.clock, engines), identity=Authenticator(tokens))
        transport = httpx.ASGITransport(app=app)
        async with world.working(), httpx.AsyncClient(transport=transport, base_url="http://bot") as http:
            yield FlowApi(http, world.sql, grants), world
