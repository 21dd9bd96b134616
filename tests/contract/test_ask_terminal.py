"""`sdelka ask` in a real terminal, served by a GigaChat over HTTPS with tokens, and by a service of documents: every branch, line by line."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pexpect
import pytest

from sandbox.model.gigachat import CREDENTIALS
from tests.contract.sandbox_model_kit import ROOT, a_model_server
from tests.unit.engines.tool_agent.ask_kit import ANALYSING, BYE, EXECUTING, FOUND, HELP, OK, RAG_FAILED, RELEVANT, SELECTING, VALIDATING
from tests.unit.model_client.loopback_kit import Seen, Service, reply, serving

SECONDS = 60
CLASSIFIER, SELECTOR, POET = "Ответь одним словом", "вызываешь его", "Ты поэт"
POEM = "Старый тихий пруд\nпрыгнула лягушка в пруд\nвсплеск и тишина"
RULES: Sequence[Mapping[str, Any]] = (
    {"marker": CLASSIFIER, "match": "погода", "answers": [{"text": "нет", "finish": "length"}], "keep": True},
    {"marker": CLASSIFIER, "answers": [{"text": "да", "finish": "length"}], "keep": True},
    {"marker": SELECTOR, "match": "хайку", "answers": [{"tool_calls": [{"name": "generate_haiku", "arguments": {"theme": "пруд"}}]}],
     "keep": True},
    {"marker": SELECTOR, "match": "звонить",
     "answers": [{"tool_calls": [{"name": "rag_search", "arguments": {"question": "Когда звонить?"}}]}], "keep": True},
    {"marker": SELECTOR, "match": "подробно", "answers": [{"tool_calls": [{"name": "rag_search", "arguments": {"question": "я" * 31}}]}],
     "keep": True},
    {"marker": SELECTOR, "match": "пусто", "answers": [{"tool_calls": [{"name": "generate_haiku", "arguments": {}}]}], "keep": True},
    {"marker": SELECTOR, "match": "удали", "answers": [{"tool_calls": [{"name": "delete_all", "arguments": {"deal": 1}}]}], "keep": True},
    {"marker": SELECTOR, "match": "сам", "answers": ["Отвечу сам."], "keep": True},
    {"marker": POET, "answers": [POEM], "keep": True},
)  # fmt: skip
"""What the model answers: the person's words tell the branches apart, the system prompts the steps."""
CHOSEN = [ANALYSING, RELEVANT, SELECTING]


def chosen(name: str, params: str) -> list[str]:
    return [*CHOSEN, f"Выбран инструмент {name} с параметрами {params}", VALIDATING]


SESSION: Sequence[tuple[str, list[str]]] = (
    ("", []),
    ("какая погода?", [ANALYSING, "Запрос не связан с функционалом агента.", *HELP]),
    (
        "хайку про пруд",
        [
            *chosen("generate_haiku", "theme: пруд"),
            "Инструмент generate_haiku проверен и готов к вызову. Тема: пруд",
            EXECUTING,
            "Хайку: Старый тихий пруд | прыгнула лягушка в пруд | всплеск и тишина",
            "#слогов построчно: 5-7-5",
            "#слов итого: 10",
        ],
    ),
    (
        "Когда звонить?",
        [
            *chosen("rag_search", "question: Когда звонить?"),
            "Инструмент rag_search проверен и готов к вызову. Запрос: Когда звонить?",
            EXECUTING,
            "Ответ RAG: Через два дня.",
            "Заголовки топ-2 документов: Регламент, Памятка (2)",
        ],
    ),
    ("HELP", HELP),
    ("расскажи подробно", [*chosen("rag_search", f"question: {'я' * 31}"), "Вопрос слишком длинный. Просьба сформулировать более кратко."]),
    ("пусто", [*chosen("generate_haiku", "—"), "Не совсем понял вопрос. Просьба переформулировать."]),
    ("удали всё", [*chosen("delete_all", "deal: 1"), "Не удалось провалидировать запрос. Просьба переформулировать."]),
    ("сам", [*CHOSEN, "Не удалось определить инструмент. Просьба переформулировать запрос."]),
)


