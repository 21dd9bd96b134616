"""Reads the steps of ACTION as JSON; repairs what has one meaning, never completes what was cut off."""

import json
import re
from collections import Counter
from dataclasses import dataclass

from orchestrator.engines.crm_agent.grammar import BLANKS, ZERO_WIDTH, build_format_error
from orchestrator.engines.crm_agent.postponed_plans import is_comment_denying, is_denied

MAX_DEPTH = 32
MAX_TOKENS = 10_000
"""Bounds the work on an answer of brackets and commas."""
SAFE_INTEGER = 2**53

_TOKEN = re.compile(
    rf"""
      (?P<plain>"[^"\\\x00-\x1f]*+"|(?:-?(?:0|[1-9][0-9]{{0,14}})(?:\.[0-9]{{1,9}})?|true|false|null)(?=[\s,\]}}]))
    | (?P<string>"[^"\\]*+(?:\\(?s:.)[^"\\]*+)*+")
    | (?P<comment>//[^\n]*+|/\*(?s:.*?)\*/)
    | (?P<invisible>[{ZERO_WIDTH}]++)
    | (?P<open>[\[{{])
    | (?P<close>[\]}}])
    | (?P<comma>,)
    | (?P<word>[^\s"'`\[\]{{}},:/{ZERO_WIDTH}]++)
    | (?P<odd>["'`/])
    """,
    re.VERBOSE,
)
_BRACKET = re.compile(r"[\[{]")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][+-]?[0-9]++)?")
_RAW_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_RISKY_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_BLANKED = frozenset({"comment", "invisible"})
_CHECKED = frozenset({"string", "word", "odd"})
_NESTING = {"open": 1, "close": -1}

_ODD = {
    '"': ("a string is not closed; the answer may have been cut off", "Send the whole answer again, shorter."),
    "'": ("a single quote outside a string", "Strings and keys stand in double quotes."),
    "`": ("a backtick inside the JSON", "Put at most one code fence around the whole array."),
    "/": ("a slash or an unclosed comment outside a string", "Remove it."),
}


_LONGEST_PROSE = 500
_OPENING_FENCE = re.compile(r"(?P<fence>`{1,3}|~{3})[A-Za-z0-9]{0,20}[ \t\r]{0,8}\n?\s{0,20}\Z")
_EMPTY_FENCE = re.compile(r"(?P<fence>`{3}|~{3})[A-Za-z0-9]{0,20}\s{0,20}(?P=fence)?")
_SHORTEST_BLOCK_FENCE = 3
_ODD_SIGNS = '<>`~"]}?❌✗✘🚫⛔'

_NAMES_METHOD = re.compile(r"(?i)[a-z]\.[a-z]|\b(?:method|batch)\b")


@dataclass(frozen=True, slots=True)
class ActionSpan:
    start: int
    stop: int


def find_json(text: str, start: int, stop: int) -> ActionSpan | None:
    """Find the JSON in the block. Raises ModelClientError if prose before it may deny the steps."""
    block = text[start:stop]
    stop = start + len(block.rstrip(BLANKS))
    start += len(block) - len(block.lstrip(BLANKS))
    if start >= stop or _EMPTY_FENCE.fullmatch(text, start, stop):
        return None
    if text.startswith(("//", "/*"), start):
        return ActionSpan(start, stop)
    bracket = _BRACKET.search(text, start, min(stop, start + _LONGEST_PROSE))
    if bracket is None or bracket.start() == start:
        return ActionSpan(start, stop)
    fence = _OPENING_FENCE.search(text[start : bracket.start()])
    prose = text[start : start + fence.start() if fence else bracket.start()]
    closed = _find_closing(text, bracket.start(), stop, fence)
    _refuse_odd_prose(text, start, prose, is_empty=text[bracket.start() : closed].split() in (["[]"], ["[", "]"]))
    return ActionSpan(bracket.start(), closed)


def _find_closing(text: str, start: int, stop: int, fence: re.Match[str] | None) -> int:
    """Only a fence of three marks may be left open: others raise ModelClientError."""
    if fence is None:
        return stop
    mark = fence["fence"]
    closed = stop
    if text.endswith(mark, start, stop):
        closed = start + len(text[start : stop - len(mark)].rstrip(BLANKS))
    elif len(mark) < _SHORTEST_BLOCK_FENCE:
        raise build_format_error(text, start, "the backtick before the JSON is not closed", "Write the array without backticks.")
    return closed


