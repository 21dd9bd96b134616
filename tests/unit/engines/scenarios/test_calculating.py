"""Scenarios know the day on which they began, and calculate with it and with other values."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.taint import Value
from orchestrator.expressions.conditions import ConditionFailed, compile_condition
from tests.unit.engines.scenarios.scenario_kit import a_scenario_world, ask, failure, say, scenario, start, texts
from tests.unit.engines.scenarios.test_checks import find
from tests.unit.runs import runs_kit
from tests.unit.runs.runs_kit import events
from tests.unit.spine_kit import ANNA, message


def calculate(**values: str) -> dict[str, Any]:
    return {"id": "count", "type": "calculate", "params": {"values": values}}


@pytest.mark.parametrize(("zone", "today"), [("Europe/Moscow", "2026-11-21"), ("Pacific/Auckland", "2026-11-22")])
async def test_today_is_the_day_of_the_beginning_where_the_person_lives(tmp_path: Path, zone: str, today: str) -> None:
    """Noon in UTC is the next day in New Zealand; three days later a run that is played again reads the same."""
    there = ANNA.model_copy(update={"time_zone": zone})
    async with a_scenario_world(tmp_path, say("{today} {employee_id}"), ask(), say("{today}")) as world:
        await world.work(runs_kit.start("plan", engine="scenario", actor=there))
        assert texts(world)[0] == f"{today} 7"
        world.clock.advance(timedelta(days=3))
        await world.work(message("дальше"))
        assert texts(world)[-1] == today


async def test_who_starts_a_scenario_does_not_choose_the_day_of_the_program(tmp_path: Path) -> None:
    """Values of the caller replace neither the day nor the employee under the program's own names."""
    async with a_scenario_world(tmp_path, calculate(due="add_days(__today, 1)"), say("{due} {__employee_id} {today}")) as world:
        await world.work(start(today=Value("2099-01-01"), employee_id=Value(1)))
        assert texts(world) == ["2026-11-22 7 2099-01-01"]


async def test_expressions_count_with_the_variables_as_they_were(tmp_path: Path) -> None:
    """Days, numbers and texts keep their types; both expressions of one step read the variables before it."""
    steps = (
        ask("days", "Через сколько дней?", type="integer"),
        calculate(due="add_days(today, days)", monday="add_days(today, 8 - weekday(today))", days="days + 1"),
        say("{due} {monday} {days}"),
    )
    async with a_scenario_world(tmp_path, *steps) as world:
        await world.work(start())
        await world.work(message("3"))
        assert texts(world)[-1] == "2026-11-24 2026-11-23 4"


async def test_an_expression_that_makes_no_sense_fails_the_run(tmp_path: Path) -> None:
    """A text that is no day is no day."""
    async with a_scenario_world(tmp_path, calculate(due="add_days('завтра', 1)"), say("никогда")) as world:
        await world.work(start())
        assert (failure(world)["code"], texts(world)) == ("scenario-calculation-failed", [])


async def test_what_is_calculated_from_text_of_strangers_is_theirs(tmp_path: Path) -> None:
    """The comment is made of what was read, by an expression: a person is asked before it is written."""
    read = {"type": "bitrix_call", "params": {"method": "crm.deal.get", "params": {"id": 481}, "output_var": "deal"}}
    fields = {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "{note}"}
    write = {"type": "bitrix_call", "params": {"method": "crm.timeline.comment.add", "params": {"fields": fields}}}
    async with a_scenario_world(tmp_path, read, calculate(note="deal['TITLE'][:1] + 'x'"), write) as world:
        await world.work(start())
        assert [row.kind for row in world.outbox()] == ["card"]
        assert world.portal.written("crm.timeline.comment.add") == []


def test_a_wrong_expression_is_found_before_it_runs() -> None:
    """As a condition is: its mistakes, and variables that nobody sets."""
    plan = scenario(calculate(due="add_days(today", other="agee + 1", number="1"), say("{due} {other} {number}"))
    assert find(plan) == [("error", "expression-syntax"), ("warning", "finding-variable-unset")]


async def test_a_scenario_is_scheduled_at_a_local_moment(tmp_path: Path) -> None:
    """Without an offset it is the time where the person lives; one moment needs no card."""
    later = {"type": "schedule_scenario_run", "params": {"scenario_id": "plan", "at": "{day}T09:00"}}
    async with a_scenario_world(tmp_path, calculate(day="add_days(today, 2)"), later) as world:
        await world.work(start())
        (made,) = events(world, "CallSucceeded")
        assert made.data["result"]["next"] == "2026-11-23T06:00:00.000000Z"


@pytest.mark.parametrize("when", [{}, {"at": "завтра"}, {"at": "2026-11-23T09:00", "run_in_seconds": 5}])
async def test_a_moment_without_one_meaning_fails_the_run(tmp_path: Path, when: dict[str, Any]) -> None:
    """None, a word, two at once."""
    async with a_scenario_world(tmp_path, {"type": "schedule_scenario_run", "params": {"scenario_id": "plan", **when}}) as world:
        await world.work(start())
        assert failure(world)["code"] == "scenario-schedule-when"


@pytest.mark.parametrize(
    "expression",
    ["at_time(today, '24:00', time_zone)", "at_time(today, '9:00', 'Europe')", "at_time(today, '9:00', '../x')", "add_days(today, 1.5)",
     "add_days('9999-12-31', 1)", "add_days('2026-02-30', 1)", "weekday(null)"],
)  # fmt: skip
def test_days_and_times_that_there_are_not_are_refused(expression: str) -> None:
    """An error at its place, and no day by accident."""
    names = {"today": "2026-11-27", "time_zone": "Europe/Moscow"}
    with pytest.raises(ConditionFailed) as failed:
        compile_condition(expression).evaluate(names)
    assert failed.value.finding.code == "expression-function"


@pytest.mark.parametrize(("number", "text"), [(120000, "120 000"), (999, "999"), (-1500.5, "-1 500,5"), (2000.0, "2 000"), (0.126, "0,13")])
def test_numbers_are_written_as_people_read_them(number: float, text: str) -> None:
    """Thousands apart, with spaces that do not break, and at most two decimals."""
    assert compile_condition("format_number(number)").evaluate({"number": number}) == text.replace(" ", "\u00a0")
