"""Recognises headers and fences of the answer format, builds its errors and makes foreign text in prompts harmless."""

import re
import secrets
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from orchestrator.domain.errors import ModelClientError
from orchestrator.language.text import RUSSIAN_LETTERS

FOREIGN = (
    "OBSERVATION",
    "Observation",
    "НАБЛЮДЕНИЕ",
    "FINAL ANSWER",
    "Final Answer",
    "ACTION INPUT",
    "Action Input",
)
"""Headers of other formats: an answer with one has invented a result."""

ZERO_WIDTH = "\u200b-\u200f\u2060\ufeff\u00ad"

BLANKS = "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    chr(code) for first, last in ((0x2000, 0x200F), (0x2060, 0x2060), (0xFEFF, 0xFEFF), (0xAD, 0xAD)) for code in range(first, last + 1)
)

FENCE_LINE = re.compile(r"^[ ]{0,3}(?:`{3,}|~{3,})", re.MULTILINE)
CLOSING_FENCE = re.compile(r"[ ]{0,3}(?:`{3,}|~{3,})[ \t\r]*")
"""It names no language, so it can only close."""

_BLOCKS = ("THOUGHT", "ACTION", "ASSISTANT")
_WORDS = "|".join((*_BLOCKS, *FOREIGN))
_KNOWN_WORDS = frozenset((*_BLOCKS, *FOREIGN))
_MARKS = r"(?:\#{1,6}[ ])?"
_PLAIN_HEADER = re.compile(
    rf"{_MARKS}(?:(?:{_WORDS})[ ]?:"
    rf"|\*\*(?:{_WORDS})(?::\*\*|\*\*:)"
    rf"|__(?:{_WORDS})(?::__|__:))"
)
"""As the prompt asks for it: a header wherever it stands."""

_Z = f"[{ZERO_WIDTH}]{{0,3}}"
_ITEM = rf"(?:[-+*•‣◦][ ]|\(?\d{{1,2}}[.)][ ]?|\#{{1,6}}[ ]?|[ {ZERO_WIDTH}])"
_OPENING = rf"(?:{_ITEM}){{0,8}}+(?P<mark>\*{{1,3}}|_{{1,3}}|`{{1,2}})?(?:{_ITEM}){{0,4}}+"
_END_OF_LINE = r"[ \t]{0,8}(?=\r?\n|\r?\Z)"
_HEADER = (
    rf"(?:(?P<decor>{_OPENING})(?P<word>(?i:{'|'.join(_BLOCKS)})|{'|'.join(FOREIGN)}){_Z}"
    rf"(?(mark)(?:[ ]?[:\uff1a]{_Z}(?P=mark)|(?P=mark){_Z}[ ]?[:\uff1a]|(?P=mark){_END_OF_LINE})"
    rf"|(?:[ \t]{{0,3}}[:\uff1a]|(?P<bare>){_END_OF_LINE})))"
)
_INDENTED = re.compile(r"[ ]{4}|[ ]{0,3}\t")
_LINE_HEADER = re.compile("^" + _HEADER, re.MULTILINE)
_ONE_HEADER = re.compile(_HEADER)
_LONGEST_UNDECIDED = 80


class Header(NamedTuple):
    """`plain`: written as the prompt asks for it."""

    word: str
    start: int
    end: int
    plain: bool
    has_colon: bool


def match_header(text: str, at: int, stop: int) -> Header | None:
    match = _ONE_HEADER.match(text, at, stop)
    return None if match is None else _build_header(text, match)


def find_headers(text: str, start: int, stop: int) -> Iterator[Header]:
    """Yield headers in any usual form.

    Without a colon the word stands alone, in capitals or after #; an indented line is a quotation.
    """
    for match in _LINE_HEADER.finditer(text, start, stop):
        header = _build_header(text, match)
        if header is not None:
            yield header


def _build_header(text: str, match: re.Match[str]) -> Header | None:
    start, end = match.span()
    if text[start] in " \t" and _INDENTED.match(text, start):
        return None
    spelling, decor, bare = match.group("word", "decor", "bare")
    if bare is not None and spelling not in _BLOCKS and "#" not in decor:
        return None
    plain = _PLAIN_HEADER.match(text, start, end) is not None
    if spelling in FOREIGN and not plain:
        return None
    word = spelling if spelling in _KNOWN_WORDS else spelling.upper()
    has_colon = ":" in match[0] or "\uff1a" in match[0]
    return Header(word, start, end, plain, has_colon)


_OPENING_PATTERN = re.compile(_OPENING)
_OPENING_SIGNS = re.compile(r"[-+•‣◦(]?|\(?\d{1,2}[.)]?|[*_`#]{1,6}")
_HEADER_WORDS = (*_BLOCKS, *map(str.upper, FOREIGN))
_FIRST_LETTERS = tuple({word[0] for word in _HEADER_WORDS})
_CLOSING_SIGNS = re.compile(rf"[ \t\r*_`:\uff1a{ZERO_WIDTH}]*")


def may_become_header(line: str) -> bool:
    if len(line) > _LONGEST_UNDECIDED or _INDENTED.match(line):
        return False
    opening = _OPENING_PATTERN.match(line)
    tail = line[opening.end() if opening else 0 :]
    if _OPENING_SIGNS.fullmatch(tail):
        return True
    upper = tail.upper()
    if not upper.startswith(_FIRST_LETTERS):
        return False
    return any(
        word.startswith(upper) or (upper.startswith(word) and _CLOSING_SIGNS.fullmatch(tail, len(word)) is not None)
        for word in _HEADER_WORDS
    )


def build_format_error(text: str, at: int, what: str, cure: str) -> ModelClientError:
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    return ModelClientError(f"Format error at line {line}, column {column}: {what}. {cure}")


_FORGEABLE_WORDS = "THOUGHT|ACTION INPUT|ACTION|ASSISTANT|SYSTEM|OBSERVATION|STATE|FINAL ANSWER|НАБЛЮДЕНИЕ"
_FORGED_HEADER = re.compile(rf"(?im)^((?:[^\S\n]|[*#>_\"'`\-+•‣◦.()\d])*+)((?:{_FORGEABLE_WORDS})[ \t*#_`]*(?:[:：]|$))")
_MARKER = re.compile(r"<<<|>>>")
_INVISIBLE = {"Cf", "Cc", "Co", "Cs", "Zl", "Zp"}
_RARE = re.compile(rf"[^\n\t -~{RUSSIAN_LETTERS}«»–—…№₽]")
"""All but the certainly visible."""


class Fence:
    """Lines around foreign text in a prompt, with a marker of each request."""

    def __init__(self, marker: str | None = None) -> None:
        self.marker = marker or secrets.token_hex(6)

    def wrap(self, text: str) -> str:
        return f"<<<DATA {self.marker}\n{escape_headers(text)}\nDATA {self.marker}>>>"


def escape_headers(text: str) -> str:
    """Change header words and fence marks so that none has effect; invisible characters become «·»."""
    visible = _RARE.sub(lambda rare: "·" if unicodedata.category(rare[0]) in _INVISIBLE else rare[0], text)
    return _FORGED_HEADER.sub(r"\1·\2", _MARKER.sub("‹›", visible))