def _refuse_odd_prose(text: str, start: int, prose: str, *, is_empty: bool) -> None:
    if any(sign in prose for sign in _ODD_SIGNS):
        cure = "Write one JSON array of steps; with nothing to do write []."
        raise build_format_error(text, start, f"ACTION is not a JSON array but begins with {_shorten(prose)}", cure)
    if is_empty and _NAMES_METHOD.search(prose):
        cure = "Write each step as an object inside the array."
        raise build_format_error(text, start, f"{_shorten(prose)} names a step, and the array is empty", cure)
    if not is_empty and is_denied(prose):
        cure = "Write the array alone if it is to be run, or [] if it is not."
        raise build_format_error(text, start, f"it is not clear whether {_shorten(prose)} means that the steps are to be run", cure)


def read_array(text: str, start: int, end: int) -> list[object]:
    """Raise ModelClientError for invalid JSON (S004-20); a single object counts as a list of one."""
    cleaned = _blank_spans(text, start, end, _find_surplus(text, start, end))
    try:
        value = _DECODER.decode(cleaned)
    except json.JSONDecodeError as error:
        raise build_format_error(text, start + error.pos, f"not valid JSON ({error.msg})", "Correct the JSON.") from None
    return [_to_plain_dict(value, text, start)] if isinstance(value, _Pairs) else _to_plain_list(value, text, start)


class _Pairs(list[tuple[str, object]]):
    """An object as pairs, so that duplicate keys can be detected."""


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_Pairs)


def _to_plain_list(value: list[object], text: str, start: int) -> list[object]:
    return [_to_plain(item, text, start) if isinstance(item, list) else item for item in value]


def _to_plain_dict(value: _Pairs, text: str, start: int) -> dict[str, object]:
    plain = {key: _to_plain(item, text, start) if isinstance(item, list) else item for key, item in value}
    if len(plain) != len(value):
        double = Counter(key for key, _ in value).most_common(1)[0][0]
        raise build_format_error(text, start, f"the key {_shorten(double)} stands twice in one object", "Keep one of the two.")
    return plain


def _to_plain(value: list[object], text: str, start: int) -> object:
    return _to_plain_dict(value, text, start) if isinstance(value, _Pairs) else _to_plain_list(value, text, start)


def _find_surplus(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return spans of comments, invisible marks and trailing commas. Raises ModelClientError for a bad token."""
    spans: list[tuple[int, int]] = []
    depth, begun, after_value, comma = 0, False, False, -1
    for count, token in enumerate(_TOKEN.finditer(text, start, end)):
        if count == MAX_TOKENS:
            raise build_format_error(text, token.start(), f"the plan has more than {MAX_TOKENS} parts", "Propose fewer steps.")
        kind = token.lastgroup
        if kind in _BLANKED:
            _check_comment(text, token)
            spans.append(token.span())
            continue
        if depth == 0:
            _check_top(text, token, begun=begun)
            begun = True
        if kind in _CHECKED or (kind == "open" and depth == MAX_DEPTH):
            _refuse_bad_token(text, token)
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
    pieces: list[str] = []
    cursor = start
    for begin, stop in spans:
        pieces += (text[cursor:begin], " " * (stop - begin))
        cursor = stop
    return "".join((*pieces, text[cursor:end]))


def _check_comment(text: str, token: re.Match[str]) -> None:
    if is_comment_denying(token[0]):
        cure = "Write the array without comments if it is to be run, or [] if it is not."
        raise build_format_error(
            text, token.start(), f"it is not clear whether {_shorten(token[0])} means that the steps are to be run", cure
        )


def _check_top(text: str, token: re.Match[str], *, begun: bool) -> None:
    if begun:
        raise build_format_error(text, token.start(), "something follows the JSON array", "Put all steps into one array.")
    if token[0] in {"[", "{"}:
        return
    cure = "Write one JSON array of steps; with nothing to do write []."
    raise build_format_error(text, token.start(), f"ACTION is not a JSON array but begins with {_shorten(token[0])}", cure)


def _refuse_bad_token(text: str, token: re.Match[str]) -> None:
    match token.lastgroup:
        case "string":
            _check_string(text, token)
        case "word":
            _check_word(text, token.start(), token[0])
        case "open":
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
    """At most 2**53, no overflow, no underflow to zero."""
    if whole:
        return len(word) <= len(str(-SAFE_INTEGER)) and abs(int(word)) <= SAFE_INTEGER
    value = float(word)
    mantissa = re.split("[eE]", word)[0]
    vanished = value == 0 and any(digit in "123456789" for digit in mantissa)
    return abs(value) < SAFE_INTEGER and not vanished


def _shorten(word: str) -> str:
    limit = 40
    return repr(word if len(word) <= limit else word[:limit] + "…")
