"""Reads an answer of the Chat Completions API, streamed or whole; accepts only a finished one."""

import codecs
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from pydantic import BeforeValidator

from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.frozen import View
from orchestrator.domain.models import MalformedAnswer, ModelAnswer, ProviderUnavailable, UnusableAnswer
from orchestrator.model_client.failures import NOT_UTF8, Scrub, build_reported_error, find_reported_error
from orchestrator.model_client.tool_calls import CallCollector
from state.canonical import to_storable_text
from state.stored import JsonObject

MAX_LINE = 1_000_000
_LINE_END = re.compile(r"\r\n|\n|\r(?=.)", re.DOTALL)


class SseDecoder:
    """Raises `ModelClientError` on bytes that are not UTF-8 and lines over `MAX_LINE` (WHATWG HTML, 9.2.6)."""

    def __init__(self) -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._line = ""
        self._data: list[str] = []
        self._begun = False

    def feed(self, chunk: bytes) -> list[str]:
        """The data of the events that the chunk completes."""
        return self._take(self._decode(chunk, final=False))

    def close(self) -> list[str]:
        """Many servers leave out the blank line behind the last event."""
        return self._take(self._decode(b"", final=True) + "\n\n")

    def _decode(self, chunk: bytes, *, final: bool) -> str:
        try:
            text = self._utf8.decode(chunk, final)
        except UnicodeDecodeError:
            raise ModelClientError(NOT_UTF8) from None
        if not self._begun and text:
            self._begun = True
            text = text.removeprefix("\ufeff")
        return text

    def _take(self, text: str) -> list[str]:
        buffer = self._line + text
        done, cursor = [], 0
        for end in _LINE_END.finditer(buffer, max(len(self._line) - 1, 0)):
            done += self._finish_line(buffer[cursor : end.start()])
            cursor = end.end()
        self._line = buffer[cursor:]
        if len(self._line) > MAX_LINE:
            raise ModelClientError("The model service sent an event that does not end.")
        return done

    def _finish_line(self, line: str) -> list[str]:
        if line:
            name, _, value = line.partition(":")
            if name == "data":
                self._data.append(value.removeprefix(" "))
            return []
        data, self._data = self._data, []
        return ["\n".join(data)] if data else []


MAX_CHARACTERS = 200_000
FINISHED = frozenset({"stop", "eos", "end_turn", "complete", "completed", "stop_sequence", "eos_token"})
"""Natural ends, in small letters. Any other reason means that the answer is incomplete."""

FINISHED_WITH_CALL = frozenset({"tool_calls", "function_call", "tool_use", "tool_call"})
_SAME_REASON = {
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "safety": "content_filter",
    "sensitive": "content_filter",
    "prohibited_content": "content_filter",
    "recitation": "content_filter",
}
_NO_REASON = frozenset({"", "null", "none"})
"""In place of a reason while the answer goes on, and behind the last event."""
_THINKING = frozenset({"thinking", "reasoning", "redacted_thinking", "reasoning_content"})
"""Parts of a content that are no answer."""

_ONLY_THOUGHT = "The model used its whole answer for thinking: raise max_tokens, or lower reasoning_effort."
_CUT = {
    "length": "The model's answer was cut off at its length limit.",
    "content_filter": "The model's answer was stopped by the content filter.",
    "blacklist": "The model's answer was stopped by the content filter.",
}


MOST_TOKENS = 1_000_000_000
"""A larger count is taken for none: it would only close somebody's budget."""

_Count = Annotated[int, BeforeValidator(lambda value: value if type(value) is int and 0 <= value <= MOST_TOKENS else 0)]


def _read_reason(reason: object) -> str | None:
    word = to_storable_text(reason).strip().lower() if isinstance(reason, str) else ""
    return _SAME_REASON.get(word, word) if word not in _NO_REASON else None


_Text = Annotated[str | None, BeforeValidator(lambda value: to_storable_text(value) if isinstance(value, str) else None)]


class Usage(View):
    """0 if the service does not report it."""

    prompt_tokens: _Count = 0
    completion_tokens: _Count = 0


_BROKE = frozenset({"error", "insufficient_system_resource"})
"""GigaChat, OpenRouter and DeepSeek failed in the middle of an answer."""


class _Event(View):
    """A whole answer that is not streamed has the same form."""

    model: _Text = None
    usage: Annotated[Usage | None, BeforeValidator(lambda value: value if isinstance(value, dict) else None)] = None
    choices: object = None


class _Choice(View):
    index: object = 0
    delta: object = None
    message: object = None
    finish_reason: Annotated[str | None, BeforeValidator(_read_reason)] = None


class _Message(View):
    refusal: object = None
    content: object = None
    reasoning_content: object = None
    reasoning: object = None
    tool_calls: object = None
    function_call: object = None
    functions_state_id: _Text = None


