"""Decisions over a real socket: what a lead's token does to a card in Telegram, and what forged ones do not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import Any

import httpx
import pytest

from bot.access.access import load_access
from bot.http_api.api import Api
from bot.http_api.server.app import build_app
from bot.http_api.server.serving import bind_socket, serve
from bot.plugins.building import load_installed_engines
from bot.settings.settings import Settings
from state.clock import SystemClock
from tests.e2e.e2e_kit import World

pytestmark = pytest.mark.req("S004-58", "S004-10")

RAISE = "подними сумму сделки Ромашка до 150 000"
UPDATE = "crm.deal.update"
SECRETS = {name: f"{name}-token-0123456789" for name in ("site", "other", "head")}
LISTED = f"site={SECRETS['site']}:manager:full,other={SECRETS['other']}:manager:full,head={SECRETS['head']}:lead:full"


class Caller:
    """The holder of one token."""

    def __init__(self, http: httpx.AsyncClient, name: str) -> None:
        self._http, self._headers = http, {"X-API-Key": SECRETS[name]}

    async def get(self, path: str, **query: Any) -> httpx.Response:
        return await self._http.get(path, params=query, headers=self._headers)

    async def post(self, path: str, **body: Any) -> httpx.Response:
        return await self._http.post(path, json=body, headers=self._headers)

    async def decide(self, card: dict[str, Any], decision: str = "approve") -> httpx.Response:
        return await self.post(f"/confirmations/{card['id']}", decision=decision, fingerprint=card["fingerprint"])


@asynccontextmanager
async def served(world: World) -> AsyncIterator[tuple[Caller, Caller, Caller]]:
    """The bot of this process with its API on a real socket, and three callers."""
    told = {name.lower(): value for name, value in world.environment(http_api_tokens=LISTED).items()}
    settings = Settings(_env_file=None, **told)  # type: ignore[arg-type]
    with closing(bind_socket("127.0.0.1", 0)) as listener:
        async with world.bot() as running:
            api = Api(settings, running.store, load_access(settings.access_file), SystemClock())
            app = build_app(*api.build_routers(running.orchestrator, load_installed_engines()), identity=api.identity)
            serving = [asyncio.ensure_future(api.run()), asyncio.ensure_future(serve(app, listener))]
            address = f"http://127.0.0.1:{listener.getsockname()[1]}"
            async with httpx.AsyncClient(base_url=address, trust_env=False, timeout=40) as http:
                try:
                    yield Caller(http, "site"), Caller(http, "other"), Caller(http, "head")
                finally:
                    for task in serving:
                        task.cancel()
                    await asyncio.gather(*serving, return_exceptions=True)


async def test_a_leads_token_decides_a_card_of_telegram_and_nobody_elses_does(world: World) -> None:
    """Foreign tokens find nothing, a forged fingerprint and a changed record run nothing, five approvals at once are one call."""
    async with served(world) as (site, other, head):
        shown = await world.boris.card(RAISE)
        card = (await head.get("/confirmations")).json()["confirmations"][0]
        assert (card["session"], card["asked_by"]["name"]) == (world.boris.session, "Борис Смирнов")
        for foreign in (site, other):
            assert (await foreign.get("/confirmations")).json()["confirmations"] == []
            assert (await foreign.get(f"/confirmations/{card['id']}")).status_code == 404
            assert (await foreign.decide(card)).status_code == 404
        assert (await head.decide({**card, "fingerprint": "f" * 64})).json()["error"]["code"] == "fingerprint_mismatch"

        await world.edit("deal", 481, OPPORTUNITY=130_000)
        changed = await head.decide(card)
        assert (changed.status_code, changed.json()["error"]["code"]) == (409, "confirmation_changed")
        await world.boris.sees(shown.number, "Заменено")
        assert await world.writes() == []

        new = changed.json()["confirmation"]
        answers = await asyncio.gather(*(head.decide(new) for _ in range(5)))
        assert {(answer.status_code, answer.json()["status"]) for answer in answers} == {(200, "executed")}
        assert await world.writes() == [UPDATE]
        done = await world.boris.sees((await world.boris.seen(shown.number))[-1].number, "Выполнено")
        assert "решение: head" in done.text

        records = (await head.get("/audit", entity="deal:481")).json()["records"]
        assert [(record["outcome"], record["asked_by"]["name"]) for record in records] == [
            ("superseded", "Борис Смирнов"),
            ("succeeded", "Борис Смирнов"),
        ]
        assert (records[1]["decision"]["by"]["id"], records[1]["decision"]["via"]) == ("http:head", "api")
        assert [attempt["code"] for attempt in records[0]["attempts"]] == ["card-outdated"]


async def test_a_conversation_over_chat_from_the_wish_to_the_audit(world: World) -> None:
    """Ask, wait, see before → after, approve, one call; the journal of the session and the audit tell it."""
    async with served(world) as (site, other, _):
        asked = await site.post("/chat", user_id="42", message="подними сумму сделки 481 до 150 000")
        assert asked.status_code == 200, asked.text
        [card] = asked.json()["waiting"]
        assert card["rows"][0]["after"].replace("\xa0", " ") == "150 000 ₽"
        session = asked.json()["session"]
        answer = await site.decide(card)
        assert answer.json()["status"] == "executed"
        assert (await site.decide(card)).json() == answer.json()
        assert await world.writes() == [UPDATE]

        events = (await site.get(f"/sessions/{session}/events")).json()["events"]
        assert [event["type"] for event in events if event["type"] != "reply"] == ["message", "confirmation", "decision", "call"]
        assert (await other.get(f"/sessions/{session}/events")).status_code == 404
        [record] = (await site.get("/audit")).json()["records"]
        assert (record["asked_by"]["id"], record["decision"]["by"]["id"]) == ("http:site", "http:site")
        assert (await other.get("/audit")).json()["records"] == []
