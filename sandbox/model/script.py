"""Ready answers that a test or a file of rules gives to the server. It uses them before its own rules, oldest first."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

Provider = Literal["openai", "gigachat"]


class ToolCall(BaseModel):
    """A call of one of the client's functions that the model proposes."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = Field(min_length=1)
    arguments: dict[str, Any] = Field(default_factory=dict)


class ScriptedAnswer(BaseModel):
    """One ready answer: a text, or calls of functions. `raw_arguments` replaces the arguments of the first call by a text as it is."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    raw_arguments: str | None = None
    """For calls whose arguments cannot be read, as real models sometimes write them."""
    finish: str = ""
    """The finish reason; without one that of the answer's kind."""


class ScriptBody(BaseModel):
    """The body of `POST /sandbox/script`: answers to queue, and conditions on the requests that may get them; all that are given must hold.

    With `keep` the answers are rules: they are not used up, and several of them are given in turn.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    answers: tuple[str | ScriptedAnswer, ...] = Field(min_length=1)
    match: str | None = None
    """Only for requests whose last user message (or the person's message of the turn) contains this."""
    marker: str | None = None
    """Only for requests with this text in any message: a system prompt tells roles and services apart."""
    model: str | None = None
    """Only for requests for this model."""
    provider: Provider | None = None
    tool: str | None = None
    """Only for requests that offer a function of this name."""
    keep: bool = False


@dataclass(frozen=True, slots=True)
class Heard:
    """What the conditions of scripted answers are compared with, of one request."""

    last: tuple[str, ...]
    every: str = ""
    model: str = ""
    provider: Provider = "openai"
    tools: tuple[str, ...] = ()


@dataclass(slots=True)
class Line:
    """One entry of the script: an answer that is used once, or a rule with its answers."""

    body: ScriptBody
    answers: tuple[ScriptedAnswer, ...]
    given: int = 0

    def fits(self, heard: Heard) -> bool:
        """Return whether all conditions hold."""
        body = self.body
        return (
            (body.match is None or any(body.match in text for text in heard.last))
            and (body.marker is None or body.marker in heard.every)
            and body.model in (None, heard.model)
            and body.provider in (None, heard.provider)
            and (body.tool is None or body.tool in heard.tools)
        )


class Script:
    """The scripted answers of one server."""

    def __init__(self) -> None:
        """Start with an empty queue."""
        self._lines: list[Line] = []

    def add(self, body: ScriptBody) -> int:
        """Queue the answers and return how many are in the queue now; a rule counts once."""
        answers = tuple(ScriptedAnswer(text=one) if isinstance(one, str) else one for one in body.answers)
        self._lines += [Line(body, answers)] if body.keep else [Line(body, (one,)) for one in answers]
        return len(self._lines)

    def next(self, heard: Heard) -> tuple[ScriptedAnswer, Line] | None:
        """Return the first answer that the request may get, and its line, which is removed unless it is a rule; None if there is none.

        Answers that are used once come before rules.
        """
        for line in sorted(self._lines, key=lambda line: line.body.keep):
            if line.fits(heard):
                if not line.body.keep:
                    self._lines.remove(line)
                line.given += 1
                return line.answers[(line.given - 1) % len(line.answers)], line
        return None

    def put_back(self, line: Line) -> None:
        """Take back an answer that a fault has spoiled, with its conditions, so that a retry gets it."""
        line.given -= 1
        if not line.body.keep:
            self._lines.insert(0, line)

    def clear(self) -> None:
        """Remove all answers and rules."""
        self._lines.clear()

    def __len__(self) -> int:
        """Return the number of waiting answers and of rules."""
        return len(self._lines)


def load_script(path: Path) -> Sequence[ScriptBody]:
    """Return the entries of a file (YAML or JSON), each as for `POST /sandbox/script`. Raises OSError, ValueError or yaml.YAMLError."""
    return TypeAdapter(list[ScriptBody]).validate_python(yaml.safe_load(path.read_text(encoding="utf-8")))
