"""The port to language models: what a caller asks, what it gets, and the protocol that the clients of providers implement.

A role says what an answer is for. Settings say which providers serve a role, so a caller never names a provider.
"""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, Protocol, get_args

from orchestrator.domain.errors import ModelClientError

Role = Literal["agent", "tool", "embedding"]
"""What an answer is for: a conversation with a person, a step of an engine, or vectors of texts."""
Purpose = Literal["passage", "question"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How long a reasoning model thinks before it answers. Each service takes some of these words."""
OnDelta = Callable[[str], Awaitable[None]]
OnRestart = Callable[[], Awaitable[None]]
CHARACTERS_PER_TOKEN: Final = 3
"""Russian and English texts have more characters a token, so an estimate by this number is rather too high."""
EXPECTED_ANSWER: Final = 1000
"""The tokens that an answer is taken to cost if the request does not limit them."""


def estimate_text(text: str) -> int:
    """Return about how many tokens a text has."""
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """How the model is to answer; None leaves it to the settings of the provider, and if they do not say it, to the service.

    Raises ValueError for a value that no provider takes.
    """

    model: str | None = None
    """Another model of the same provider than the one in the settings."""
    temperature: float | None = None
    max_tokens: int | None = None
    top_p: float | None = None
    reasoning_effort: Effort | None = None
    stop: Sequence[str] = ()
    seed: int | None = None
    json: bool = False
    """Whether the answer must be a JSON object (`response_format`)."""
    may_be_cut: bool = False
    """Whether an answer that ends at `max_tokens` is one all the same, as where a single word is asked for."""

    def __post_init__(self) -> None:
        """Raise ValueError that names the option, the value and what is allowed."""
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
    """A function that the model may call: its name, what it does, and its parameters as a JSON schema of an object."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call of a tool that the model wants. `problem` says what is wrong with its arguments; they are then empty, never guessed.

    `state` is what the service wants back when the conversation repeats the call, as the field of that name of the call; often nothing.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""
    state: str = ""


NO_OPTIONS: Final = ModelOptions()


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """One request to a language model. `prose` is True if the prompt contains free text that other people wrote.

    `service` is the name that a definition gives to a model of its own; settings map it to providers, otherwise the role counts. `within`
    is how many seconds all providers of the chain have together; each gets its share, so that one that hangs leaves the next its time.
    """

    messages: Sequence[Mapping[str, Any]]
    role: Role = "agent"
    service: str = ""
    options: ModelOptions = NO_OPTIONS
    tools: Sequence[ModelTool] = ()
    prose: bool = False
    within: float | None = None

    def estimate_tokens(self) -> tuple[int, int]:
        """Return about how many tokens the request costs: (read, written). Nothing is known of how the provider counts."""
        length = sum(len(str(tool.parameters)) + len(tool.description) for tool in self.tools) if self.tools else 0
        for message in self.messages:
            if "content" in message:
                content = message["content"]
                length += len(content if type(content) is str else str(content or ""))
            if "tool_calls" in message and (calls := message["tool_calls"]):
                length += len(str(calls))
        return math.ceil(length / CHARACTERS_PER_TOKEN) + 4 * len(self.messages), self.options.max_tokens or EXPECTED_ANSWER

    def count_missing(self, answer: "ModelAnswer") -> "ModelAnswer":
        """Return the answer with an estimate for each count of tokens that the provider does not report, so that no use is free."""
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
    """A request for vectors of texts: of passages that are kept, or of a question with which they are compared."""

    texts: Sequence[str]
    purpose: Purpose = "passage"
    role: Role = "embedding"
    service: str = ""
    model: str | None = None


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A finished answer of the model.

    Token counts that the service did not report are estimates. `seconds` is how long the answer took. `failed_before` are the providers
    that were asked first and gave no answer.
    """

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
    """The vectors of the texts, in their order."""

    vectors: Sequence[Sequence[float]]
    tokens: int = 0
    model: str = ""
    provider: str = ""
    failed_before: tuple[str, ...] = ()


class Models(Protocol):
    """Asks language models. Raises ModelClientError and no other error of its own."""

    async def chat(self, request: ModelRequest, on_delta: OnDelta | None = None, *, on_restart: OnRestart | None = None) -> ModelAnswer:
        """Return the answer to the request; `on_delta` gets each piece of its text as it arrives.

        `on_restart` takes back what `on_delta` has got, when the model fails in the middle of its answer and another one is asked. Without
        it no other one is asked then.
        """

    async def embed(self, request: EmbedRequest) -> EmbedAnswer:
        """Return the vectors of the texts."""

    def find_model_name(self, request: ModelRequest) -> str:
        """Return the name of the model that is asked first for this request, "" if it is not known."""


class ProviderUnavailable(ModelClientError):
    """A provider cannot be used at present: it cannot be reached, does not answer properly, or turns away whoever asks."""


class MalformedAnswer(ModelClientError):
    """The service answered, and its answer has not the form of one: there is no choice, message or text in it."""


class UnusableAnswer(ModelClientError):
    """The model answered, and its answer cannot be used: it was cut off, is empty or was refused. Another provider is not asked."""

    def __init__(self, reason: str | None = None, *, answer: ModelAnswer | None = None) -> None:
        """Store the reason, and what came of the answer: it was paid all the same, and its tokens count."""
        super().__init__(reason)
        self.answer = answer
