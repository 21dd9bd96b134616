"""Strict parser of the CRM agent's reply format: the blocks THOUGHT, ACTION, ASSISTANT. Runs nothing.

The order is fixed, ACTION may be missing, each header occurs once, at the start of a line. Text after the first ASSISTANT
is never executed: another header there makes the whole answer an error.
"""

import re
from dataclasses import dataclass, field

from orchestrator.domain.errors import ModelClientError
from orchestrator.engines.crm_agent.assistant_stream import AssistantStream
from orchestrator.engines.crm_agent.grammar import (
    CLOSING_FENCE,
    FOREIGN,
    HEADER,
    LINE_HEADER,
    NEAR_HEADER,
    OPENING_FENCE,
    build_format_error,
    extract_word,
)
from orchestrator.engines.crm_agent.lenient_json import read_array
from state.stored import JsonObject

__all__ = ["AssistantStream", "Blocks", "Step", "parse"]

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_ACTION_FENCE = re.compile(r"```[A-Za-z0-9]{0,20}(?=[\s\[])")
_FENCE = "```"


@dataclass(frozen=True)
class Step:
    """One portal call proposed by the model, as written. `confirmed` is only the model's claim and never counts as approval."""

    method: str
    params: JsonObject = field(default_factory=dict)
    comment: str = ""
    http_method: str | None = None
    requires_confirmation: bool = False
    confirmed: bool = False
    confirmation_decision: str | None = None


@dataclass(frozen=True)
class Blocks:
    """A parsed, well-formed answer. `thought` is never shown to a person; `steps` are proposals for the gate."""

    thought: str
    steps: tuple[Step, ...]
    assistant: str


def parse(text: str) -> Blocks:
    """Return the blocks of `text`; raise `ModelClientError` on any violation, and nothing else (S004-6, S004-20).

    Repaired, because only one reading is possible: a code fence, a bold or markdown header, a trailing comma, a comment, a raw
    line break inside a string. The error's message is written for the model: what is wrong, where, and how to fix it.
    """
    if odd := _UNSTORABLE.search(text):
        raise build_format_error(text, odd.start(), "a NUL or half of a surrogate pair", "Send plain Unicode text.")
    start, end = _unwrap(text)
    headers = _find_headers(text, start, end)
    thought = _extract_section(text, headers, "THOUGHT", end)
    _refuse_lost_plan(text, headers["THOUGHT"].end(), end=_find_end("THOUGHT", headers, end))
    assistant = _extract_section(text, headers, "ASSISTANT", end)
    return Blocks(thought=thought, steps=_parse_steps(text, headers, end), assistant=assistant)


def _unwrap(text: str) -> tuple[int, int]:
    """Return the span of the answer without surrounding whitespace and without a code fence around the whole answer."""
    start = len(text) - len(text.lstrip().removeprefix("\ufeff").lstrip())
    opening = OPENING_FENCE.match(text, start)
    if opening is None:
        return start, len(text)
    closing = CLOSING_FENCE.search(text, opening.end() - 1)
    if closing is None:
        raise build_format_error(text, start, "the code fence around the answer is not closed", "Send the answer without a fence.")
    inner = text[opening.end() :]
    return opening.end() + len(inner) - len(inner.lstrip()), closing.start()


def _find_headers(text: str, start: int, end: int) -> dict[str, re.Match[str]]:
    """Return the header of each block; raise when one is missing, repeated, misplaced or of another format."""
    first = HEADER.match(text, start, end)
    if first is None or extract_word(first) != "THOUGHT":
        cure = "Begin with THOUGHT:, then ACTION: and ASSISTANT:, each at the start of its line."
        raise build_format_error(text, start, "the answer does not begin with THOUGHT:", cure)
    headers = {"THOUGHT": first}
    for header in LINE_HEADER.finditer(text, first.end(), end):
        word = extract_word(header)
        if word in FOREIGN:
            cure = "Results of calls are given to you later: end with ASSISTANT: and wait for them."
            raise build_format_error(text, header.start(), f"the block {word}: does not belong to the format", cure)
        if word in headers:
            cure = "Write each block once; inside a text no line begins with a header word."
            raise build_format_error(text, header.start(), f"a second {word}: header", cure)
        if "ASSISTANT" in headers:
            raise build_format_error(text, header.start(), f"{word}: stands after ASSISTANT:", "Put ACTION: before ASSISTANT:.")
        headers[word] = header
    if "ASSISTANT" not in headers:
        cure = "End the answer with ASSISTANT: and a text for the person."
        raise build_format_error(text, end, "there is no ASSISTANT: block; the answer may have been cut off", cure)
    return headers


