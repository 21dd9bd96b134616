"""Requests about runs that are wrong in some way: each is refused with a sentence that says what to mend, and changes nothing."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.http_api.audit.session_events import format_place
from bot.http_api.server.app import BodyLimit
from state.journal.run_index import RunFilter
from tests.unit.bot.http_api.api_kit import SECRETS, Api, an_api
from tests.unit.bot.http_api.chat_kit import error_of
from tests.unit.bot.http_api.test_api_runs import begun, shown
from tests.unit.runs.runs_kit import steps

pytestmark = pytest.mark.req("S004-58", "G1")

DOCUMENTS = {
    ("steps", "plan"): steps({"ask": "Какой тариф?", "options": ["Базовый", "Полный"]}, {"say": "Тариф: {s0}"}),
    ("steps", "words"): steps({"ask": "Как зовут?"}, {"say": "Имя: {s0}"}),
}
GOOD = {"engine": "steps", "definition": "plan"}
HEADERS = {"X-API-Key": SECRETS["site"], "Content-Type": "application/json"}
LONGEST_TOLD = 600


def check_refused(answer: httpx.Response, *names: str) -> None:
    """The answer is an error of the caller, in the one form of this API, and its sentence names these fields."""
    assert 400 <= answer.status_code < 500, answer.text[:500]
    told = answer.json()["error"]
    assert told["code"]
    assert 10 < len(told["message"]) < LONGEST_TOLD
    for name in names:
        assert name in told["message"]


def nested(depth: int) -> str:
    """JSON text of lists in each other."""
    return "[" * depth + "]" * depth


BAD_BODIES = [
    b"",
    b"not json",
    b"[]",
    b"null",
    b"\xff\xfe",
    json.dumps({**GOOD, "args": {"x": "я" * 10_000_000}}, ensure_ascii=False).encode(),
    f'{{"engine": "steps", "definition": "plan", "args": {{"x": {nested(100_000)}}}}}'.encode(),
    json.dumps({**GOOD, "args": {f"x{number}": 1 for number in range(51)}}).encode(),
    b'{"engine": "steps", "definition": "plan", "args": {"sum": NaN}}',
    b'{"engine": "steps", "definition": "plan", "args": {"sum": -Infinity}}',
    b'{"engine": "steps", "definition": "plan", "args": {"sum": 1, "sum": 2}}',
]


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    """The product with these definitions."""
    async with an_api(tmp_path, documents=DOCUMENTS) as api:
        yield api


@pytest.mark.parametrize("content", BAD_BODIES, ids=range(len(BAD_BODIES)))
async def test_a_body_that_cannot_be_read_starts_nothing(api: Api, content: bytes) -> None:
    """No JSON, no object, too deep, too large, too many values, or JSON for Python alone: NaN, and a key twice, of which one would be lost."""
    limited = BodyLimit(api.http._transport.app, exempt=())  # type: ignore[attr-defined]  # as bot.http_api.server.app sets it up
    async with httpx.AsyncClient(transport=httpx.ASGITransport(limited), base_url="http://api") as http:
        check_refused(await http.post("/runs", content=content, headers=HEADERS))
    assert api.world.sql.list_runs(RunFilter()) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("engine", "magic"),
        ("engine", ""),
        ("engine", "a\nb"),
        ("engine", 7),
        ("engine", None),
        ("definition", "nowhere"),
        ("definition", "<b>plan</b>"),
        ("definition", "x" * 10_000),
        ("definition", "plan\n"),
        ("definition", {"key": "plan"}),
        ("args", [1]),
        ("args", "deal"),
        ("args", {"": 1}),
        ("args", {"a b": 1}),
        ("args", {"x" * 65: 1}),
        ("home", ""),
        ("home", "tg:1007"),
        ("home", "http:other:42"),
        ("home", "http:site:"),
        ("home", "run:x"),
        ("home", "http:site:\n"),
        ("home", "x" * 10_000),
        ("odd", 1),
    ],
)
async def test_a_wrong_field_of_a_start_is_named(api: Api, field: str, value: Any) -> None:
    """The sentence begins with the name of the field."""
    check_refused(await api.post("/runs", {**GOOD, field: value}), field)
    assert api.world.sql.list_runs(RunFilter()) == []


@pytest.mark.parametrize("value", ["\x00", "\ud800", float("nan"), 2**70, 1e308, -0.0, "\u202e", [[[[]]]], {"a": None}])
async def test_any_json_value_can_be_given(api: Api, value: Any) -> None:
    """What cannot be stored as it is becomes text; the run begins."""
    body = json.dumps({**GOOD, "args": {"x": value}})
    answer = await api.http.post("/runs", content=body, headers=HEADERS)
    assert answer.status_code in {202, 400}, answer.text
    await api.world.idle()
    assert len(api.world.sql.list_runs(RunFilter())) == (answer.status_code == 202)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "option"),
        ({"option": 0, "text": "x"}, "option"),
        ({"option": 2}, "option"),
        ({"option": -1}, "option"),
        ({"option": 10**30}, "option"),
        ({"option": "раз"}, "option"),
        ({"option": 0.5}, "option"),
        ({"option": True, "x": 1}, "x"),
        ({"text": ""}, "text"),
        ({"text": " \n"}, "text"),
        ({"text": "Базовый"}, "text"),
        ({"text": "я" * 20_000}, "text"),
        ({"text": 7}, "text"),
    ],
)
async def test_an_answer_that_does_not_fit_is_refused(api: Api, body: dict[str, Any], field: str) -> None:
    """The sentence names the field; the question stays open."""
    run_id = await begun(api)
    question = (await shown(api, run_id))["waits"][0]["question"]
    check_refused(await api.post(f"/runs/{run_id}/answers/{question}", body), field)
    assert (await shown(api, run_id))["status"] == "waiting"


@pytest.mark.parametrize("question", ["ffffffff", "x" * 64, "x" * 10_000, "%00", "..%2F..", "%20"])
async def test_an_answer_to_no_question_is_refused(api: Api, question: str) -> None:
    """An earlier question, somebody else's, or none."""
    run_id = await begun(api)
    check_refused(await api.post(f"/runs/{run_id}/answers/{question}", {"option": 0}))
    assert (await shown(api, run_id))["status"] == "waiting"