def _heed_ctrl_c() -> None:
    """Take back what a shell does to whatever it starts in the background, the tests perhaps: it lets it ignore Ctrl-C for good."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """The program in a terminal of its own."""

    def __init__(self, env: Mapping[str, str], folder: Path) -> None:
        self._log = folder / "logs" / "tool_agent.log"
        known = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG"}}
        told = {**known, "PYTHONPATH": str(ROOT), "LOG_DIR": str(folder / "logs"), "TERM": "dumb", **env}
        self._child = pexpect.spawn(
            sys.executable,
            ["-m", "bot", "ask"],
            cwd=str(folder),
            env=told,
            encoding="utf-8",
            echo=False,
            timeout=SECONDS,
            dimensions=(50, 400),
            preexec_fn=_heed_ctrl_c,
        )

    def read_answer(self) -> list[str]:
        """Return the lines up to the next prompt."""
        self._child.expect_exact("> ")
        return (self._child.before or "").splitlines()

    def type(self, line: str) -> None:
        self._child.sendline(line)

    def finish(self) -> tuple[list[str], int | None]:
        """Return the last lines and the exit code."""
        if self._child.after is not pexpect.EOF:
            self._child.expect(pexpect.EOF)
        self._child.close()
        return (self._child.before or "").splitlines(), self._child.exitstatus

    def interrupt(self) -> None:
        """Press Ctrl-C, and again if nothing came of it.

        Python loses one that comes between the printing of the prompt and the reading of the line, which on a busy machine takes long.
        """
        for _ in range(10):
            self._child.sendintr()
            if self._child.expect([pexpect.EOF, pexpect.TIMEOUT], timeout=6) == 0:
                return

    def end_input(self) -> None:
        self._child.sendeof()

    def read_log(self) -> list[str]:
        """Return the records of the log without their times."""
        return [line.partition(" ")[2] for line in self._log.read_text(encoding="utf-8").splitlines() if not line.startswith("    ")]


def answer_documents(seen: Seen) -> bytes:
    return reply(OK if seen.path == "/health" else FOUND)


@asynccontextmanager
async def a_company(folder: Path) -> AsyncIterator[tuple[dict[str, str], Service]]:
    """A GigaChat with a certificate of its own and a service of documents; yields the settings and the service."""
    async with a_model_server(folder) as model, serving(answer_documents) as documents, httpx.AsyncClient(base_url=model.url) as control:
        for rule in RULES:
            (await control.post("/sandbox/script", json={**rule, "model": "GigaChat-2-Max", "provider": "gigachat"})).raise_for_status()
        yield (
            {
                "GIGACHAT_CREDENTIALS": CREDENTIALS,
                "GIGACHAT_API_BASE": f"{model.tls}/api/v1",
                "GIGACHAT_AUTH_URL": f"{model.tls}/api/v2/oauth",
                "GIGACHAT_CA_FILE": str(model.ca_file),
                "RAG_SERVICE_URL": documents.base,
            },
            documents,
        )


@pytest.mark.long
@pytest.mark.req("S001-1", "S001-20", "S001-22", "S001-28", "S001-38", "S001-76", "S001-77", "S001-80", "S001-X3", "S001-X5")
async def test_every_branch_is_said_line_by_line_as_the_seed_says(tmp_path: Path) -> None:
    """Each message gets exactly its lines; the functions' arguments are objects; the log has no stranger's line without a prefix."""
    async with a_company(tmp_path) as (env, documents):

        def talk() -> tuple[list[str], int | None, list[str]]:
            terminal = Terminal(env, tmp_path)
            assert terminal.read_answer() == HELP
            for line, expected in SESSION:
                terminal.type(line)
                assert terminal.read_answer() == expected, line
            terminal.type("/exit")
            return *terminal.finish(), terminal.read_log()

        said, code, log = await asyncio.to_thread(talk)
    assert (said, code) == ([BYE], 0)
    assert documents.list_paths() == ["/health", "/search"]
    assert all(re.match(r"(DEBUG|WARNING) \[(main|cls|select|valid|exec)\] ", line) for line in log), log
    assert log[0] == "DEBUG [main] AgentStart"
    assert log[-1] == "DEBUG [main] AgentEnd"


@pytest.mark.long
@pytest.mark.req("S001-29", "S001-59", "S001-69", "S001-A4")
async def test_what_fails_is_said_and_a_model_that_fails_ends_the_program(tmp_path: Path) -> None:
    """Services that are not there are apologised for; a key that is refused ends the session with a code of its own."""
    async with a_company(tmp_path) as (env, _):

        def talk() -> None:
            terminal = Terminal({**env, "RAG_SERVICE_URL": "http://127.0.0.1:1"}, tmp_path)
            terminal.read_answer()
            terminal.type("Когда звонить?")
            assert terminal.read_answer()[-1] == RAG_FAILED
            terminal.end_input()
            assert terminal.finish() == ([BYE], 0)
            assert (
                "ERROR [exec] check_health // Unexpected error: the service cannot be asked (ConnectError: Connection refused)"
                in terminal.read_log()
            )
            refused = Terminal({**env, "GIGACHAT_CREDENTIALS": "d3Jvbmc6d3Jvbmc="}, tmp_path)
            refused.read_answer()
            refused.type("Когда звонить?")
            log = tmp_path / "logs" / "tool_agent.log"
            assert refused.finish() == ([ANALYSING, "Ошибка при запросе LLM, завершаюсь..", f"Why it ended stands in {log}."], 1)
            trace, reason = refused.read_log()[-2:]
            assert trace == "CRITICAL [cls] chat completions failed"
            assert reason.startswith("CRITICAL [cls] classify_intent // LLM Error: ")

        await asyncio.to_thread(talk)


@pytest.mark.long
async def test_ctrl_c_ends_politely_in_the_middle_of_everything(tmp_path: Path) -> None:
    """At the prompt it says goodbye; no stack trace is shown."""
    async with a_company(tmp_path) as (env, _):

        def talk() -> tuple[list[str], int | None]:
            terminal = Terminal(env, tmp_path)
            terminal.read_answer()
            terminal.interrupt()
            return terminal.finish()

        said, code = await asyncio.to_thread(talk)
    assert ([line for line in said if line.strip("^C")], code) == ([BYE], 130)
