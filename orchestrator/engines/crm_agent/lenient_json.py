"""Reads the JSON array of an ACTION block. Repairs what has only one reading; never completes what was cut off."""

import json
import re
from collections import Counter

from orchestrator.engines.crm_agent.grammar import build_format_error

MAX_DEPTH = 32
MAX_TOKENS = 10_000
"""Far more than any real plan needs; it bounds the work on an answer that consists of brackets and commas."""
SAFE_INTEGER = 2**53

_TOKEN = re.compile(
    r"""
      (?P<plain>"[^"\\\x00-\x1f]*+"|(?:-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,9})?|true|false|null)(?=[\s,\]}]))
    | (?P<string>"[^"\\]*+(?:\\(?s:.)[^"\\]*+)*+")
    | (?P<comment>//[^\n]*+|/\*(?s:.*?)\*/)
    | (?P<open>[\[{])
    | (?P<close>[\]}])
    | (?P<comma>,)
    | (?P<word>[^\s"'`\[\]{},:/]++)
    | (?P<odd>["'`/])
    """,
    re.VERBOSE,
)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][+-]?[0-9]++)?")
_RAW_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_RISKY_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_CHECKED = frozenset({"open", "string", "word", "odd"})
_NESTING = {"open": 1, "close": -1}

_ODD = {
    '"': ("a string is not closed; the answer may have been cut off", "Send the whole answer again, shorter."),
    "'": ("a single quote outside a string", "Strings and keys stand in double quotes."),
    "`": ("a backtick inside the JSON", "Put at most one code fence around the whole array."),
    "/": ("a slash or an unclosed comment outside a string", "Remove it."),
}


def read_array(text: str, start: int, end: int) -> list[object]:
    """Return the JSON array that fills `text[start:end]`; raise `ModelClientError` on anything else (S004-20)."""
    cleaned = _blank_spans(text, start, end, _find_surplus(text, start, end))
    try:
        value = json.loads(cleaned, strict=False, object_pairs_hook=_Pairs)
    except json.JSONDecodeError as error:
        raise build_format_error(text, start + error.pos, f"not valid JSON ({error.msg})", "Correct the JSON.") from None
    return _to_plain_list(value, text, start)


class _Pairs(list[tuple[str, object]]):
    """A JSON object as key-value pairs, so that a duplicate key can still be detected."""


def _to_plain_list(value: list[object], text: str, start: int) -> list[object]:
    return [_to_plain(item, text, start) for item in value]


def _to_plain(value: object, text: str, start: int) -> object:
    if isinstance(value, _Pairs):
        plain = {key: _to_plain(item, text, start) for key, item in value}
        if len(plain) != len(value):
            double = Counter(key for key, _ in value).most_common(1)[0][0]
            raise build_format_error(text, start, f"the key {_shorten(double)} stands twice in one object", "Keep one of the two.")
        return plain
    return _to_plain_list(value, text, start) if isinstance(value, list) else value


def _find_surplus(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Check every token of the array and return the spans to blank out: comments and trailing commas."""
    spans: list[tuple[int, int]] = []
    depth, begun, after_value, comma = 0, False, False, -1
    for count, token in enumerate(_TOKEN.finditer(text, start, end)):
        if count == MAX_TOKENS:
            raise build_format_error(text, token.start(), f"the plan has more than {MAX_TOKENS} parts", "Propose fewer steps.")
        kind = token.lastgroup
        if kind == "comment":
            spans.append(token.span())
            continue
        if depth == 0:
            _check_top(text, token, begun=begun)
            begun = True
        if kind in _CHECKED:
            _check_token(text, token, depth)
        if kind == "close" and comma >= 0:
            spans.append((comma, comma + 1))
        if kind in _NESTING:
            depth += _NESTING[kind]
        comma = token.start() if kind == "comma" and after_value else -1
        after_value = kind not in ("comma", "open")
    if depth or not begun:
        cure = "Send the whole answer again, shorter; a cut-off plan is never completed by guessing."
        raise build_format_error(text, end, "the JSON array of ACTION ends before it is closed", cure)
    return sorted(spans)


def _blank_spans(text: str, start: int, end: int, spans: list[tuple[int, int]]) -> str:
    """Return `text[start:end]` with `spans` overwritten by spaces, so that offsets stay valid."""
    pieces: list[str] = []
    cursor = start
    for begin, stop in spans:
        pieces += (text[cursor:begin], " " * (stop - begin))
        cursor = stop
    return "".join((*pieces, text[cursor:end]))


def _check_top(text: str, token: re.Match[str], *, begun: bool) -> None:
    if begun:
        raise build_format_error(text, token.start(), "something follows the JSON array", "Put all steps into one array.")
    if token[0] == "[":
        return
    if token[0] == "{":
        raise build_format_error(text, token.start(), "ACTION is a bare object", "Wrap the step in an array: [ { ... } ].")
    cure = "Write one JSON array of steps; with nothing to do write []."
    raise build_format_error(text, token.start(), f"ACTION is not a JSON array but begins with {_shorten(token[0])}", cure)


def _check_token(text: str, token: re.Match[str], depth: int) -> None:
    match token.lastgroup:
        case "string":
            _check_string(text, token)
        case "word":
            _check_word(text, token.start(), token[0])
        case "open" if depth == MAX_DEPTH:
            raise build_format_error(text, token.start(), f"the JSON is nested deeper than {MAX_DEPTH} levels", "Flatten it.")
        case "odd":
            what, cure = _ODD[token[0]]
            raise build_format_error(text, token.start(), what, cure)


def _check_string(text: str, token: re.Match[str]) -> None:
    literal = token[0]
    if _RAW_CONTROL.search(literal):
        raise build_format_error(text, token.start(), "a control character inside a string", "Remove it.")
    if not _RISKY_ESCAPE.search(literal):
        return
    try:
        value = json.loads(literal, strict=False)
    except json.JSONDecodeError:
        return  # json.loads of the whole array meets it again and reports the exact position
    if _UNSTORABLE.search(value):
        cure = "Write the character itself instead of \\u escapes."
        raise build_format_error(text, token.start(), "half of a surrogate pair, or NUL, inside a string", cure)


def _check_word(text: str, at: int, word: str) -> None:
    number = _NUMBER.fullmatch(word)
    if number is None:
        cure = "JSON knows numbers, strings in double quotes, true, false and null."
        raise build_format_error(text, at, f"{_shorten(word)} is not a JSON value", cure)
    if not _is_storable_number(word, whole=number[1] is None and number[2] is None):
        cure = "Send a long number as a string, an amount with a sane number of digits."
        raise build_format_error(text, at, f"the number {_shorten(word)} cannot be stored exactly", cure)


def _is_storable_number(word: str, *, whole: bool) -> bool:
    """Return whether the number is stored exactly: not beyond 2**53, no overflow, no tiny number that becomes zero."""
    if whole:
        return len(word) <= len(str(-SAFE_INTEGER)) and abs(int(word)) <= SAFE_INTEGER
    value = float(word)
    mantissa = re.split("[eE]", word)[0]
    vanished = value == 0 and any(digit in "123456789" for digit in mantissa)
    return abs(value) < SAFE_INTEGER and not vanished


def _shorten(word: str) -> str:
    limit = 40
    return repr(word if len(word) <= limit else word[:limit] + "…")
