"""Answers the agents of example flows and the tuums of example workflows: a ready text for each part, filled with what it was told."""

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, Final

from sandbox.model.choosing import Offer
from sandbox.model.lexicon import load
from sandbox.model.reading import Message, content_of
from sandbox.model.script import ScriptedAnswer, ToolCall

_MEMORY: Final = re.compile(r"\AMemory of the channel (?P<channel>[\w-]+), newest first:\n(?P<entries>.*)\Z", re.DOTALL)
_TODAY: Final = re.compile(r"Today is (\d{4}-\d\d-\d\d)")
_EMPLOYEE: Final = re.compile(r"You work for [^\n]*, employee (\d+)\.")
_LINE: Final = re.compile(r"^([^\W\d][\w ]{0,30}): (.*)$", re.MULTILINE)
_LEFT_OUT: Final = "—"
"""What stands in an answer in place of a parameter that was not given."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What an agent was told: texts by name, and lists by name."""

    texts: dict[str, str] = field(default_factory=dict)
    lists: dict[str, list[Any]] = field(default_factory=dict)


def answer_flow_agent(offer: Offer, messages: Sequence[Message]) -> ScriptedAnswer | None:
    """Return the answer of an agent of a flow, None if the request is of none that this model knows."""
    instructions = "\n".join(content_of(one) for one in messages if one.get("role") == "system")
    found = next((one for one in load("flow_agents") if one["asked"] in instructions), None)
    if found is None:
        return None
    known = _read(messages, instructions)
    asked = found.get("call")
    if asked is not None and asked["name"] in offer.names and "rows" not in known.lists:
        params = json.dumps(_fill(asked["params"], known), ensure_ascii=False)
        return ScriptedAnswer(tool_calls=(ToolCall(name=asked["name"], arguments={"params": params}),))
    filled = _fill(found["answer"], known)
    return ScriptedAnswer(text=filled if isinstance(filled, str) else json.dumps(filled, ensure_ascii=False, indent=1))


def _read(messages: Sequence[Message], instructions: str) -> _Known:
    """Return what the messages tell."""
    known = _Known()
    if (today := _TODAY.search(instructions)) is not None:
        known.texts["soon"] = (date.fromisoformat(today[1]) + timedelta(days=2)).isoformat()
    if (employee := _EMPLOYEE.search(instructions)) is not None:
        known.texts["employee"] = employee[1]
    for message in messages:
        content = content_of(message)
        told = _MEMORY.match(content)
        if told is not None:
            _add_memory(known, told["channel"], _parse(told["entries"]))
        elif message.get("role") == "user":
            given = _parse(content)
            _add_lines(known, content)
            parameters = given.get("parameters") if isinstance(given, dict) else None
            known.texts.update({name: _write(one) for name, one in (parameters or {}).items()})
        elif message.get("role") in {"tool", "function"}:
            given = _parse(content)
            rows = given.get("result") if isinstance(given, dict) else None
            known.lists["rows"] = rows if isinstance(rows, list) else []
            known.texts["count"] = str(len(known.lists["rows"]))
    return known


def _add_lines(known: _Known, content: str) -> None:
    """Add what a prompt tells line by line, as «Сделка: …»; of a list also how long it is, and what its first element is called."""
    for name, written in _LINE.findall(content):
        rows = _parse(written)
        known.texts[name] = written.strip()
        if isinstance(rows, list):
            first = rows[0] if rows and isinstance(rows[0], dict) else {}
            known.texts[f"{name}_count"] = str(len(rows))
            known.texts[f"{name}_first"] = str(first.get("TITLE") or first.get("SUBJECT") or first.get("title") or _LEFT_OUT)


def _add_memory(known: _Known, channel: str, entries: object) -> None:
    """Add the newest entry of a channel: its text under the name of the channel, its lists under their own."""
    newest = next(iter(entries), None) if isinstance(entries, list) else None
    if isinstance(newest, dict):
        known.lists.update({name: one for name, one in newest.items() if isinstance(one, list)})
    known.texts[channel] = _write(newest["content"] if isinstance(newest, dict) and "content" in newest else newest)


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _write(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(_write(one) for one in value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,.10g}".replace(",", "\N{NO-BREAK SPACE}")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _fill(part: Any, known: _Known, row: Mapping[str, Any] | None = None) -> Any:
    if isinstance(part, str):
        values = {**known.texts, **({name: str(one)[:10] if name == "CLOSEDATE" else str(one) for name, one in row.items()} if row else {})}
        return part.format_map(defaultdict(lambda: _LEFT_OUT, values))
    if isinstance(part, list):
        return [_fill(one, known, row) for one in part]
    if isinstance(part, dict) and "each" in part:
        return [_fill(part["item"], known, one) for one in known.lists.get(part["each"], [])[: part["most"]]]
    return {name: _fill(one, known, row) for name, one in part.items()} if isinstance(part, dict) else part
