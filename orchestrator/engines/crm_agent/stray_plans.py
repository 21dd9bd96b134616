"""Rejects answers with steps outside of ACTION, which would not run unnoticed."""

import re

from orchestrator.engines.crm_agent.grammar import BLANKS, build_format_error

_FAMILIES = "crm|tasks?|user|calendar|event|im|reminder|catalog|sale"
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
