"""The header lines and fences of the CRM agent's format, and its format errors. Knows no JSON and makes no decision.

Text that is not the person's is put between fence lines with an unpredictable marker, and header words inside it are defused.
"""

import re
import secrets
import unicodedata

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
"""Headers of other agent formats: an answer that contains one has invented a result that only the portal can give."""

OPENING_FENCE = re.compile(r"```[A-Za-z0-9]{0,20}[ \t\r]{0,8}\n")
CLOSING_FENCE = re.compile(r"\n```\s{0,32}\Z")
"""The end of a code fence around the whole answer. The bounds in both fence patterns keep the streaming reader's look-ahead short."""

_BLOCKS = ("THOUGHT", "ACTION", "ASSISTANT")
_WORDS = "|".join((*_BLOCKS, *FOREIGN))
_MARKS = r"(?:\#{1,6}[ ])?"
_HEADER = (
    rf"{_MARKS}(?:(?P<plain>{_WORDS})[ ]?:"
    rf"|\*\*(?P<bold>{_WORDS})(?::\*\*|\*\*:)"
    rf"|__(?P<under>{_WORDS})(?::__|__:))"
)
HEADER = re.compile(_HEADER)
LINE_HEADER = re.compile("^" + _HEADER, re.MULTILINE)

_DECOR = "[#*_`\u200b-\u200f\u2060\ufeff]"
NEAR_HEADER = re.compile(
    rf"^(?:{_DECOR}++[ \t]*+{_DECOR}*+)?(?:{'|'.join(_BLOCKS)}){_DECOR}*+[ \t]*+(?:[:\uff1a]|\r?$)",
    re.MULTILINE,
)
"""A line that starts like a header but is none: read as text, it would silently drop the plan below it."""

_SHAPES = ("{}:", "{} :", "**{}:**", "**{}**:", "__{}:__", "__{}__:")
HEADER_LITERALS = frozenset(
    marks + shape.format(word)
    for marks in ("", *("#" * level + " " for level in range(1, 7)))
    for shape in _SHAPES
    for word in (*_BLOCKS, *FOREIGN)
)
"""Every string that `HEADER` matches, spelled out, so that the streaming reader can tell an unfinished header from text."""

HEADER_PREFIXES = frozenset(literal[:size] for literal in HEADER_LITERALS for size in range(1, len(literal)))


def extract_word(header: re.Match[str]) -> str:
    """Return the header word of a match of `HEADER` or `LINE_HEADER`."""
    return str(header[header.lastgroup or 0])


def build_format_error(text: str, at: int, what: str, cure: str) -> ModelClientError:
    """Build the error that tells the model what is wrong at offset `at`, where that is, and how to fix it."""
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    return ModelClientError(f"Format error at line {line}, column {column}: {what}. {cure}")


_FORGEABLE_WORDS = "THOUGHT|ACTION INPUT|ACTION|ASSISTANT|SYSTEM|OBSERVATION|STATE|FINAL ANSWER|НАБЛЮДЕНИЕ"
_FORGED_HEADER = re.compile(rf"(?im)^([\s*#>_\"'`]*)((?:{_FORGEABLE_WORDS})[ \t*#_`]*(?:[:：]|$))")
_MARKER = re.compile(r"<<<|>>>")
_INVISIBLE = {"Cf", "Cc", "Co", "Cs", "Zl", "Zp"}
_RARE = re.compile(rf"[^\n\t -~{RUSSIAN_LETTERS}«»–—…№₽]")
"""Characters that have to be checked one by one: everything outside this set of certainly visible ones."""


class Fence:
    """The fence of one request, with its own marker."""

    def __init__(self, marker: str | None = None) -> None:
        """Choose a random marker; tests may pass one."""
        self.marker = marker or secrets.token_hex(6)

    def wrap(self, text: str) -> str:
        """Return `text` between the fence lines, with headers and fence marks in it defused."""
        return f"<<<DATA {self.marker}\n{escape_headers(text)}\nDATA {self.marker}>>>"


def escape_headers(text: str) -> str:
    """Return `text` changed so that no line can pass for a header or a fence, and no character is invisible."""
    visible = _RARE.sub(lambda rare: "·" if unicodedata.category(rare[0]) in _INVISIBLE else rare[0], text)
    return _FORGED_HEADER.sub(r"\1·\2", _MARKER.sub("‹›", visible))
