"""Every error row of seed 001: the exact lines of standard output, the exact lines of the log with their levels, and what is kept."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from orchestrator.domain.errors import ModelClientError, ServiceFailed
from orchestrator.domain.models import MalformedAnswer, ToolCall, UnusableAnswer
from tests.unit.engines.tool_agent.ask_kit import (
    ANALYSING,
    BYE,
    EXECUTING,
    FOUND,
    HAIKU_FAILED,
    HELP,
    RAG_FAILED,
    RELEVANT,
    SELECTING,
    VALIDATING,
    Answer,
    Services,
    call,
    say,
    talk,
)

DOWN = ServiceFailed("the service cannot be asked (ConnectError)")
BAD = ServiceFailed("HTTP 500: Search failed")
LLM_ERROR, PARSE_ERROR = "Ошибка при запросе LLM, завершаюсь..", "Ошибка при разборе ответа LLM, завершаюсь.."
UNCLEAR = "Не совсем понял вопрос. Просьба переформулировать."
LONG, LONG_THEME = (
    "Вопрос слишком длинный. Просьба сформулировать более кратко.",
    "Тема слишком длинная. Просьба сформулировать более кратко.",
)
UNKNOWN = "Не удалось провалидировать запрос. Просьба переформулировать."
NOT_SELECTED = "Не удалось определить инструмент. Просьба переформулировать запрос."
YES = say("да")


def chosen(name: str, params: str) -> str:
    return f"Выбран инструмент {name} с параметрами {params}"


def ready(question: str) -> str:
    return f"Инструмент rag_search проверен и готов к вызову. Запрос: {question}"


def themed(theme: str) -> str:
    return f"Инструмент generate_haiku проверен и готов к вызову. Тема: {theme}"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One error: what the model and the services answer, what is said after «Анализирую…», what is logged, and whether the agent ends."""

    answers: tuple[Answer, ...]
    said: list[str]
    log: list[tuple[str, str]]
    ends: bool = False
    kept: int = 0
    """How many of the lines that are said go into the history."""
    services: Services = field(default_factory=Services)


CLASSIFY, SELECT, VALIDATE = ("DEBUG", "[cls] AgentClassify"), ("DEBUG", "[select] AgentSelect"), ("DEBUG", "[valid] AgentValidate")
IS_RELEVANT = ("DEBUG", "[cls] classify_intent // Relevant query")
IS_SELECTED = ("DEBUG", "[select] select_tool_call // Selection OK")
IS_VALID, EXECUTE = ("DEBUG", "[valid] validate_tool_call // Validation OK"), ("DEBUG", "[exec] AgentExecute")
RAG_CHOSEN = chosen("rag_search", "question: Когда звонить?")
HAIKU_CHOSEN = chosen("generate_haiku", "theme: пруд")
NO_JSON = ToolCall(id="c", name="rag_search", problem="the arguments are not JSON")
SICK = "Health check failed"
NO_FIELDS = "the answer has another form (chunk_title_list: Field required, chunk_texts: Field required)"


def unclassified(answer: Answer, told: str, why: str) -> Case:
    """An answer of the classifier that ends the agent."""
    return Case(answers=(answer,), said=[told], log=[CLASSIFY, ("CRITICAL", f"[cls] classify_intent // {why}")], ends=True)


def unselected(answer: Answer, told: str, why: str) -> Case:
    """An answer to the question for a tool that ends the agent."""
    log = [CLASSIFY, IS_RELEVANT, SELECT, ("CRITICAL", f"[select] select_tool_call // {why}")]
    return Case(answers=(YES, answer), said=[RELEVANT, SELECTING, told], log=log, ends=True, kept=1)


def invalid(answer: Answer, shown: str, told: str, why: str) -> Case:
    """A call that the validation refuses."""
    log = [CLASSIFY, IS_RELEVANT, SELECT, IS_SELECTED, VALIDATE, ("WARNING", f"[valid] validate_tool_call // {why}")]
    return Case(answers=(YES, answer), said=[RELEVANT, SELECTING, shown, VALIDATING, told], log=log, kept=3)


