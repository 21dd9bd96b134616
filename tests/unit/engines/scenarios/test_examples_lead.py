"""The example "lead qualification" from the first question to the record, with each refusal on the way."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.engines.scenarios.example_kit import Stage, a_stage

LEAD, OTHERS = 101, 102
"""A lead of Boris, and one of Vera."""


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """The scenario waits for the number of the lead."""
    async with a_stage(tmp_path) as made:
        await made.run("lead_qualification")
        yield made


async def answer(stage: Stage, budget: str = "450 000", deadline: str = "В этом месяце", decision: str = "Мой собеседник") -> None:
    """Answer all questions about the lead."""
    await stage.say(str(LEAD))
    await stage.choose("Да")
    await stage.say("Насосы для котельной")
    await (stage.choose("Не назван") if budget == "Не назван" else stage.say(budget))
    await stage.choose(deadline, decision)


@pytest.mark.req("S000-26", "S000-28")
async def test_a_ready_lead_gets_sum_and_stage_after_a_card_and_the_answers_as_a_comment(stage: Stage) -> None:
    """Title and company are shown; a wrong number and what is no sum are asked again; nothing is written before the press."""
    await stage.ask_portal("crm.lead.update", id=LEAD, fields={"COMPANY_TITLE": "ООО Котёл"})
    await stage.say("первый", str(LEAD))
    assert "Нужен номер лида цифрами, например 205." in stage.texts
    assert stage.last == "«Заявка с сайта: счёт на материалы», компания ООО Котёл. Начнём?"
    await stage.choose("Да")
    await stage.say("Насосы для котельной", "сколько получится")
    assert "Нужна сумма цифрами, например 450 000." in stage.texts
    await stage.say("450 000")
    await stage.choose("В этом месяце", "Другой человек")
    await stage.say("Иван Петров, директор")
    stage.wire.sent.clear()
    (card,) = stage.cards()
    assert [line["field"] for line in card.body["preview"]["lines"]] == ["OPPORTUNITY", "STATUS_ID"]
    assert stage.list_writes() == []
    await stage.decide()
    lead = await stage.ask_portal("crm.lead.get", id=LEAD)
    assert (lead["OPPORTUNITY"], lead["STATUS_ID"]) == ("450000.00", "PROCESSED")
    assert await stage.list_comments("lead", LEAD) == [
        "Квалификация: готов к работе.\nПотребность: Насосы для котельной\nБюджет: 450\u00a0000 ₽\nСрок: В этом месяце\nРешает: Иван Петров, директор"
    ]
    assert stage.list_writes() == ["crm.lead.update", "crm.timeline.comment.add"]
    assert (stage.last, stage.status) == (f"Записал ответы в лид {LEAD}: готов к работе.", "done")


@pytest.mark.parametrize(("answers", "choice", "status", "verdict"), [
    (("Не назван",), "Оставить в работе", "NEW", "остаётся в работе"),
    (("1", "Не знает"), "Оставить в работе", "NEW", "остаётся в работе"),
    (("1", "Позже", "Не выяснили"), "Отметить некачественным", "JUNK", "некачественный"),
])  # fmt: skip
async def test_what_is_missing_keeps_the_lead_or_closes_it(
    stage: Stage, answers: tuple[str, ...], choice: str, status: str, verdict: str
) -> None:
    """No budget, no date, nobody who decides: each leads to the question what to do, and closing asks with a card."""
    await answer(stage, *answers)
    assert stage.last == "Пока лид не готов. Что с ним делаем?"
    await stage.choose(choice)
    if status == "JUNK":
        await stage.decide()
    assert (await stage.ask_portal("crm.lead.get", id=LEAD))["STATUS_ID"] == status
    (comment,) = await stage.list_comments("lead", LEAD)
    assert comment.startswith(f"Квалификация: {verdict}.")
    assert len(stage.cards()) == (status == "JUNK")


async def test_a_denied_card_changes_no_field_and_keeps_the_answers(stage: Stage) -> None:
    """The comment says that the fields were left."""
    await answer(stage)
    await stage.decide(approve=False)
    lead = await stage.ask_portal("crm.lead.get", id=LEAD)
    assert (lead["OPPORTUNITY"], lead["STATUS_ID"]) == ("0.00", "NEW")
    assert stage.list_writes() == ["crm.timeline.comment.add"]
    assert stage.last == f"Записал ответы в лид {LEAD}: поля лида не изменены."


@pytest.mark.parametrize("number", [OTHERS, 999_999])
async def test_a_lead_that_is_not_ones_own_or_not_there_ends_politely(stage: Stage, number: int) -> None:
    """Neither its title nor anything else of it is shown."""
    await stage.say(str(number))
    assert stage.last.startswith(f"Лид {number} не открылся")
    assert (stage.status, stage.list_writes()) == ("done", [])


@pytest.mark.req("S000-X18")
async def test_another_lead_and_a_change_of_mind(stage: Stage) -> None:
    """«Другой лид» asks again; «Не сейчас» ends with nothing written."""
    await stage.say(str(LEAD))
    await stage.choose("Другой лид")
    await stage.say("104")
    await stage.choose("Не сейчас")
    assert stage.last == "Остановился. В лид ничего не записано; запустить снова — /run."
    assert (stage.status, stage.list_writes()) == ("done", [])


async def test_nobody_answers_for_a_day(stage: Stage) -> None:
    """The scenario ends by itself."""
    await stage.pass_time(days=1, minutes=1)
    assert stage.last.startswith("Остановился.")
    assert stage.status == "done"


async def test_a_refused_comment_is_told(tmp_path: Path) -> None:
    """A rule that closes comments leaves the fields as approved."""
    async with a_stage(tmp_path, policy={"refuse_methods": ["crm.timeline.comment.add"]}) as stage:
        await stage.run("lead_qualification")
        await answer(stage)
        await stage.decide()
        assert stage.last == f"Комментарий в лид {LEAD} не записан. Итог: готов к работе."
        assert stage.list_writes() == ["crm.lead.update"]
