"""The answers of the demo model, and their text form with the parts THOUGHT, ACTION and ASSISTANT that the CRM agent reads."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sandbox.model.lexicon import load
from sandbox.model.text import Lang


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a Bitrix24 method that the model proposes to the CRM agent."""

    method: str
    params: Mapping[str, Any]
    comment: str = ""
    last: bool = False
    """Nothing is left to say after it."""
    confirmed: bool = False
    """A claim only. The gullible rule makes it deliberately, so that the demo shows the gate refusing it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One reply of the model: the name of the rule that answered, the text for the person, and the proposed steps."""

    rule: str
    say: str
    steps: tuple[Step, ...] = ()

    def named(self, rule: str) -> "Answer":
        """Return a copy of the answer with another rule name."""
        return replace(self, rule=rule)


def say(key: str, lang: Lang, **values: object) -> str:
    """Return the sentence `key` of lexicon/speech.yaml in the person's language, with `values` filled in.

    Raises KeyError for an unknown key, which is a programming error.
    """
    sentence: str = load("speech")[key][lang]
    return sentence.format(**values).strip()


def write(answer: Answer, lang: Lang) -> str:
    """Return the answer as the text that the CRM agent expects from a model: THOUGHT, ACTION (the steps as JSON) and ASSISTANT."""
    actions = json.dumps([_written(step) for step in answer.steps], ensure_ascii=False, indent=1 if answer.steps else None)
    return f"THOUGHT: {say('thought', lang, rule=answer.rule)}\nACTION: {actions}\nASSISTANT: {answer.say}"


def _written(step: Step) -> dict[str, Any]:
    written: dict[str, Any] = {"method": step.method, "params": step.params, "comment": step.comment}
    return {**written, **({"last": True} if step.last else {}), **({"confirmed": True} if step.confirmed else {})}
