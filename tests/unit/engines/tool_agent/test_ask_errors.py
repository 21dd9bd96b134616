"""Every error row of seed 001: the exact lines of standard output, the exact lines of the log with their levels, and what is kept."""

from dataclasses import dataclass, field

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


def invalid(answer: Answer, shown: str, told: str, why: str) -> Case:
    """A call that the validation refuses."""
    log = [CLASSIFY, IS_RELEVANT, SELECT, IS_SELECTED, VALIDATE, ("WARNING", f"[valid] validate_tool_call // {why}")]
    return Case(answers=(YES, answer), said=[RELEVANT, SELECTING, shown, VALIDATING, told], log=log, kept=3)


def failed(services: Services, *log: str, is_haiku: bool = False) -> Case:
    """A service that fails."""
    answer = call("generate_haiku", theme="пруд") if is_haiku else call("rag_search", question="Когда звонить?")
    shown, checked, told = (HAIKU_CHOSEN, themed("пруд"), HAIKU_FAILED) if is_haiku else (RAG_CHOSEN, ready("Когда звонить?"), RAG_FAILED)
    before = [CLASSIFY, IS_RELEVANT, SELECT, IS_SELECTED, VALIDATE, IS_VALID, EXECUTE]
    said = [RELEVANT, SELECTING, shown, VALIDATING, checked, EXECUTING, told]
    return Case(answers=(YES, answer), said=said, log=[*before, *(("ERROR", f"[exec] {one}") for one in log)], kept=4, services=services)


def a_case(name: str, case: Case, rows: pytest.MarkDecorator) -> object:
    return pytest.param(case, id=name, marks=rows)


