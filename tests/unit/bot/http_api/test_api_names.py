"""Names that callers choose: of conversations, of which no two are one, and of whom a scenario is about."""

import unicodedata
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from bot.access.access_file import TokenGrant
from bot.http_api.chat.request_body import ChatRequest
from orchestrator.engines.runs import Definition
from orchestrator.runs.registry import StaticDefinitions
from tests.unit.bot.http_api.api_kit import Api, an_api
from tests.unit.bot.http_api.chat_kit import error_of
from tests.unit.engines.scenarios.scenario_kit import say, scenario

DOCUMENTS = {("scenario", "order"): scenario(say("Заказ для {user_name} от {__user_name}."))}


@pytest.mark.req("S000-X5")
async def test_a_program_names_the_person_of_a_scenario(tmp_path: Path) -> None:
    """The scenario says the given name beside the one of the token; a name of the program is refused, now and on schedule."""
    async with an_api(tmp_path, documents=DOCUMENTS) as api:
        order = {"engine": "scenario", "definition": "order"}
        assert (await api.post("/runs", {**order, "args": {"user_name": "Алиса"}})).status_code == 202
        await api.world.idle()
        said = [one for one in (await api.get("/sessions/http:site:runs/events")).json()["events"] if "Заказ" in str(one)]
        assert "Заказ для Алиса от site." in str(said)
        for path, more in (("/runs", {}), ("/schedules", {"cron": "0 9 * * *"})):
            refused = await api.post(path, {**order, **more, "args": {"user_name": "Алиса", "__user_name": "Алиса"}})
            assert error_of(refused) == (400, "reserved_name")
            assert "args.__user_name" in refused.json()["error"]["message"]


async def test_what_was_published_before_leaves_such_a_name_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that send it go on."""
    find = StaticDefinitions.find

    async def find_earlier(self: StaticDefinitions, engine: str, key: str, /) -> Definition | None:
        found = await find(self, engine, key)
        return replace(found, edition=0) if found is not None else None

    monkeypatch.setattr(StaticDefinitions, "find", find_earlier)
    async with an_api(tmp_path, documents=DOCUMENTS) as api:
        body = {"engine": "scenario", "definition": "order", "args": {"__user_name": "Алиса", "user_name": "Алиса"}}
        assert (await api.post("/runs", body)).status_code == 202
        await api.world.idle()
        assert "Заказ для site от site." in (await api.get("/sessions/http:site:runs/events")).text


ODD = [
    "a/b", "a%2Fb", "a%252Fb", "a:b", "a%3Ab", "a", "A", "a ", " a", "..", ".", "a.b", "a..b", "tg:1007", "access", "freeze", "ops", "http:other:42",
    "é", unicodedata.normalize("NFD", "é"), "ﬁ", "fi", "Ａ", "й", unicodedata.normalize("NFD", "й"), "я" * 128, "😀" * 128, "42", "٤٢", "*", "\\", "~",
]  # fmt: skip


@pytest.mark.req("S004-59")
def test_no_two_names_are_one() -> None:
    """Separators, percent forms, unicode forms and letters that only look alike stay apart, and none can hold a colon or a slash."""
    names = [ChatRequest(user_id=one, message="x", overrides={}).conversation for one in ODD]
    assert len(set(names)) == len(ODD)
    assert all(name.isascii() and not set(name) & set(":/ ") for name in names)


@pytest.mark.req("S004-59")
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


@pytest.mark.req("S004-59")
async def test_who_may_not_touch_the_record_any_more_has_nothing_run_for_them(api: Api) -> None:
    """The card waits, the token is given an employee who does not own the deal; a head approves: refused, and the deal is as it was."""
    card = await api.ask()
    api.grants["site"] = TokenGrant(name="site", bitrix_user_id=8, sees="own")
    answer = await api.decide(await api.mine(card, "head"), caller="head")
    assert answer.json()["status"] == "refused", answer.text
    assert api.written == []
