"""Parses the answers of the CRM agent's model: THOUGHT, ACTION (the steps), ASSISTANT. Runs nothing."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter
from typing import Final

from orchestrator.domain.errors import ModelClientError
from orchestrator.engines.crm_agent.assistant_stream import (
    AssistantStream,
    cut_stray_fence,
    find_end,
    has_open_fence,
    has_second_turn,
    mask_thinking,
)
from orchestrator.engines.crm_agent.grammar import BLANKS, FOREIGN, Header, build_format_error, find_headers
from orchestrator.engines.crm_agent.lenient_json import find_json, read_array
from orchestrator.engines.crm_agent.postponed_plans import is_only_reading, refuse_postponed_array, refuse_postponed_plan
from orchestrator.language.answer_script import decode_bytes
from state.stored import JsonObject

__all__ = ["AssistantStream", "Blocks", "Step", "parse"]

_FAMILIES = "crm|tasks?|user|calendar|event|im|reminder|order|catalog|sale"
_QUOTE = r"(?:\\?[\"'“”„＂]|&quot;)"
_KEY = re.compile(
    rf"""
      (?:method|params|arguments)["'“”»][^\w:：=]{{0,5}}[:：=]
    | ["'“”„«{{,]\s{{0,20}}(?:method|params|arguments)\s{{0,3}}[:：=]
    | \bmethod:[ ]{{0,3}}["']?[a-z_]{{1,20}}\.[a-z]
    | [:：=\[]\s{{0,3}}{_QUOTE}(?:{_FAMILIES})\.[a-z][a-z0-9_.]{{1,80}}{_QUOTE}
    | ^[ \t]{{0,8}}(?:(?:\d{{1,2}}[.)]|[-*•|`])[ \t]{{0,4}}){{0,3}}(?:{_FAMILIES})\.[a-z][a-z0-9_.]{{1,80}}[ \t]{{0,4}}[({{\[?|]
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
"""A key of the format, a method's name as a JSON value, or a line that is a call."""
_BRACKET = re.compile(r"[\[{]")
_LABEL_ENDS = (":", "：", "=", "-", "–", "—", "→", ">", "`", "~", "*")
_LONGEST_LABEL = 2
_QUOTES = (("«", "»"), ("“", "”"))
_CURE = "Steps belong under ACTION: alone; what somebody else wrote stands in «…» on one line."


def refuse_stray_plan(text: str, start: int, stop: int, *, has_steps: bool) -> None:
    """Raise ModelClientError for unquoted steps. `has_steps` allows some inside of a sentence."""
    cursor = start
    while match := _KEY.search(text, cursor, stop):
        begin = max(text.rfind("\n", start, match.start() + 1) + 1, start)
        newline = text.find("\n", match.end(), stop)
        end = stop if newline < 0 else newline
        at = _find_unquoted(text, begin, end, stop)
        if at is not None and (not has_steps or _is_plan(text, begin, at)):
            raise build_format_error(text, at, "steps stand outside ACTION:, where they are not run", _CURE)
        cursor = end


def _find_bracket(text: str, begin: int, end: int) -> int:
    bracket = _BRACKET.search(text, begin, end)
    return end if bracket is None else bracket.start()


def _find_unquoted(text: str, begin: int, end: int, stop: int) -> int | None:
    """Return the offset of the first unquoted step."""
    line = text[begin:end]
    if line.lstrip(BLANKS).startswith(">"):
        goes_on = line.count("[") + line.count("{") > line.count("]") + line.count("}")
        is_quoted = not goes_on or text[end : min(stop, end + 10)].lstrip(BLANKS).startswith(">")
        return None if is_quoted else begin
    cursor = begin
    while match := _KEY.search(text, cursor, end):
        bracket = _find_bracket(text, cursor, match.start())
        closing = _find_closing(text, cursor, bracket, end)
        if closing is None:
            return match.start()
        cursor = closing
    return None


def _find_closing(text: str, cursor: int, bracket: int, end: int) -> int | None:
    """Return the offset after the quotation; None if none is closed on its line."""
    for opening, closing in _QUOTES:
        if text.rfind(opening, cursor, bracket) > text.rfind(closing, cursor, bracket):
            closed = text.find(closing, bracket, end)
            return None if closed < 0 else closed + 1
    return None


def _is_plan(text: str, begin: int, at: int) -> bool:
    bracket = _find_bracket(text, begin, at)
    label = text[begin:bracket].strip(BLANKS)
    return bracket == at or label.endswith(_LABEL_ENDS) or len(label.split()) <= _LONGEST_LABEL


_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_BRACE = re.compile(r"[{}]")
_START = attrgetter("start")
WITHDRAW: Final = "card.withdraw"
CHANGE: Final = "card.change"
"""Methods about a step that waits on a card, named by its place in STATE."""
_METHOD = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,60}(?:\.[A-Za-z0-9_]{1,60}){0,8}")


@dataclass(frozen=True)
class Step:
    """A proposed call as the model wrote it; `confirmed` is its claim and never counts as approval."""

    method: str
    params: JsonObject = field(default_factory=dict)
    comment: str = ""
    http_method: str | None = None
    requires_confirmation: bool = False
    confirmed: bool = False
    confirmation_decision: str | None = None
    last: bool = False
    """Nothing is left to say once the plan is done."""


@dataclass(frozen=True)
class Blocks:
    """A valid answer. `thought` is never shown to a person."""

    thought: str
    steps: tuple[Step, ...]
    assistant: str


def parse(text: str, *, may_be_silent: bool = False) -> Blocks:
    """Raise ModelClientError, worded for the model, for what breaks the format (S004-6, S004-20); what has one meaning is repaired.

    `may_be_silent`: ASSISTANT may be empty without steps. Beside a last step it may always be: code tells what came of it.
    """
    if odd := _UNSTORABLE.search(text):
        raise build_format_error(text, odd.start(), "a NUL or half of a surrogate pair", "Send plain Unicode text.")
    end = find_end(text)
    masked = mask_thinking(text, end)
    headers = _find_blocks(masked, end)
    ends = _find_ends(headers, end)
    _check_surroundings(masked, headers, ends)
    steps = _parse_steps(text, headers, ends)
    speech, thought = headers["ASSISTANT"], headers.get("THOUGHT")
    thought_start = thought.end if thought is not None else 0
    refuse_stray_plan(masked, thought_start, headers.get("ACTION", speech).start, has_steps=bool(steps))
    refuse_stray_plan(masked, speech.end, end, has_steps=bool(steps))
    if steps and not is_only_reading([step.method for step in steps]):
        refuse_postponed_plan(masked, speech.end, end)
    assistant = decode_bytes(cut_stray_fence(masked[speech.end :].strip(BLANKS)))
    if not assistant and not (steps[-1].last if steps else may_be_silent):
        raise build_format_error(text, speech.start, "the block ASSISTANT: is empty", "Write at least one sentence in it.")
    if has_second_turn(assistant):
        raise build_format_error(text, speech.start, "ASSISTANT: goes on after an end mark", "Stop after the text for the person.")
    reasons = text[thought_start : ends["THOUGHT"]].strip(BLANKS) if thought is not None else ""
    return Blocks(thought=reasons, steps=steps, assistant=assistant)


def _find_blocks(masked: str, end: int) -> dict[str, Header]:
    """Raises ModelClientError for a missing ASSISTANT and repeated, misplaced or foreign headers."""
    headers: dict[str, Header] = {}
    for header in find_headers(masked, 0, end):
        speech = headers.get("ASSISTANT")
        if speech is not None and speech.plain and not header.plain:
            continue  # a line of the reply that resembles a header; steps below it are found by refuse_stray_plan
        _refuse_misplaced(masked, header, headers)
        first = headers.get(header.word)
        if first is None or (header.word == "ACTION" and header.plain and not first.plain):
            headers[header.word] = header
    if "ASSISTANT" not in headers:
        what = "there is no ASSISTANT: block; the answer may have been cut off"
        cure = "Write THOUGHT:, ACTION: and ASSISTANT:, each at the start of its line, and end with a text for the person."
        raise build_format_error(masked, end, what, cure)
    return headers


def _refuse_misplaced(masked: str, header: Header, headers: Mapping[str, Header]) -> None:
    word, first = header.word, headers.get(header.word)
    if word in FOREIGN:
        cure = "Results of calls are given to you later: end with ASSISTANT: and wait for them."
        raise build_format_error(masked, header.start, f"the block {word}: does not belong to the format", cure)
    if first is not None and (word != "ACTION" or first.plain == header.plain) and (header.plain or not first.plain):
        cure = "Write each block once; inside a text no line begins with a header word."
        raise build_format_error(masked, header.start, f"a second {word}: header", cure)
    if first is None and "ASSISTANT" in headers:
        raise build_format_error(masked, header.start, f"{word}: stands after ASSISTANT:", "Put ACTION: before ASSISTANT:.")
    if first is None and word == "THOUGHT" and headers:
        raise build_format_error(masked, header.start, "THOUGHT: stands after ACTION:", "Begin with THOUGHT:, or leave it out.")


def _find_ends(headers: Mapping[str, Header], end: int) -> Mapping[str, int]:
    ordered = sorted(headers.values(), key=_START)
    return {header.word: after.start for header, after in pairwise(ordered)} | {ordered[-1].word: end}


def _check_surroundings(masked: str, headers: Mapping[str, Header], ends: Mapping[str, int]) -> None:
    first = min(headers.values(), key=_START).start
    brace = _BRACE.search(masked, 0, first)
    if brace is not None:
        what = "JSON stands before the first header"
        raise build_format_error(masked, brace.start(), what, "Begin with THOUGHT:; steps belong under ACTION:.")
    if "THOUGHT" in headers:
        stop = ends["THOUGHT"]
        if has_open_fence(masked[headers["THOUGHT"].end : stop]):
            cure = "Close the code fence in THOUGHT: before the next header."
            raise build_format_error(masked, stop, "a header stands inside a code fence", cure)


def _parse_steps(text: str, headers: Mapping[str, Header], ends: Mapping[str, int]) -> tuple[Step, ...]:
    if "ACTION" not in headers:
        return ()
    span = find_json(text, headers["ACTION"].end, ends["ACTION"])
    if span is None:
        return ()
    steps = tuple(_parse_step(raw, number) for number, raw in enumerate(read_array(text, span.start, span.stop), start=1))
    if steps and not is_only_reading([step.method for step in steps]):
        refuse_postponed_array(text, headers["ACTION"].end, span.start)
    return steps


_TYPES: dict[str, type] = {
    "method": str,
    "params": dict,
    "comment": str,
    "http_method": str,
    "requires_confirmation": bool,
    "confirmed": bool,
    "confirmation_decision": str,
    "last": bool,
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
    method = raw.get("method", "").strip(BLANKS)
    if not method:
        raise _build_step_error(number, "has no method", 'Name the Bitrix24 method, for example "crm.deal.get".')
    if not _METHOD.fullmatch(method):
        cure = 'Write the bare name, for example "crm.deal.get"; values belong into "params".'
        raise _build_step_error(number, f"has the method {method[:40]!r}, which is no method name", cure)
    choices = {
        "http_method": _parse_choice(raw, "http_method", ("GET", "POST"), number),
        "confirmation_decision": _parse_choice(raw, "confirmation_decision", ("deny", "approve"), number),
    }
    if method == WITHDRAW:
        choices["confirmation_decision"] = "deny"
    step = Step(**{**raw, **choices, "method": method})
    if step.confirmed and step.confirmation_decision == "deny":
        raise _build_step_error(number, "is both confirmed and denied", "Keep one of the two.")
    return step


def _parse_choice(raw: JsonObject, key: str, allowed: tuple[str, ...], number: int) -> str | None:
    """Return `raw[key]` in the spelling of `allowed`; None if absent. Raises ModelClientError."""
    if key not in raw:
        return None
    for spelling in allowed:
        if raw[key].lower() == spelling.lower():
            return spelling
    raise _build_step_error(number, f"has an unknown {key} {raw[key][:40]!r}", f"Allowed: {', '.join(allowed)}.")


def _build_step_error(number: int, what: str, cure: str) -> ModelClientError:
    return ModelClientError(f"Format error in ACTION, step {number}: it {what}. {cure}")
