"""Translates between the port to models and one provider's requests."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import (
    EmbedAnswer,
    EmbedRequest,
    ModelAnswer,
    ModelRequest,
    ModelTool,
    OnDelta,
    ToolCall,
    UnusableAnswer,
    estimate_text,
)
from orchestrator.model_client.answer import read_usage
from orchestrator.model_client.dialects import GIGACHAT, Fit, Option, Tuning
from orchestrator.model_client.failures import RejectedRequest
from orchestrator.model_client.wide_schemas import fit_tool, join_arguments, split_arguments
from state.stored import JsonObject

_NAMES: Final = ("think", "thinking", "thought", "reasoning")
_OPENED: Final = re.compile(r"\s*<(?:think|thinking|thought|reasoning)[ ]?>", re.IGNORECASE)
_CLOSED: Final = re.compile(r"</(?:think|thinking|thought|reasoning)[ ]?>\s*", re.IGNORECASE)
_NO_ANSWER: Final = "The model only thought and wrote no answer: raise max_tokens, or lower reasoning_effort."


def drop_thinking(answer: ModelAnswer) -> ModelAnswer:
    """Raises UnusableAnswer if nothing else is left. Some templates give only the closing tag."""
    text = answer.text
    begun, closed = _OPENED.match(text), _CLOSED.search(text)
    if begun is None and (closed is None or "<think" in text[: closed.start()].lower()):
        return answer
    rest = text[closed.end() :] if closed is not None else ""
    if not rest.strip() and not answer.calls:
        raise UnusableAnswer(_NO_ANSWER, answer=answer)
    return replace(answer, text=rest)


class ThinkingFilter:
    """If only a closing tag comes, what was before it has been passed on."""

    def __init__(self, on_delta: OnDelta) -> None:
        self._on_delta = on_delta
        self._held = ""
        self._over = False

    async def take(self, piece: str) -> None:
        if not self._over:
            self._held += piece
            piece = self._release()
        if piece:
            await self._on_delta(piece)

    def _release(self) -> str:
        """Empty if nothing is certainly answer yet."""
        if _OPENED.match(self._held) is not None:
            closed = _CLOSED.search(self._held)
            if closed is None or closed.end() == len(self._held):  # blanks may follow it
                return ""
            return self._let_go(closed.end())
        begun = self._held.lstrip().lower()
        if not begun or any(f"<{name}".startswith(begun) or begun in {f"<{name}", f"<{name} "} for name in _NAMES):
            return ""
        return self._let_go(0)

    def _let_go(self, start: int) -> str:
        self._over = True
        rest, self._held = self._held[start:], ""
        return rest


_TOO_MANY_TEXTS: Final = frozenset({400, 413, 422})
_UNKNOWN: Final[frozenset[Option]] = frozenset({"stop", "seed"})
_ONLY_JSON: Final = "Answer with one JSON object and nothing else."


class WireClient(Protocol):
    async def stream_chat(self, payload: JsonObject, on_delta: OnDelta | None = None) -> ModelAnswer: ...

    async def post_chat_completions(self, payload: JsonObject, *, verbose: bool = False) -> dict[str, object]: ...

    async def post_embeddings(self, payload: JsonObject, *, verbose: bool = False) -> dict[str, object]: ...


class OpenAiProvider:
    def __init__(self, client: WireClient, *, model: str = "", embedding_model: str = "", tuning: Tuning | None = None) -> None:
        """`model` and `embedding_model` are for requests that name none."""
        self.client, self.model, self.embedding_model, self.tuning = client, model, embedding_model, tuning or Tuning()
        self._portion = self.tuning.portion or self.tuning.dialect.portion

    async def chat(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelAnswer:
        """A call of a tool that was not offered has a `problem`; UnusableAnswer if none was offered.

        Thinking in front is cut off, except for people: their engine decides what it is.
        """
        if request.role == "agent":
            answer = await self.client.stream_chat(self._build_payload(request), on_delta)
        else:
            taker = ThinkingFilter(on_delta).take if on_delta is not None else None
            answer = drop_thinking(await self._ask_briefly(request, taker))
        if answer.calls and not request.tools:
            raise UnusableAnswer("The model calls a tool, although none was offered.", answer=answer)
        return replace(answer, calls=tuple(_check_name(call, request.tools) for call in answer.calls)) if answer.calls else answer

    async def _ask_briefly(self, request: ModelRequest, on_delta: OnDelta | None) -> ModelAnswer:
        """Cut at its limit if the request allows. A model that thinks first may need to be asked without a limit."""
        try:
            return await self.client.stream_chat(self._build_payload(request), on_delta)
        except UnusableAnswer as error:
            cut = error.answer
            if not request.options.may_be_cut or cut is None or cut.finish_reason != "length":
                raise
        if cut.text.strip() and not cut.text.lstrip().startswith("<"):  # which would be the beginning of thinking
            return cut
        unlimited = replace(request, options=replace(request.options, max_tokens=None))
        return await self.client.stream_chat(self._build_payload(unlimited), on_delta)

    async def embed(self, request: EmbedRequest) -> EmbedAnswer:
        """In order. If a service refuses so many texts, half as many are sent, and that is kept."""
        model = self._choose_vector_model(request)
        vectors: list[Sequence[float]] = []
        tokens, portion = 0, self._portion
        while len(vectors) < len(request.texts):
            texts = list(request.texts[len(vectors) : len(vectors) + portion])
            try:
                body = await self.client.post_embeddings({"model": model, "input": texts})
            except RejectedRequest as error:
                if error.status not in _TOO_MANY_TEXTS or len(texts) == 1:
                    raise
                portion = len(texts) // 2
                continue
            vectors += _read_vectors(body, len(texts))
            tokens += _count_tokens(body, texts)
        self._portion = min(portion, self._portion)
        if len({len(vector) for vector in vectors}) > 1:
            raise ModelClientError("The model service sent vectors of different lengths.")
        return EmbedAnswer(vectors=vectors, tokens=tokens, model=model)

    def _choose_vector_model(self, request: EmbedRequest) -> str:
        """For questions the counterpart of the model for passages."""
        model = request.model or self.find_embedding_model()
        if request.purpose == "passage":
            return model
        own = self.tuning.question_model if model == self.embedding_model else ""
        return own or self.tuning.dialect.find_question_model(model)

    def find_embedding_model(self) -> str:
        if not self.embedding_model:
            raise RejectedRequest("There is no embedding model: set DEFAULT_EMBEDDING_MODEL.")
        return self.embedding_model

    def _build_payload(self, request: ModelRequest) -> dict[str, Any]:
        payload: dict[str, Any] = {**self._build_options(request), "messages": list(map(_drop_state, request.messages))}
        if request.options.json:
            payload["response_format"] = {"type": "json_object"}
        if request.tools:
            payload["tools"] = [{"type": "function", "function": _describe_tool(tool)} for tool in request.tools]
        return payload

    def _build_options(self, request: ModelRequest) -> dict[str, Any]:
        own = request.options.model
        return {**self.tuning.build_fields(request.options, own or self.model), **({"model": own} if own else {})}


class GigaChatProvider(OpenAiProvider):
    """`functions` in place of `tools`, arguments as objects, no `stop`, no `seed`."""

    def __init__(
        self,
        client: WireClient,
        *,
        model: str = "",
        embedding_model: str = "",
        tuning: Tuning | None = None,
        wide_schemas: Fit = "split",
    ) -> None:
        """`wide_schemas`: tools of more than eight parameters."""
        own_tuning = replace(tuning or Tuning(dialect=GIGACHAT), omit=(tuning.omit if tuning and tuning.omit else frozenset()) | _UNKNOWN)
        super().__init__(client, model=model, embedding_model=embedding_model, tuning=own_tuning)
        self._fit = wide_schemas

    async def chat(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelAnswer:
        answer = await super().chat(request, on_delta)
        if not answer.calls:
            return answer
        return replace(answer, calls=tuple(join_arguments(call, request.tools, self._fit) for call in answer.calls))

    def _build_payload(self, request: ModelRequest) -> dict[str, Any]:
        messages = _to_gigachat_messages(request.messages, request.tools, self._fit)
        if request.options.json:
            messages = _add_instruction(messages, _ONLY_JSON)
        payload: dict[str, Any] = {**self._build_options(request), "messages": messages}
        if request.tools:
            payload["functions"] = [_describe_tool(fit_tool(tool, self._fit)) for tool in request.tools]
            payload["function_call"] = "auto"
        return payload


def _drop_state(message: JsonObject) -> JsonObject:
    """Strict services refuse a field that they do not know."""
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or not any("state" in call for call in calls):
        return message
    return {**message, "tool_calls": [{name: part for name, part in call.items() if name != "state"} for call in calls]}


def _check_name(call: ToolCall, tools: Sequence[ModelTool]) -> ToolCall:
    """With a problem if the tool was not offered."""
    if call.problem or any(tool.name == call.name for tool in tools):
        return call
    return replace(call, problem="no tool of this name was offered")


def _describe_tool(tool: ModelTool) -> JsonObject:
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}


def _to_gigachat_messages(messages: Sequence[JsonObject], tools: Sequence[ModelTool], fit: Fit) -> list[dict[str, Any]]:
    """One system message, one call a message with its result right after. Of calls without results only the first is told."""
    gigachat_messages: list[dict[str, Any]] = []
    at = 0
    while at < len(messages):
        message, calls = messages[at], messages[at].get("tool_calls")
        at += 1
        if not isinstance(calls, list) or not calls:
            is_result = message.get("role") == "tool"  # of no call that is known
            gigachat_messages.append(_to_gigachat_result(message, str(message.get("name") or "")) if is_result else dict(message))
            continue
        by_id = {str(one.get("id") or f"call-{place}"): one for place, one in enumerate(calls, start=1)}
        answered: list[tuple[JsonObject, JsonObject | None]] = []
        while at < len(messages) and messages[at].get("role") == "tool" and str(messages[at].get("tool_call_id")) in by_id:
            answered.append((by_id[str(messages[at].get("tool_call_id"))], messages[at]))
            at += 1
        text = message.get("content") or ""
        for call, result in answered or [(calls[0], None)]:
            gigachat_call = _to_gigachat_call(call, tools, fit)
            state = {"functions_state_id": call["state"]} if call.get("state") else {}
            gigachat_messages.append({"role": "assistant", "content": text, "function_call": gigachat_call, **state})
            gigachat_messages += [_to_gigachat_result(result, gigachat_call["name"])] if result is not None else []
            text = ""
    instructions = [str(one.get("content") or "") for one in gigachat_messages if one.get("role") == "system"]
    others = [one for one in gigachat_messages if one.get("role") != "system"]
    return [{"role": "system", "content": "\n\n".join(filter(None, instructions))}, *others] if instructions else others


def _to_gigachat_result(message: JsonObject, name: str) -> dict[str, Any]:
    return {"role": "function", "name": name, "content": _to_json_text(message.get("content"))}


def _to_gigachat_call(call: JsonObject, tools: Sequence[ModelTool], fit: Fit) -> dict[str, Any]:
    function = call.get("function", {})
    arguments, name = function.get("arguments"), str(function.get("name", ""))
    try:
        loaded = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        loaded = None
    return {"name": name, "arguments": split_arguments(name, loaded if isinstance(loaded, Mapping) else {}, tools, fit)}


def _to_json_text(content: object) -> str:
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    try:
        json.loads(text)
    except ValueError:
        return json.dumps({"result": text}, ensure_ascii=False)
    return text


def _add_instruction(messages: Sequence[JsonObject], instruction: str) -> list[dict[str, Any]]:
    """The first message is the only place of a system message."""
    first = dict(messages[0]) if messages else {}
    if first.get("role") == "system":
        return [{**first, "content": f"{first.get('content', '')}\n\n{instruction}"}, *map(dict, messages[1:])]
    return [{"role": "system", "content": instruction}, *map(dict, messages)]


def _read_vectors(body: JsonObject, count: int) -> list[list[float]]:
    """In order. Raises ModelClientError if it is not certain."""
    rows = body.get("data")
    if not isinstance(rows, list) or len(rows) != count or not all(isinstance(row, Mapping) for row in rows):
        raise ModelClientError(f"The model service sent other than {count} vectors.")
    places = [row.get("index") for row in rows]
    if any(place is not None for place in places):
        if any(type(place) is not int for place in places) or sorted(places) != list(range(count)):
            raise ModelClientError("The model service sent vectors whose order is not certain.")
        rows = sorted(rows, key=lambda row: int(row["index"]))
    return [_read_vector(row.get("embedding")) for row in rows]


def _read_vector(row: object) -> list[float]:
    try:
        if isinstance(row, list) and row and all(type(part) in {int, float} for part in row):
            vector = [float(part) for part in row]
            if all(map(math.isfinite, vector)):
                return vector
    except OverflowError:  # an integer that no float holds
        pass
    raise ModelClientError("The model service sent vectors that are no numbers.")


def _count_tokens(body: JsonObject, texts: Sequence[str]) -> int:
    rows: list[JsonObject] = body["data"]
    tokens = read_usage(body).prompt_tokens or sum(read_usage(row).prompt_tokens for row in rows)
    return tokens or sum(map(estimate_text, texts))
