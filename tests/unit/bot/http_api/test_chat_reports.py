"""`/chat` with a report: its numbers, its picture and its buttons, which a program presses by their tokens."""

from typing import Any

import pytest

from orchestrator.domain.report import ReportAnswer, ReportVariant
from orchestrator.performers.numbers import Numbers
from tests.unit.bot.http_api.chat_kit import SHOP, Door
from tests.unit.bot.rendering.report_kit import make_answer, make_rows
from tests.unit.spine_kit import reply, step

QUESTION = {"of": "deals", "where": "won", "measures": ["sum"], "group_by": ["person"]}


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The questions in their order; each is answered by the same bars."""
    questions: list[dict[str, Any]] = []

    async def answer(_: Numbers, question: dict[str, Any], **__: object) -> ReportAnswer:
        questions.append(dict(question))
        variants = (ReportVariant(label="по источникам", change={"group_by": ["source"]}),)
        return make_answer("bars", make_rows(["Борис", "Вера"], [3e6, 2e6]), question=question, variants=variants)

    monkeypatch.setattr(Numbers, "answer", answer)
    return questions


async def ask(door: Door) -> dict[str, Any]:
    """The report of a turn."""
    door.world.model.will(reply(step("report", QUESTION), text="Считаю."), reply(text="Вот."))
    [report] = (await door.chat("выручка по менеджерам")).json()["reports"]
    return dict(report)


def find_token(report: dict[str, Any], label: str) -> str:
    return str(next(button["token"] for button in report["actions"] if button["label"] == label))


async def test_a_report_comes_as_numbers_and_as_a_picture(door: Door) -> None:
    """What is in the picture is in the JSON."""
    report = await ask(door)
    assert report["answer"]["question"] == QUESTION
    assert [row["labels"] for row in report["answer"]["rows"]] == [["Борис"], ["Вера"]]
    assert report["svg"].startswith("<svg")
    assert "Борис" in report["svg"]


async def test_a_report_that_was_asked_for_as_a_file_comes_as_numbers(door: Door, asked: list[dict[str, Any]]) -> None:
    """This door sends no files, and a later question does not ask for one again."""
    door.world.model.will(reply(step("report", {**QUESTION, "show": "file"}, last=True), text="Вот."))
    assert len((await door.chat("выручка по менеджерам в файл")).json()["reports"]) == 1
    door.world.model.will(reply(step("report", {"again": {"period": "@date:этот месяц"}}, last=True), text="Вот."))
    assert len((await door.chat("а за этот месяц?")).json()["reports"]) == 1
    assert asked[-1] == {**QUESTION, "period": "@date:этот месяц"}


async def test_its_buttons_change_it_and_lead_back(door: Door, asked: list[dict[str, Any]]) -> None:
    """The changed report has the same id and a way back, after which it is as it was."""
    report = await ask(door)
    assert "◀ Назад" not in [button["label"] for button in report["actions"]]
    [changed] = (await door.chat(find_token(report, "по источникам"))).json()["reports"]
    assert changed["report_id"] == report["report_id"]
    [again] = (await door.chat(find_token(changed, "◀ Назад"))).json()["reports"]
    assert [question["group_by"] for question in asked] == [["person"], ["source"], ["person"]]
    assert again == report
    how = (await door.chat(find_token(report, "❓ Как считано"))).json()
    assert "Считал так" in how["assistant"]
    assert how["reports"] == []


async def test_a_button_of_a_report_that_is_not_there_says_so(door: Door) -> None:
    """A door without toasts is answered in words."""
    assert "Спросите его снова" in (await door.chat("report:0123456789ab:v0")).json()["assistant"]


async def test_another_program_presses_no_button_of_a_report(door: Door, asked: list[dict[str, Any]]) -> None:
    """It has conversations of its own."""
    report = await ask(door)
    answer = (await door.chat(find_token(report, "по источникам"), token=SHOP)).json()
    assert answer["reports"] == []
    assert "Спросите его снова" in answer["assistant"]
    assert len(asked) == 1