class AnswerReader:
    """Raises `ModelClientError` on malformed data. An answer that is not streamed is a single event."""

    def __init__(self, scrub: Scrub) -> None:
        """`scrub` masks the API key in the service's error messages."""
        self._scrub = scrub
        self._pieces: list[str] = []
        self._size = 0
        self._half = ""
        self._model = ""
        self._usage = Usage()
        self._finish_reason = ""
        self._is_empty = False
        """Something has arrived, and no choice in it."""
        self._thought = False
        """Thinking came in a field of its own, which is not read."""
        self._calls = CallCollector()
        self._state = ""
        """GigaChat wants it back with its call."""

    @property
    def has_text(self) -> bool:
        return self._size > 0 or bool(self._calls)

    @property
    def is_finished(self) -> bool:
        """Only the event with the token counts may still be missing."""
        return self._finish_reason in FINISHED or (self._finish_reason in FINISHED_WITH_CALL and bool(self._calls))

    def end(self) -> None:
        """Some services say only that nothing more comes, and give no reason."""
        if not self._finish_reason and self.has_text:
            self._finish_reason = "tool_calls" if self._calls else "stop"

    def take(self, data: str) -> str:
        return self.take_object(load_object(data))

    def take_object(self, loaded: JsonObject) -> str:
        if error := find_reported_error(loaded):
            raise build_reported_error(error, self._scrub)
        event = _Event.model_validate(loaded)
        self._model = self._model or event.model or ""
        self._usage = event.usage or self._usage
        choice = _find_first_choice(event.choices or [])
        self._is_empty = not self._finish_reason and not self._size and choice == _Choice()
        return self._take_choice(choice)

    def end_body(self) -> None:
        """A body is finished, also if it does not say so. Raises MalformedAnswer if it has no message."""
        if not self._finish_reason and not self._is_empty and not self.has_text:
            raise MalformedAnswer("The model service sent a choice without a message.")
        self.end()

    def finish(self, seconds: float) -> ModelAnswer:
        if self._is_empty:
            raise MalformedAnswer("The model service sent an answer without a choice.")
        if self._half or not self._finish_reason:
            raise ModelClientError("The model's answer broke off before its end.")
        if self._finish_reason in _BROKE:
            raise ProviderUnavailable("The model service failed in the middle of its answer.")
        if self._finish_reason == "length" and self._thought and not self._size:
            raise UnusableAnswer(_ONLY_THOUGHT)
        if not self.is_finished:
            other = f"The model ended its answer for another reason than being done: {self._finish_reason[:40]!r}."
            raise UnusableAnswer(_CUT.get(self._finish_reason, other))
        if not "".join(self._pieces).strip() and not self._calls:
            raise UnusableAnswer(_ONLY_THOUGHT if self._thought else "The model's answer is empty.")
        return self.build_answer(seconds)

    def build_answer(self, seconds: float) -> ModelAnswer:
        calls = self._calls.finish()
        return ModelAnswer(
            text="".join(self._pieces),
            prompt_tokens=self._usage.prompt_tokens,
            completion_tokens=self._usage.completion_tokens,
            model=self._model,
            finish_reason=self._finish_reason,
            seconds=seconds,
            calls=(replace(calls[0], state=self._state), *calls[1:]) if calls and self._state else calls,
        )

    def _take_choice(self, choice: _Choice) -> str:
        part = choice.delta or choice.message or {}
        if not isinstance(part, dict):
            raise MalformedAnswer("The model service sent a choice without a message.")
        message = _Message.model_validate(part)
        if message.refusal:
            raise UnusableAnswer("The model refused to answer.")
        self._thought = self._thought or bool(message.reasoning_content or message.reasoning)
        self._calls.take(message.tool_calls, message.function_call)
        self._state = message.functions_state_id or self._state
        if choice.finish_reason is not None:
            self._finish_reason = choice.finish_reason
        if message.content is None:
            return ""
        return self._keep(self._join_parts(message.content))

    def _join_parts(self, content: object) -> str:
        if isinstance(content, str):
            return content
        texts: list[str] = []
        for part in content if isinstance(content, list) else [content]:
            text = part.get("text") if isinstance(part, dict) else part
            if isinstance(part, dict) and part.get("type") in _THINKING:
                self._thought = True
            elif isinstance(text, str):
                texts.append(text)
            elif not isinstance(part, dict):
                raise MalformedAnswer("The model service sent content that is not text.")
        return "".join(texts)

    def _keep(self, content: str) -> str:
        """Without half a character at its end, which waits for the other half. NUL, which no journal takes, is replaced."""
        content = self._half + content
        self._half = content[-1:] if "\ud800" <= content[-1:] <= "\udbff" else ""
        whole = content.removesuffix(self._half) if self._half else content
        try:
            text = whole.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            raise ModelClientError("The model service sent half of a character.") from None
        self._size += len(text)
        if self._size > MAX_CHARACTERS:
            raise UnusableAnswer(f"The model's answer is longer than {MAX_CHARACTERS} characters.")
        text = to_storable_text(text)
        self._pieces.append(text)
        return text


def read_whole(body: JsonObject, seconds: float) -> ModelAnswer:
    reader = AnswerReader(str)
    try:
        reader.take_object(body)
        reader.end_body()
        return reader.finish(seconds)
    except UnusableAnswer as error:
        error.answer = reader.build_answer(seconds)
        raise


def decode(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ModelClientError(NOT_UTF8) from None


def load_object(text: str | bytes) -> dict[str, object]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise MalformedAnswer("The model service sent something that is not JSON.") from None
    if not isinstance(value, dict):
        raise MalformedAnswer("The model service sent JSON that is not an object.")
    return value


def read_usage(body: Mapping[str, object]) -> Usage:
    usage = body.get("usage")
    return Usage.model_validate(usage) if isinstance(usage, dict) else Usage()


def _find_first_choice(choices: object) -> _Choice:
    """Empty for an event without choices, such as that of the token usage. Raises `ModelClientError`."""
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        raise MalformedAnswer("The model service sent choices that are no choices.")
    return next((choice for choice in map(_Choice.model_validate, choices) if choice.index in (0, None, "0")), _Choice())
