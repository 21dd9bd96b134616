"""The sandbox's model in an ordinary conversation: what it takes for a question about the company's documents, and what it does with it."""

import httpx
import pytest

from tests.contract.sandbox_model_kit import blocks, observed, said, then, turn

FOUND = {
    "method": "ask_documents",
    "status": "ok",
    "text": "Звоним на второй день.\nИсточники: Регламент › Звонки.\n\n1. Регламент › Звонки\nПосле КП звоним на второй день.",
}


@pytest.mark.parametrize(
    "text",
    [
        "создай сделку Регламент работ",
        "создай сделку Работы по регламенту на 300 000",
        "переименуй сделку 481 в Работы по регламенту",
        "покажи сделку Регламент работ",
        "найди сделку «По регламенту»",
        "какая сумма у сделки Работы по регламенту?",
        "поставь задачу подготовить документы по регламенту",
        "напомни завтра в 11 отправить документы по регламенту",
        "добавь комментарий к сделке 481: скидка по политике",
        "что со сделкой «Работы по регламенту»?",
        "подними сумму сделки Политика до 200 000",
        "кто менял сделку Правила?",
        "задача: проверить скидку по регламенту",
        "по регламенту поставь Борису задачу позвонить клиенту",
        "покажи задачи по документам",
        "create a deal Work according to the policy",
        "rename deal 481 to Rules in the handbook",
    ],
)
async def test_work_in_the_crm_that_holds_such_a_word_is_no_question(client: httpx.AsyncClient, text: str) -> None:
    """Names of records, titles of tasks and comments may hold the words of a question."""
    answer = await blocks(client, turn(text))
    assert "ask_documents" not in [step.method for step in answer.steps]
    assert answer.steps, answer.assistant


@pytest.mark.parametrize(
    ("earlier", "text", "question"),
    [
        (["какая скидка по политике?"], "а для новых клиентов?", "для новых клиентов, какая скидка"),
        (["какая скидка по политике?", "а для новых клиентов?"], "а больше 15 %?", "больше 15 %, какая скидка"),
        (["what does the handbook say about returns?"], "and for new clients?", "for new clients, about returns"),
        (["какая скидка по политике?"], "а сделка Ромашка?", None),
        (["какая скидка по политике?"], "а что с Ромашкой?", None),
        (["покажи мои сделки"], "а для новых клиентов?", None),
    ],
)
async def test_a_question_goes_on_with_the_one_before(
    client: httpx.AsyncClient, earlier: list[str], text: str, question: str | None
) -> None:
    """With the first question of them; what names a record is about that, and without such a question there is nothing to go on with."""
    system, state, now = turn(text)
    told = [message for words in earlier for message in ({"role": "user", "content": words}, said("Скидка 5 %."))]
    answer = await blocks(client, [system, state, *told, now])
    asked = [step.params["question"] for step in answer.steps if step.method == "ask_documents"]
    assert asked == ([question] if question else [])


async def test_the_answer_is_told_without_what_code_shows_below_it(client: httpx.AsyncClient) -> None:
    """Titles and passages stand in the quote under the answer."""
    answer = await then(client, "по регламенту, когда звонить после КП?", FOUND)
    assert answer.steps == ()
    assert answer.assistant == "Звоним на второй день."


async def test_a_task_is_proposed_after_the_documents_are_read(client: httpx.AsyncClient) -> None:
    """First only the question; the task comes in the second plan, with the answer above it."""
    text = "посмотри в регламенте, когда звонить после КП, и поставь задачу"
    begun = await blocks(client, turn(text))
    assert [step.method for step in begun.steps] == ["ask_documents"]
    answer = await then(client, text, FOUND)
    assert [(step.method, step.params["fields"]["TITLE"]) for step in answer.steps] == [("tasks.task.add", "Когда звонить после КП")]
    assert answer.assistant.startswith("Звоним на второй день.")


@pytest.mark.parametrize("status", ["refused", "unknown"])
async def test_without_an_answer_of_the_documents_no_task_is_proposed(client: httpx.AsyncClient, status: str) -> None:
    """The person is asked to repeat it."""
    text = "посмотри в регламенте, когда звонить после КП, и поставь задачу"
    failed = observed({"method": "ask_documents", "status": status, "text": "Документы сейчас недоступны."})
    answer = await blocks(client, turn(text, said("THOUGHT: -\nACTION: []\nASSISTANT: -"), failed))
    assert answer.steps == ()
    assert "поставь задачу" in answer.assistant


async def test_a_wish_that_nothing_serves_is_named_below_the_answer(client: httpx.AsyncClient) -> None:
    """The plan only reads, so that nobody sees what was said beside it."""
    text = "посмотри в регламенте, когда звонить после КП, и переименуй"
    answer = await then(client, text, FOUND)
    assert answer.steps == ()
    assert answer.assistant == "Звоним на второй день.\nЭто лучше попросить отдельным сообщением: «переименуй»."


async def test_a_reminder_without_words_is_about_the_question(client: httpx.AsyncClient) -> None:
    """As a task is."""
    answer = await then(client, "посмотри в регламенте, когда звонить после КП, и напомни завтра в 11", FOUND)
    assert [(step.method, step.params["text"]) for step in answer.steps] == [("reminder.add", "когда звонить после КП")]


async def test_only_where_to_look_is_asked_back(client: httpx.AsyncClient) -> None:
    """What the person answers completes the question."""
    asked = await blocks(client, turn("по регламенту"))
    assert (asked.steps, asked.assistant) == ((), "О чём посмотреть в документах?")
    system, state, now = turn("когда звонить после КП?")
    answer = await blocks(client, [system, state, {"role": "user", "content": "по регламенту"}, said(asked.assistant), now])
    assert [step.params for step in answer.steps] == [{"question": "когда звонить после КП"}]
