"""What the parts of the document service exchange."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from orchestrator.domain.errors import SdelkaError
from orchestrator.domain.shelf import NO_CONTENTS, Contents

BlockKind = Literal["heading", "text", "row"]
PlacePart = Literal["sheet", "page", "slide", "clause"]
FileKind = Literal["pdf", "docx", "workbook", "slides", "csv", "html", "rtf", "letter", "sheet_xml", "markdown", "text"]
ProblemCode = Literal[
    "empty",
    "no_text",
    "broken",
    "password",
    "too_large",
    "too_long",
    "archive_bomb",
    "wrong_name",
    "unsupported",
    "not_allowed",
    "link",
    "special",
    "too_deep",
    "too_slow",
    "too_much_memory",
    "crashed",
    "gone",
]
EXTENSIONS: Final[Mapping[str, FileKind]] = {
    ".pdf": "pdf",
    ".docx": "docx",
    ".docm": "docx",
    ".xlsx": "workbook",
    ".xlsm": "workbook",
    ".xls": "workbook",
    ".xlsb": "workbook",
    ".ods": "workbook",
    ".pptx": "slides",
    ".csv": "csv",
    ".tsv": "csv",
    ".html": "html",
    ".htm": "html",
    ".rtf": "rtf",
    ".eml": "letter",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".text": "text",
}
"""Of the files that are read."""
LARGEST_PART: Final = 120
LARGEST_TITLE: Final = 240
_BLANKS: Final = re.compile(r"\s+")
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})


@dataclass(frozen=True, slots=True)
class Place:
    """Where in its file something stands."""

    part: PlacePart
    name: str = ""
    """Of the sheet, or the number of the clause."""
    first: int = 0
    """The row, page or slide, counted as people do; 0 if it has none."""
    last: int = 0

    def extend(self, other: "Place | None") -> "Place":
        """To the end of another one, if both are in the same part."""
        if other is None or (other.part, other.name) != (self.part, self.name):
            return self
        return Place(self.part, self.name, self.first, max(self.last, other.last))


@dataclass(frozen=True, slots=True)
class Block:
    """A row is one line of a table as a sentence with its columns' names."""

    kind: BlockKind
    text: str
    level: int = 1
    """1 is the highest."""
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Document:
    title: str
    blocks: tuple[Block, ...]
    contents: Contents = NO_CONTENTS


@dataclass(frozen=True, slots=True)
class Passage:
    """The title names the document and the headings above."""

    title: str
    text: str
    """Rows of tables stand in lines of their own."""
    place: Place | None = None
    is_table: bool = False
    """Rows alone, whose words and codes find them."""


@dataclass(frozen=True, slots=True)
class Problem:
    """`code` has its sentence in data/language/documents.yaml."""

    code: ProblemCode
    details: Mapping[str, str] = field(default_factory=dict)


class UnreadableDocument(SdelkaError):
    """A document cannot be read."""

    def __init__(self, code: ProblemCode, **details: str) -> None:
        super().__init__(code)
        self.problem = Problem(code, details)


def clean_text(text: str) -> str:
    """One line, without hidden characters."""
    joined = _BLANKS.sub(" ", text)
    if joined.isprintable():
        return joined.strip()
    return "".join(sign for sign in joined if sign == " " or unicodedata.category(sign) not in _HIDDEN).strip()


def clean_title(text: str, longest: int = LARGEST_PART) -> str:
    """One line, cut with an ellipsis."""
    cleaned = clean_text(text[: longest * 4])
    return cleaned if len(cleaned) <= longest else cleaned[: longest - 1].rstrip() + "…"
