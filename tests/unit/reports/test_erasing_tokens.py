"""Erasing a token of the HTTP API: what it said goes and is proven to be gone; what the program itself gave out is no trace."""

import json
from typing import Any
from unittest.mock import patch

import pytest

from orchestrator.reports.erasure import erase
from orchestrator.reports.erasure.erase import find_candidates, list_people
from state.journal.store import StoreError
from state.sql import open_store
from tests.unit.bot.http_api.chat_kit import CHIEF, a_door
from tests.unit.reports.erasing_kit import LATER, Home, a_command, a_home, everything, often, opened, run  # noqa: F401 - fixtures among them
from tests.unit.spine_kit import raise_sum, reply, step

WISH = "подними сумму сделки 481 до 1 200 000, Синицын согласен"
OTHERS = "что там по сделке 500, звонил Воробьёв"
TOKEN = "http:site"


async def talk(home: Home) -> None:
    """The site asks for two users, its cards are decided by another token and by itself; the shop has a talk of its own."""
    async with a_door(home.folder, store=open_store(home.url)) as door:
        for user, approve, amount in (("42", True, 1_200_000), ("43", False, 1_300_000)):
            door.world.model.will(reply(raise_sum(amount), text="Поднимаю сумму, как просил Синицын."))
            asked = (await door.chat(WISH, user)).json()
            [card] = asked["waiting"]
            decision = {"decision": "approve" if approve else "deny", "fingerprint": card["fingerprint"]}
            await door.http.post(f"/confirmations/{card['id']}", json=decision, headers={"X-API-Key": CHIEF})
        door.world.model.will(reply(step("crm.deal.get", {"id": 482})), reply(text="Вот она."))
        await door.chat("покажи сделку 482", "42")
        door.world.model.will(reply(text="Сделка 500: Воробьёв ждёт."))
        await door.chat(OTHERS, "42", token="shop-0123456789abcdef")


@pytest.mark.req("S004-X10")
async def test_what_a_token_said_goes_and_is_proven_to_be_gone(home: Home) -> None:
    """Its name, cards and fingerprints are the program's; texts, answers and values are searched for and found nowhere."""
    await talk(home)
    found, done = run(home, TOKEN)
    assert (done.remains, done.unproven_reasons) == ((), ())
    assert done.probe_count > 5
    assert (found.names, WISH[:40] in "".join(found.probes.all)) == ((), True)
    kept = everything(home)
    for secret in (WISH, "Синицын", "покажи сделку 482"):
        assert secret.encode() not in kept
    assert TOKEN.encode() in kept


@pytest.mark.long
async def test_a_text_of_a_token_that_stayed_is_found(home: Home) -> None:
    """What is left out of the search is only what the program made: a copy of a message is a trace."""
    await talk(home)
    (home.folder / "logs" / "stray").write_text(WISH, encoding="utf-8")
    _, done = run(home, TOKEN)
    assert {trace.place for trace in done.remains} == {"stray"}


@pytest.mark.long
async def test_a_second_run_claims_nothing_that_it_did_not_search(home: Home, command: Any) -> None:
    """After a proof there is nothing to prove; after a run that found something nothing is proven, however often it is repeated."""
    await talk(home)
    assert command(TOKEN, "--yes")[0] == 0
    code, shown = command(TOKEN, "--yes")
    assert (code, "Proven" in shown, "nothing was searched for" in shown) == (0, False, True)
    assert json.loads(command(TOKEN, "--yes", "--json")[1].splitlines()[-1])["proven"] is False

    (home.folder / "logs" / "stray").write_text(OTHERS, encoding="utf-8")
    assert command("http:shop", "--yes")[0] == 1
    for _ in range(2):
        code, shown = command("http:shop", "--yes")
        assert (code, "Not proven" in shown, "found 1 places" in shown) == (1, True, True)


@pytest.mark.long
async def test_an_erasure_that_was_broken_off_before_its_search_proves_nothing(home: Home, command: Any) -> None:
    """The keys are gone and nothing was searched: the next run says so and does not call it a proof."""
    await talk(home)
    with opened(home) as store:
        found = erase.inspect_person(store, TOKEN, home.place)
        with patch.object(erase, "_search_leftovers", side_effect=StoreError("killed")), pytest.raises(StoreError):
            erase.erase_person(store, found, home.place, now=LATER, by="cli:ops")
    code, shown = command(TOKEN, "--yes")
    assert (code, "broken off before its search" in shown) == (1, True)


async def test_a_name_that_is_not_the_key_is_looked_for(home: Home) -> None:
    """People have names beside their keys; only a token is called as its key says."""
    await talk(home)
    with opened(home) as store:
        assert erase.inspect_person(store, TOKEN, home.place, name="Сайт Ромашка").names == ("Сайт Ромашка",)
        assert find_candidates(list_people(store, home.place, lambda _: ""), "site") == [TOKEN]
