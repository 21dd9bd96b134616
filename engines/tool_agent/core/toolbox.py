"""What a tool of the tool agent is, what it may use, and how its parameters are checked (seed 001, step 4).

The two requests of a tool with a service of its own are logged in the seed's words (S001-58…74).
"""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from orchestrator.directory.answers import FindRecords
from orchestrator.domain.errors import ServiceFailed
from orchestrator.domain.models import ModelTool
from orchestrator.domain.outputs import Notice, Passage, Table, Text
from state.canonical import to_storable, to_storable_text
from state.stored import JsonObject

B = TypeVar("B", bound=BaseModel)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceCall(Generic[B]):
    """A request to a service, and the form of a good answer."""

    service: str
    path: str
    answer: type[B]
    action: str
    refused: str


async def call_service(call: ServiceCall[B], body: JsonObject, ports: ToolPorts) -> B | Literal["down", "failed"]:
    """Return "down" for an unhealthy service, "failed" for a bad request or answer.

    The answer is remembered, so that a repeated turn asks no second time.
    """
    known = await ports.remember(call.service, lambda: _ask_service(call, body, ports))
    remembered_body = known.get("body")
    return (
        call.answer.model_validate(remembered_body) if remembered_body is not None else "down" if known.get("fault") == "down" else "failed"
    )


async def _ask_service(call: ServiceCall[B], body: JsonObject, ports: ToolPorts) -> dict[str, Any]:
    def note(text: str) -> None:
        ports.note(logging.ERROR, text)

    if not await _is_healthy(call, ports):
        note(f"{call.action} // Health check failed")
        return {"fault": "down"}
    try:
        reply = to_storable(await ports.services.post(call.service, call.path, body))
    except ServiceFailed as error:
        note(f"{call.action} // Unexpected error: {error.reason}")
        return {"fault": "failed"}
    if "error" in reply:
        note(f"{call.action} // {call.refused} error: {reply['error']}")
        return {"fault": "failed"}
    try:
        return {"body": call.answer.model_validate(reply).model_dump(mode="json")}
    except ValidationError as error:  # its own text quotes the answer
        wrong = ", ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_input=False))
        note(f"{call.action} // Unexpected error: the answer has another form ({wrong})")
        return {"fault": "failed"}


async def _is_healthy(call: ServiceCall[B], ports: ToolPorts) -> bool:
    try:
        health = await ports.services.check_health(call.service)
    except ServiceFailed as error:
        ports.note(logging.ERROR, f"check_health // Unexpected error: {error.reason}")
        return False
    return health.get("status") == "ok"
