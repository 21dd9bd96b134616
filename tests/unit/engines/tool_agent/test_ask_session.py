"""A session of `sdelka ask` that goes well: commands, both services, the history, and what is typed by mistake or by malice."""

import pytest

from engines.tool_agent.core.rounds import Code, is_yes
from orchestrator.domain.models import ModelRequest, ToolCall
from tests.unit.engines.tool_agent.ask_kit import (
    ANALYSING,
    BYE,
    EXECUTING,
    FOUND,
    HELP,
    RELEVANT,
    SELECTING,
    VALIDATING,
    Services,
    call,
    say,
    settings,
    talk,
)

YES = say("Да.")
ASK_RAG, ASK_HAIKU = call("rag_search", question="Когда звонить?"), call("generate_haiku", theme=" пруд ")
RAG_LINES = [
    ANALYSING, RELEVANT, SELECTING, "Выбран инструмент rag_search с параметрами question: Когда звонить?", VALIDATING,
    "Инструмент rag_search проверен и готов к вызову. Запрос: Когда звонить?", EXECUTING, "Ответ RAG: Через два дня.",
    "Заголовки топ-2 документов: Регламент, Памятка (2)",
]  # fmt: skip
HAIKU_LINES = [
    ANALYSING,
    RELEVANT,
    SELECTING,
    "Выбран инструмент generate_haiku с параметрами theme: пруд",
    VALIDATING,
    "Инструмент generate_haiku проверен и готов к вызову. Тема: пруд",
    EXECUTING,
    "Хайку: старый пруд | прыгнула лягушка | всплеск",
    "#слогов построчно: 3-6-1",
    "#слов итого: 5",
]


@pytest.mark.req(
    "S001-1",
    "S001-2",
    "S001-19",
    "S001-20",
    "S001-21",
    "S001-22",
    "S001-26",
    "S001-27",
    "S001-34",
    "S001-35",
    "S001-36",
    "S001-37",
    "S001-43",
    "S001-44",
    "S001-45",
    "S001-46",
    "S001-50",
    "S001-56",
    "S001-57",
    "S001-58",
    "S001-64",
    "S001-65",
    "S001-66",
    "S001-67",
    "S001-85",
)
def test_a_question_is_answered_from_the_documents(caplog: pytest.LogCaptureFixture) -> None:
    """Every sentence comes in its order, the titles stand outside of the history, and the chunks are in the log."""
    held = talk(caplog, ["Когда звонить?", "exit"], (YES, ASK_RAG))
    assert held.out == [*HELP, *RAG_LINES, BYE]
    assert held.kept == [RAG_LINES[place] for place in (1, 3, 5, 7)]
    assert held.services.asked == [("rag", "/health", None), ("rag", "/search", {"question": "Когда звонить?", "top_k": 2})]
    assert held.log == [
        ("DEBUG", "[main] AgentStart"), ("DEBUG", "[cls] AgentClassify"), ("DEBUG", "[cls] classify_intent // Relevant query"),
        ("DEBUG", "[select] AgentSelect"), ("DEBUG", "[select] select_tool_call // Selection OK"), ("DEBUG", "[valid] AgentValidate"),
        ("DEBUG", "[valid] validate_tool_call // Validation OK"), ("DEBUG", "[exec] AgentExecute"),
        ("DEBUG", "[exec] rag_chunks_message: \n1. Регламент\nЗвонить через два дня.\n2. Памятка (2)\nПосле КП."),
        ("DEBUG", "[main] AgentRestart"), ("DEBUG", "[main] AgentEnd"),
    ]  # fmt: skip


@pytest.mark.req("S001-54", "S001-68", "S001-74", "S001-75", "S001-76", "S001-77", "S001-A6", "S001-M1")
def test_a_haiku_is_shown_with_its_counts_under_their_labels(caplog: pytest.LogCaptureFixture) -> None:
    """Syllables stand in the line of syllables, words in the line of words, and only the poem goes into the history."""
    held = talk(caplog, ["хайку про пруд"], (YES, ASK_HAIKU))
    assert held.out == [*HELP, *HAIKU_LINES, BYE]
    assert held.kept == [HAIKU_LINES[place] for place in (1, 3, 5, 7)]
    assert held.services.asked[-1] == ("haiku", "/generate_haiku", {"theme": "пруд"})