def refuse_rag(told: str, problem: str, shown: str = "—", **params: Any) -> Case:
    return invalid(call("rag_search", **params), chosen("rag_search", shown), told, f"{problem} Param: rag_search::question")


def refuse_haiku(told: str, problem: str, shown: str = "—", **params: Any) -> Case:
    return invalid(call("generate_haiku", **params), chosen("generate_haiku", shown), told, f"{problem} Param: generate_haiku::theme")


def fail_rag(*log: str, is_haiku: bool = False, **services: Any) -> Case:
    """A service that fails: that of the documents, or that of the poems."""
    answer = call("generate_haiku", theme="пруд") if is_haiku else call("rag_search", question="Когда звонить?")
    shown, checked, told = (HAIKU_CHOSEN, themed("пруд"), HAIKU_FAILED) if is_haiku else (RAG_CHOSEN, ready("Когда звонить?"), RAG_FAILED)
    lines = [CLASSIFY, IS_RELEVANT, SELECT, IS_SELECTED, VALIDATE, IS_VALID, EXECUTE, *(("ERROR", f"[exec] {one}") for one in log)]
    said = [RELEVANT, SELECTING, shown, VALIDATING, checked, EXECUTING, told]
    return Case(answers=(YES, answer), said=said, log=lines, kept=4, services=Services(**services))


def fail_haiku(*log: str, **services: Any) -> Case:
    return fail_rag(*log, is_haiku=True, **services)


def a_case(name: str, rows: pytest.MarkDecorator, case: Case) -> object:
    return pytest.param(case, id=name, marks=rows)


