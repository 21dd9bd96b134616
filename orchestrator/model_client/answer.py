"""Reads a Chat Completions answer, streamed or whole. Accepts only an answer that the model finished."""

import json
from dataclasses import dataclass
from typing import Any

from orchestrator.domain.errors import ModelClientError
from orchestrator.model_client.failures import NOT_UTF8, Scrub, build_reported_error

MAX_CHARACTERS = 200_000
FINISHED = frozenset({"stop", "eos", "end_turn"})
"""How compatible servers report a natural end. Any other reason, such as `length`, means that the answer is incomplete."""

_CUT = {
    "length": "The model's answer was cut off at its length limit.",
    "content_filter": "The model's answer was stopped by the content filter.",
}


@dataclass(frozen=True)
class ModelAnswer:
    """A finished answer. Token counts are 0 when the service did not report them."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    model: str
    finish_reason: str
    seconds: float


class AnswerReader:
    """Collects one answer from its events; a plain JSON body is one event. Raises `ModelClientError` on malformed data."""

    def __init__(self, scrub: Scrub) -> None:
        """Start empty; `scrub` masks the API key in the service's messages."""
        self._scrub = scrub
        self._pieces: list[str] = []
        self._size = 0
        self._half = ""
        self._model = ""
        self._usage: dict[str, Any] = {}
        self._finish_reason = ""

    @property
    def has_text(self) -> bool:
        """Whether any text has arrived."""
        return self._size > 0

    @property
    def is_finished(self) -> bool:
        """Whether the model has reported a natural end; only the token usage may still be missing."""
        return self._finish_reason in FINISHED

    def take(self, data: str) -> str:
        """Return the new text of one event."""
        event = load_object(data)
        if error := event.get("error"):
            raise build_reported_error(error, self._scrub)
        if isinstance(event.get("model"), str):
            self._model = self._model or event["model"]
        if isinstance(event.get("usage"), dict):
            self._usage = event["usage"]
        return self._take_choice(_find_first_choice(event))

    def finish(self, seconds: float) -> ModelAnswer:
        """Return the whole answer; raise `ModelClientError` if it is empty or was not finished by the model."""
        if self._half or not self._finish_reason:
            raise ModelClientError("The model's answer broke off before its end.")
        if self._finish_reason not in FINISHED:
            other = f"The model ended its answer for another reason than being done: {self._finish_reason[:40]!r}."
            raise ModelClientError(_CUT.get(self._finish_reason, other))
        text = "".join(self._pieces)
        if not text.strip():
            raise ModelClientError("The model's answer is empty.")
        return ModelAnswer(
            text=text,
            prompt_tokens=_parse_count(self._usage.get("prompt_tokens")),
            completion_tokens=_parse_count(self._usage.get("completion_tokens")),
            model=self._model,
            finish_reason=self._finish_reason,
            seconds=seconds,
        )

    def _take_choice(self, choice: dict[str, Any]) -> str:
        part = choice.get("delta") or choice.get("message") or {}
        if not isinstance(part, dict):
            raise ModelClientError("The model service sent a choice without a message.")
        if part.get("refusal"):
            raise ModelClientError("The model refused to answer.")
        if isinstance(choice.get("finish_reason"), str):
            self._finish_reason = choice["finish_reason"]
        content = part.get("content")
        if content is None:
            return ""
        if not isinstance(content, str):
            raise ModelClientError("The model service sent content that is not text.")
        return self._keep(content)

    def _keep(self, content: str) -> str:
        """Store `content` and return it, joining the halves of a character that the service split into two surrogates."""
        content = self._half + content
        self._half = content[-1:] if "\ud800" <= content[-1:] <= "\udbff" else ""
        whole = content.removesuffix(self._half) if self._half else content
        try:
            text = whole.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            raise ModelClientError("The model service sent half of a character.") from None
        self._size += len(text)
        if self._size > MAX_CHARACTERS:
            raise ModelClientError(f"The model's answer is longer than {MAX_CHARACTERS} characters.")
        self._pieces.append(text)
        return text


def decode(body: bytes) -> str:
    """Return the text of `body`; raise `ModelClientError` when it is not UTF-8."""
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ModelClientError(NOT_UTF8) from None


def load_object(text: str | bytes) -> dict[str, Any]:
    """Return the JSON object in `text`; raise `ModelClientError` on anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise ModelClientError("The model service sent something that is not JSON.") from None
    if not isinstance(value, dict):
        raise ModelClientError("The model service sent JSON that is not an object.")
    return value


def _find_first_choice(event: dict[str, Any]) -> dict[str, Any]:
    """Return choice 0, or {} for an event without choices, such as the one that carries the usage."""
    choices = event.get("choices") or []
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        raise ModelClientError("The model service sent choices that are no choices.")
    return next((choice for choice in choices if choice.get("index", 0) == 0), {})


def _parse_count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
