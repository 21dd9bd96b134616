"""What a tool of the tool agent is, what it may use, and how its parameters are checked (seed 001, step 4)."""

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
CHAT_LENGTH: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """The numbers of the seed's table (S001-82…85)."""

    history_limit: int = 10
    question_maxlen: int = 30
    theme_maxlen: int = 20
    text_maxlen: int = CHAT_LENGTH
    """The greatest length of parameters that the seed does not know."""
    rag_top_k: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One sentence of the agent. `is_kept`: it goes into the history; `is_progress`: it only says what is done."""

    notice: Notice
    is_kept: bool = False
    is_progress: bool = False


def build_message(code: str, *, is_kept: bool = False, is_progress: bool = False, **args: object) -> Message:
    return Message(notice=Notice(code=code, args=args), is_kept=is_kept, is_progress=is_progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """`messages` for a terminal, `parts` for a chat (empty: it shows the messages); `is_prose`: it contains text of others."""

    messages: tuple[Message, ...]
    parts: tuple[Part, ...] = ()
    fault: Literal["", "down", "failed"] = ""
    is_prose: bool = False


class Services(Protocol):
    """Requests to services by name ("rag", "haiku"). Every failure raises ServiceFailed."""

    async def check_health(self, service: str) -> JsonObject: ...

    async def post(self, service: str, path: str, body: JsonObject) -> JsonObject: ...


Note = Callable[[int, str], None]
Remember = Callable[[str, Callable[[], Awaitable[Any]]], Awaitable[Any]]
"""Returns the data that the function makes, or after a restart what it made before, by the name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    key: str
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPorts:
    """`find_records` is None without a portal, `asker` where services are not told who asks."""

    services: Services
    settings: AgentSettings
    note: Note
    remember: Remember
    find_records: FindRecords | None = None
    language: Literal["ru", "en"] = "ru"
    asker: Asker | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[P]):
    """The fields of `params` are texts; `limits` are their greatest lengths, else `text_maxlen`. `run` raises nothing on purpose."""

    name: str
    description: str
    params: type[P]
    run: Callable[[P, ToolPorts], Awaitable[ToolAnswer]]
    limits: Mapping[str, Callable[[AgentSettings], int]] = field(default_factory=dict)
    needs_portal: bool = False

    def build_code(self, what: str) -> str:
        """Such as "ask-rag-search-ready"."""
        return f"ask-{self.name.replace('_', '-')}-{what}"

    def describe(self) -> ModelTool:
        fields = self.params.model_fields
        properties = {name: {"type": "string", "description": one.description or name} for name, one in fields.items()}
        needed = [name for name, one in fields.items() if one.is_required()]
        schema = {"type": "object", "properties": properties, "required": needed}
        return ModelTool(name=self.name, description=self.description, parameters=schema)

    def check(self, arguments: JsonObject, settings: AgentSettings) -> "P | Fault":
        """Return the parameters, or their first mistake (S001-47…54). Null counts as missing (A5, X4)."""
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
    what: Literal["Missing", "Empty", "Too Long"]
    param: str


def _limit_text(settings: AgentSettings) -> int:
    return settings.text_maxlen


def to_text(value: object) -> str:
    return to_storable_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).strip()


def format_arguments(arguments: JsonObject) -> str:
    """As people read it: "question: …, top: …"; a dash for none."""
    return ", ".join(f"{to_text(name)}: {'null' if value is None else to_text(value)}" for name, value in arguments.items()) or "—"
