"""Whatever is asked, wrong words give one English sentence that says what is possible, and never an exception."""

import re
from random import Random
from typing import Any

import pytest

from orchestrator.domain.report import ReportAnswer
from tests.unit.analytics.analytics_kit import Desk
from tests.unit.analytics.random_questions import draw_question

_GOOD: dict[str, Any] = {"of": "deals", "where": "won", "period": {"from": "2026-10-01", "to": "2026-11-28"}, "measures": ["sum"]}
_JUNK: list[Any] = [
    None, "", " ", 0, -1, 10**400, 1e308, float("nan"), float("inf"), True, [], {}, [[]], [{}], [None], {"a": 1}, "х" * 5000, "'; DROP TABLE deal; --",
    "1 OR 1=1", ["sum", 3], {"from": "2026-02-31"}, {"from": "x", "to": []}, "@user:Борис", "@date:", "@date:когда рак свистнет", "\x00", "sum\nsum",
    {"__proto__": 1}, [["won"]], "idle:", "idle:-5", "idle:99999", "share:", "share:avg", "item:", "item:99", b"bytes", object(), "\u202ertl", "0", "created:",
]  # fmt: skip
_KEYS = [
    "of",
    "where",
    "filter",
    "period",
    "by",
    "group_by",
    "measures",
    "compare",
    "top",
    "order",
    "plan",
    "funnel",
    "at",
    "back",
    "abc",
    "explain",
    "expects",
    "per",
    "show",
]
_FILTERS = [
    "SOURCE_ID",
    ">OPPORTUNITY",
    "!COMPANY_ID",
    "%TITLE",
    "><DATE_CREATE",
    "<CLOSEDATE",
    "",
    "ID; DROP",
    "UF_CRM_1747310101",
    "=MOVED_TIME",
    "person",
    "COMPLETED",
]


def is_sentence(text: str) -> bool:
    return bool(re.fullmatch(r"[^\n]{10,1200}\.", text)) and not re.search(r"[.!?] [A-Z]", text)


@pytest.mark.parametrize("key", _KEYS)
async def test_no_value_of_a_key_raises(key: str, desk: Desk) -> None:
    for junk in _JUNK:
        outcome = await desk.ask({**_GOOD, key: junk})
        assert isinstance(outcome, ReportAnswer) or is_sentence(outcome.detail), (key, junk, outcome)


@pytest.mark.parametrize("name", _FILTERS)
async def test_no_value_of_a_filter_raises(name: str, desk: Desk) -> None:
    for junk in [*_JUNK, [1] * 1000, ["2026-10-01", "2026-10-31"], "2026-13-01", [1, None, ""]]:
        outcome = await desk.ask({**_GOOD, "filter": {name: junk}})
        assert isinstance(outcome, ReportAnswer) or is_sentence(outcome.detail), (name, junk, outcome)


@pytest.mark.parametrize("junk", [*_JUNK, {"again": {}}, {"again": 1}, {"again": {"top": 3}, "of": "deals"}])
async def test_no_question_of_any_shape_raises(junk: Any, desk: Desk) -> None:
    assert is_sentence(await desk.refuse(junk))


@pytest.mark.slow
async def test_three_hundred_misspelt_questions_get_one_sentence_each(desk: Desk) -> None:
    random = Random(300)  # noqa: S311 - questions are no secret
    refused = asked = 0
    while refused < 300:
        question = misspell(draw_question(random), random)
        outcome = await desk.ask(question)
        asked += 1
        if not isinstance(outcome, ReportAnswer):
            refused += 1
            assert is_sentence(outcome.detail), outcome.detail
            assert outcome.text
    assert asked < 400


def misspell(question: dict[str, Any], random: Random) -> dict[str, Any]:
    key = random.choice([key for key in question if question[key]])
    kind = random.randrange(4)
    if kind == 0:
        return {_spoil(name, random) if name == key else name: value for name, value in question.items()}
    value = question[key]
    if isinstance(value, list):
        return {**question, key: [*value[:-1], _spoil(str(value[-1]), random)]}
    if isinstance(value, dict):
        return {**question, key: {_spoil(name, random): content for name, content in value.items()}}
    return {**question, key: _spoil(str(value), random)}


def _spoil(word: str, random: Random) -> str:
    place = random.randrange(len(word) + 1)
    return word[:place] + random.choice("qxzй") + word[place:]


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ({"of": "deal5"}, ['"of" is one of deals, leads', 'did you mean "deals"?']),
        ({**_GOOD, "measures": ["summ"]}, ['deals have no measure "summ"', 'did you mean "sum"?', "win_rate"]),
        (
            {**_GOOD, "group_by": "sourse"},
            ['cannot be grouped by "sourse"', 'did you mean "source"?', "created/closed/expected/moved:month"],
        ),
        ({**_GOOD, "wher": "won"}, ['no key "wher"', 'did you mean "where"?']),
        ({**_GOOD, "where": "wonn"}, ['did you mean "won"?', "idle:N"]),
        ({**_GOOD, "filter": {"OPORTUNITY": 5}}, ['no field "OPORTUNITY"', 'did you mean "OPPORTUNITY"?']),
        ({"of": "deals", "measures": ["sum"], "compare": "previous"}, ['"compare" needs "period"']),
        ({**_GOOD, "measures": ["share:avg"]}, ["it cannot be added up"]),
        ({**_GOOD, "measures": ["weighted"]}, ['"weighted" is of open records: use "where":"open"']),
        ({**_GOOD, "top": 5}, ['"top" needs "group_by"']),
        ({"of": "deals", "plan": 5, "measures": ["sum"]}, ['"plan" needs "period"']),
        ({"of": "leads", "where": "no_activity"}, ["leads know open, won, lost, closed, idle:N"]),
        ({**_GOOD, "group_by": ["person", "source", "funnel"]}, ["at most two names"]),
        ({**_GOOD, "group_by": ["month", "week"]}, ["takes one time"]),
        ({**_GOOD, "period": "@date:когда рак свистнет"}, ["is no clear period", "last month"]),
        ({**_GOOD, "where": ["won", "open"]}, ['both "open" and "won"']),
        ({**_GOOD, "funnel": 7, "where": None, "measures": None}, ["there are 0, 1"]),
        ({**_GOOD, "measures": ["avg"], "compare": "previous", "explain": True}, ["cannot be explained"]),
        ({**_GOOD, "wher": 1, "topp": 2}, ['no key "wher"', 'no key "topp"']),
    ],
)
async def test_a_refusal_names_the_nearest_and_the_possible(question: dict[str, Any], parts: list[str], desk: Desk) -> None:
    detail = await desk.refuse(question)
    assert all(part in detail for part in parts), detail
    assert is_sentence(detail)