def _find_end(word: str, headers: dict[str, re.Match[str]], end: int) -> int:
    own = headers[word].start()
    return min((header.start() for header in headers.values() if header.start() > own), default=end)


def _extract_section(text: str, headers: dict[str, re.Match[str]], word: str, end: int) -> str:
    body = text[headers[word].end() : _find_end(word, headers, end)].strip()
    if not body:
        raise build_format_error(text, headers[word].start(), f"the block {word}: is empty", "Write at least one sentence in it.")
    return body


def _refuse_lost_plan(text: str, start: int, *, end: int) -> None:
    if near := NEAR_HEADER.search(text, start, end):
        cure = "Write THOUGHT:, ACTION: and ASSISTANT: plainly, with a colon."
        raise build_format_error(text, near.start(), f"{near[0].strip()!r} looks like a header but is none", cure)


def _parse_steps(text: str, headers: dict[str, re.Match[str]], end: int) -> tuple[Step, ...]:
    if "ACTION" not in headers:
        return ()
    start, stop = _trim(text, headers["ACTION"].end(), _find_end("ACTION", headers, end))
    if fence := _ACTION_FENCE.match(text, start, stop):
        if not text.endswith(_FENCE, fence.end(), stop):
            raise build_format_error(text, start, "the code fence of ACTION is not closed", "Write the array without a fence.")
        start, stop = _trim(text, fence.end(), stop - len(_FENCE))
    if start == stop:
        return ()
    return tuple(_parse_step(raw, number) for number, raw in enumerate(read_array(text, start, stop), start=1))


def _trim(text: str, start: int, stop: int) -> tuple[int, int]:
    body = text[start:stop]
    start += len(body) - len(body.lstrip())
    return start, start + len(body.strip())


_TYPES: dict[str, type] = {
    "method": str,
    "params": dict,
    "comment": str,
    "http_method": str,
    "requires_confirmation": bool,
    "confirmed": bool,
    "confirmation_decision": str,
}
_TYPE_NAMES: dict[type, str] = {str: "a string", dict: "an object", bool: "true or false"}


def _parse_step(raw: object, number: int) -> Step:
    if not isinstance(raw, dict):
        raise _build_step_error(number, "is not an object", 'Write it as {"method": ..., "params": {...}, "comment": ...}.')
    for key, value in raw.items():
        if key not in _TYPES:
            raise _build_step_error(number, f"has the unknown key {key[:40]!r}", f"Known keys: {', '.join(_TYPES)}.")
        if not isinstance(value, _TYPES[key]):
            raise _build_step_error(number, f"has a wrong {key!r}", f"It must be {_TYPE_NAMES[_TYPES[key]]}; leave it out if unused.")
    if not raw.get("method", "").strip():
        raise _build_step_error(number, "has no method", 'Name the Bitrix24 method, for example "crm.deal.get".')
    choices = {
        "http_method": _parse_choice(raw, "http_method", ("GET", "POST"), number),
        "confirmation_decision": _parse_choice(raw, "confirmation_decision", ("deny", "approve"), number),
    }
    step = Step(**{**raw, **choices})
    if step.confirmed and step.confirmation_decision == "deny":
        raise _build_step_error(number, "is both confirmed and denied", "Keep one of the two.")
    return step


def _parse_choice(raw: JsonObject, key: str, allowed: tuple[str, ...], number: int) -> str | None:
    """Return the allowed spelling of `raw[key]`, ignoring case, or None when the key is absent."""
    if key not in raw:
        return None
    for spelling in allowed:
        if raw[key].lower() == spelling.lower():
            return spelling
    raise _build_step_error(number, f"has an unknown {key} {raw[key][:40]!r}", f"Allowed: {', '.join(allowed)}.")


def _build_step_error(number: int, what: str, cure: str) -> ModelClientError:
    return ModelClientError(f"Format error in ACTION, step {number}: it {what}. {cure}")
