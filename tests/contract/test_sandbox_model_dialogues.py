"""The demo model speaks the forms of a conversation: rows of the last list, groups, new records, histories, wishes after cards."""

from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from engines.crm_agent.core.prompt import AFTER_CARDS
from orchestrator.engines.crm_agent.blocks import Blocks, parse
from tests.contract.sandbox_model_kit import SYSTEM, blocks, observed, raw, said, state, then, turn

ROWS = ("deal:481", "deal:412", "deal:413", "deal:424", "deal:430")
DEAL = {"id": 481, "label": "Ромашка · 1 200 000 ₽ · В работе · №481", "OPPORTUNITY": "1200000.00"}


def plan(answer: Blocks) -> list[tuple[str, Mapping[str, Any]]]:
    """The steps as pairs of method and parameters."""
    return [(step.method, step.params) for step in answer.steps]


def decided(*steps: Mapping[str, Any], iteration: int = 1) -> dict[str, str]:
    """The OBSERVATION of steps whose cards people have decided."""
    told = observed(*steps, iteration=iteration)
    return {**told, "content": f"{told['content']}\n{AFTER_CARDS}"}


@pytest.mark.parametrize("text", ["третью переведи в договор", "удали девятую", "открой первую и восьмую"])
async def test_without_such_a_row_nothing_changes_its_meaning(client: httpx.AsyncClient, text: str) -> None:
    """No list, or a list that is too short: the reference of a row would be wrong."""
    for rows in ((), ROWS[:2]):
        assert "@shown" not in await raw(client, turn(text, rows=rows))


@pytest.mark.parametrize(
    "text",
    [
        "напомни в первую неделю декабря позвонить",
        "поставь задачу собрать вторую партию до пятницы",
        "передай сделку «Первая Строительная» Вере",
        "передай сделку Первая Строительная Вере",
        "добавь комментарий к Ромашке: третью не трогать",
        "show my deals of the last week",
        "поставь задачу позвонить 5-го декабря",
    ],
)
async def test_other_ordinals_are_no_rows(client: httpx.AsyncClient, text: str) -> None:
    """Weeks, parts of names and what is dictated name no row."""
    assert "@shown" not in await raw(client, turn(text, rows=ROWS))


async def test_a_row_answers_the_models_question(client: httpx.AsyncClient) -> None:
    """«Какую сделку?» is answered with «третью»."""
    question = (await blocks(client, turn("переведи в договор"))).assistant
    asked = [{"role": "user", "content": "переведи в договор"}, said(question), {"role": "user", "content": "третью"}]
    answer = await blocks(client, [SYSTEM, state(rows=ROWS), *asked])
    assert answer.steps[0].params["id"] == "@shown:3"


async def test_what_is_counted_is_shown_by_code(client: httpx.AsyncClient) -> None:
    """The words of the person stand above the numbers, and nothing is left to say; what cannot be counted is said."""
    asked = await blocks(client, [SYSTEM, state(), {"role": "user", "content": "сколько сделок по менеджерам?"}])
    assert (asked.assistant, asked.steps[0].method, asked.steps[0].last) == ("Открытые сделки по менеджерам:", "report", True)
    failed = await then(client, "сколько сделок по менеджерам?", {"method": "report", "status": "refused", "text": "no field X"})
    assert failed.assistant == "Посчитать так не получилось."


async def test_a_report_is_asked_anew_by_another_field(client: httpx.AsyncClient) -> None:
    """«а по стадиям?» and after it «а по месяцам?» are about the records of the first question."""
    history = [{"role": "user", "content": "сделки Бориса по менеджерам"}, said("…"), {"role": "user", "content": "а по стадиям?"}]
    stages = await blocks(client, [SYSTEM, state(), *history])
    months = await blocks(client, [SYSTEM, state(), *history, said("…"), {"role": "user", "content": "а по месяцам?"}])
    assert [(step["filter"], step["group_by"]) for _, step in (*plan(stages), *plan(months))] == [
        ({"ASSIGNED_BY_ID": "@user:Борис"}, by) for by in ("stage", "month")
    ]


@pytest.mark.parametrize(
    ("text", "params"),
    [
        ("кто менял сделку 481?", {"deal": 481}),
        ("кто менял Ромашку?", {"deal": "@deal:Ромашка"}),
        ("кто изменил лид 5?", {"lead": 5}),
        ("история изменений сделки Ромашка", {"deal": "@deal:Ромашка"}),
        ("who changed deal 481?", {"deal": 481}),
    ],
)
async def test_who_changed_a_record_is_asked_of_the_journal(client: httpx.AsyncClient, text: str, params: dict[str, Any]) -> None:
    """One step; code shows the changes, and an empty history is said."""
    assert plan(await blocks(client, turn(text))) == [("history.of", params)]
    row = {"when": "21.11 15:00", "by": "Анна"}
    some = await then(client, text, {"method": "history.of", "status": "ok", "rows": [row], "total": 1})
    none = await then(client, text, {"method": "history.of", "status": "ok", "text": "the bot changed nothing"})
    assert some.assistant.endswith("\n[[list 1]]")
    assert "[[" not in none.assistant


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("что у меня сегодня?", ("day", {})),
        ("мой день", ("day", {})),
        ("what do I have today?", ("day", {})),
        ("верни как было у Ромашки", ("undo.propose", {"deal": "@deal:Ромашка"})),
        ("верни всё, что я сделал за час", ("undo.propose", {"since": "@date:час назад"})),
        ("отмени моё последнее изменение", ("undo.propose", {})),
    ],
)
async def test_the_day_and_what_is_taken_back_are_steps_of_their_own(client: httpx.AsyncClient, text: str, step: tuple[str, Any]) -> None:
    assert plan(await blocks(client, turn(text))) == [step]