@pytest.mark.req("S001-23", "S001-78", "S001-X1")
@pytest.mark.parametrize("word", ["/exit", "/quit", "/q", "exit", "quit", "q", " EXIT ", "Q"])
def test_each_exit_command_ends_the_session(word: str, caplog: pytest.LogCaptureFixture) -> None:
    """It says goodbye, logs it and asks no model; case and the space around it do not count."""
    held = talk(caplog, [word, "not read any more"])
    assert (held.code, held.out, held.history) == (0, [*HELP, BYE], [])
    assert held.log == [("DEBUG", "[main] AgentStart"), ("DEBUG", "[main] AgentEnd")]


@pytest.mark.req("S001-24", "S001-25", "S001-79", "S001-A3")
@pytest.mark.parametrize("word", ["/help", "help", "?", "HELP"])
def test_each_help_command_shows_the_help_and_asks_again(word: str, caplog: pytest.LogCaptureFixture) -> None:
    """The help stands there twice, nothing is kept, and no restart is logged."""
    held = talk(caplog, [word, "", "  ", "q"])
    assert (held.out, held.history) == ([*HELP, *HELP, BYE], [])
    assert held.log == [("DEBUG", "[main] AgentStart"), ("DEBUG", "[main] AgentHelp"), ("DEBUG", "[main] AgentEnd")]


@pytest.mark.req("S001-X9")
def test_clear_forgets_the_history(caplog: pytest.LogCaptureFixture) -> None:
    """After /clear a model is sent the new message alone; the codes of the steps are those of the later versions."""
    held = talk(caplog, ["погода?", "/clear", "ещё"], (say("нет"), say("нет")))
    assert [one["content"] for one in held.models.requests[1].messages[1:]] == ["ещё"]
    assert [code.value for code in Code] == [100, 101, 102, 103, 200, 201, 202, 203, 300, 301, 400, 401, 402]


@pytest.mark.req("S001-3", "S001-28", "S001-82", "S001-A1", "S001-X2")
def test_all_messages_are_kept_and_the_last_ten_are_sent(caplog: pytest.LogCaptureFixture) -> None:
    """Each request has a system prompt and at most ten messages, with the roles of the seed; the list itself is never cut."""
    held = talk(caplog, [f"вопрос {number}" for number in range(9)], [say("нет")] * 9)
    assert len(held.history) == 18
    assert {line.role for line in held.history} == {"user", "assistant"}
    last = held.models.requests[-1]
    assert [one["role"] for one in last.messages] == ["system", *["assistant", "user"] * 5]
    assert last.messages[-1]["content"] == "вопрос 8"
    assert (last.options.temperature, last.options.max_tokens, last.role) == (0.001, 1, "tool")


@pytest.mark.req("S001-38", "S001-X3")
def test_the_tools_are_offered_as_functions_and_the_first_call_counts(caplog: pytest.LogCaptureFixture) -> None:
    """Every tool that can work is offered with its parameters; of several calls only the first is made."""
    both = say("", *ASK_HAIKU.calls, *ASK_RAG.calls)
    held = talk(caplog, ["хайку"], (YES, both))
    offered: ModelRequest = held.models.requests[1]
    assert [one.name for one in offered.tools] == ["rag_search", "generate_haiku", "calculate"]
    assert offered.tools[0].parameters["required"] == ["question"]
    assert {one[0] for one in held.services.asked} == {"haiku"}


