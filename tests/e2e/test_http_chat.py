"""The HTTP API through a real socket: what `sdelka run` serves without Telegram, a whole conversation."""

from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx
import pytest

from tests.e2e.e2e_kit import World, plan

SITE, SHOP = "site-0123456789abcdef", "shop-0123456789abcdef"
UPDATE = {"method": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 150_000}}, "comment": "так попросили"}


def served(world: World, **over: Any) -> AbstractAsyncContextManager[httpx.AsyncClient]:
    """The bot with its HTTP door only."""
    tokens = f"site={SITE}:manager:full,shop={SHOP}:manager:full"
    return world.running_bot(telegram_bot_token="", http_api_tokens=tokens, **over)


async def ask(http: httpx.AsyncClient, message: str, user: str = "42", token: str = SITE, **headers: str) -> httpx.Response:
    return await http.post("/chat", json={"user_id": user, "message": message}, headers={"X-API-Key": token, **headers})


@pytest.mark.req("S004-58", "S004-61", "S004-63", "S004-64", "S004-65", "S004-66", "S004-67", "S004-X10", "S004-M3")
async def test_a_conversation_from_the_question_to_one_call_in_the_portal(world: World) -> None:
    """Ask, read before → after, approve by fingerprint, one call; who asked and who approved stands in the audit; a repeat changes nothing."""
    async with served(world) as http:
        for answer, status, code in (
            (await ask(http, "привет", token="wrong-0123456789abcdef"), 401, "unauthorized"),
            (await http.post("/chat", content=b"{", headers={"X-API-Key": SITE}), 400, "invalid_json"),
            (await http.post("/chat", json={"user_id": "42"}, headers={"X-API-Key": SITE}), 400, "missing_message"),
            (await http.get("/chats", headers={"X-API-Key": SITE}), 404, "endpoint_not_found"),
        ):
            assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
        await world.script(plan(UPDATE))
        asked = await ask(http, "подними сумму сделки 481 до 150000", **{"Idempotency-Key": "order-1"})
        card = asked.json()["waiting"][0]
        assert [row["name"] for row in card["rows"]] == ["Сумма"]
        assert await world.writes() == []
        decision = {"decision": "approve", "fingerprint": card["fingerprint"]}
        foreign = await http.post(f"/confirmations/{card['id']}", json=decision, headers={"X-API-Key": SHOP})
        assert foreign.status_code == 404
        decided = await http.post(f"/confirmations/{card['id']}", json=decision, headers={"X-API-Key": SITE})
        assert (decided.status_code, decided.json()["status"]) == (200, "executed"), decided.text
        again = await ask(http, "подними сумму сделки 481 до 150000", **{"Idempotency-Key": "order-1"})
        assert again.content == asked.content
        assert await world.writes() == ["crm.deal.update"], decided.text
        assert float((await world.record("deal", 481))["OPPORTUNITY"]) == 150_000
        audit = (await http.get("/audit", headers={"X-API-Key": SITE})).text
        assert "http:site" in audit
        assert "crm.deal.update" in audit
