"""The examples "plan of the week" and "the week in review": goals become tasks, Friday asks, Monday begins anew."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from state.journal.schedule_index import TIMER
from tests.unit.engines.scenarios.example_kit import BORIS, Stage, a_stage


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """Monday the 23rd, nine in the morning in Moscow."""
    async with a_stage(tmp_path) as made:
        await made.pass_time(days=1, hours=18)
        yield made


async def list_tasks(stage: Stage, *titles: str) -> list[dict[str, Any]]:
    """The tasks of Boris with these titles, by title."""
    rows = (await stage.ask_portal("tasks.task.list", filter={"RESPONSIBLE_ID": 7}, select=["*"]))["tasks"]
    return sorted((one for one in rows if one["title"] in titles), key=lambda one: titles.index(one["title"]))


def list_moments(stage: Stage) -> list[str]:
    return sorted(one.due_at.isoformat(timespec="minutes") for one in stage.world.sql.list_timers(TIMER))


async def test_three_goals_become_tasks_and_friday_asks_about_each(stage: Stage) -> None:
    """No card for the own tasks, one for Friday, which gets their numbers; a goal that was reached closes its task after a card, a denied card leaves it."""
    await stage.run("weekly_plan")
    await stage.choose("Только сейчас")
    await stage.say("да", "Закрыть «Вектор»", "Пять новых встреч", "Обновить прайс")
    assert "Напишите цель хотя бы в паре слов." in stage.texts
    tasks = await list_tasks(stage, "Закрыть «Вектор»", "Пять новых встреч", "Обновить прайс")
    assert [one["deadline"][:16] for one in tasks] == ["2026-11-27T18:00"] * 3
    assert [row.body["method"] for row in stage.cards()] == ["schedule.run.add"]
    await stage.decide()
    assert stage.list_writes() == ["tasks.task.add"] * 3
    assert list_moments(stage) == ["2026-11-27T13:00+00:00"]

    await stage.pass_time(days=4, hours=7)
    assert stage.last == "Цель 1 из 3: «Закрыть «Вектор»». Получилось?"
    await stage.choose("Да")
    await stage.decide()
    await stage.choose("Нет", "Да")
    await stage.decide(approve=False)
    assert stage.last == "Неделя закрыта: целей 3, достигнуто 2."
    titles = ("Закрыть «Вектор»", "Пять новых встреч", "Обновить прайс")
    assert [one["status"] for one in await list_tasks(stage, *titles)] == ["5", "2", "2"]


async def test_it_comes_again_next_monday_and_the_one_after(stage: Stage) -> None:
    """Each Monday plans the next one before it asks, so a week without an answer breaks nothing."""
    await stage.run("weekly_plan")
    await stage.choose("Да, каждый понедельник")
    await stage.say("Закрыть «Вектор»")
    await stage.choose("Больше целей нет")
    await stage.decide()
    assert stage.last.startswith("План готов")
    assert list_moments(stage) == ["2026-11-27T13:00+00:00", "2026-11-30T06:00+00:00"]
    await stage.pass_time(days=7)
    assert "Какая первая цель на неделю?" in stage.texts[-3:]
    assert "2026-12-07T06:00+00:00" in list_moments(stage)
    await stage.pass_time(days=2, minutes=1)
    assert "На этой неделе остались без плана. Начать — /run." in stage.texts


@pytest.mark.parametrize(
    ("days", "friday", "monday"), [(4, "2026-12-04", "2026-12-07"), (5, "2026-12-04", "2026-12-07"), (3, "2026-11-27", "2026-11-30")]
)
async def test_from_friday_on_it_is_the_next_week(stage: Stage, days: int, friday: str, monday: str) -> None:
    """On Thursday it is still this one."""
    await stage.pass_time(days=days)
    await stage.run("weekly_plan")
    await stage.choose("Да, каждый понедельник")
    await stage.say("Закрыть «Вектор»")
    await stage.choose("Больше целей нет")
    await stage.decide()
    assert list_moments(stage) == [f"{friday}T13:00+00:00", f"{monday}T06:00+00:00"]


async def test_a_refused_task_ends_the_plan(tmp_path: Path) -> None:
    """Said, with nothing scheduled."""
    async with a_stage(tmp_path, policy={"refuse_methods": ["tasks.task.add"]}) as stage:
        await stage.run("weekly_plan")
        await stage.choose("Только сейчас")
        await stage.say("Закрыть «Вектор»")
        assert stage.last.startswith("Задача не поставлена")
        assert (stage.list_writes(), list_moments(stage)) == ([], [])


async def test_a_friday_that_cannot_be_planned_is_told(tmp_path: Path) -> None:
    """Schedules are closed: the tasks stay."""
    async with a_stage(tmp_path, policy={"refuse_methods": ["schedule.run.add"]}) as stage:
        await stage.run("weekly_plan")
        await stage.choose("Да, каждый понедельник")
        await stage.say("Закрыть «Вектор»")
        await stage.choose("Больше целей нет")
        assert stage.last == "Задачи поставлены, но в пятницу спросить не смогу."
        assert stage.list_writes() == ["tasks.task.add"]


async def test_somebody_who_is_no_employee_reads_why(stage: Stage) -> None:
    """There is nobody to give tasks to."""
    stage.person = BORIS.model_copy(update={"key": "tg:1010", "bitrix_user_id": None})
    await stage.run("weekly_plan")
    assert (stage.last.startswith("Для вас в боте не указан сотрудник"), stage.status) == (True, "done")


async def test_a_review_without_goals_says_so(stage: Stage) -> None:
    """Started by hand."""
    await stage.run("weekly_review")
    assert (stage.last, stage.status) == ("Целей на эту неделю не было. Составить план — /run.", "done")
