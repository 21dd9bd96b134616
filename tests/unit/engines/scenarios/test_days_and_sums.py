"""Days, moments, sums and telephones: read as people name them, kept exactly, and said as people speak."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from engines.scenarios.core.answers import Expected, InputType
from engines.scenarios.core.day_answers import Bounds, Mistake, parse_bound
from engines.scenarios.playing import Dialogue, play_dialogue
from orchestrator.rehearsals.comparing import list_messages
from orchestrator.rehearsals.script import Script
from tests.unit.engines.scenarios.scenario_kit import TYPES, a_scenario_world, ask, click, say, scenario, start, texts
from tests.unit.engines.scenarios.test_late_checks import find
from tests.unit.spine_kit import message

NOW = datetime(2026, 12, 1, 9, tzinfo=UTC)


def read(kind: InputType, typed: str, **more: Any) -> Any:
    return Expected(type=kind, zone="Europe/Moscow", **more).read("text", typed, said_at=NOW)


@pytest.mark.parametrize(("kind", "typed", "value"), [
    ("date", "31.12.2026", "2026-12-31"), ("date", "1 декабря", "2026-12-01"), ("date", "завтра", "2026-12-02"),
    ("date", "через неделю", "2026-12-08"), ("date", "2026-12-31", "2026-12-31"), ("date", "12.11.2026", "2026-11-12"),
    ("datetime", "завтра в 15:30", "2026-12-02T15:30:00+03:00"), ("datetime", "2026-12-31T10:00Z", "2026-12-31T13:00:00+03:00"),
    ("money", "700 000 ₽", 700_000), ("money", "700 тыс", 700_000), ("money", "1,5 млн", 1_500_000), ("money", "1 500,50 руб", 1500.5),
    ("phone", "8 (901) 123-45-67", "+79011234567"), ("phone", "+7 901 123 45 67", "+79011234567"), ("phone", "12-34-56", "12-34-56"),
    ("phone", "+49 30 123456", "+49 30 123456"),
])  # fmt: skip
def test_an_answer_is_kept_in_one_form(kind: InputType, typed: str, value: object) -> None:
    """However it was typed, what reads it afterwards finds the same."""
    assert read(kind, typed) == value


@pytest.mark.parametrize(("kind", "typed", "problem"), [
    ("date", "не знаю", "other"), ("date", "5 или 6 декабря", "several"), ("date", "31.02.2027", "impossible"),
    ("date", "в январе", "which_day"), ("datetime", "завтра", "no_hour"), ("datetime", "завтра в 3", "which"), ("datetime", "в 11", "past"),
])  # fmt: skip
def test_a_day_that_is_not_clear_is_asked_again(kind: InputType, typed: str, problem: str) -> None:
    """No hour is added, and of two none is chosen."""
    mistake = read(kind, typed)
    assert isinstance(mistake, Mistake)
    assert (mistake.code, mistake.args["problem"]) == ("scenario-answer-day", problem)


@pytest.mark.parametrize("typed", ["-5", "1,555", "0,001", "дорого", "5 тыс $"])
def test_what_is_no_sum_is_asked_again(typed: str) -> None:
    assert isinstance(read("money", typed), Mistake)


@pytest.mark.parametrize(("kind", "typed", "code"), [
    ("date", "30.11.2026", "early"), ("date", "01.12.2026", ""), ("date", "24.12.2026", "late"), ("date", "23.12.2026", ""),
    ("datetime", "23.12.2026 23:00", ""), ("datetime", "24.12.2026 00:30", "late"),
])  # fmt: skip
def test_a_day_keeps_within_its_bounds(kind: InputType, typed: str, code: str) -> None:
    """A bound that is a day holds for all its hours."""
    answer = read(kind, typed, bounds=Bounds(earliest=parse_bound("2026-12-01"), latest=parse_bound("2026-12-23")))
    assert (answer.code.removeprefix("scenario-answer-") if isinstance(answer, Mistake) else "") == code


ORDER = (
    ask("begin", "С какого дня?", type="date", step="begin"),
    ask("end", "До какого?", type="date", step="end", earliest="{begin}"),
    ask("sum", "Сумма?", type="money", step="sum"),
    {"id": "count", "type": "calculate", "params": {"values": {"days": "end - begin + 1", "pay": "add_days(end, 3)", "half": "sum / 2"}}},
    say("{begin} — {end}, дней: {days}, оплата до {pay}: {sum} ₽, половина {half} ₽"),
    {"id": "task", "type": "bitrix_call", "params": {"method": "crm.deal.update", "params": {
        "id": 481, "fields": {"CLOSEDATE": "{end}", "OPPORTUNITY": "{sum}"}}}},
)  # fmt: skip


async def play(document: Mapping[str, Any], *inputs: Any) -> tuple[list[str], Any]:
    dialogue = Dialogue(name="x", inputs=list(inputs), day="2026-12-01")
    played = await play_dialogue("plan", {"plan": document}, TYPES, dialogue, Script(dialogue))
    assert played.result.status == "done", played.happenings[-1].text
    return list_messages(played.happenings), played.result.value.data


async def test_a_trial_counts_with_days_and_says_them_as_people_do() -> None:
    """An end before the begin is asked again; calls get ISO's form and the number."""
    told, variables = await play(scenario(*ORDER), "28 декабря", "27.12.2026", "10 января", "700 тыс")
    assert told[:5] == ["С какого дня?", "До какого?", "[scenario-answer-early]", "До какого?", "Сумма?"]
    assert told[-1] == (
        "пн, 28 декабря — вс, 10 января 2027, дней: 14, оплата до ср, 13 января 2027: 700\u00a0000 ₽, половина 350\u00a0000 ₽"
    )
    assert (variables["begin"], variables["end"], variables["sum"]) == ("2026-12-28", "2027-01-10", 700_000)


