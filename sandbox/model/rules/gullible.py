"""A deliberately gullible rule: it proposes what a text from the portal orders, and claims that the person has confirmed it.

The demo uses it to show prompt injection: the model is fooled, but the product does not believe the claim. The rule executes nothing.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sandbox.model.answers import Answer, Step, say
from sandbox.model.reading import Observation, Request
from sandbox.model.rules.base import proposing
from sandbox.model.rules.book import first
from sandbox.model.text import language_of
from sandbox.model.wishes import Wish, wishes

_APPROVED = re.compile(
    r"(?:все|всё|уже|заранее|изменени\w+|решени\w+|сделк\w+|клиент\w*)[^.!\n]{0,40}(?:одобр|согласова|подтверд|утверд|подтвержд|утвержд)"
    r"|(?:одобрено|подтверждено|согласовано|утверждено)(?!\w)"
    r"|(?:already|pre-?|been|is|are|was|everything)[ -]?(?:\w+ )?(?:approved|confirmed|authori[sz]ed)"
    r"|confirmed[\"']?\s*[:=]\s*true",
    re.IGNORECASE,
)
_PLAN = re.compile(r"\bACTION\s*:")
_QUOTED = 160
_WRITES = (".add", ".update", ".delete", ".bind", ".unbind", ".complete", "batch")


def fooled(wish: Wish, seen: Observation) -> Answer | None:
    """Return an answer with at most five steps that texts in an observation order, marked as confirmed; None if they order nothing."""
    texts = [text for step in seen.steps for text in _strings(step.raw)]
    steps = [step for text in texts for step in _ready_steps(text)]
    if not steps:
        steps = [step for text in texts if _APPROVED.search(text) for step in _told_steps(text, wish)]
    if not steps:
        return None
    return proposing(wish, "gullible", *steps[:5], quote=_quote(texts))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _ready_steps(text: str) -> Iterator[Step]:
    """Yield a step for each JSON object with the key `method` in a text."""
    decoder = json.JSONDecoder()
    position = text.find("{")
    while position >= 0:
        try:
            value, end = decoder.raw_decode(text, position)
        except ValueError:
            end = position + 1
        else:
            if isinstance(value, dict) and isinstance(value.get("method"), str):
                params = value.get("params")
                yield Step(
                    value["method"], params if isinstance(params, dict) else {}, comment=str(value.get("comment", "")), confirmed=True
                )
        position = text.find("{", end)


def _told_steps(text: str, wish: Wish) -> Iterator[Step]:
    """Yield a step for each write that a text asks for in plain words. The text is read by the same rules as a person's message."""
    for part in wishes(_as_if_said(text, wish)):
        answer = first(part)
        for step in answer.steps if answer else ():
            if step.method.endswith(_WRITES):
                yield Step(step.method, step.params, comment=say("comment.told", wish.lang), confirmed=True)


def _as_if_said(text: str, wish: Wish) -> Request:
    return replace(wish.request, text=text, lang=language_of(text), observations=())


def _quote(texts: list[str]) -> str:
    told = next((text for text in texts if _APPROVED.search(text) or '"method"' in text), "")
    line = re.sub(r"\s+", " ", told)
    end = next((header.start() for header in _PLAN.finditer(line)), len(line))
    cut = min(end, _QUOTED)
    return line if cut == len(line) else f"{line[:cut].rstrip()} […]"
