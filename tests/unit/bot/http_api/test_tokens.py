"""HTTP_API_TOKENS: what may be written there, whose rights each token has now; never a value in an error (S004-62, X10)."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from bot.access.access import load_access
from bot.access.access_file import TokenGrant
from bot.http_api.server.authentication import parse_networks
from bot.http_api.server.tokens import Tokens, read_tokens
from orchestrator.domain.errors import SettingsError

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
