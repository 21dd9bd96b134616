"""Every name that the prompt tells the model is one that the grammar takes."""

import json
import re
from pathlib import Path

import pytest
import yaml

from orchestrator.domain.report import ReportAnswer, ReportTrouble
from tests.unit.analytics.analytics_kit import Desk
from tests.unit.analytics.mirror_firm import FIELD

ROOT = Path(__file__).resolve().parents[3]
PROMPT = (ROOT / "data/agent/numbers.md").read_text(encoding="utf-8")
RESOLVED = {"@user:Борис": 7, "@category:…": 0, "@category:Продажи": 0, "@date:…": "@date:прошлый месяц"}


def read_line(start: str) -> str:
    return next(line.removeprefix(start) for line in PROMPT.splitlines() if line.startswith(start))


def list_words(text: str) -> list[str]:
    return re.findall(r"[a-z_]+(?::\d+|:[a-z]+)?", re.sub(r"\([^)]*\)|, up to two", "", text))


def test_the_prompt_is_short() -> None:
    assert len(PROMPT) <= 2000


async def test_the_example_of_the_prompt_is_answered(desk: Desk) -> None:
    step = json.loads(next(line for line in PROMPT.splitlines() if line.startswith('{"method"')))
    await desk.answer(step["params"])


async def test_every_subject_state_and_dimension_of_the_prompt_exists(desk: Desk) -> None:
    for subject in re.findall(r"[a-z]+(?::31)?", re.sub(r"\([^)]*\)", "", read_line("of: "))):
        outcome = await desk.ask({"of": subject})
        assert isinstance(outcome, ReportAnswer) or (isinstance(outcome, ReportTrouble) and outcome.code == "no_products"), (
            subject,
            outcome,
        )
    for_all, _, for_calls = read_line("where (a list joins): ").partition("; calls: ")
    for state in list_words(for_all):
        await desk.answer({"of": "deals", "where": state})
    for state in list_words(for_calls):
        await desk.answer({"of": "calls", "where": state})
    period = {"from": "2026-11-01", "to": "2026-11-28"}
    for name in list_words(read_line("group_by").partition(": ")[2].replace("UF_ list field", "")):
        outcome = await desk.ask({"of": "products" if name == "product" else "deals", "group_by": name, "period": period})
        assert isinstance(outcome, ReportAnswer) or outcome.code == "no_products", (name, outcome)
    await desk.answer({"of": "deals", "group_by": FIELD})


async def test_every_measure_and_date_of_the_prompt_exists(desk: Desk) -> None:
    texts = read_line("measures: ").split(". ")[0].split("; ")
    for text in texts:
        names, of = (
            (text, "deals")
            if ":" not in text.partition(" ")[0] and not re.match(r"[a-z, ]+: ", text)
            else (text.partition(": ")[2], text.partition(": ")[0])
        )
        for subject in of.split(", "):
            for measure in list_words(names):
                outcome = await desk.ask({"of": subject, "measures": [measure]})
                assert isinstance(outcome, ReportAnswer) or outcome.code == "no_products", (subject, measure, outcome)
    for subject, date in [
        ("deals", "created"),
        ("deals", "closed"),
        ("deals", "expected"),
        ("deals", "moved"),
        ("tasks", "deadline"),
        ("activities", "started"),
        ("tasks", "done"),
        ("moves", "entered"),
        ("moves", "left"),
    ]:
        assert date in read_line("period: ")
        await desk.answer({"of": subject, "by": date, "period": "@date:прошлый месяц"})


async def test_every_key_of_the_prompt_is_taken(desk: Desk) -> None:
    won = {"of": "deals", "where": "won", "period": "@date:этот месяц", "measures": ["sum"]}
    for keys in (
        {"compare": "previous", "explain": True, "expects": "fall"}, {"compare": "year_ago"}, {"compare": "@date:октябрь"}, {"plan": 8_000_000},
        {"group_by": "source", "top": 10, "order": "sum"}, {"group_by": "source", "order": "sum:asc"}, {"plan": {"7": 2_000_000}},
        {"group_by": "company", "abc": True}, {"measures": ["share:sum"], "group_by": "source"}, {"filter": {"!ASSIGNED_BY_ID": 7}},
    ):  # fmt: skip
        await desk.answer({**won, **keys})
    await desk.answer({"of": "deals", "funnel": True, "period": "@date:этот месяц"})
    await desk.answer({"of": "deals", "at": "week", "period": "@date:этот квартал"})
    await desk.answer({"of": "deals", "at": "@date:1 ноября"})
    await desk.answer({"of": "moves", "back": True})
    await desk.answer({"of": "calls", "group_by": "person", "per": {"of": "deals", "where": "won"}})
    await desk.answer({"again": {"group_by": "source"}}, last=won)


@pytest.mark.slow
async def test_fifty_seven_of_the_sixty_questions_are_answered_and_the_others_say_why(desk: Desk) -> None:
    questions = yaml.safe_load((Path(__file__).parent / "questions.yaml").read_text(encoding="utf-8"))
    assert [question["number"] for question in questions] == list(range(1, 61))
    outcomes = {question["number"]: await desk.ask(question["question"]) for question in questions}
    refused = {number: outcome.code for number, outcome in outcomes.items() if isinstance(outcome, ReportTrouble)}
    assert refused == {46: "no_products", 49: "unkept", 54: "no_products"}, "products are read from the portal, which the desk has none of"
    assert all(outcome.definition for outcome in outcomes.values() if isinstance(outcome, ReportAnswer))