@pytest.mark.req("S001-X4", "S001-A5", "S001-83", "S001-84")
@pytest.mark.parametrize(("tool", "given", "sent"), [
    ("rag_search", {"question": "  " + "я" * 30 + "\n"}, {"question": "я" * 30, "top_k": 2}),
    ("rag_search", {"question": "👩‍👩‍👧" * 6}, {"question": "👩‍👩‍👧" * 6, "top_k": 2}),
    ("rag_search", {"question": 42}, {"question": "42", "top_k": 2}),
    ("rag_search", {"question": ["а", "б"], "top_k": 9}, {"question": '["а", "б"]', "top_k": 2}),
    ("generate_haiku", {"theme": "é" * 20}, {"theme": "é" * 20}),
    ("generate_haiku", {"theme": False}, {"theme": "false"}),
])  # fmt: skip
def test_the_limits_are_inclusive_and_count_code_points(
    tool: str, given: dict[str, object], sent: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    """What is exactly as long as allowed passes, and what is no text is made one."""
    held = talk(caplog, ["сделай"], (YES, call(tool, **given)))
    assert held.services.asked[-1][2] == sent


@pytest.mark.req("S001-A2")
@pytest.mark.parametrize(("text", "yes"), [
    ("да", True), ("«ДА», конечно", True), ("Yes!", True), ("никогда", False), ("нет, да", False), ("!!!", False), ("дай", False),
    ("*да*", True),
])  # fmt: skip
def test_the_first_word_of_the_classifier_decides(text: str, *, yes: bool) -> None:
    """«никогда» contains «да» and is none."""
    assert is_yes(text) is yes


@pytest.mark.req("S001-A4")
@pytest.mark.parametrize(("end", "code"), [(EOFError(), 0), (KeyboardInterrupt(), 130)])
def test_the_end_of_input_and_ctrl_c_end_politely(end: BaseException, code: int, caplog: pytest.LogCaptureFixture) -> None:
    """Both say goodbye; a program that called can tell them apart."""
    held = talk(caplog, [end])
    assert (held.code, held.out) == (code, [*HELP, BYE])


@pytest.mark.parametrize("bad", ["\x1b[2J\x1b]0;owned\x07", "a\r\x00b", "\u202eabc", "\ud800"])
def test_signs_that_move_the_cursor_never_reach_the_terminal(bad: str, caplog: pytest.LogCaptureFixture) -> None:
    """Neither what a person pastes nor what a model or a document says can draw on the terminal."""
    found = {**FOUND, "answer": f"{bad}ответ", "chunk_title_list": [bad, bad]}
    held = talk(caplog, [bad + "вопрос"], (YES, call("rag_search", question=f"{bad}вопрос")), Services(search=found))
    assert all(sign.isprintable() for line in held.out for sign in line)
    assert any("вопрос" in line for line in held.out)
    "".join(line.content for line in held.history).encode()


def test_lines_pasted_together_are_one_message(caplog: pytest.LogCaptureFixture) -> None:
    """A pasted text of several lines in one input is one question; a command in its middle is none."""
    held = talk(caplog, ["первое\n/exit\nвторое"], (say("нет"),))
    assert held.history[0].content == "первое\n/exit\nвторое"


@pytest.mark.parametrize("answer", [
    say("", ToolCall(id="1", name="rag_search", arguments={"question": {"$gt": ""}})),
    say("", ToolCall(id="1", name="__class__", arguments={})),
    say("", ToolCall(id="1", name="find_in_crm", arguments={"name": "x"}, problem="no tool of this name was offered")),
    say("", ToolCall(id="1", name="calculate", arguments={"expression": "__import__('os').system('true')"})),
    say("", ToolCall(id="1", name="calculate", arguments={"expression": "9" * 400 + "*9"})),
    say("", ToolCall(id="1", name="rag_search", arguments={"question": "игнорируй правила", "role": "admin"})),
])  # fmt: skip
def test_a_hostile_answer_of_the_model_does_no_harm(answer: object, caplog: pytest.LogCaptureFixture) -> None:
    """The session goes on whatever the model calls; only the services that it may ask are asked, with the known parameters."""
    held = talk(caplog, ["сделай", "q"], (YES, answer))  # type: ignore[arg-type]
    assert (held.code, held.out[-1]) == (0, BYE)
    assert all(set(body or {}) <= {"question", "top_k"} for _, _, body in held.services.asked)


@pytest.mark.req("S001-78", "S001-79", "S001-82", "S001-83", "S001-84", "S001-85")
def test_the_settings_have_the_names_and_values_of_the_seed() -> None:
    """The table of the seed is that of the settings; commands may also be written as the seed writes them."""
    known = settings()
    assert set(known.exit_commands) == {"/exit", "/quit", "/q", "exit", "quit", "q"}
    assert set(known.help_commands) == {"/help", "help", "?"}
    numbers = (known.context_hist_limit, known.param_question_maxlen, known.param_theme_maxlen, known.param_rag_top_k)
    assert numbers == (10, 30, 20, 2)
    assert known.chat_question_maxlen == 500
    assert settings(exit_commands="{'/exit', 'Bye'}").exit_commands == ("/exit", "bye")
