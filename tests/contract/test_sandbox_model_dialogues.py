"""The demo model speaks the forms of a conversation: rows of the last list, groups, new records, histories, wishes after cards."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
import pytest

from engines.crm_agent.core.prompt import AFTER_CARDS
from orchestrator.engines.crm_agent.blocks import Blocks, parse
from tests.contract.sandbox_model_kit import SYSTEM, blocks, model, observed, raw, said, state, then, turn

ROWS = ("deal:481", "deal:412", "deal:413", "deal:424", "deal:430")
DEAL = {"id": 481, "label": "Ромашка · 1 200 000 ₽ · В работе · №481", "OPPORTUNITY": "1200000.00"}


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    """A fresh model for each test."""
    async with model() as ready:
        yield ready


def plan(answer: Blocks) -> list[tuple[str, Mapping[str, Any]]]:
    """The steps as pairs of method and parameters."""
    return [(step.method, step.params) for step in answer.steps]


def decided(*steps: Mapping[str, Any], iteration: int = 1) -> dict[str, str]:
    """The OBSERVATION of steps whose cards people have decided."""
    told = observed(*steps, iteration=iteration)
    return {**told, "content": f"{told['content']}\n{AFTER_CARDS}"}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("третью переведи в договор", [3]),
        ("переведи вторую сделку на стадию Договор", [2]),
        ("переведи №3 из списка в договор", [3]),
        ("строку 4 переведи в договор", [4]),
        ("5-ю переведи в договор", [5]),
        ("последнюю переведи в договор", [5]),
        ("первые две переведи в договор", [1, 2]),
        ("последние две переведи в договор", [4, 5]),
        ("вторую и пятую переведи в договор", [2, 5]),
        ("первую, вторую и четвёртую переведи в договор", [1, 2, 4]),
        ("move the third to Договор", [3]),
        ("move the first two to Договор", [1, 2]),
        ("move the last one to Договор", [5]),
    ],
)
async def test_rows_of_the_last_list_are_named_by_number(client: httpx.AsyncClient, text: str, numbers: list[int]) -> None:
    """Each row is one step of the plan, and no other record is."""
    answer = await blocks(client, turn(text, rows=ROWS))
    moved = {"STAGE_ID": "@stage:Договор"}
    assert plan(answer) == [("crm.deal.update", {"id": f"@shown:{number}", "fields": moved}) for number in numbers]


@pytest.mark.parametrize(
    ("text", "method", "params"),
    [
        ("подними сумму третьей до 2 млн", "crm.deal.update", {"id": "@shown:3", "fields": {"OPPORTUNITY": "@sum:2 млн"}}),
        ("отдай третью Вере", "crm.deal.update", {"id": "@shown:3", "fields": {"ASSIGNED_BY_ID": "@user:Вера"}}),
        ("перенеси закрытие третьей на пятницу", "crm.deal.update", {"id": "@shown:3", "fields": {"CLOSEDATE": "@date:в пятницу"}}),
        ("переименуй третью в Новый дом", "crm.deal.update", {"id": "@shown:3", "fields": {"TITLE": "Новый дом"}}),
        ("удали вторую", "crm.deal.delete", {"id": "@shown:2"}),
        ("delete the second deal", "crm.deal.delete", {"id": "@shown:2"}),
        ("открой третью", "crm.deal.get", {"id": "@shown:3"}),
        ("третья", "crm.deal.get", {"id": "@shown:3"}),
        ("что по третьей?", "crm.deal.get", {"id": "@shown:3"}),
        ("кто менял третью?", "history.of", {"deal": "@shown:3"}),
        (
            "добавь комментарий к третьей: второй раз звонили",
            "crm.timeline.comment.add",
            {"fields": {"ENTITY_TYPE": "deal", "ENTITY_ID": "@shown:3", "COMMENT": "Второй раз звонили"}},
        ),
        (
            "напомни завтра в 10 позвонить по третьей",
            "reminder.add",
            {"at": "@date:завтра в 10", "text": "позвонить по сделке", "deal": "@shown:3"},
        ),
        (
            "поставь задачу позвонить по третьей завтра",
            "tasks.task.add",
            {"fields": {"TITLE": "Позвонить по сделке", "RESPONSIBLE_ID": "@me", "DEADLINE": "@date:завтра", "UF_CRM_TASK": ["D_413"]}},
        ),
    ],
)
async def test_every_rule_about_a_record_takes_a_row(client: httpx.AsyncClient, text: str, method: str, params: dict[str, Any]) -> None:
    """Sum, person, date, title, deletion, card, history, comment, reminder and task."""
    assert plan(await blocks(client, turn(text, rows=ROWS))) == [(method, params)]


@pytest.mark.parametrize(
    ("text", "record", "method", "params"),
    [
        ("закрой вторую", "task", "tasks.task.complete", {"taskId": "@shown:2"}),
        ("открой вторую", "task", "tasks.task.get", {"taskId": "@shown:2"}),
        ("второй передай Вере", "lead", "crm.lead.update", {"id": "@shown:2", "fields": {"ASSIGNED_BY_ID": "@user:Вера"}}),
        ("удали второй", "contact", "crm.contact.delete", {"id": "@shown:2"}),
        ("покажи вторую", "company", "crm.company.get", {"id": "@shown:2"}),
    ],
)
async def test_the_kind_of_a_row_is_that_of_its_record(
    client: httpx.AsyncClient, text: str, record: str, method: str, params: dict[str, Any]
) -> None:
    """«Закрой вторую» after a list of tasks completes a task."""
    assert plan(await blocks(client, turn(text, rows=(f"{record}:1", f"{record}:2")))) == [(method, params)]


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


@pytest.mark.parametrize(
    ("text", "method", "filters", "by"),
    [
        ("сколько сделок по менеджерам?", "crm.deal.list", {"CLOSED": "N"}, "person"),
        ("мои сделки по стадиям", "crm.deal.list", {"ASSIGNED_BY_ID": "@me", "CLOSED": "N"}, "stage"),
        ("сделки Бориса по стадиям", "crm.deal.list", {"ASSIGNED_BY_ID": "@user:Борис", "CLOSED": "N"}, "stage"),
        ("сколько у меня сделок по месяцам закрытия", "crm.deal.list", {"ASSIGNED_BY_ID": "@me", "CLOSED": "N"}, "CLOSEDATE:month"),
        ("сделки, созданные в прошлом месяце, по месяцам", "crm.deal.list", {"DATE_CREATE": "@date:в прошлом месяце"}, "month"),
        ("сколько лидов по источникам", "crm.lead.list", {}, "source"),
        ("лиды по статусам", "crm.lead.list", {}, "stage"),
        ("задачи по сотрудникам", "tasks.task.list", {"!STATUS": "5"}, "person"),
        ("how many deals by manager?", "crm.deal.list", {"CLOSED": "N"}, "person"),
        ("my deals per month", "crm.deal.list", {"ASSIGNED_BY_ID": "@me", "CLOSED": "N"}, "month"),
    ],
)
async def test_a_list_is_counted_by_one_step(client: httpx.AsyncClient, text: str, method: str, filters: dict[str, Any], by: str) -> None:
    """The field stands beside the filter, and no page of rows is asked for."""
    assert plan(await blocks(client, turn(text))) == [(method, {"filter": filters, "group_by": by})]


async def test_groups_are_shown_by_code(client: httpx.AsyncClient) -> None:
    """The words of the person stand above the marker; what cannot be counted is said."""
    step = {"method": "crm.deal.list", "status": "ok", "total": 12}
    counted = await then(client, "сколько сделок по менеджерам?", {**step, "groups": [{"group": "Анна", "count": 12}]})
    failed = await then(client, "сколько сделок по менеджерам?", {**step, "text": "these records have no field X"})
    assert counted.assistant == "Открытые сделки по менеджерам:\n[[list 1]]"
    assert failed.assistant == "Посчитать так не получилось."


async def test_a_list_is_counted_anew_by_another_field(client: httpx.AsyncClient) -> None:
    """«а по стадиям?» and after it «а по месяцам?» are about the list of the first question."""
    history = [{"role": "user", "content": "сделки Бориса по менеджерам"}, said("…"), {"role": "user", "content": "а по стадиям?"}]
    stages = await blocks(client, [SYSTEM, state(), *history])
    months = await blocks(client, [SYSTEM, state(), *history, said("…"), {"role": "user", "content": "а по месяцам?"}])
    assert [(step["filter"], step["group_by"]) for _, step in (*plan(stages), *plan(months))] == [
        ({"ASSIGNED_BY_ID": "@user:Борис", "CLOSED": "N"}, by) for by in ("stage", "month")
    ]


@pytest.mark.parametrize(
    ("text", "method", "params"),
    [
        (
            "создай лид Вектор и перезвони ему завтра в 11",
            "reminder.add",
            {"at": "@date:завтра в 11", "text": "перезвонить, Вектор", "lead": "@created:1"},
        ),
        (
            "создай лид Вектор и перезвони ему",
            "tasks.task.add",
            {"fields": {"TITLE": "Перезвонить, Вектор", "RESPONSIBLE_ID": "@me", "UF_CRM_TASK": ["@created:1"]}},
        ),
        (
            "создай контакт Иван Петров и напомни завтра в 10 отправить КП",
            "reminder.add",
            {"at": "@date:завтра в 10", "text": "отправить КП", "contact": "@created:1"},
        ),
        (
            "создай сделку «Лютик» и добавь комментарий: ждём договор",
            "crm.timeline.comment.add",
            {"fields": {"ENTITY_TYPE": "deal", "ENTITY_ID": "@created:1", "COMMENT": "Ждём договор"}},
        ),
        (
            "создай лид Вектор и запланируй звонок на завтра в 10",
            "crm.activity.todo.add",
            {"ownerTypeId": 1, "ownerId": "@created:1", "deadline": "@date:завтра в 10", "title": "Звонок", "responsibleId": "@me"},
        ),
        ("создай компанию Альфа и создай сделку Поставка", "crm.deal.add", {"fields": {"TITLE": "Поставка", "COMPANY_ID": "@created:1"}}),
        (
            "create a lead Sunrise and call them tomorrow at 11",
            "reminder.add",
            {"at": "@date:tomorrow at 11", "text": "call, Sunrise", "lead": "@created:1"},
        ),
    ],
)
async def test_what_follows_a_new_record_is_about_it(client: httpx.AsyncClient, text: str, method: str, params: dict[str, Any]) -> None:
    """Both stand in one plan, the second with a reference to what the first makes."""
    answer = plan(await blocks(client, turn(text)))
    assert answer[0][0].endswith(".add")
    assert answer[1:] == [(method, params)]


async def test_the_number_of_a_new_record_is_that_of_its_step(client: httpx.AsyncClient) -> None:
    """A step before it moves the number, a second step after it refers to the same record, and a named record is never replaced."""
    text = "передай Ромашку Вере, создай лид Вектор, поставь задачу подготовить КП и напомни завтра в 9 проверить"
    answer = plan(await blocks(client, turn(text)))
    assert [method for method, _ in answer] == ["crm.deal.update", "crm.lead.add", "tasks.task.add", "reminder.add"]
    assert (answer[2][1]["fields"]["UF_CRM_TASK"], answer[3][1]["lead"]) == (["@created:2"], "@created:2")
    other = plan(await blocks(client, turn("создай лид Вектор и передай Ромашку Вере")))
    assert other[1] == ("crm.deal.update", {"id": "@deal:Ромашка", "fields": {"ASSIGNED_BY_ID": "@user:Вера"}})


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
