"""The OpenAI wire format: request bodies, answer objects and stream chunks."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from sandbox.model.embedding import DIMENSIONS, packed, vector
from sandbox.model.script import ToolCall

MODEL: Final = "demo-rules"
EMBEDDER: Final = "demo-hashing"
CHUNK: Final = 12
"""The number of characters in a stream chunk."""


class StreamOptions(BaseModel):
    """The object `stream_options` of a chat request; only `include_usage` has an effect."""

    model_config = ConfigDict(extra="allow")
    include_usage: bool = False


class ChatBody(BaseModel):
    """A Chat Completions request; parameters of real models are accepted and have no effect."""

    model_config = ConfigDict(extra="allow")
    messages: list[dict[str, Any]] = Field(min_length=1)
    model: str = MODEL
    stream: bool = False
    stream_options: StreamOptions | None = None


class EmbeddingBody(BaseModel):
    """An embeddings request: texts, or lists of token numbers."""

    model_config = ConfigDict(extra="allow")
    input: str | list[str] | list[int] | list[list[int]]
    model: str = EMBEDDER
    dimensions: int = Field(default=DIMENSIONS, ge=1, le=4096)
    encoding_format: str = "float"


@dataclass(frozen=True, slots=True)
class Completion:
    """One finished answer to a chat request, with the values that the OpenAI answer object needs."""

    id: str
    created: int
    text: str
    finish: str
    prompt_tokens: int
    tool_calls: tuple[ToolCall, ...] = ()
    raw_arguments: str | None = None
    """The arguments of the first call as a text that is sent as it is."""
    legacy: bool = False
    """Whether the request offered `functions`, so that the answer has a `function_call`."""

    @property
    def usage(self) -> dict[str, int]:
        """The tokens used, estimated as a quarter of the UTF-8 bytes."""
        written = tokens(self.text + "".join(self.write_arguments(number) for number in range(len(self.tool_calls))))
        return {"prompt_tokens": self.prompt_tokens, "completion_tokens": written, "total_tokens": self.prompt_tokens + written}

    def write_arguments(self, number: int) -> str:
        """Return the arguments of a call as JSON text."""
        if number == 0 and self.raw_arguments is not None:
            return self.raw_arguments
        return json.dumps(self.tool_calls[number].arguments, ensure_ascii=False)


def tokens(text: str) -> int:
    """Return the estimated number of tokens of a text: one for four bytes."""
    return math.ceil(len(text.encode("utf-8", "surrogatepass")) / 4)


def whole(completion: Completion) -> dict[str, Any]:
    """Return the answer as one Chat Completions object, for a request without streaming."""
    message = {"role": "assistant", "content": completion.text or None if completion.tool_calls else completion.text, "refusal": None}
    choice = {"index": 0, "message": {**message, **_calls(completion)}, "logprobs": None, "finish_reason": completion.finish}
    return {**_head(completion, "chat.completion"), "choices": [choice], "usage": completion.usage}


def _calls(completion: Completion) -> dict[str, Any]:
    """Return the calls of functions as a message holds them; the older form holds only the first."""
    written = [{"name": one.name, "arguments": completion.write_arguments(number)} for number, one in enumerate(completion.tool_calls)]
    if completion.legacy:
        return {"function_call": written[0]} if written else {}
    return {"tool_calls": [_tool_call(completion, number, one) for number, one in enumerate(written)]} if written else {}


def _tool_call(completion: Completion, number: int, function: dict[str, str]) -> dict[str, Any]:
    return {"id": f"call_{completion.id}_{number}", "type": "function", "function": function}


def _head(completion: Completion, kind: str) -> dict[str, Any]:
    return {"id": completion.id, "object": kind, "created": completion.created, "model": MODEL}


def chunks(completion: Completion, options: StreamOptions | None) -> Iterator[str]:
    """Yield the answer as server-sent events: the role, pieces of text, the end, usage if requested, [DONE]."""
    head = _head(completion, "chat.completion.chunk")
    yield _event({**head, "choices": [_delta({"role": "assistant", "content": ""})]})
    for start in range(0, len(completion.text), CHUNK):
        yield _event({**head, "choices": [_delta({"content": completion.text[start : start + CHUNK]})]})
    for delta in _call_deltas(completion):
        yield _event({**head, "choices": [_delta(delta)]})
    yield _event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": completion.finish}]})
    if options and options.include_usage:
        yield _event({**head, "choices": [], "usage": completion.usage})
    yield "data: [DONE]\n\n"


def _call_deltas(completion: Completion) -> Iterator[dict[str, Any]]:
    """Yield the calls of functions in pieces: the name first, then pieces of the arguments."""
    for number, call in enumerate(completion.tool_calls[:1] if completion.legacy else completion.tool_calls):
        text = completion.write_arguments(number)
        pieces = [text[start : start + CHUNK] for start in range(0, len(text), CHUNK)]
        if completion.legacy:
            yield {"function_call": {"name": call.name, "arguments": ""}}
            yield from ({"function_call": {"arguments": piece}} for piece in pieces)
            continue
        yield {"tool_calls": [{"index": number, **_tool_call(completion, number, {"name": call.name, "arguments": ""})}]}
        yield from ({"tool_calls": [{"index": number, "function": {"arguments": piece}}]} for piece in pieces)


def _delta(delta: dict[str, Any]) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": None}


def _event(body: dict[str, Any]) -> str:
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n"


def embeddings(body: EmbeddingBody) -> dict[str, Any]:
    """Return the vectors of every input, in order."""
    texts = list_texts(body.input)
    vectors = [vector(text, body.dimensions) for text in texts]
    shown: list[Any] = [packed(values) if body.encoding_format == "base64" else values for values in vectors]
    used = sum(tokens(text) for text in texts)
    data = [{"object": "embedding", "index": index, "embedding": values} for index, values in enumerate(shown)]
    return {"object": "list", "model": EMBEDDER, "data": data, "usage": {"prompt_tokens": used, "total_tokens": used}}


def list_texts(given: str | list[str] | list[int] | list[list[int]]) -> list[str]:
    """Return the inputs of an embeddings request as texts."""
    if isinstance(given, str):
        return [given]
    if given and all(isinstance(item, int) for item in given):
        return [" ".join(map(str, given))]
    return [item if isinstance(item, str) else " ".join(map(str, item)) for item in given if not isinstance(item, int)]


def models() -> dict[str, Any]:
    """Return the answer to `GET /models`, which names the two models. A request with any other model name is answered too."""
    names = (MODEL, EMBEDDER)
    return {"object": "list", "data": [{"id": name, "object": "model", "created": 0, "owned_by": "sdelka-sandbox"} for name in names]}


def error(message: str, kind: str, code: str | None = None) -> dict[str, Any]:
    """Return an error object in the OpenAI format; `kind` is its `type`."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}