async def test_tomorrow_is_the_day_after_the_answer_however_late_the_run_goes_on(tmp_path: Path) -> None:
    """A run that is played again days later reads its answers as on their day; a word on a button is read, too."""
    steps = (ask("due", "Когда?", type="date", buttons=["Завтра"]), ask("more", "Ещё?", step="more"), say("{due} {more}"))
    async with a_scenario_world(tmp_path, *steps) as world:
        await world.work(start())
        await world.work(click(world, 0))
        world.clock.advance(timedelta(days=3))
        await world.work(message("31.12"))
        assert texts(world)[-1] == "вс, 22 ноября 31.12"


def branch(condition: str) -> dict[str, Any]:
    return {"id": "b", "type": "branch", "condition": condition, "branches": {"if": "x", "else": "x"}}


@pytest.mark.parametrize(("condition", "name"), [
    ("end < begin", "end"), ("end < today", "end"), ("due >= '31.12.2026'", "'31.12.2026'"), ("context['end'] > add_days(today, 3)", "context['end']"),
    ("end > '2026-12-31'", "end"), ("due < add_days(today, 3)", ""), ("due > '2026-12-31'", ""), ("end == begin", ""), ("end > 5", ""),
])  # fmt: skip
def test_an_order_of_texts_is_found(condition: str, name: str) -> None:
    """Letters would decide it. Days of ISO's form are in order, and numbers are read from a text."""
    questions = (ask("end", step="1"), ask("begin", step="2"), ask("due", step="3", type="date"))
    findings = find(*questions, branch(condition), say("x", id="x"))
    assert [one.args["name"] for one in findings if one.code == "finding-texts-ordered"] == ([name] if name else [])


@pytest.mark.parametrize(("params", "code"), [
    ({"type": "date", "earliest": "завтра"}, "finding-bound-day"), ({"type": "date", "minimum": 5}, "finding-bound-useless"),
    ({"type": "date", "earliest": "2027-01-01", "latest": "2026-01-01"}, "finding-bounds-crossed"),
    ({"earliest": "2027-01-01"}, "finding-bound-useless"), ({"type": "date", "earliest": "{today}", "latest": "2026-12-31"}, ""),
])  # fmt: skip
def test_bounds_that_do_not_fit_are_found(params: Mapping[str, Any], code: str) -> None:
    assert [one.code for one in find(ask("due", **params))] == ([code] if code else [])
