import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, Protocol, get_args

from orchestrator.domain.errors import ModelClientError

Role = Literal["agent", "tool", "embedding"]
Purpose = Literal["passage", "question"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
OnDelta = Callable[[str], Awaitable[None]]
OnRestart = Callable[[], Awaitable[None]]
CHARACTERS_PER_TOKEN: Final = 3
"""An estimate by it is rather too high."""
EXPECTED_ANSWER: Final = 1000


def estimate_text(text: str) -> int:
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """None leaves it to the provider's settings, or the service. Raises ValueError."""

    model: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    top_p: float | None = None
    reasoning_effort: Effort | None = None
    stop: Sequence[str] = ()
    seed: int | None = None
    json: bool = False
    """`response_format`."""
    may_be_cut: bool = False
    """An answer cut at `max_tokens` counts, as where one word is asked for."""

    def __post_init__(self) -> None:
        for name, lowest, highest in (("temperature", 0, 2), ("top_p", 0, 1)):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and lowest <= value <= highest):
                raise ValueError(f"the option {name} of a model is {value}; it must be from {lowest} to {highest}")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise ValueError(f"the option max_tokens of a model is {self.max_tokens}; it must be 1 or more")
        if self.reasoning_effort is not None and self.reasoning_effort not in get_args(Effort):
            known = ", ".join(get_args(Effort))
            raise ValueError(f"the option reasoning_effort of a model is {self.reasoning_effort!r}; it must be one of {known}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTool:
    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """With a `problem` the arguments are empty, never guessed. `state` goes back to the service with the call."""

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""
    state: str = ""


NO_OPTIONS: Final = ModelOptions()


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """`prose`: free text of others is in the prompt.

    `service` maps to providers, else the role counts. `within` seconds for the whole chain; each provider gets its share.
    """

    messages: Sequence[Mapping[str, Any]]
    role: Role = "agent"
    service: str = ""
    options: ModelOptions = NO_OPTIONS
    tools: Sequence[ModelTool] = ()
    prose: bool = False
    within: float | None = None

    def estimate_tokens(self) -> tuple[int, int]:
        """(read, written), roughly."""
        length = sum(len(str(tool.parameters)) + len(tool.description) for tool in self.tools) if self.tools else 0
        for message in self.messages:
            if "content" in message:
                content = message["content"]
                length += len(content if type(content) is str else str(content or ""))
            if "tool_calls" in message and (calls := message["tool_calls"]):
                length += len(str(calls))
        return math.ceil(length / CHARACTERS_PER_TOKEN) + 4 * len(self.messages), self.options.max_tokens or EXPECTED_ANSWER

    def count_missing(self, answer: "ModelAnswer") -> "ModelAnswer":
        """Estimates what the provider does not report, so that no use is free."""
        if answer.prompt_tokens and answer.completion_tokens:
            return answer
        calls = "".join(f"{call.name}{dict(call.arguments)}" for call in answer.calls)
        return replace(
            answer,
            prompt_tokens=answer.prompt_tokens or self.estimate_tokens()[0],
            completion_tokens=answer.completion_tokens or estimate_text(answer.text + calls),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedRequest:
    texts: Sequence[str]
    purpose: Purpose = "passage"
    role: Role = "embedding"
    service: str = ""
    model: str | None = None


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """Unreported tokens are estimates. `failed_before` are providers that gave no answer."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    model: str
    finish_reason: str
    seconds: float
    calls: tuple[ToolCall, ...] = ()
    provider: str = ""
    failed_before: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedAnswer:
    vectors: Sequence[Sequence[float]]
    tokens: int = 0
    model: str = ""
    provider: str = ""
    failed_before: tuple[str, ...] = ()


class Models(Protocol):
    """Raises ModelClientError, and no other error of its own."""

    async def chat(self, request: ModelRequest, on_delta: OnDelta | None = None, *, on_restart: OnRestart | None = None) -> ModelAnswer:
        """`on_delta` gets each piece. `on_restart` takes the pieces back when another model is asked; without it none is asked then."""

    async def embed(self, request: EmbedRequest) -> EmbedAnswer: ...

    def find_model_name(self, request: ModelRequest) -> str:
        """Of what is asked first; "" if not known."""


class ProviderUnavailable(ModelClientError):
    """A provider cannot be used at present: it cannot be reached, does not answer properly, or turns away whoever asks."""


class MalformedAnswer(ModelClientError):
    """The service answered, and its answer has not the form of one: there is no choice, message or text in it."""


class UnusableAnswer(ModelClientError):
    """The model answered, and its answer cannot be used: it was cut off, is empty or was refused. Another provider is not asked."""

    def __init__(self, reason: str | None = None, *, answer: ModelAnswer | None = None) -> None:
        super().__init__(reason)
        self.answer = answer
