"""In the encodings of Russian offices."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from orchestrator.domain.shelf import Contents
from orchestrator.language.lexicon import load_lexicon
from orchestrator.services.rag.document import Block, Document, UnreadableDocument

_MARKS: Final = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_ALLOWED_CONTROL: Final = frozenset("\t\n\r\f\v\x1a\x0b")
_MOST_CONTROL: Final = 0.02
_NUMBERED: Final = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+[^\W\d_]")
_SMALL: Final = range(0x430, 0x450)
_LARGE: Final = range(0x410, 0x430)
_ASCII_END: Final = 128
_SHORTEST_HEADING: Final = 3
_LONGEST_HEADING: Final = 90
_SAMPLE: Final = 20_000
_SENTENCE_ENDS: Final = (".", ";", ":", ",", "!", "?")


def read_text(data: bytes) -> Document:
    """Raises UnreadableDocument."""
    text = decode_text(data)
    if text is None:
        raise UnreadableDocument("unsupported", found="binary")
    title, blocks = _split_title(list(find_blocks(text)))
    return Document(title, blocks, Contents(sample=title))


def decode_text(data: bytes, *, is_part: bool = False) -> str | None:
    """None if it is no text; with `is_part` the last character may be cut."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[: len(data) // 2 * 2 if encoding == "utf-16" else None].decode(encoding, "replace")
    if encoding := _find_wide(data):
        return data[: len(data) // 2 * 2].decode(encoding, "replace")
    if b"\x00" in data:
        return None
    try:
        return _check_controls(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        if is_part and error.start >= len(data) - 3:
            return _check_controls(data[: error.start].decode("utf-8"))
    return _check_controls(data.decode(_guess_cyrillic(data), "replace"))


def _find_wide(data: bytes) -> str:
    """UTF-16 without a mark, else ""."""
    sample = data[:2000]
    if len(sample) < 4:  # noqa: PLR2004 - two characters
        return ""
    for encoding, high in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[::2])):
        if sum(byte in {0, 4} for byte in high) > 0.9 * len(high):
            return encoding
    return ""


def _guess_cyrillic(data: bytes) -> str:
    """Small letters inside of words, large ones at most first."""
    sample = data[:_SAMPLE]
    return max(("cp1251", "koi8-r", "cp866"), key=lambda encoding: _score_russian(sample.decode(encoding, "replace")))


def _score_russian(text: str) -> float:
    """Large letters and rare signs speak against it."""
    codes = [ord(sign) for sign in text]
    small = sum(code in _SMALL for code in codes)
    large = sum(code in _LARGE for code in codes)
    usual = frozenset(map(ord, load_lexicon("documents").read_text("usual_signs")))
    foreign = sum(code >= _ASCII_END and code not in _SMALL and code not in _LARGE and code not in usual for code in codes)
    frequent = sum(text.count(sign) for sign in load_lexicon("documents").read_text("frequent_letters"))
    return small + frequent - 0.5 * large - 3 * foreign


def _check_controls(text: str) -> str | None:
    """None with too many control characters."""
    sample = text[:_SAMPLE]
    controls = sum(sign < " " and sign not in _ALLOWED_CONTROL for sign in sample)
    return text if controls <= _MOST_CONTROL * len(sample) else None


@cache
def _compile_named_heading() -> re.Pattern[str]:
    return re.compile(load_lexicon("documents").read_text("headings"), re.IGNORECASE)


def find_blocks(text: str) -> Iterator[Block]:
    """A blank line, heading or item begins another paragraph."""
    paragraph: list[str] = []
    for line in (*text.splitlines(), ""):
        stripped = line.strip().strip("\x1a")
        level = find_heading_level(stripped)
        if (not stripped or level or _begins_item(stripped)) and paragraph:
            yield Block("text", " ".join(paragraph))
            paragraph = []
        if level:
            yield Block("heading", stripped, level)
        elif stripped:
            paragraph.append(stripped)


def find_heading_level(line: str) -> int:
    """0 for no heading."""
    if not _SHORTEST_HEADING <= len(line) <= _LONGEST_HEADING or line.endswith(_SENTENCE_ENDS):
        return 0
    if _compile_named_heading().match(line):
        return 2
    if match := _NUMBERED.match(line):
        return 2 + match[1].count(".") if line[match.end() - 1].isupper() else 0
    if line[-1].isdigit():  # a row of a table in capital letters
        return 0
    letters = [sign for sign in line if sign.isalpha()]
    return 2 if len(letters) > _SHORTEST_HEADING and all(sign.isupper() for sign in letters) else 0


def _begins_item(line: str) -> bool:
    return line.startswith(("- ", "* ", "• ", "— ", "– ")) or re.match(r"\d{1,2}(?:\.\d{1,2})*[.)]\s", line) is not None


def _split_title(blocks: list[Block]) -> tuple[str, tuple[Block, ...]]:
    """A first line that is a sentence stays in the text."""
    if not blocks:
        return "", ()
    first, rest = blocks[0], tuple(blocks[1:])
    if first.kind == "heading" or (len(first.text) <= _LONGEST_HEADING and not first.text.endswith(_SENTENCE_ENDS) and rest):
        return first.text, rest
    return first.text[:_LONGEST_HEADING], (first, *rest)
