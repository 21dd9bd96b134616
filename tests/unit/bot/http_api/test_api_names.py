"""Names of conversations that callers choose: no two are ever one, none steps out of its token's, each can be read again."""

import unicodedata
from urllib.parse import quote

import pytest

from bot.access.access_file import TokenGrant
from bot.http_api.chat.request_body import ChatRequest
from tests.unit.bot.http_api.api_kit import Api

pytestmark = pytest.mark.req("S004-59")
ODD = [
    "a/b", "a%2Fb", "a%252Fb", "a:b", "a%3Ab", "a", "A", "a ", " a", "..", ".", "a.b", "a..b", "tg:1007", "access", "freeze", "ops", "http:other:42",
    "é", unicodedata.normalize("NFD", "é"), "ﬁ", "fi", "Ａ", "й", unicodedata.normalize("NFD", "й"), "я" * 128, "😀" * 128, "42", "٤٢", "*", "\\", "~",
]  # fmt: skip


def test_no_two_names_are_one() -> None:
    """Separators, percent forms, unicode forms and letters that only look alike stay apart, and none can hold a colon or a slash."""
    names = [ChatRequest(user_id=one, message="x", overrides={}).conversation for one in ODD]
    assert len(set(names)) == len(ODD)
    assert all(name.isascii() and not set(name) & set(":/ ") for name in names)


@pytest.mark.parametrize("user", ["😀" * 128, "tg:1007", "..", "a/b"])
async def test_a_conversation_with_an_odd_name_is_read_decided_and_listed(api: Api, user: str) -> None:
    """The longest too: by its session, in a list that goes on, and by nobody else."""
    session = f"http:site:{ChatRequest(user_id=user, message='x', overrides={}).conversation}"
    card = await api.ask(session=session)
    await api.ask(session="http:site:zz")
    path = f"/sessions/{quote(session, safe=':')}/events"
    assert (await api.get(path)).status_code == 200
    assert (await api.get(path, "other")).status_code == 404
    first = (await api.get("/confirmations", limit=1)).json()
    assert first["next"]
    rest = await api.get("/confirmations", limit=1, cursor=first["next"])
    assert rest.status_code == 200, (rest.text, len(first["next"]))
    assert len({one["id"] for one in (*first["confirmations"], *rest.json()["confirmations"])}) == 2
    assert (await api.decide(card, caller="other")).status_code == 404
    assert (await api.decide(card)).json()["status"] == "executed"


async def test_who_may_not_touch_the_record_any_more_has_nothing_run_for_them(api: Api) -> None:
    """The card waits, the token is given an employee who does not own the deal; a head approves: refused, and the deal is as it was."""
    card = await api.ask()
    api.grants["site"] = TokenGrant(name="site", bitrix_user_id=8, sees="own")
    answer = await api.decide(await api.mine(card, "head"), caller="head")
    assert answer.json()["status"] == "refused", answer.text
    assert api.written == []
