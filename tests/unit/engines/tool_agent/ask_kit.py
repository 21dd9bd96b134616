"""A terminal session with the tool agent: what was typed and answered goes in, the lines of standard output and of the log come out."""

import asyncio
import logging
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from bot.cli.ask import make_printable
from bot.cli.ask_face import AskPorts
from bot.settings.settings import Settings
from engines.tool_agent.core.rounds import Line
from engines.tool_agent.terminal import ASK_FACE, Session
from orchestrator.domain.errors import ModelClientError, ServiceFailed
from orchestrator.domain.models import EmbedAnswer, EmbedRequest, ModelAnswer, ModelRequest, OnDelta, OnRestart, ToolCall

HELP = [
    "Я отвечаю на вопросы с помощью инструментов:", "— отвечаю по документам компании", "— пишу хайку на любую тему",
    "— считаю суммы и проценты", "Напишите вопрос обычными словами. Выход — /exit, справка — /help, начать разговор заново — /clear.",
]  # fmt: skip
ANALYSING, RELEVANT, SELECTING = "Анализирую релевантность запроса..", "Запрос релевантен, думаю..", "Выбираю подходящий инструмент.."
VALIDATING, EXECUTING, BYE = "Валидирую инструмент..", "Выполняю инструмент..", "До свидания!"
RAG_FAILED = "Произошла чудовищная ошибка при запросе на RAG сервис.. Тысяча извинений! Попробуем снова?"
HAIKU_FAILED = "Произошла чудовищная ошибка при генерации хайку.. Тысяча извинений! Попробуем снова?"
FOUND = {
    "answer": "Через два дня.",
    "chunk_title_list": ["Регламент", "Памятка (2)"],
    "chunk_texts": ["Звонить через два дня.", "После КП."],
}
HAIKU = {"haiku_text": "старый пруд\nпрыгнула лягушка\nвсплеск", "syllables_per_line": [3, 6, 1], "total_words": 5, "theme": "пруд"}
OK = {"status": "ok"}

Answer = ModelAnswer | ModelClientError
Reply = Mapping[str, Any] | ServiceFailed


def say(text: str = "", *calls: ToolCall) -> ModelAnswer:
    """An answer of the model."""
    return ModelAnswer(text, 10, 5, "scripted", "stop", 0.0, calls=calls)


def call(name: str, /, **arguments: Any) -> ModelAnswer:
    """An answer that calls a tool."""
    return say("", ToolCall(id="c1", name=name, arguments=arguments))


class Models:
    """Answers in order and keeps the requests."""

    def __init__(self, answers: Iterable[Answer]) -> None:
        self.answers, self.requests = deque(answers), list[ModelRequest]()

    async def chat(self, request: ModelRequest, on_delta: OnDelta | None = None, *, on_restart: OnRestart | None = None) -> ModelAnswer:
        self.requests.append(request)
        answer = self.answers.popleft()
        if isinstance(answer, ModelClientError):
            raise answer
        return answer

    async def embed(self, request: EmbedRequest) -> EmbedAnswer:
        raise NotImplementedError

    def find_model_name(self, request: ModelRequest) -> str:
        return "scripted"


@dataclass
class Services:
    """Answers of both services; `asked` are the requests that came."""

    health: Reply = field(default_factory=lambda: OK)
    search: Reply = field(default_factory=lambda: FOUND)
    haiku: Reply = field(default_factory=lambda: HAIKU)
    asked: list[tuple[str, str, Any]] = field(default_factory=list)

    async def check_health(self, service: str) -> Mapping[str, Any]:
        self.asked.append((service, "/health", None))
        return self._give(self.health)

    async def post(self, service: str, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        self.asked.append((service, path, dict(body)))
        return self._give(self.search if service == "rag" else self.haiku)

    def _give(self, reply: Reply) -> Mapping[str, Any]:
        if isinstance(reply, ServiceFailed):
            raise reply
        return reply


@dataclass(frozen=True)
class Talk:
    """What came of a session."""

    code: int
    out: list[str]
    log: list[tuple[str, str]]
    history: list[Line]
    models: Models
    services: Services

    @property
    def kept(self) -> list[str]:
        """The agent's messages in the history."""
        return [line.content for line in self.history if line.role == "assistant"]


def settings(**more: Any) -> Settings:
    """The settings of an installation that sets nothing."""
    return Settings(_env_file=None, **more)


def talk(
    caplog: pytest.LogCaptureFixture,
    lines: Sequence[str | BaseException],
    answers: Iterable[Answer] = (),
    services: Services | None = None,
    **more: Any,
) -> Talk:
    """Hold a session in which these lines are typed; after the last one the input ends."""
    caplog.clear()
    caplog.set_level(logging.DEBUG, logger=ASK_FACE.logger)
    typed, out, models, reach = deque(lines), list[str](), Models(answers), services or Services()

    def read_line() -> str:
        if not typed:
            raise EOFError
        line = typed.popleft()
        if isinstance(line, BaseException):
            raise line
        return line

    with asyncio.Runner() as runner:
        ports = AskPorts(
            settings=settings(**more),
            models=models,
            services=reach,
            read_line=read_line,
            show=lambda text: out.extend(make_printable(text).split("\n")),
            run=runner.run,
        )
        session = Session(ports)
        code = session.talk()
    assert not models.answers, "an answer was never asked for"
    log = [(record.levelname, record.getMessage()) for record in caplog.records if record.name == ASK_FACE.logger]
    return Talk(code, out, log, session.history, models, reach)