CASES = [
    a_case("the classifier cannot be asked", pytest.mark.req("S001-29", "S001-A4", "S001-A6"),
           unclassified(ModelClientError("no route"), LLM_ERROR, "LLM Error: no route")),
    *(a_case(f"the classifier's answer cannot be read: {error.reason}", pytest.mark.req("S001-30", "S001-A2"),
             unclassified(error, PARSE_ERROR, f"LLM Response Parse Error: {error.reason}"))
      for error in (MalformedAnswer("no choices"), UnusableAnswer("empty"))),
    a_case("the classifier answers with blanks", pytest.mark.req("S001-30", "S001-A2"),
           unclassified(say(" \n"), PARSE_ERROR, "LLM Response Parse Error: the answer is empty")),
    a_case("the request is not for this agent", pytest.mark.req("S001-31", "S001-32", "S001-33"),
           Case(answers=(say("нет"),), said=["Запрос не связан с функционалом агента.", *HELP], kept=1,
                log=[CLASSIFY, ("WARNING", "[cls] classify_intent // Irrelevant query")])),
    a_case("the model cannot be asked for a tool", pytest.mark.req("S001-39"),
           unselected(ModelClientError("HTTP 500"), LLM_ERROR, "LLM Error: HTTP 500")),
    a_case("the arguments are no JSON", pytest.mark.req("S001-40"),
           unselected(say("", NO_JSON), PARSE_ERROR, "LLM Response Parse Error: the arguments are not JSON")),
    a_case("the answer is none", pytest.mark.req("S001-40"),
           unselected(MalformedAnswer("no choices"), PARSE_ERROR, "LLM Response Parse Error: no choices")),
    a_case("the model calls nothing", pytest.mark.req("S001-41", "S001-42", "S001-X3"),
           Case(answers=(YES, say("Я и сам отвечу.")), said=[RELEVANT, SELECTING, NOT_SELECTED], kept=2,
                log=[CLASSIFY, IS_RELEVANT, SELECT, ("WARNING", "[select] select_tool_call // Selection Fail")])),
    a_case("no question", pytest.mark.req("S001-47"), refuse_rag(UNCLEAR, "Missing")),
    a_case("the question is null", pytest.mark.req("S001-47", "S001-A5"), refuse_rag(UNCLEAR, "Missing", "question: null", question=None)),
    a_case("the question is blank", pytest.mark.req("S001-48", "S001-X4"), refuse_rag(UNCLEAR, "Empty", "question: ", question=" \n")),
    a_case("the question is one sign too long", pytest.mark.req("S001-49", "S001-83"),
           refuse_rag(LONG, "Too Long", f"question: {'я' * 31}", question="я" * 31)),
    a_case("no theme", pytest.mark.req("S001-51"), refuse_haiku(UNCLEAR, "Missing")),
    a_case("the theme is empty", pytest.mark.req("S001-52"), refuse_haiku(UNCLEAR, "Empty", "theme: ", theme="")),
    a_case("the theme is one sign too long", pytest.mark.req("S001-53", "S001-84"),
           refuse_haiku(LONG_THEME, "Too Long", f"theme: {'ё' * 21}", theme="ё" * 21)),
    a_case("a tool that there is not", pytest.mark.req("S001-55"),
           invalid(call("delete_all", deal=1), chosen("delete_all", "deal: 1"), UNKNOWN, "Unknown tool: delete_all")),
    a_case("the documents' service cannot be reached", pytest.mark.req("S001-59", "S001-60"),
           fail_rag(f"check_health // Unexpected error: {DOWN.reason}", f"answer_question // {SICK}", health=DOWN)),
    a_case("the documents' service is not ready", pytest.mark.req("S001-59", "S001-61"),
           fail_rag(f"answer_question // {SICK}", health={"status": "starting"})),
    a_case("its health says nothing", pytest.mark.req("S001-61"), fail_rag(f"answer_question // {SICK}", health={})),
    a_case("the search fails", pytest.mark.req("S001-62", "S001-X5"),
           fail_rag("answer_question // Unexpected error: HTTP 500: Search failed", search=BAD)),
    a_case("the answer of the search lacks fields", pytest.mark.req("S001-62", "S001-A7"),
           fail_rag(f"answer_question // Unexpected error: {NO_FIELDS}", search={"answer": "x"})),
    a_case("the search reports an error", pytest.mark.req("S001-59", "S001-63"),
           fail_rag("answer_question // Search error: no index", search={"error": "no index", **FOUND})),
    a_case("the haiku service cannot be reached", pytest.mark.req("S001-69", "S001-70"),
           fail_haiku(f"check_health // Unexpected error: {DOWN.reason}", f"generate_haiku // {SICK}", health=DOWN)),
    a_case("the haiku service is not well", pytest.mark.req("S001-69", "S001-71"),
           fail_haiku(f"generate_haiku // {SICK}", health={"status": "no"})),
    a_case("no haiku comes", pytest.mark.req("S001-72"),
           fail_haiku("generate_haiku // Unexpected error: HTTP 500: Search failed", haiku=BAD)),
    a_case("the haiku service reports an error", pytest.mark.req("S001-69", "S001-73"),
           fail_haiku("generate_haiku // Generation error: tired", haiku={"error": "tired"})),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_an_error_is_told_and_logged_in_the_words_of_the_seed(case: Case, caplog: pytest.LogCaptureFixture) -> None:
    """The agent says and logs exactly this, keeps what the seed keeps, and ends or asks again."""
    held = talk(caplog, ["Когда звонить?", "/exit"], case.answers, case.services)
    assert held.out == [*HELP, ANALYSING, *case.said, *([] if case.ends else [BYE])]
    after = [] if case.ends else [("DEBUG", "[main] AgentRestart"), ("DEBUG", "[main] AgentEnd")]
    assert held.log == [("DEBUG", "[main] AgentStart"), *case.log, *after]
    assert held.code == (1 if case.ends else 0)
    kept = [line for line in case.said if line not in {SELECTING, VALIDATING, EXECUTING, LLM_ERROR, PARSE_ERROR, *HELP}]
    assert held.kept == kept
    assert len(held.kept) == case.kept
    assert held.history[0].content == "Когда звонить?"


def test_the_services_are_asked_as_the_seed_says(caplog: pytest.LogCaptureFixture) -> None:
    """A tool asks for the health first and for nothing else if that is bad."""
    held = talk(caplog, ["Когда звонить?"], (YES, call("rag_search", question="Когда звонить?")), Services(health={"status": "bad"}))
    assert held.services.asked == [("rag", "/health", None)]
