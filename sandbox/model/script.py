"""Ready answers that a test queues. The server uses them before the rules, oldest first."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field


class ScriptBody(BaseModel):
    """The body of `POST /sandbox/script`: answers to queue, and a condition on the requests that may get them."""

    model_config = ConfigDict(extra="forbid")
    answers: list[str] = Field(min_length=1)
    match: str | None = None
    """Only for requests whose last user message (or the person's message of the turn) contains this."""


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    match: str | None


class Script:
    """The queue of scripted answers of one server."""

    def __init__(self) -> None:
        """Start with an empty queue."""
        self._lines: deque[_Line] = deque()

    def add(self, body: ScriptBody) -> int:
        """Queue the answers and return how many are in the queue now."""
        self._lines.extend(_Line(text, body.match) for text in body.answers)
        return len(self._lines)

    def next(self, heard: Iterable[str]) -> str | None:
        """Remove and return the first answer that the request may get; None if there is none.

        An answer may have a condition: a text that must occur in one of the texts `heard`, which belong to the request.
        """
        said = tuple(heard)
        for line in self._lines:
            if line.match is None or any(line.match in text for text in said):
                self._lines.remove(line)
                return line.text
        return None

    def put_back(self, text: str) -> None:
        """Put an answer that a fault has spoiled at the front of the queue, without a condition, so that a retry gets it."""
        self._lines.appendleft(_Line(text, None))

    def clear(self) -> None:
        """Remove all queued answers."""
        self._lines.clear()

    def __len__(self) -> int:
        """Return the number of waiting answers."""
        return len(self._lines)