@pytest.mark.parametrize("status", ["ok", "refused"])
async def test_other_wishes_follow_when_the_cards_are_decided(client: httpx.AsyncClient, status: str) -> None:
    """A sum is read, then written on a card; then the lead with its reminder, whatever came of the card; then silence."""
    text = "увеличь сумму Ромашки на 10%, создай лид Вектор и перезвони ему завтра в 11"
    first = await blocks(client, turn(text))
    read = observed({"method": "crm.deal.get", "status": "ok", "rows": [DEAL]})
    written = await blocks(client, turn(text, said("…"), read))
    cards = decided({"method": "crm.deal.update", "status": status}, iteration=2)
    following = await blocks(client, turn(text, said("…"), read, said("…"), cards))
    last = decided({"method": "crm.lead.add", "status": "ok"}, {"method": "reminder.add", "status": "ok"}, iteration=3)
    over = parse(await raw(client, turn(text, said("…"), read, said("…"), cards, said("…"), last)), may_be_silent=True)

    assert [step.method for step in (*first.steps, *written.steps)] == ["crm.deal.get", "crm.deal.update"]
    assert "Затем: «создай лид Вектор»." in first.assistant
    assert [method for method, _ in plan(following)] == ["crm.lead.add", "reminder.add"]
    assert following.steps[1].params["lead"] == "@created:1"
    assert (over.steps, over.assistant) == ((), "")


async def test_two_wishes_that_read_first_take_their_turns(client: httpx.AsyncClient) -> None:
    """Each reads, writes, waits for its card; the second begins when the first is decided."""
    text = "увеличь сумму первой на 10% и увеличь сумму второй на 20%"
    read = {"method": "crm.deal.get", "status": "ok", "rows": [DEAL]}
    card = {"method": "crm.deal.update", "status": "ok"}
    seen = [observed(read), decided(card, iteration=2), observed(read, iteration=3), decided(card, iteration=4)]
    answers = []
    for count in range(len(seen)):
        more = [part for one in seen[:count] for part in (said("…"), one)]
        answers.append(plan(await blocks(client, turn(text, *more, rows=ROWS))))
    sums = [step["fields"]["OPPORTUNITY"] for ((_, step),) in answers[1::2]]
    assert [step["id"] for ((_, step),) in answers[::2]] == ["@shown:1", "@shown:2"]
    assert sums == [1_320_000, 1_440_000]


async def test_a_wish_that_cannot_follow_is_asked_for_again(client: httpx.AsyncClient) -> None:
    """A step that failed without any card ends the turn, and the rest is not lost in silence."""
    text = "увеличь сумму Ромашки на 10% и создай лид Вектор"
    answer = await then(client, text, {"method": "crm.deal.get", "status": "refused", "text": "Нет прав."})
    assert answer.steps == ()
    assert "отдельным сообщением: «создай лид Вектор»" in answer.assistant


async def test_what_ran_without_a_card_is_told_before_the_next_wish(client: httpx.AsyncClient) -> None:
    """A policy may let a change run by itself: the next wish is proposed at once, below what was done."""
    text = "увеличь сумму Ромашки на 10% и покажи мои сделки"
    read = observed({"method": "crm.deal.get", "status": "ok", "rows": [DEAL]})
    ran = observed({"method": "crm.deal.update", "status": "ok", "rows": [DEAL]}, iteration=2)
    answer = await blocks(client, turn(text, said("…"), read, said("…"), ran))
    assert [method for method, _ in plan(answer)] == ["crm.deal.list"]
    assert answer.assistant.startswith("Готово: Ромашка")


async def test_a_plan_that_was_done_in_part_is_not_called_undone(client: httpx.AsyncClient) -> None:
    """The lead was created and its reminder refused: seen as «Не выполнено» above «Создан лид»."""
    made = {"method": "crm.lead.add", "status": "ok", "created": "lead:161"}
    refused = {"method": "reminder.add", "status": "refused", "text": "Эта дата уже прошла."}
    answer = await then(client, "создай лид Вектор и перезвони ему вчера в 11", made, refused)
    assert "Выполнено не всё" in answer.assistant
    assert "Не выполнено" not in answer.assistant
