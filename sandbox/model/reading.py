"""Parses a chat request of the CRM agent: the person's message, the state of the conversation, and the results of this turn's steps.

What it cannot read is left out.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from sandbox.model.text import Lang, language_of

Message = Mapping[str, Any]
Dialect = Literal["blocks", "plain"]

KINDS = ("deal", "lead", "contact", "company", "task")
FENCE = re.compile(r"<<<DATA (?P<mark>\S+)\s*\n(?P<body>.*?)\n?DATA (?P=mark)>>>", re.DOTALL)
OBSERVATION = re.compile(r"^OBSERVATION\s+(\d+)")
DECIDED = re.compile(r"^The cards of this plan are decided", re.MULTILINE)
REPAIR = re.compile(r"^(?:REPAIR\b|Your reply could not be read)")
FORWARDED = re.compile(r"\n+Forwarded or pasted text[^\n]*:\s*$")


@dataclass(frozen=True, slots=True)
class ObservedStep:
    """The result of one step that the CRM agent has executed or refused: its status, rows and text.

    `raw` is everything that the agent reports about the step.
    """

    method: str
    status: str
    rows: tuple[Mapping[str, Any], ...] = ()
    text: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Observation:
    """The results of all steps of one answer, as the CRM agent reports them to the model."""

    iteration: int
    steps: tuple[ObservedStep, ...]
    is_decided: bool = False
    """Whether people have decided the cards of these steps, and have read on the cards what came of them."""


@dataclass(frozen=True, slots=True)
class Request:
    """One parsed chat request: the person's message, the state of the conversation, and the results of this turn's steps.

    `pasted` is text that the person forwarded or pasted. `dialect` is `blocks` if the answer must have the text form that `answers.write`
    gives it.
    """

    text: str
    lang: Lang
    dialect: Dialect
    pasted: str = ""
    state: Mapping[str, Any] = field(default_factory=dict)
    observations: tuple[Observation, ...] = ()
    asked_before: str = ""
    """The person's previous message and, below, the previous answer: this message may answer a question in it."""
    said_before: str = ""
    asked_earlier: tuple[str, ...] = ()
    """The person's earlier messages, newest first."""

    @property
    def current(self) -> Mapping[str, Any]:
        """The records that the conversation is about, by kind. It is empty if the state of the conversation contains none."""
        known = self.state.get("current")
        return known if isinstance(known, Mapping) else {}

    @property
    def rows(self) -> Mapping[int, str]:
        """The records in the rows of the list that the person saw last, such as "deal:481", by row number."""
        shown = self.state.get("last_shown")
        rows = shown.get("rows") if isinstance(shown, Mapping) else None
        found = {str(number): str(record) for number, record in rows.items()} if isinstance(rows, Mapping) else {}
        return {int(number): record for number, record in found.items() if number.isdecimal() and record.partition(":")[0] in KINDS}

    @property
    def now(self) -> datetime | None:
        """The person's local time according to the state of the conversation, or None if it contains none."""
        try:
            return datetime.fromisoformat(str(self.state.get("now")))
        except ValueError:
            return None

    @property
    def my_id(self) -> int | None:
        """The person's user id in the portal according to the state of the conversation, or None if it contains none."""
        me = self.state.get("me")
        number = me.get("bitrix_user_id") if isinstance(me, Mapping) else None
        return number if isinstance(number, int) else None


def read(messages: Sequence[Message]) -> Request:
    """Return the parsed messages of a chat request. If no message is the person's own, the text of the result is empty."""
    turns = [(str(m.get("role", "")), content_of(m)) for m in messages]
    last = _last_person(turns)
    typed = turns[last][1] if last is not None else ""
    pasted = "\n".join(found["body"] for found in FENCE.finditer(typed))
    text = FORWARDED.sub("", FENCE.sub("", typed).rstrip()).strip()
    asked, said = _previous(turns, last or 0)
    return Request(
        text=text,
        lang=language_of(text or pasted),
        dialect=_dialect(turns),
        pasted=pasted,
        state=_state(turns),
        observations=_observations(turns[last + 1 :]) if last is not None else (),
        asked_before=asked,
        said_before=said,
        asked_earlier=tuple(content for role, content in reversed(turns[: last or 0]) if role == "user" and not _is_observation(content)),
    )


def content_of(message: Message) -> str:
    """Return the text of a chat message, whose content is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return ""


def last_user_content(messages: Sequence[Message]) -> str:
    """Return the text of the newest message with the role `user`; it may contain results of steps in place of a person's words."""
    return next((content_of(m) for m in reversed(messages) if m.get("role") == "user"), "")


def _last_person(turns: Sequence[tuple[str, str]]) -> int | None:
    for index in range(len(turns) - 1, -1, -1):
        role, text = turns[index]
        if role == "user" and not _is_observation(text) and not REPAIR.match(text):
            return index
    return None


def _is_observation(text: str) -> bool:
    return bool(OBSERVATION.match(text)) and bool(FENCE.search(text))


def _previous(turns: Sequence[tuple[str, str]], last: int) -> tuple[str, str]:
    """Return the person's previous message and the answer to it, both empty if there is none.

    `turns` are pairs of role and text; `last` is the index in `turns` of the person's present message.
    """
    earlier = [pair for pair in turns[:last] if pair[0] in {"user", "assistant"} and not _is_observation(pair[1])]
    if len(earlier) < 2 or earlier[-1][0] != "assistant" or earlier[-2][0] != "user":
        return "", ""
    return earlier[-2][1], earlier[-1][1]


def _dialect(turns: Sequence[tuple[str, str]]) -> Dialect:
    system = "\n".join(text for role, text in turns if role in {"system", "developer"})
    wants_blocks = "THOUGHT" in system and "ACTION" in system and "ASSISTANT" in system
    return "blocks" if wants_blocks or _state(turns) else "plain"


def _state(turns: Sequence[tuple[str, str]]) -> Mapping[str, Any]:
    for role, text in reversed(turns):
        if role == "system" and (begun := f"\n\n{text}".rfind("\n\nSTATE ")) >= 0:  # GigaChat has one system message for everything
            opening = text.find("{", begun)
            found = _object(text[opening:]) if opening >= 0 else None
            return found or {}
    return {}


def _observations(turns: Sequence[tuple[str, str]]) -> tuple[Observation, ...]:
    seen: list[Observation] = []
    for role, text in turns:
        head, fence = OBSERVATION.match(text), FENCE.search(text)
        if role == "user" and head and fence:
            decided = bool(DECIDED.search(text[fence.end() :]))
            seen.append(Observation(iteration=int(head[1]), steps=_steps(fence["body"]), is_decided=decided))
    return tuple(seen)


def _steps(body: str) -> tuple[ObservedStep, ...]:
    lines = (_object(line) for line in body.splitlines())
    return tuple(_step(line) for line in lines if line is not None)


def _step(line: Mapping[str, Any]) -> ObservedStep:
    rows = line.get("rows")
    return ObservedStep(
        method=str(line.get("method", "")),
        status=str(line.get("status", "unknown")),
        rows=tuple(row for row in rows if isinstance(row, Mapping)) if isinstance(rows, list) else (),
        text=str(line.get("text") or ""),
        raw=line,
    )


def _object(text: str) -> Mapping[str, Any] | None:
    """Return the JSON object at the start of a text; None if there is none."""
    try:
        value, _ = json.JSONDecoder().raw_decode(text.strip())
    except ValueError:
        return None
    return value if isinstance(value, Mapping) else None
