"""The example "overdue deals": one after the other, moved, noted, skipped or left."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.engines.scenarios.example_kit import BORIS, Stage, a_stage


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """The portal of the sandbox, in which Boris has overdue deals."""
    async with a_stage(tmp_path) as made:
        yield made


async def list_overdue(stage: Stage) -> list[dict[str, Any]]:
    """What the portal itself holds: the overdue open deals of Boris, the oldest first."""
    wanted = {"ASSIGNED_BY_ID": 7, "CLOSED": "N", "<CLOSEDATE": "2026-11-21"}
    rows: list[dict[str, Any]] = await stage.ask_portal("crm.deal.list", filter=wanted, order={"CLOSEDATE": "ASC"}, select=["*"])
    return rows


async def test_each_overdue_deal_is_moved_noted_or_skipped(stage: Stage) -> None:
    """Every write comes after a card of its own, and goes to the deal that was shown."""
    deals = await list_overdue(stage)
    assert len(deals) >= 3
    stage.wire.sent.clear()
    await stage.run("overdue_followup")
    day = deals[0]["CLOSEDATE"]
    assert stage.last == f"1 из {len(deals)}. «{deals[0]['TITLE']}», срок был {day[8:10]}.{day[5:7]}.{day[:4]}. Что делаем?"
    await stage.choose("Перенести срок")
    await stage.say("вчера")
    notices = [one for row in stage.rows if row.kind == "reply" for one in row.body["notices"]]
    assert {"code": "scenario-answer-early", "args": {"day": "сб, 21 ноября"}} in [
        {"code": one["code"], "args": one["args"]} for one in notices
    ]
    await stage.choose("Через 3 дня")
    assert stage.list_writes() == []
    await stage.decide()
    assert "Новый срок: вт, 24 ноября." in stage.texts
    await stage.choose("Записать заметку")
    await stage.say("Клиент в отпуске до декабря")
    await stage.decide()
    await stage.choose("Пропустить")
    if len(deals) > 3:
        await stage.choose("Хватит")
    assert (stage.last, stage.status) == ("Готово. Перенесено сроков: 1, заметок: 1.", "done")
    assert stage.list_writes() == ["crm.deal.update", "crm.timeline.comment.add"]
    assert (await stage.ask_portal("crm.deal.get", id=deals[0]["ID"]))["CLOSEDATE"][:10] == "2026-11-24"
    assert (await stage.list_comments("deal", int(deals[1]["ID"])))[-1] == "Клиент в отпуске до декабря"
    assert [one["ID"] for one in await list_overdue(stage)] == [one["ID"] for one in deals[1:]]


async def test_a_denied_card_leaves_the_deal_and_goes_on(stage: Stage) -> None:
    """The next deal is shown; nobody answers for a day, and the scenario sums up."""
    deals = await list_overdue(stage)
    stage.wire.sent.clear()
    await stage.run("overdue_followup")
    await stage.choose("Перенести срок", "Завтра")
    await stage.decide(approve=False)
    assert f"«{deals[0]['TITLE']}» оставил как есть." in stage.texts
    assert stage.last.startswith("2 из ")
    await stage.pass_time(days=1, minutes=1)
    assert (stage.last, stage.status, stage.list_writes()) == ("Готово. Перенесено сроков: 0, заметок: 0.", "done", [])


async def test_nothing_overdue_is_said(stage: Stage) -> None:
    """All were moved before."""
    for deal in await list_overdue(stage):
        await stage.ask_portal("crm.deal.update", id=deal["ID"], fields={"CLOSEDATE": "2026-12-31"})
    await stage.run("overdue_followup")
    assert (stage.last, stage.status) == ("Просроченных сделок нет.", "done")


async def test_somebody_who_is_no_employee_reads_why(stage: Stage) -> None:
    """Their list would be everybody's."""
    stage.person = BORIS.model_copy(update={"key": "tg:1010", "bitrix_user_id": None})
    await stage.run("overdue_followup")
    assert stage.last.startswith("Для вас в боте не указан сотрудник")
    assert stage.status == "done"


async def test_a_list_that_is_closed_is_said(tmp_path: Path) -> None:
    """A rule refuses the list."""
    async with a_stage(tmp_path, policy={"refuse_methods": ["crm.deal.list"]}) as stage:
        await stage.run("overdue_followup")
        assert (stage.last, stage.status) == ("Список сделок не открылся. Попробуйте позже.", "done")
