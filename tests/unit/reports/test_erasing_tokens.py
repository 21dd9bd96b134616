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
    """Texts, answers and values are nowhere any more; its key, which is its name too, stays as who acted."""
    await talk(home)
    found, done = run(home, TOKEN)
    assert (done.remains, done.unproven_reasons) == ((), ())
    assert (found.names, done.searched) == ((), (TOKEN,))
    kept = everything(home)
    for secret in (WISH, "Синицын", "покажи сделку 482"):
        assert secret.encode() not in kept
    assert TOKEN.encode() in kept


@pytest.mark.long
async def test_a_stray_file_that_names_a_token_is_found(home: Home) -> None:
    """A copy of a log that somebody laid beside the logs."""
    await talk(home)
    (home.folder / "logs" / "stray").write_text(f'{{"session": "{TOKEN}:42"}}', encoding="utf-8")
    _, done = run(home, TOKEN)
    assert {trace.place for trace in done.remains} == {"stray"}


@pytest.mark.long
async def test_a_second_run_searches_again(home: Home, command: Any) -> None:
    """What was found the first time is found again, until it is gone."""
    await talk(home)
    stray = home.folder / "logs" / "stray"
    stray.write_text("http:shop", encoding="utf-8")
    for _ in range(2):
        code, shown = command("http:shop", "--yes")
        assert (code, "Not proven" in shown, "1 places should be empty" in shown) == (1, True, True)
    stray.unlink()
    assert command("http:shop", "--yes")[0] == 0
    assert json.loads(command("http:shop", "--yes", "--json")[1].splitlines()[-1])["proven"] is True


@pytest.mark.long
async def test_an_erasure_that_was_broken_off_is_finished_by_the_next(home: Home, command: Any) -> None:
    """The keys are gone and nothing was searched: the next run does what is left."""
    await talk(home)
    with opened(home) as store:
        found = erase.inspect_person(store, TOKEN, home.place)
        with patch.object(erase, "_search_leftovers", side_effect=StoreError("killed")), pytest.raises(StoreError):
            erase.erase_person(store, found, home.place, now=LATER, by="cli:ops")
    code, shown = command(TOKEN, "--yes")
    assert (code, "Proven" in shown) == (0, True)


async def test_a_name_that_is_not_the_key_is_looked_for(home: Home) -> None:
    """People have names beside their keys; only a token is called as its key says."""
    await talk(home)
    with opened(home) as store:
        assert erase.inspect_person(store, TOKEN, home.place, name="Сайт Ромашка").names == ("Сайт Ромашка",)
        assert find_candidates(list_people(store, home.place, lambda _: ""), "site") == [TOKEN]