CASES = [
    a_case(
        "the classifier cannot be asked",
        Case(
            answers=(ModelClientError("no route"),),
            said=[LLM_ERROR],
            log=[CLASSIFY, ("CRITICAL", "[cls] classify_intent // LLM Error: no route")],
            ends=True,
        ),
        pytest.mark.req("S001-29", "S001-A4", "S001-A6"),
    ),
    *(
        a_case(
            f"the classifier's answer cannot be read: {error.reason}",
            Case(
                answers=(error,),
                said=[PARSE_ERROR],
                log=[CLASSIFY, ("CRITICAL", f"[cls] classify_intent // LLM Response Parse Error: {error.reason}")],
                ends=True,
            ),
            pytest.mark.req("S001-30", "S001-A2"),
        )
        for error in (MalformedAnswer("no choices"), UnusableAnswer("empty"))
    ),
    a_case(
        "the classifier answers with blanks",
        Case(
            answers=(say(" \n"),),
            said=[PARSE_ERROR],
            log=[CLASSIFY, ("CRITICAL", "[cls] classify_intent // LLM Response Parse Error: the answer is empty")],
            ends=True,
        ),
        pytest.mark.req("S001-30", "S001-A2"),
    ),
    a_case(
        "the request is not for this agent",
        Case(
            answers=(say("нет"),),
            said=["Запрос не связан с функционалом агента.", *HELP],
            log=[CLASSIFY, ("WARNING", "[cls] classify_intent // Irrelevant query")],
            kept=1,
        ),
        pytest.mark.req("S001-31", "S001-32", "S001-33"),
    ),
    a_case(
        "the model cannot be asked for a tool",
        Case(
            answers=(YES, ModelClientError("HTTP 500")),
            said=[RELEVANT, SELECTING, LLM_ERROR],
            log=[CLASSIFY, IS_RELEVANT, SELECT, ("CRITICAL", "[select] select_tool_call // LLM Error: HTTP 500")],
            ends=True,
            kept=1,
        ),
        pytest.mark.req("S001-39"),
    ),
    a_case(
        "the arguments are no JSON",
        Case(
            answers=(YES, say("", ToolCall(id="c", name="rag_search", problem="the arguments are not JSON"))),
            said=[RELEVANT, SELECTING, PARSE_ERROR],
            log=[
                CLASSIFY,
                IS_RELEVANT,
                SELECT,
                ("CRITICAL", "[select] select_tool_call // LLM Response Parse Error: the arguments are not JSON"),
            ],
            ends=True,
            kept=1,
        ),
        pytest.mark.req("S001-40"),
    ),
    a_case(
        "the answer is none",
        Case(
            answers=(YES, MalformedAnswer("no choices")),
            said=[RELEVANT, SELECTING, PARSE_ERROR],
            log=[CLASSIFY, IS_RELEVANT, SELECT, ("CRITICAL", "[select] select_tool_call // LLM Response Parse Error: no choices")],
            ends=True,
            kept=1,
        ),
        pytest.mark.req("S001-40"),
    ),
    a_case(
        "the model calls nothing",
        Case(
            answers=(YES, say("Я и сам отвечу.")),
            said=[RELEVANT, SELECTING, NOT_SELECTED],
            log=[CLASSIFY, IS_RELEVANT, SELECT, ("WARNING", "[select] select_tool_call // Selection Fail")],
            kept=2,
        ),
        pytest.mark.req("S001-41", "S001-42", "S001-X3"),
    ),
    a_case(
        "no question",
        invalid(call("rag_search"), chosen("rag_search", "—"), UNCLEAR, "Missing Param: rag_search::question"),
        pytest.mark.req("S001-47"),
    ),
    a_case(
        "the question is null",
        invalid(call("rag_search", question=None), chosen("rag_search", "question: null"), UNCLEAR, "Missing Param: rag_search::question"),
        pytest.mark.req("S001-47", "S001-A5"),
    ),
    a_case(
        "the question is blank",
        invalid(call("rag_search", question=" \n"), chosen("rag_search", "question: "), UNCLEAR, "Empty Param: rag_search::question"),
        pytest.mark.req("S001-48", "S001-X4"),
    ),
    a_case(
        "the question is one sign too long",
        invalid(
            call("rag_search", question="я" * 31),
            chosen("rag_search", f"question: {'я' * 31}"),
            LONG,
            "Too Long Param: rag_search::question",
        ),
        pytest.mark.req("S001-49", "S001-83"),
    ),
    a_case(
        "no theme",
        invalid(call("generate_haiku"), chosen("generate_haiku", "—"), UNCLEAR, "Missing Param: generate_haiku::theme"),
        pytest.mark.req("S001-51"),
    ),
    a_case(
        "the theme is empty",
        invalid(call("generate_haiku", theme=""), chosen("generate_haiku", "theme: "), UNCLEAR, "Empty Param: generate_haiku::theme"),
        pytest.mark.req("S001-52"),
    ),
    a_case(
        "the theme is one sign too long",
        invalid(
            call("generate_haiku", theme="ё" * 21),
            chosen("generate_haiku", f"theme: {'ё' * 21}"),
            LONG_THEME,
            "Too Long Param: generate_haiku::theme",
        ),
        pytest.mark.req("S001-53", "S001-84"),
    ),
    a_case(
        "a tool that there is not",
        invalid(call("delete_all", deal=1), chosen("delete_all", "deal: 1"), UNKNOWN, "Unknown tool: delete_all"),
        pytest.mark.req("S001-55"),
    ),
    a_case(
        "the documents' service cannot be reached",
        failed(Services(health=DOWN), f"check_health // Unexpected error: {DOWN.reason}", "answer_question // Health check failed"),
        pytest.mark.req("S001-59", "S001-60"),
    ),
    a_case(
        "the documents' service is not ready",
        failed(Services(health={"status": "starting"}), "answer_question // Health check failed"),
        pytest.mark.req("S001-59", "S001-61"),
    ),
    a_case("its health says nothing", failed(Services(health={}), "answer_question // Health check failed"), pytest.mark.req("S001-61")),
    a_case(
        "the search fails",
        failed(Services(search=BAD), "answer_question // Unexpected error: HTTP 500: Search failed"),
        pytest.mark.req("S001-62", "S001-X5"),
    ),
    a_case(
        "the answer of the search lacks fields",
        failed(
            Services(search={"answer": "x"}),
            "answer_question // Unexpected error: the answer has another form (chunk_title_list: Field required, chunk_texts: Field required)",
        ),
        pytest.mark.req("S001-62", "S001-A7"),
    ),
    a_case(
        "the search reports an error",
        failed(Services(search={"error": "no index", **FOUND}), "answer_question // Search error: no index"),
        pytest.mark.req("S001-59", "S001-63"),
    ),
    a_case(
        "the haiku service cannot be reached",
        failed(
            Services(health=DOWN),
            f"check_health // Unexpected error: {DOWN.reason}",
            "generate_haiku // Health check failed",
            is_haiku=True,
        ),
        pytest.mark.req("S001-69", "S001-70"),
    ),
    a_case(
        "the haiku service is not well",
        failed(Services(health={"status": "no"}), "generate_haiku // Health check failed", is_haiku=True),
        pytest.mark.req("S001-69", "S001-71"),
    ),
    a_case(
        "no haiku comes",
        failed(Services(haiku=BAD), "generate_haiku // Unexpected error: HTTP 500: Search failed", is_haiku=True),
        pytest.mark.req("S001-72"),
    ),
    a_case(
        "the haiku service reports an error",
        failed(Services(haiku={"error": "tired"}), "generate_haiku // Generation error: tired", is_haiku=True),
        pytest.mark.req("S001-69", "S001-73"),
    ),
]


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