async def test_a_run_that_is_over_takes_no_answer(api: Api) -> None:
    """Nor does a paused one; each says what to do."""
    run_id = await begun(api)
    question = (await shown(api, run_id))["waits"][0]["question"]
    await api.post(f"/runs/{run_id}/pause")
    paused = await api.post(f"/runs/{run_id}/answers/{question}", {"option": 0})
    check_refused(paused, f"/runs/{run_id}/resume")
    await api.post(f"/runs/{run_id}/cancel")
    assert error_of(await api.post(f"/runs/{run_id}/answers/{question}", {"option": 0})) == (409, "question_closed")


async def test_of_two_answers_at_once_one_is_refused(api: Api) -> None:
    """Both callers learn the truth."""
    run_id = await begun(api)
    path = f"/runs/{run_id}/answers/{(await shown(api, run_id))['waits'][0]['question']}"
    answers = await asyncio.gather(*(api.post(path, {"option": number}) for number in (0, 1)))
    assert sorted(one.status_code for one in answers) == [200, 409]


@pytest.mark.parametrize(
    "run_id", ["none", "x" * 64, "x" * 10_000, "%00", "..%2F..", "0190aaaa-0000-7000-8000-00000000ffff", "RUN", "%D1%8F"]
)
@pytest.mark.parametrize("rest", ["", "/events", "/cancel"])
async def test_a_run_that_does_not_exist_is_not_found(api: Api, run_id: str, rest: str) -> None:
    """Whatever stands in its place."""
    answer = await (api.post(f"/runs/{run_id}{rest}") if rest == "/cancel" else api.get(f"/runs/{run_id}{rest}"))
    check_refused(answer)


@pytest.mark.parametrize("order", ["explode", "PAUSE", "retry", "resume", "delete", "%00"])
async def test_an_order_that_no_run_knows_or_that_does_not_fit_is_refused(api: Api, order: str) -> None:
    """The run waits as before."""
    run_id = await begun(api)
    check_refused(await api.post(f"/runs/{run_id}/{order}"))
    assert (await shown(api, run_id))["status"] == "waiting"


@pytest.mark.parametrize(
    "query",
    [{"after": "x"}, {"after": format_place(10**6)}, {"after": format_place(-1)}, {"after": ""}, {"after": "я" * 5000}, {"limit": 0}, {"limit": 10**9},
     {"wait": -1}, {"wait": 10**9}, {"wait": "nan"}, {"odd": 1}],
)  # fmt: skip
@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
async def test_a_wrong_place_in_the_events_is_refused(api: Api, query: dict[str, Any], accept: str) -> None:
    """As one page and as a stream, which then never begins or ends at once with an error."""
    run_id = await begun(api)
    answer = await api.http.get(f"/runs/{run_id}/events", params=query, headers={**HEADERS, "Accept": accept})
    if answer.status_code == 200:
        assert "event: error" in answer.text
    else:
        check_refused(answer)


@pytest.mark.parametrize(
    "query", [{"status": "odd"}, {"cursor": "x"}, {"cursor": "я" * 5000}, {"limit": 0}, {"limit": 101}, {"engine": "a b"}, {"odd": 1}]
)
async def test_a_wrong_filter_of_the_list_is_refused(api: Api, query: dict[str, Any]) -> None:
    """The sentence names it."""
    check_refused(await api.get("/runs", **query), next(iter(query)))


async def test_a_reader_that_leaves_stops_nothing(api: Api) -> None:
    """The stream of its request ends with it, and the run goes on."""
    run_id = await begun(api)
    reading = asyncio.ensure_future(api.http.get(f"/runs/{run_id}/events", headers={**HEADERS, "Accept": "text/event-stream"}))
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    await finish(api, run_id)


async def finish(api: Api, run_id: str) -> None:
    """Answer the question of the run, and see it end."""
    question = (await shown(api, run_id))["waits"][0]["question"]
    assert (await api.post(f"/runs/{run_id}/answers/{question}", {"option": 0})).status_code == 200
    await api.world.idle()
    assert (await shown(api, run_id))["status"] == "done"
