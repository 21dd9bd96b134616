"""Builds a first scenario from a few answers of its author. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from state.stored import JsonObject

Doing = Literal["say", "deal", "lead"]
DOINGS: Final[tuple[Doing, ...]] = ("say", "deal", "lead")


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstTexts:
    hello: str
    summary: str
    done: str


def build_first(name: str, description: str, questions: Sequence[str], doing: Doing, texts: FirstTexts) -> JsonObject:
    """Build a correct scenario. Raises ValueError without questions, or for an empty one."""
    if not questions or not all(questions):
        raise ValueError("at least one question is needed, and none may be empty")
    variables = [f"answer_{number}" for number in range(1, len(questions) + 1)]
    question_steps = [
        {"id": f"ask_{number}", "type": "input", "params": {"prompt": _escape(question), "input_variable": variable}}
        for number, (question, variable) in enumerate(zip(questions, variables, strict=True), start=1)
    ]
    lines = [f"{_escape(question)} {{{variable}}}" for question, variable in zip(questions, variables, strict=True)]
    steps: list[JsonObject] = [{"id": "hello", "type": "message", "params": {"text": _escape(texts.hello)}}, *question_steps]
    steps.append({"id": "summary", "type": "message", "params": {"text": "\n".join([texts.summary, *lines])}})
    if doing != "say":
        steps.append({"id": doing, "type": "bitrix_call", "params": _build_call(doing, variables[0], lines)})
    steps += [{"id": "done", "type": "message", "params": {"text": texts.done}}, {"id": "bye", "type": "end"}]
    return {"name": name, **({"description": description} if description else {}), "version": "1.0", "steps": steps}


def _build_call(doing: Doing, title: str, lines: Sequence[str]) -> JsonObject:
    fields = {"TITLE": f"{{{title}}}", "COMMENTS": "\n".join(lines)}
    return {"method": f"crm.{doing}.add", "params": {"fields": fields}, "output_var": f"{doing}_id"}


def _escape(text: str) -> str:
    return text.replace("{", "(").replace("}", ")")
