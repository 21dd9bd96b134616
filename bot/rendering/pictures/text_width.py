"""Measures text as the shipped fonts draw it, from a table of their advances; no kerning is applied."""

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

FONTS: Final = Path(__file__).parent / "fonts"
_EM: Final = 2048
"""Units of an advance in the size of the font."""
_BLANKS: Final = re.compile(r"[^\S\u00a0\u2007\u2009\u202f]+")
"""Those that no line is broken at stay."""
_UNKNOWN: Final = "□"
_ELLIPSIS: Final = "…"


@cache
def _load_advances() -> tuple[Mapping[str, int], Mapping[str, int]]:
    tables = json.loads((FONTS / "advances.json").read_text(encoding="utf-8"))
    return tables["regular"], tables["bold"]


def clean_text(text: str) -> str:
    """One line of marks that the fonts have: a letter without its accent, a box for a foreign letter, nothing for an emoji or a control."""
    known = _load_advances()[0]
    line = _BLANKS.sub(" ", unicodedata.normalize("NFC", text)).strip()
    if all(mark in known for mark in line):
        return line
    return _BLANKS.sub(" ", "".join(mark if mark in known else _replace_mark(mark, known) for mark in line)).strip()


def _replace_mark(mark: str, known: Mapping[str, int]) -> str:
    simple = "".join(part for part in unicodedata.normalize("NFKD", mark) if part in known)
    return simple or (_UNKNOWN if unicodedata.category(mark)[0] in "LN" else "")


@dataclass(frozen=True, slots=True)
class Font:
    size: float
    is_bold: bool = False

    def measure_text(self, text: str) -> float:
        """In pixels."""
        return sum(map(self.measure_mark, text))

    def measure_mark(self, mark: str) -> float:
        return _load_advances()[self.is_bold].get(mark, _EM) * self.size / _EM


def cut_text(text: str, width: float, font: Font) -> str:
    """Text that was cut ends with "…"; "" if not even that fits."""
    if font.measure_text(text) <= width:
        return text
    room = width - font.measure_text(_ELLIPSIS)
    if room < 0:
        return ""
    for place, mark in enumerate(text):
        room -= font.measure_mark(mark)
        if room < 0:
            return text[:place].rstrip(" ,.;:·–—-") + _ELLIPSIS
    return text


def wrap_text(text: str, width: float, font: Font, lines: int) -> list[str]:
    """Between words, at most `lines`, of which the last may be cut."""
    wrapped: list[str] = []
    words = text.split(" ") if text else []
    while words and len(wrapped) < lines - 1:
        count = 1
        while count < len(words) and font.measure_text(" ".join(words[: count + 1])) <= width:
            count += 1
        if font.measure_text(words[0]) > width:
            break
        wrapped.append(" ".join(words[:count]))
        words = words[count:]
    return [*wrapped, cut_text(" ".join(words), width, font)] if words else wrapped
