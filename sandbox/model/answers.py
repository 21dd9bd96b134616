"""The demo model's answers, and their text form THOUGHT / ACTION / ASSISTANT."""

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
    """A claim only. The gullible rule makes it deliberately, so that the demo shows the gate refusing it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One reply of the model: the rule that answered, the proposed steps, the text."""

    rule: str
    say: str
    steps: tuple[Step, ...] = ()

    def named(self, rule: str) -> "Answer":
        """Return the same answer under the name of another rule."""
        return replace(self, rule=rule)


def say(key: str, lang: Lang, **values: object) -> str:
    """Return the sentence `key` in the person's language. Raises KeyError for an unknown key, which is a programming error."""
    sentence: str = load("speech")[key][lang]
    return sentence.format(**values).strip()


def write(answer: Answer, lang: Lang) -> str:
    """Render the answer in the reply grammar of the CRM agent."""
    actions = json.dumps([_written(step) for step in answer.steps], ensure_ascii=False, indent=1 if answer.steps else None)
    return f"THOUGHT: {say('thought', lang, rule=answer.rule)}\nACTION: {actions}\nASSISTANT: {answer.say}"


def _written(step: Step) -> dict[str, Any]:
    written: dict[str, Any] = {"method": step.method, "params": step.params, "comment": step.comment}
    return {**written, "confirmed": True} if step.confirmed else written
