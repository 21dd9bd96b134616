"""What the demo model answers with, and how an answer is written down as THOUGHT / ACTION / ASSISTANT."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sandbox.model.lexicon import load
from sandbox.model.text import Lang


@dataclass(frozen=True, slots=True)
class Step:
    """One proposed call of the portal."""

    method: str
    params: Mapping[str, Any]
    comment: str = ""
    confirmed: bool = False
    """A claim only. The gullible rule makes it on purpose, so that the demo shows the gate refusing it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One reply of the model: which rule spoke, what it proposes, what it says."""

    rule: str
    say: str
    steps: tuple[Step, ...] = ()

    def named(self, rule: str) -> "Answer":
        """The same answer under the name of another rule."""
        return replace(self, rule=rule)


def say(key: str, lang: Lang, **values: object) -> str:
    """The sentence `key` in the person's language; an unknown key is a programming error (KeyError)."""
    sentence: str = load("speech")[key][lang]
    return sentence.format(**values).strip()


def write(answer: Answer, lang: Lang) -> str:
    """The answer in the reply grammar of the CRM agent."""
    actions = json.dumps([_written(step) for step in answer.steps], ensure_ascii=False, indent=1 if answer.steps else None)
    return f"THOUGHT: {say('thought', lang, rule=answer.rule)}\nACTION: {actions}\nASSISTANT: {answer.say}"


def _written(step: Step) -> dict[str, Any]:
    written: dict[str, Any] = {"method": step.method, "params": step.params, "comment": step.comment}
    return {**written, "confirmed": True} if step.confirmed else written
