"""The sandbox's model and the document service together: an answer that quotes a passage, and an honest nothing."""

import shutil
from pathlib import Path

import pytest

import sandbox.demo
from engines.tool_agent.core.tools import TOOLS
from orchestrator.domain.models import ModelAnswer, ModelRequest
from orchestrator.language.lexicon import load_lexicon
from sandbox.model.choosing import Offer, read_offer
from sandbox.model.desk import Desk
from sandbox.model.passages import answer_from_passages
from sandbox.model.tool_agent import answer_tool_agent, choose_tool
from sandbox.model.wire import ChatBody
from tests.document_quality import DOCUMENTS
from tests.unit.services.rag.rag_kit import FakeModels, build_service, run_rag

VOWELS = "аеёиоуыэюя"
DEMO = {
    "когда звонить после КП": "Менеджер звонит клиенту на второй рабочий день после отправки КП.",
    "для новых клиентов, какая скидка": "Новым клиентам менеджер даёт скидку не больше 3 % и только на первый заказ.",
    "возврат": "Возврат принимаем в течение 14 дней, если упаковка цела.",
    "обучение, сколько стоит монтаж": "Услуга: Обучение сотрудников (training); Цена: 18 000 ₽ за день; Срок: по договорённости.",
    "new clients": "A new client gets a discount of at most 3% on the first order and pays the whole sum in advance.",
    "сколько живут зебры": "В документах этого нет.",
}


class SandboxModels(FakeModels):
    """Asks the desk of the sandbox's model."""

    desk = Desk(lambda: 0.0)

    async def chat(self, request: ModelRequest, on_delta: object = None, *, on_restart: object = None) -> ModelAnswer:
        made = self.desk.answer(ChatBody.model_validate({"model": "demo", "messages": list(request.messages)}), None)
        return ModelAnswer(made.completion.text, 1, 1, "demo", "stop", 0.0)


async def test_the_sandbox_answers_from_passages_and_says_when_they_do_not_tell(tmp_path: Path) -> None:
    """The whole way from the question to the sentence and the title of its passage."""
    (tmp_path / "docs").mkdir()
    for path in DOCUMENTS.iterdir():
        (tmp_path / "docs" / path.name).write_bytes(path.read_bytes())
    async with run_rag(build_service(tmp_path, SandboxModels())) as rag:
        found = await rag.ask("когда звонить после отправки КП?")
        assert found["answer"] == (
            "Менеджер звонит через два рабочих дня после отправки КП.\n"
            "Источники: Регламент работы с клиентами отдела продаж › После коммерческого предложения."
        )


async def test_the_documents_of_the_demo_answer_what_its_tour_asks(tmp_path: Path) -> None:
    """Each of the four is read, whatever its kind, and the sentence that answers is chosen."""
    shutil.copytree(Path(sandbox.demo.__file__).parent / "documents", tmp_path / "docs")
    async with run_rag(build_service(tmp_path, SandboxModels())) as rag:
        found = {question: str((await rag.ask(question))["answer"]).partition("\n")[0] for question in DEMO}
    assert found == DEMO


def test_passages_about_something_else_are_no_answer() -> None:
    """The model says so, and answers other requests as ever."""
    system = {"role": "system", "content": "… NOT_IN_DOCUMENTS …"}
    passage = "[1]\n<<<DATA abc\nОтпуск\nЗаявление подают за две недели.\nDATA abc>>>\n\nQuestion: "
    assert answer_from_passages([system, {"role": "user", "content": f"{passage}сколько живут зебры?"}]) == "NOT_IN_DOCUMENTS"
    assert (
        answer_from_passages([system, {"role": "user", "content": f"{passage}когда заявление?"}]) == "Заявление подают за две недели. [1]"
    )
    assert answer_from_passages([{"role": "user", "content": f"{passage}когда заявление?"}]) is None


@pytest.mark.parametrize(
    ("said", "tool", "parameter"),
    [
        ("когда звонить после КП?", "rag_search", "когда звонить после КП"),
        ("хайку про сделку", "generate_haiku", "сделку"),
        ("when do we call after a quote?", "rag_search", "when do we call after a quote"),
        ("who approves a discount of 20%?", "rag_search", "who approves a discount of 20%"),
        ("кто согласует скидку 5-15 %?", "rag_search", "кто согласует скидку 5-15 %"),
        ("(1200+800)*3", "calculate", "(1200+800)*3"),
        ("найди сделку «Ромашка»", "find_in_crm", "Ромашка"),
        ("посчитай 150000 + 20%", "calculate", "150000 + 20%"),
        ("15% от 340 тысяч", "calculate", "15% от 340 тысяч"),
        ("сколько будет 1,5 млн ₽ минус 7 процентов?", "calculate", "1,5 млн ₽ минус 7 процентов"),
        ("what is 15% of 340 thousand", "calculate", "15% of 340 thousand"),
        ("15 дней от оплаты", "rag_search", "15 дней от оплаты"),
    ],
)
def test_the_sandbox_calls_the_tool_that_the_words_mean(said: str, tool: str, parameter: str) -> None:
    """Of the tools that the agent really offers, with what stands behind the words; nobody else's functions are chosen so."""
    offer = read_offer({"tools": [{"function": {"name": one.name, "parameters": one.params.model_json_schema()}} for one in TOOLS]})
    instructions = {"role": "system", "content": load_lexicon("tool_agent").read_text("prompts", "select")}
    asked = {"role": "user", "content": said}
    call = choose_tool(offer, [instructions, asked])
    assert call is not None
    assert (call.name, list(call.arguments.values())) == (tool, [parameter])
    assert choose_tool(Offer(), [instructions, asked]) is None
    assert choose_tool(offer, [asked]) is None


def test_the_tools_of_the_agent_are_chosen_by_its_words_and_not_by_likeness() -> None:
    """An English question is like the description of the haiku, but means the documents."""
    tools = [
        {"function": {"name": one.name, "description": one.description, "parameters": one.params.model_json_schema()}} for one in TOOLS
    ]
    messages = [
        {"role": "system", "content": load_lexicon("tool_agent").read_text("prompts", "select")},
        {"role": "user", "content": "when do we call after a quote?"},
    ]
    made = Desk(lambda: 0.0).answer(ChatBody.model_validate({"model": "demo", "messages": messages, "tools": tools}), None)
    assert [one.name for one in made.completion.tool_calls] == ["rag_search"]


@pytest.mark.parametrize("theme", ["сделка", "клиент", "дождь", "котики"])
def test_a_haiku_has_the_syllables_of_one(theme: str) -> None:
    """Five, seven and five, by the vowels of its lines, whatever it is about."""
    prompt = load_lexicon("haiku").read_text("prompt")
    told = answer_tool_agent([{"role": "system", "content": prompt}, {"role": "user", "content": theme}])
    assert told is not None
    assert [sum(letter in VOWELS for letter in line.lower()) for line in told.splitlines()] == [5, 7, 5]
