"""The examples "call summary" and "reminder of a deal": the summary, its correction, and the two next steps."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.engines.scenarios.example_kit import Stage, a_stage

DEAL = 481
STORY = "Говорили с директором, готовы взять две машины, просят отсрочку до конца месяца."
SUMMARY = "Договорились: две машины.\nВопросы клиента: отсрочка.\nДальше: отправить договор."


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """The call was told, and the summary stands there for a decision."""
    async with a_stage(tmp_path) as made:
        made.world.model.will(SUMMARY)
        await made.run("call_summary")
        await made.say(str(DEAL), STORY)
        yield made


async def test_nothing_is_written_until_the_person_agrees(stage: Stage) -> None:
    """The model is asked once with the story; its summary is shown, and «Не записывать» leaves the deal alone."""
    assert stage.last == f"Итог звонка:\n\n{SUMMARY}\n\nЗаписать в сделку?"
    assert stage.world.model.prompts[-1][-1]["content"] == STORY
    assert stage.list_writes() == []
    await stage.choose("Не записывать")
    assert (stage.status, stage.list_writes()) == ("done", [])


@pytest.mark.req("S000-59")
async def test_the_agreed_summary_and_a_reminder_that_comes_and_is_answered(stage: Stage) -> None:
    """In three days at ten the second scenario asks, and what came of it is written too."""
    await stage.choose("Записать", "Напомнить мне", "Через 3 дня")
    assert stage.last == "Напомню 24.11 в 10:00."
    assert (await stage.list_comments("deal", DEAL))[-1] == f"Итог звонка:\n{SUMMARY}"
    assert stage.cards() == []
    await stage.pass_time(days=2, hours=18)
    assert "Пора вернуться" not in stage.last
    await stage.pass_time(hours=2)
    assert stage.last == "Пора вернуться к сделке «Ромашка». Перезвонили?"
    await stage.choose("Да")
    await stage.say("Договор подписали")
    assert stage.last == f"Записал в сделку {DEAL}."
    assert (await stage.list_comments("deal", DEAL))[-1] == "Перезвонил: Договор подписали"


async def test_a_reminder_is_put_off_until_tomorrow_and_then_stopped(stage: Stage) -> None:
    """Each time it is one later run; «Больше не напоминать» plans none."""
    await stage.choose("Записать", "Напомнить мне", "Завтра")
    await stage.pass_time(days=1)
    await stage.choose("Напомнить завтра")
    assert stage.last == "Напомню завтра в 10:00."
    await stage.pass_time(days=1)
    await stage.choose("Больше не напоминать")
    count = len(stage.texts)
    await stage.pass_time(days=3)
    assert len(stage.texts) == count


async def test_a_corrected_summary_and_a_task(stage: Stage) -> None:
    """What the person writes replaces the model's words; a task is tied to the deal and due as chosen."""
    await stage.choose("Исправить")
    await stage.say("Берут три машины, а не две")
    await stage.choose("Поставить задачу")
    await stage.say("Отправить договор", "5")
    await stage.decide()
    assert (await stage.list_comments("deal", DEAL))[-1].endswith("Берут три машины, а не две")
    assert stage.last == "Задача «Отправить договор» — до 26.11, 18:00."
    (task,) = (await stage.ask_portal("tasks.task.list", filter={"TITLE": "Отправить договор"}, select=["*", "UF_CRM_TASK"]))["tasks"]
    assert (task["responsibleId"], task["deadline"][:16], task["ufCrmTask"]) == ("7", "2026-11-26T18:00", [f"D_{DEAL}"])


async def test_a_deal_of_somebody_else_ends_before_the_call_is_told(tmp_path: Path) -> None:
    """The model is not asked."""
    async with a_stage(tmp_path) as stage:
        await stage.run("call_summary")
        await stage.say("414")
        assert stage.last.startswith("Сделка 414 не открылась")
        assert (stage.status, stage.world.model.prompts) == ("done", [])


async def test_a_refused_comment_gives_the_summary_back(tmp_path: Path) -> None:
    """A rule closes comments: the text is not lost."""
    async with a_stage(tmp_path, policy={"refuse_methods": ["crm.timeline.comment.add"]}) as stage:
        stage.world.model.will(SUMMARY)
        await stage.run("call_summary")
        await stage.say(str(DEAL), STORY)
        await stage.choose("Записать")
        assert stage.last.endswith(SUMMARY)
        assert (stage.status, stage.list_writes()) == ("done", [])


async def test_a_refused_next_step_leaves_the_summary(tmp_path: Path) -> None:
    """Neither a reminder nor a task may be made here: said, and done."""
    for choices, words in ((("Напомнить мне", "Завтра"), ()), (("Поставить задачу",), ("Позвонить", "1"))):
        async with a_stage(tmp_path, policy={"refuse_methods": ["schedule.run.add", "tasks.task.add"]}) as stage:
            stage.world.model.will(SUMMARY)
            await stage.run("call_summary")
            await stage.say(str(DEAL), STORY)
            await stage.choose("Записать", *choices)
            await stage.say(*words)
            assert stage.last == "Следующий шаг не записан, а итог звонка в сделке остался."
            assert stage.list_writes() == ["crm.timeline.comment.add"]


async def test_a_reminder_started_by_hand_asks_for_the_deal(tmp_path: Path) -> None:
    """Without a deal from the caller it asks; a deal that is not one's own is not shown."""
    async with a_stage(tmp_path) as stage:
        await stage.run("call_reminder")
        await stage.say("414")
        assert stage.last.startswith("Сделка 414 не открылась")
        assert stage.list_writes() == []
