"""The recorded form of prompts: what belongs to the dialogue, each message once, and the fixed text in files of its own.

Of each prompt only the messages are written that the prompt before did not begin with, and of STATE only the lines that changed. A message
that moved or went is therefore as visible as one that came.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import Final

from tests.dialogues.scripts import HERE

PROMPTS = HERE / "prompts"
_MARKER: Final = re.compile(r"\bDATA [0-9a-f]{12}\b")
_UUID: Final = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_STATE: Final = "STATE "
_PORTAL: Final = "# Portal\n"
_NEAR: Final = 100

Prompt = Sequence[Mapping[str, str]]


@dataclass(frozen=True)
class Asked:
    """A prompt that was really sent: in which turn of the dialogue, the number in it, and its messages."""

    turn: int
    number: int
    prompt: Prompt


def split_fixed(prompt: Prompt) -> tuple[list[str], Prompt]:
    """Return the texts with which every prompt begins, and the messages that belong to the dialogue."""
    fixed = [*takewhile(lambda one: one["role"] == "system" and not one["content"].startswith(_STATE), prompt)]
    return [one["content"] for one in fixed], prompt[len(fixed) :]


def write_prompts(asked: Sequence[Asked]) -> str:
    """Return the prompts of a dialogue in their recorded form."""
    names = _Names()
    lines: list[str] = []
    before: list[str] = []
    state: list[str] = []
    for one in asked:
        messages = [names.replace(_write_message(message)) for message in split_fixed(one.prompt)[1]]
        kept = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, messages, strict=False)))
        lines.append(f"===== turn {one.turn}, prompt {one.number}: {kept} messages as before =====")
        for text in messages[kept:]:
            if text.startswith(f"[system]\n{_STATE}"):
                said = list(_list_state(text))
                lines += ["[system] STATE", *(line for line in said if line not in state)]
                state = said
            else:
                lines.append(text)
        before = messages
    return "\n".join(lines) + "\n"


def _write_message(message: Mapping[str, str]) -> str:
    """Return a message with its role; an answer of the present turn stands in the dialogue's file already."""
    if message["role"] == "assistant" and message["content"].startswith("THOUGHT:"):
        return "[assistant] its answer"
    return f"[{message['role']}]\n{message['content']}"


def _list_state(text: str) -> Iterator[str]:
    body = json.loads(text.partition(_STATE)[2])
    inner = body.pop("state", {})
    for key, value in (*body.items(), *((f"state.{name}", part) for name, part in inner.items())):
        yield f"  {key}: {json.dumps(value, ensure_ascii=False, sort_keys=True)}"


class _Names:
    """Short names for what is different in each run: ids, and the marks of fences."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def replace(self, text: str) -> str:
        named = _UUID.sub(lambda found: self._names.setdefault(found[0], f"<id {len(self._names) + 1}>"), text)
        return _MARKER.sub("DATA", named)


def find_difference(recorded: str, now: str) -> str:
    """Return where the first difference is and both lines there; "" for none."""
    heading = ""
    for number, (left, right) in enumerate(zip_longest(recorded.splitlines(), now.splitlines(), fillvalue="(nothing)"), start=1):
        if left != right:
            at = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))
            return f"{heading or 'before the first prompt'}, line {number}:\n  recorded: {_cut(left, at)}\n  now:      {_cut(right, at)}"
        heading = left.strip("= ") if left.startswith("=====") else heading
    return ""


def _cut(line: str, at: int) -> str:
    """Return the part of a line around the place where it differs."""
    start = max(0, at - _NEAR)
    return ("…" if start else "") + line[start : at + _NEAR] + ("…" if len(line) > at + _NEAR else "")


def name_fixed(text: str, person: str) -> str:
    """Return the name of the file of a fixed text."""
    return f"{'portal_card' if text.startswith(_PORTAL) else 'fixed_text'}_{person}"


def find_recorded(name: str) -> Path:
    """Return the path of a recorded text."""
    return PROMPTS / f"{name}.txt"


def read_recorded(name: str) -> str:
    """Return a recorded text, "" if there is none yet."""
    path = find_recorded(name)
    return path.read_text(encoding="utf-8") if path.exists() else ""
