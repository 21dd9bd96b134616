"""Schedules over HTTP: making, listing, showing, pausing and cancelling them, each only for callers who may."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import pytest

from bot.access.access_file import TokenGrant
from orchestrator.domain.run_inputs import MOST
from orchestrator.schedules.feature import build_feature
from orchestrator.turns.feature import Feature
from tests.unit.bot.http_api.api_kit import SECRETS, Api, an_api
from tests.unit.bot.http_api.chat_kit import error_of
from tests.unit.runs.runs_kit import build_engines, steps
from tests.unit.schedules.schedules_kit import add
from tests.unit.spine_kit import ANNA, CHAT, NOW

pytestmark = pytest.mark.req("S004-58", "G1")

DOCUMENTS = {("steps", "plan"): steps({"say": "Начинаю"}), ("steps", "ask"): steps({"ask": "Какой тариф?", "options": ["Базовый"]})}
DOCUMENTS |= {("scenario", "survey"): {"name": "Опрос", "customers": True, "steps": [{"type": "message", "params": {"text": "Начинаю"}}]}}
DAILY = {"engine": "steps", "definition": "plan", "cron": "0 9 * * 1-5", "args": {"deal": 481}, "note": "для Ромашки"}
ONCE = {"engine": "steps", "definition": "plan", "at": "2026-11-22T09:00:00+03:00"}


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    """The product with engines and their schedules."""
    async with an_api(tmp_path, documents=DOCUMENTS) as api:
        api.world.orchestrator.tools = replace(api.world.tools, features=_with_schedules(api.world.tools.features))
        yield api


def _with_schedules(features: Feature) -> Feature:
    """What the program registers, with schedules of its engines in place of those of a program without any."""
    made = build_feature(build_engines(dict(DOCUMENTS)))
    tables = {name: {**getattr(features, name), **getattr(made, name)} for name in ("timers", "given_up_timers", "inbox", "buttons")}
    return replace(features, **tables)


async def made(api: Api, caller: str = "site", **body: Any) -> str:
    """The id of a schedule that a token has made."""
    answer = await api.post("/schedules", {**DAILY, **body}, caller)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


async def listed(api: Api, caller: str = "site", **query: Any) -> list[str]:
    return [one["id"] for one in (await api.get("/schedules", caller, **query)).json()["schedules"]]


async def test_a_schedule_is_made_and_says_when_it_is_due(api: Api) -> None:
    answer = await api.post("/schedules", DAILY)
    assert (answer.status_code, answer.json()["home"], answer.json()["next"]) == (202, "http:site:runs", "2026-11-23T06:00:00.000000Z")
    shown = (await api.get(answer.headers["location"])).json()
    assert shown["id"] == answer.json()["id"]
    assert (shown["next"], shown["then"]) == ("2026-11-23T06:00:00.000000Z", ["2026-11-24T06:00:00.000000Z", "2026-11-25T06:00:00.000000Z"])
    assert (shown["when"], shown["zone"], shown["cron"]) == ("по будням в 9:00", "Europe/Moscow", "0 9 * * 1-5")
    assert (shown["args"], shown["note"], shown["owner"]["id"]) == ({"deal": 481}, "для Ромашки", "http:site")
    assert (shown["status"], shown["started"], shown["may_control"]) == ("waiting", 0, True)


async def test_its_runs_work_with_the_tokens_rights_and_are_shown_in_its_session(api: Api) -> None:
    schedule = await made(api)
    api.world.clock.advance(datetime.fromisoformat("2026-11-23T06:00:01+00:00") - NOW)
    await api.world.idle()
    shown = (await api.get(f"/schedules/{schedule}")).json()
    run = (await api.get(f"/runs/{shown['last_run']}")).json()
    assert (run["status"], run["owner"]["id"], run["home"]) == ("done", "http:site", "http:site:runs")
    assert (shown["started"], shown["next"]) == (1, "2026-11-24T06:00:00.000000Z")


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ({**DAILY, "at": ONCE["at"]}, "cron: give either one moment"),
        ({"engine": "steps", "definition": "plan"}, "at: give one moment"),
        ({**ONCE, "at": "2026-11-22T09:00:00"}, "at: without its offset"),
        ({**ONCE, "at": "завтра"}, "at: a moment with its offset"),
        ({**ONCE, "at": "2026-11-21T11:00:00Z"}, "at: this moment is over"),
        ({**ONCE, "at": "9999-12-31T00:00:00Z"}, "at: a moment within the next five years"),
        ({**DAILY, "zone": "../etc/passwd"}, "zone: the name of a time zone"),
        ({**DAILY, "cron": "60 * * * *"}, "cron: the field minute cannot be '60'"),
        ({**DAILY, "cron": "*/0 * * * *"}, "cron: the field minute cannot be '*/0'"),
        ({**DAILY, "cron": "0 ٣ * * *"}, "cron: the field hour cannot be '٣'"),
        ({**DAILY, "cron": "* * * * *"}, "1440 times a day"),
        ({**DAILY, "cron": "0 0 31 2 *"}, "never due"),
    ],
)
async def test_a_time_that_has_not_one_meaning_is_refused_with_the_field(api: Api, body: dict[str, Any], part: str) -> None:
    answer = await api.post("/schedules", body)
    assert error_of(answer) == (400, "invalid_schedule")
    assert part in answer.json()["error"]["message"]
    assert await listed(api) == []


@pytest.mark.parametrize(
    "more", [{"cron": "1," * 5_000}, {"zone": "x" * 10_000}, {"note": "x" * 201}, {"args": {"a b": 1}}, {"owner": "tg:1007"}, {"cron": 5}]
)
async def test_a_body_that_is_none_is_refused_before_it_is_read(api: Api, more: dict[str, Any]) -> None:
    assert error_of(await api.post("/schedules", {**DAILY, **more})) == (400, "invalid_request")


async def test_only_what_a_token_may_start_is_scheduled(api: Api) -> None:
    assert error_of(await api.post("/schedules", {**DAILY, "definition": "none"})) == (404, "definition_not_found")
    assert error_of(await api.post("/schedules", {**DAILY, "engine": "none"})) == (404, "definition_not_found")
    for home in ("tg:1007", "http:other:42", "run:x", "http:site:"):
        assert error_of(await api.post("/schedules", {**DAILY, "home": home})) == (403, "not_your_session")
    await api.world.work(add(cron="0 9 * * *", actor=ANNA))
    assert error_of(await api.post("/schedules", {**DAILY, "home": CHAT}, "chief")) == (403, "not_your_session"), "a chat of a person"
    assert error_of(await api.post("/schedules", DAILY, "nobody")) == (401, "unauthorized")


async def test_the_same_key_makes_one_schedule_also_after_its_moment(api: Api) -> None:
    one, two = [await api.post("/schedules", ONCE, key="k1") for _ in range(2)]
    assert one.json()["id"] == two.json()["id"]
    assert error_of(await api.post("/schedules", DAILY, key="k1")) == (422, "idempotency_mismatch")
    api.world.clock.advance(timedelta(days=2))
    await api.world.idle()
    again = await api.post("/schedules", ONCE, key="k1")
    assert (again.status_code, again.json()["id"]) == (202, one.json()["id"])
    assert error_of(await api.get(f"/schedules/{one.json()['id']}")) == (404, "schedule_not_found"), "it is over"
    assert len((await api.get("/runs")).json()["runs"]) == 1


async def test_a_token_sees_its_own_a_lead_where_those_of_others_stand(api: Api) -> None:
    schedule = await made(api)
    assert await listed(api, "other") == []
    for answer in (await api.get(f"/schedules/{schedule}", "other"), await api.get("/schedules/none")):
        assert error_of(answer) == (404, "schedule_not_found")
    assert error_of(await api.http.delete(f"/schedules/{schedule}", headers={"X-API-Key": SECRETS["other"]})) == (404, "schedule_not_found")
    lead, chief = [(await api.get(f"/schedules/{schedule}", caller)).json() for caller in ("head", "chief")]
    assert (lead["args"], lead["note"], lead["may_control"]) == ({}, "", True)
    assert (chief["args"], chief["note"]) == ({"deal": 481}, "для Ромашки")


async def test_the_list_goes_page_by_page_the_next_one_first(api: Api) -> None:
    late, soon = await made(api, cron="0 12 * * *"), await made(api, cron="0 10 * * *")
    paused = await made(api, cron="0 9 * * *")
    assert (await api.post(f"/schedules/{paused}/pause")).status_code == 200
    found, cursor = [], ""
    while cursor is not None:
        page = (await api.get("/schedules", limit=1, **({"cursor": cursor} if cursor else {}))).json()
        found += [one["id"] for one in page["schedules"]]
        cursor = page["next"]
    assert found == [soon, late, paused]
    assert await listed(api, status="paused") == [paused]
    assert await listed(api, engine="fan") == []
    assert error_of(await api.get("/schedules", cursor="WyJlIiwiMTIiXQ")) == (400, "invalid_cursor")


async def test_a_schedule_is_paused_resumed_and_cancelled(api: Api) -> None:
    schedule = await made(api)
    paused = await api.post(f"/schedules/{schedule}/pause")
    assert (paused.status_code, paused.json()["status"], paused.json()["why"], paused.json()["next"]) == (200, "paused", "person", "")
    assert error_of(await api.post(f"/schedules/{schedule}/pause")) == (409, "order_late")
    resumed = await api.post(f"/schedules/{schedule}/resume", caller="head")
    assert (resumed.status_code, resumed.json()["status"]) == (200, "waiting")
    gone = await api.http.delete(f"/schedules/{schedule}", headers={"X-API-Key": SECRETS["site"]})
    assert (gone.status_code, gone.json()) == (200, {"id": schedule, "status": "cancelled"})
    again = await api.http.delete(f"/schedules/{schedule}", headers={"X-API-Key": SECRETS["site"]})
    assert error_of(again) == (404, "schedule_not_found")
    assert await listed(api) == []


async def test_what_cannot_be_resumed_says_so(api: Api) -> None:
    schedule = await made(api)
    await api.post(f"/schedules/{schedule}/pause")
    api.world.tools.features.inbox["schedule_order"].__self__._engines.definitions._documents.clear()  # type: ignore[attr-defined]
    assert error_of(await api.post(f"/schedules/{schedule}/resume")) == (409, "order_refused")


async def test_a_token_has_a_limit(api: Api) -> None:
    client = api.clients["site"].actor
    rows = [
        add(cron="0 9 * * *", actor=client, home="http:site:runs", schedule=f"0190aaaa-0000-7000-8000-{number:012x}")
        for number in range(MOST)
    ]
    await api.world.orchestrator.receive(rows)
    await api.world.idle()
    assert error_of(await api.post("/schedules", DAILY)) == (409, "too_many_schedules")
    assert (await api.post("/schedules", DAILY, "other")).status_code == 202


@pytest.mark.parametrize(("words", "origin"), [("program", "prose"), ("own", "person")])
async def test_values_of_a_schedule_are_a_programs_words_unless_the_token_says_otherwise(
    api: Api, words: Literal["program", "own"], origin: str
) -> None:
    api.grants["site"] = TokenGrant(name="site", words=words)
    await made(api)
    (added,) = api.world.events("ScheduleAdded", key="http:site:runs")
    assert added.data["args"] == {"deal": {"data": 481, "origins": [origin]}}


async def test_what_customers_write_stays_text_of_strangers(api: Api) -> None:
    api.grants["site"] = TokenGrant(name="site", customers=True)
    await made(api, engine="scenario", definition="survey")
    (added,) = api.world.events("ScheduleAdded", key="http:site:runs")
    assert added.data["args"] == {"deal": {"data": 481, "origins": ["prose"]}}
