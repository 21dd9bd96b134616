"""Defines what a tool of the tool agent is, what it may use, and how the parameters that a model gave are checked (seed 001, step 4).

A tool is data: a name, a description, a model of its parameters and one function. The steps of the agent know no tool by name.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel

from orchestrator.directory.answers import FindRecords
from orchestrator.domain.models import ModelTool
from orchestrator.domain.outputs import Notice, Passage, Table, Text
from state.canonical import to_storable_text
from state.stored import JsonObject

P = TypeVar("P", bound=BaseModel)
Part = Text | Table | Passage
Words = Callable[[Notice], str]
"""Returns the sentence of a notice in the language of the conversation."""
CHAT_LENGTH: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """The numbers of the seed's table by which the agent works (S001-82 … 85)."""

    history_limit: int = 10
    """How many messages of the history a model is sent."""
    question_maxlen: int = 30
    theme_maxlen: int = 20
    text_maxlen: int = CHAT_LENGTH
    """The greatest length of the parameters that the seed does not know."""
    rag_top_k: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One sentence that the agent writes. `is_kept` says whether it goes into the history, `is_progress` that it only says what is done."""

    notice: Notice
    is_kept: bool = False
    is_progress: bool = False


def build_message(code: str, *, is_kept: bool = False, is_progress: bool = False, **args: object) -> Message:
    """Return the message with this code and these arguments."""
    return Message(notice=Notice(code=code, args=args), is_kept=is_kept, is_progress=is_progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """What came of running a tool.

    `messages` are its lines in a terminal. `parts` are what a chat shows in their place; empty if it shows the lines. `fault` says whether
    it failed, and whether the service was down or its answer could not be used. `is_prose` says whether the answer contains text of others.
    """

    messages: tuple[Message, ...]
    parts: tuple[Part, ...] = ()
    fault: Literal["", "down", "failed"] = ""
    is_prose: bool = False


class Services(Protocol):
    """Makes requests to the services beside the agent, by their names ("rag", "haiku"). Raises ServiceFailed for every failure."""

    async def check_health(self, service: str) -> JsonObject:
        """Return the body of GET /health."""

    async def post(self, service: str, path: str, body: JsonObject) -> JsonObject:
        """Return the body of the answer to a POST."""


Note = Callable[[int, str], None]
"""Writes one line, with its level, into the log."""
Remember = Callable[[str, Callable[[], Awaitable[Any]]], Awaitable[Any]]
"""Returns the JSON data that the function makes; after a restart in the middle of a turn, what it made before, by the name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Who asks, for services that answer by rights and count by person: the session key of the person, and their roles."""

    key: str
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPorts:
    """What the function of a tool may use. `find_records` is None if no portal is connected.

    `asker` is None where services are not told who asks, such as in a terminal.
    """

    services: Services
    settings: AgentSettings
    note: Note
    remember: Remember
    find_records: FindRecords | None = None
    language: Literal["ru", "en"] = "ru"
    asker: Asker | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[P]):
    """A tool of the agent.

    `params` is a model whose fields are texts; a field with a default need not be given. `limits` gives the greatest length of a field,
    which is `text_maxlen` for all others. `run` carries the tool out; it raises nothing on purpose. The sentences of a tool have the codes
    that `build_code` makes: `ready` (checked), `long` (a parameter is too long), `line` (its line in the help).
    """

    name: str
    description: str
    params: type[P]
    run: Callable[[P, ToolPorts], Awaitable[ToolAnswer]]
    limits: Mapping[str, Callable[[AgentSettings], int]] = field(default_factory=dict)
    needs_portal: bool = False

    def build_code(self, what: str) -> str:
        """Return the code of one of the tool's sentences, such as "ask-rag-search-ready"."""
        return f"ask-{self.name.replace('_', '-')}-{what}"

    def describe(self) -> ModelTool:
        """Return the tool in the form in which it is offered to a model. Every parameter is a text."""
        fields = self.params.model_fields
        properties = {name: {"type": "string", "description": one.description or name} for name, one in fields.items()}
        needed = [name for name, one in fields.items() if one.is_required()]
        schema = {"type": "object", "properties": properties, "required": needed}
        return ModelTool(name=self.name, description=self.description, parameters=schema)

    def check(self, arguments: JsonObject, settings: AgentSettings) -> "P | Fault":
        """Return the parameters, or the first thing that is wrong with them (S001-47 … 54).

        A value that is no text is converted into one, null counts as missing, and the space around a text does not count (A5, X4).
        """
        texts: dict[str, str] = {}
        for name, model_field in self.params.model_fields.items():
            value = arguments.get(name)
            if value is None and not model_field.is_required():
                continue
            text = None if value is None else to_text(value)
            if text is None or not text:
                return Fault(what="Missing" if text is None else "Empty", param=name)
            if len(text) > self.limits.get(name, _limit_text)(settings):
                return Fault(what="Too Long", param=name)
            texts[name] = text
        return self.params.model_validate(texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is wrong with a parameter, in the words of the log."""

    what: Literal["Missing", "Empty", "Too Long"]
    param: str


def _limit_text(settings: AgentSettings) -> int:
    return settings.text_maxlen


def to_text(value: object) -> str:
    """Return a value of a parameter as a text without the space around it."""
    return to_storable_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).strip()


def format_arguments(arguments: JsonObject) -> str:
    """Return the parameters and values of a call as they are shown: "question: …, top: …"; a dash if there are none."""
    return ", ".join(f"{to_text(name)}: {'null' if value is None else to_text(value)}" for name, value in arguments.items()) or "—"
