"""HTTP_API_TOKENS: what may stand there, whose rights and mode each has, and faulty ones end the start (S004-62, X10)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from bot.access.access import load_access
from bot.access.access_file import TokenGrant
from bot.composition.process import run_bot
from bot.http_api.server.authentication import parse_networks
from bot.http_api.server.tokens import Tokens, read_tokens
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from tests.unit.bot.http_api.chat_kit import CHIEF, SITE, a_door
from tests.unit.spine_kit import raise_sum, reply, step

SECRET = "s3cr3t-0123456789abcdef"
OTHER = "0ther-0123456789abcdef=="


@pytest.mark.req("S004-62")
def test_entries_are_read_as_written() -> None:
    """A name, a role, a mode; without a role nobody may approve, without a name the token has one of its own."""
    site, crm, bare = read_tokens(SecretStr(f" site={SECRET}:lead:canary , crm={OTHER} ,bare-0123456789abcdef,"), "full")
    assert (site.actor.key, site.actor.role, site.actor.max_mode, site.actor.sees) == ("http:site", "lead", "canary", "all")
    assert site.actor.may_approve
    assert (crm.name, crm.actor.role, crm.actor.max_mode, crm.actor.may_approve) == ("crm", "manager", "full", False)
    assert bare.name.startswith("token-")
    assert (bare.actor.bitrix_user_id, bare.actor.may_approve) == (None, False)
    again = read_tokens(SecretStr("other-bare-0123456789,bare-0123456789abcdef"), "full")
    assert again[1].name == bare.name != again[0].name
    assert read_tokens(None, "full") == []


WRONG = [
    (" , ", "no token is listed"),
    ("site=short", "entry 1 has no token of 16"),
    (f"site={SECRET},b=short", "entry 2 has no token of 16"),
    ("=0123456789abcdefgh", "entry 1 has a name"),
    (f"a name={SECRET}", "entry 1 has a name"),
    (f"a:b={SECRET}", "entry 1 has a name"),
    (f"{SECRET}:admin", "entry 1 has a role and no name"),
    (f"site={SECRET}:boss", "entry 1 has no role"),
    (f"site={SECRET}:admin:everything", "entry 1 has no role"),
    (f"site={SECRET}:admin:full:x", "entry 1 has more"),
    (f"site={SECRET} 1", "entry 1 has no token"),
    (f"site=тайна-{SECRET}", "entry 1 has no token"),
    (f"site={SECRET},b={SECRET}", "the same token is listed twice"),
    (f"site={SECRET},site={OTHER}", "the name site is listed twice"),
]


@pytest.mark.req("S004-62", "S004-X10")
@pytest.mark.parametrize(("listed", "why"), WRONG)
def test_a_faulty_list_is_one_sentence_without_any_value(listed: str, why: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_tokens(SecretStr(listed), "full")
    assert caught.value.reason.startswith("HTTP_API_TOKENS: ")
    assert why in caught.value.reason
    assert "0123456789" not in caught.value.reason


@pytest.mark.req("S004-63")
def test_rights_are_those_of_now() -> None:
    """The access file gives a token a Bitrix user; a stored input keeps a mode that was lowered; a token that is gone has no rights."""
    grants: dict[str, TokenGrant] = {}
    tokens = Tokens(read_tokens(SecretStr(f"site={SECRET}:manager:full"), "full"), grants.get)
    found = tokens.find_client(SECRET)
    assert found is not None
    assert tokens.find_client(SECRET[:-1]) is None
    assert tokens.find_client("") is None
    grants["site"] = TokenGrant(name="site", bitrix_user_id=7, time_zone="Asia/Omsk", locale="en")
    now = tokens.refresh_actor(found.actor.model_copy(update={"max_mode": "shadow"}))
    assert now is not None
    assert (now.bitrix_user_id, now.sees, now.time_zone, now.locale, now.max_mode) == (7, "own", "Asia/Omsk", "en", "shadow")
    grants["site"] = TokenGrant(name="site", sees=[7, 8])
    seeing = tokens.find_client(SECRET)
    assert seeing is not None
    assert seeing.actor.sees == (7, 8)
    assert tokens.refresh_actor(found.actor.model_copy(update={"key": "http:gone"})) is None
    assert tokens.refresh_actor(found.actor.model_copy(update={"key": "tg:7"})) is None


def test_the_access_file_names_tokens(tmp_path: Path) -> None:
    """Beside people; faults name the entry."""
    path = tmp_path / "access.yaml"
    path.write_text("http_tokens:\n- {name: site, bitrix_user_id: 7, time_zone: Asia/Omsk}\n", encoding="utf-8")
    token = load_access(path).find_grant("site")
    assert token is not None
    assert token.bitrix_user_id == 7
    for wrong, why in (
        ("- {name: site}\n- {name: site}", "the token site is listed twice in http_tokens"),
        ("- {name: site, role: admin}", "http_tokens.0.role"),
        ("- {name: site, time_zone: Mars}", "http_tokens.0.time_zone"),
        ("- {name: site, words: mine}", "http_tokens.0.words: one of 'program' or 'own' is needed"),
    ):
        path.write_text(f"http_tokens:\n{wrong}\n", encoding="utf-8")
        with pytest.raises(SettingsError, match=why):
            load_access(path)


@pytest.mark.parametrize(
    ("grant", "origins"),
    [
        (None, {"prose"}),
        ({}, {"prose"}),
        ({"words": "program"}, {"prose"}),
        ({"words": "own"}, {"person"}),
        ({"customers": True}, {"prose"}),
        ({"words": "own", "customers": True}, {"prose"}),
    ],
)
def test_values_are_a_persons_words_only_if_the_token_says_so(grant: dict[str, Any] | None, origins: set[str]) -> None:
    """What a program hands in may be of anybody, and what customers write is theirs whatever else the token says."""
    grants = {} if grant is None else {"site": TokenGrant(name="site", **grant)}
    client = Tokens(read_tokens(SecretStr(f"site={SECRET}:manager:full"), "full"), grants.get).find_client(SECRET)
    assert client is not None
    assert client.value_origins == origins


def test_a_proxy_that_is_none_is_named() -> None:
    assert [str(network) for network in parse_networks("10.0.0.0/8, 127.0.0.1")] == ["10.0.0.0/8", "127.0.0.1/32"]
    with pytest.raises(SettingsError, match=r"HTTP_TRUSTED_PROXIES: proxy\.local is no address"):
        parse_networks("proxy.local")


@pytest.mark.req("S004-X10", "S004-62")
@pytest.mark.parametrize(
    ("over", "why"),
    [
        ({"http_api_tokens": " , "}, "HTTP_API_TOKENS: no token is listed"),
        ({"http_api_tokens": f"site={SECRET}:boss"}, "HTTP_API_TOKENS: entry 1 has no role"),
        ({"http_api_tokens": f"site={SECRET}:admin", "http_trusted_proxies": "proxy"}, "HTTP_TRUSTED_PROXIES: proxy is no address"),
        ({}, "TELEGRAM_BOT_TOKEN"),
    ],
)
async def test_what_cannot_begin_says_why_and_shows_no_token(tmp_path: Path, over: dict[str, Any], why: str) -> None:
    folders = {"state_dir": tmp_path / "state", "log_dir": tmp_path / "logs"}
    settings = Settings(_env_file=None, bitrix_webhook_url="https://x.bitrix24.ru/rest/1/abcdefgh/", **folders, **over)
    with pytest.raises(SettingsError) as caught:
        await run_bot(settings)
    assert why in caught.value.reason
    assert "0123456789" not in caught.value.reason


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
