"""The endpoints beside /chat over the spine's world: tokens of four kinds, people in Telegram, and callers with and without rights."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI
from pydantic import SecretStr

from bot.access.access_file import TokenGrant
from bot.http_api.routers import build_read_routers
from bot.http_api.server.authentication import Authenticator
from bot.http_api.server.error_handlers import explain_errors
from bot.http_api.server.tokens import Client, Tokens, read_tokens
from orchestrator.domain.actor import Actor
from orchestrator.runs.feature import build_feature
from orchestrator.runs.registry import Engines
from orchestrator.runs.stored_definitions import add_stored_definitions
from orchestrator.turns.feature import merge_features
from state.sql.store import SqlStore
from tests.unit.runs.runs_kit import build_engines
from tests.unit.spine_kit import ANNA, BORIS, CHAT, VERA, World, a_world, message, raise_sum, reply

SECRETS = {name: f"{name}-0123456789abcdef" for name in ("site", "other", "head", "chief", "bare")}
LISTED = ",".join(
    [
        f"site={SECRETS['site']}:manager:full",
        f"other={SECRETS['other']}:manager:full",
        f"head={SECRETS['head']}:lead:full",
        f"chief={SECRETS['chief']}:admin:full",
        SECRETS["bare"],
    ]
)
OWN = "http:site:42"


PEOPLE = {person.key: person for person in (ANNA, BORIS, VERA)}


@dataclass
class Api:
    """One product with its API; `grants` is what the access file says of tokens."""

    world: World
    http: httpx.AsyncClient
    clients: Mapping[str, Client]
    grants: dict[str, TokenGrant] = field(default_factory=dict)

    async def get(self, path: str, caller: str = "site", **query: Any) -> httpx.Response:
        return await self.http.get(path, params=query, headers=_headers(caller))

    async def post(self, path: str, body: Any = None, caller: str = "site", *, key: str = "", **more: str) -> httpx.Response:
        headers = _headers(caller) | ({"Idempotency-Key": key} if key else {}) | more
        return await self.http.post(path, json=body, headers=headers)

    async def put(self, path: str, body: Any, caller: str = "site", **headers: str) -> httpx.Response:
        return await self.http.put(path, json=body, headers=_headers(caller) | headers)

    async def decide(self, card: Mapping[str, Any], decision: str = "approve", caller: str = "site", **more: Any) -> httpx.Response:
        body = {"decision": decision, "fingerprint": card["fingerprint"], **more}
        return await self.http.post(f"/confirmations/{card['id']}", json=body, headers=_headers(caller))

    async def ask(
        self, *steps: Any, session: str = OWN, actor: Actor | None = None, text: str = "подними сумму сделки 481"
    ) -> dict[str, Any]:
        """Somebody writes, and the card of it as the API shows it to an administrator."""
        by = actor or (ANNA if session == CHAT else self.clients[session.split(":")[1]].actor)
        self.world.model.will(reply(*(steps or (raise_sum(),))))
        known = {card["id"] for card in await self._waiting(session)}
        await self.world.orchestrator.receive([message(text, actor=by, key=session)])
        await self.world.idle()
        [card] = [card for card in await self._waiting(session) if card["id"] not in known]
        return card

    async def _waiting(self, session: str) -> list[dict[str, Any]]:
        return list((await self.get("/confirmations", "chief", session=session)).json()["confirmations"])

    async def mine(self, card: Mapping[str, Any], caller: str = "site") -> dict[str, Any]:
        """The card as the holder of that token sees it."""
        answer = await self.get(f"/confirmations/{card['id']}", caller)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    @property
    def written(self) -> list[str]:
        """What the portal was made to change."""
        return [method for method, _ in self.world.portal.ledger]


def _headers(token: str) -> dict[str, str]:
    return {"X-API-Key": SECRETS.get(token, token)}


def an_app(world: World, tokens: Tokens, engines: Engines) -> FastAPI:
    app = FastAPI()
    explain_errors(app)
    app.state.identity = Authenticator(tokens)
    for router in build_read_routers(world.orchestrator, world.clock, engines):
        app.include_router(router)
    return app


@asynccontextmanager
async def an_api(
    folder: Path,
    *,
    policy: Mapping[str, Any] | None = None,
    store: SqlStore | None = None,
    documents: Mapping[tuple[str, str], Any] | None = None,
) -> AsyncIterator[Api]:
    """The product at work; with `documents`, (engine, key) → definition, it has the example engines of runs."""
    listed = read_tokens(SecretStr(LISTED), "full")
    by_name = {client.name: client for client in listed}
    by_name["bare"] = next(client for client in listed if client.name.startswith("token-"))
    grants: dict[str, TokenGrant] = {}
    tokens = Tokens(listed, grants.get)
    async with a_world(folder, policy=policy, store=store) as world:

        def present(actor: Actor) -> Actor | None:
            return tokens.refresh_actor(actor) if actor.key.startswith("http:") else PEOPLE.get(actor.key)

        gate = world.gate
        gate._deps = replace(gate._deps, present=present)
        world.orchestrator.tools = replace(world.tools, refresh_actor=present)
        engines = build_engines(documents) if documents is not None else Engines()
        if documents is not None:
            features = merge_features(world.tools.features, build_feature(add_stored_definitions(engines, world.store)))
            world.orchestrator.tools = replace(world.tools, features=features)
        transport = httpx.ASGITransport(app=an_app(world, tokens, engines))
        async with world.working(), httpx.AsyncClient(transport=transport, base_url="http://bot") as http:
            yield Api(world, http, by_name, grants)


async def together(*calls: Any) -> list[httpx.Response]:
    """All at once."""
    return list(await asyncio.gather(*calls))
