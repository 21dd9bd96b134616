"""A mode that a request lowered holds for what comes of it: no approval lifts it, whoever gives it."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.bot.http_api.chat_kit import CHIEF, SITE, a_door
from tests.unit.spine_kit import raise_sum, reply, step


@pytest.mark.req("S004-60")
@pytest.mark.parametrize("mode", ["shadow", "canary"])
@pytest.mark.parametrize("by", [SITE, CHIEF])
async def test_an_approval_runs_nothing_above_the_mode_of_its_request(tmp_path: Path, mode: str, by: str) -> None:
    """In shadow there is no card, and in canary none for a change."""
    async with a_door(tmp_path, http_allow_overrides=True) as door:
        door.world.model.will(*[reply(raise_sum()), reply(text="Не вышло.")][: 1 if mode == "shadow" else 2])
        told = (await door.chat("подними сумму сделки 481 до 1 200 000", mode=mode)).json()
        assert (told["waiting"], told["done"]) == ([], [])
        listed = (await door.http.get("/confirmations", params={"state": "any"}, headers={"X-API-Key": by})).json()
        assert listed["confirmations"] == []
        assert door.world.portal.ledger == []


@pytest.mark.req("S004-60")
@pytest.mark.parametrize("lower", ["shadow", "canary"])
async def test_a_card_runs_in_the_lower_mode_of_who_asked_and_who_approves(tmp_path: Path, lower: str) -> None:
    """A card of full, approved when its token may less: refused in shadow, and a safe create runs in canary."""
    async with a_door(tmp_path, http_allow_overrides=True) as door:
        door.world.model.will(reply(step("crm.deal.add", {"fields": {"TITLE": "Ива", "OPPORTUNITY": 5}})))
        [card] = (await door.chat("заведи сделку Ива на 5 рублей")).json()["waiting"]
        gate, clients = door.world.gate, door.api.tokens._clients
        gate._deps = replace(gate._deps, present=door.api.tokens.refresh_actor)  # as the composition root wires it
        clients["site"] = replace(clients["site"], actor=clients["site"].actor.model_copy(update={"max_mode": lower}))
        shown = (await door.http.get(f"/confirmations/{card['id']}", headers={"X-API-Key": CHIEF})).json()
        decision = {"decision": "approve", "fingerprint": shown["fingerprint"]}
        answer = await door.http.post(f"/confirmations/{card['id']}", json=decision, headers={"X-API-Key": CHIEF})
        assert answer.json()["status"] == ("refused" if lower == "shadow" else "executed"), answer.text
        assert len(door.world.portal.ledger) == (0 if lower == "shadow" else 1)
