"""Parses the answers of the CRM agent's model: THOUGHT, ACTION (the steps), ASSISTANT. Runs nothing."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter

from orchestrator.domain.errors import ModelClientError
from orchestrator.engines.crm_agent.assistant_stream import AssistantStream
from orchestrator.engines.crm_agent.envelope import cut_stray_fence, find_end, has_open_fence, has_second_turn, mask_thinking
from orchestrator.engines.crm_agent.grammar import BLANKS, FOREIGN, Header, build_format_error, find_headers
from orchestrator.engines.crm_agent.lenient_json import find_json, read_array
from orchestrator.engines.crm_agent.postponed_plans import is_only_reading, refuse_postponed_array, refuse_postponed_plan
from orchestrator.engines.crm_agent.stray_plans import refuse_stray_plan
from state.stored import JsonObject

__all__ = ["AssistantStream", "Blocks", "Step", "parse"]

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_BRACE = re.compile(r"[{}]")
_START = attrgetter("start")
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


@dataclass(frozen=True)
class Blocks:
    """A valid answer. `thought` is never shown to a person."""

    thought: str
    steps: tuple[Step, ...]
    assistant: str


def parse(text: str, *, may_be_silent: bool = False) -> Blocks:
    """Raise ModelClientError, worded for the model, for what breaks the format (S004-6, S004-20); what has one meaning is repaired.

    `may_be_silent`: ASSISTANT may be empty without steps.
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
    assistant = cut_stray_fence(masked[speech.end :].strip(BLANKS))
    if not assistant and (steps or not may_be_silent):
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
