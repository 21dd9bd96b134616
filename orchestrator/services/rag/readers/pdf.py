"""PDF: text by PDFium, and where tables stand by pdfplumber.

The text of cells comes from PDFium, too: pdfplumber takes wide-set figures apart («0 3 / 2 5»).
"""

import io
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

import pypdfium2

from orchestrator.domain.shelf import Contents, Note
from orchestrator.services.rag.document import Block, Document, Place, UnreadableDocument, clean_text
from orchestrator.services.rag.readers.plain_text import find_blocks
from orchestrator.services.rag.readers.tables import Line, TableReader

_MOST_PAGES: Final = 3_000
_SECONDS: Final = 20.0
"""In which tables are looked for; further pages are read as text."""
_MOST_EDGES: Final = 20_000
_MOST_SIGNS: Final = 20_000
_SAME_LINE: Final = 3.5
_NEW_CELL: Final = 9.0
_SAME_COLUMN: Final = 25.0
_NEXT_ROW: Final = 45.0
"""Points."""
_LONGEST_CELL: Final = 60
_LEAST_COLUMNS: Final = 3
_LEAST_ROWS: Final = 3
_LOST: Final = 0.02
"""Share of a page's numbers above which its text is told once more."""
_REPEATED: Final = 0.8
"""Share of the pages on which a first or last line stands that is no text."""
_JOINED: Final = re.compile("[\ufffe\u00ad\x02]\\s*")
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")
_SENTENCE: Final = (".", ":", ";", "!", "?")


@dataclass(frozen=True, slots=True)
class _Table:
    top: float
    bottom: float
    """From the top of the page."""
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class _Page:
    number: int
    text: str
    pieces: Sequence[str | _Table]
    """The text around its tables, and these, from top to bottom."""


def read_pdf(file: BinaryIO) -> Document:
    """A scan has no text and is refused; pages that are pictures among others are told. Raises UnreadableDocument."""
    data = file.read()
    try:
        pdf = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise UnreadableDocument("password" if "password" in str(error).lower() else "broken") from None
    if len(pdf) > _MOST_PAGES:
        raise UnreadableDocument("too_long")
    pages, pictures, plain_from = _read_pages(pdf, data)
    if not pages:
        raise UnreadableDocument("no_text")
    tables = TableReader()
    edges = Counter(edge for page in pages for edge in _find_edges(page.text)) if len(pages) > 2 else Counter[str]()  # noqa: PLR2004
    repeated = {edge for edge, often in edges.items() if often >= _REPEATED * len(pages)}
    blocks = [block for page in pages for block in _tell_page(page, tables, repeated)]
    notes = [Note("pages_images", {"pages": _write_pages(pictures)})] if pictures else []
    notes += [Note("pages_plain", {"page": str(plain_from)})] if plain_from else []
    sample = tables.sample or next((block.text for block in blocks if block.kind == "text"), "")
    contents = Contents(rows=tables.rows, pages=len(pdf), columns=tuple(filter(None, tables.names)), sample=sample, notes=tuple(notes))
    return _choose_title(clean_text(_read_title(pdf)), Document("", tuple(blocks), contents))


def _read_title(pdf: pypdfium2.PdfDocument) -> str:
    try:
        return str(pdf.get_metadata_value("Title") or "")
    except (pypdfium2.PdfiumError, UnicodeDecodeError):
        return ""


def _read_pages(pdf: pypdfium2.PdfDocument, data: bytes) -> tuple[list[_Page], list[int], int]:
    """Pages with text, the numbers of those without, and that of the first whose tables were not looked for; 0 for none."""
    pages, pictures, plain_from = list[_Page](), list[int](), 0
    until = time.monotonic() + _SECONDS
    finder = _TableFinder(data)
    for place in range(len(pdf)):
        try:
            page = pdf[place]
            words = page.get_textpage()
            text = _clean_page(words.get_text_range())
        except (pypdfium2.PdfiumError, UnicodeDecodeError):
            text = ""
        if not text.strip():
            pictures.append(place + 1)
            continue
        is_late = time.monotonic() > until
        plain_from = plain_from or (place + 1 if is_late else 0)
        found = [] if is_late else finder.find(place, page, words)
        pages.append(_Page(place + 1, text, _cut_around(found, page, words) if found else [text]))
    return pages, pictures, plain_from


class _TableFinder:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._plumber: Any = None

    def find(self, place: int, page: Any, words: Any) -> list[_Table]:
        """From top to bottom; none where the page is turned or damaged."""
        box = page.get_mediabox()
        if page.get_rotation() or (box[0], box[1]) != (0, 0) or words.count_chars() > _MOST_SIGNS:
            return []
        try:
            ruled = self._find_ruled(place, page.get_height(), words)
            return ruled or _find_unruled(page.get_height(), words)
        except Exception:  # noqa: BLE001 - a damaged page leads these libraries to whatever they raise; its text is told all the same
            return []

    def _find_ruled(self, place: int, height: float, words: Any) -> list[_Table]:
        if self._plumber is None:
            import pdfplumber  # noqa: PLC0415 - half a second, for files with pages only

            self._plumber = pdfplumber.open(io.BytesIO(self._data))
        page = self._plumber.pages[place]
        try:
            if len(page.edges) > _MOST_EDGES:
                return []
            found = [(table.bbox, [row.cells for row in table.rows]) for table in page.find_tables()]
        finally:
            page.close()
        tables = [
            _Table(top, bottom, [[_read_box(words, height, cell) if cell else "" for cell in row] for row in rows])
            for (_, top, _, bottom), rows in found
        ]
        return sorted((table for table in tables if len(table.rows) > 1 and max(map(len, table.rows)) > 1), key=lambda table: table.top)


def _read_box(words: Any, height: float, box: tuple[float, float, float, float]) -> str:
    """Of pdfplumber's box, which counts from the top."""
    left, top, right, bottom = box
    return clean_text(_clean_page(words.get_text_bounded(left, height - bottom, right, height - top)))


@dataclass(slots=True)
class _Run:
    """A piece of a line."""

    left: float
    right: float
    top: float
    bottom: float
    text: str


def _find_unruled(height: float, words: Any) -> list[_Table]:
    """The first lines of a page of three or more columns that stand below each other."""
    lines = [_join_near(line) for line in _group_lines(_list_runs(height, words))]
    start = next((number for number, line in enumerate(lines) if len(line) >= _LEAST_COLUMNS), None)
    if start is None:
        return []
    columns = [run.left for run in lines[start]]
    rows, last, bottom = list[list[str]](), lines[start][0].top, 0.0
    for line in lines[start:]:
        places = [min(range(len(columns)), key=lambda place, run=run: abs(columns[place] - run.left)) for run in line]  # type: ignore[misc]
        is_apart = any(abs(columns[place] - run.left) > _SAME_COLUMN for place, run in zip(places, line, strict=True))
        if (
            line[0].top - last > _NEXT_ROW
            or is_apart
            or len({*places}) != len(places)
            or (len(line) == 1 and len(line[0].text) > _LONGEST_CELL)
        ):
            break
        cells = [""] * len(columns)
        for place, run in zip(places, line, strict=True):
            cells[place] = run.text
        if rows and not cells[0] and len(line) < len(columns):  # the second line of a cell
            rows[-1] = [f"{above} {below}".strip() for above, below in zip(rows[-1], cells, strict=True)]
        else:
            rows.append(cells)
        last, bottom = line[0].top, max(run.bottom for run in line)
    return [_Table(min(run.top for run in lines[start]), bottom, rows)] if len(rows) >= _LEAST_ROWS else []


def _list_runs(height: float, words: Any) -> Iterator[_Run]:
    for number in range(words.count_rects()):
        left, bottom, right, top = words.get_rect(number)
        text = clean_text(_clean_page(words.get_text_bounded(left - 0.1, bottom - 0.1, right + 0.1, top + 0.1)))
        if text:
            yield _Run(left, right, height - top, height - bottom, text)


def _group_lines(runs: Iterator[_Run]) -> list[list[_Run]]:
    lines = list[tuple[float, list[_Run]]]()
    for run in sorted(runs, key=lambda one: (one.top + one.bottom, one.left)):
        middle = (run.top + run.bottom) / 2
        if lines and abs(lines[-1][0] - middle) < _SAME_LINE:
            lines[-1][1].append(run)
        else:
            lines.append((middle, [run]))
    return [sorted(line, key=lambda run: run.left) for _, line in lines]


def _join_near(line: Sequence[_Run]) -> list[_Run]:
    joined = list[_Run]()
    for run in line:
        if joined and run.left - joined[-1].right <= _NEW_CELL:
            joined[-1] = _Run(joined[-1].left, run.right, joined[-1].top, run.bottom, f"{joined[-1].text} {run.text}")
        else:
            joined.append(run)
    return joined


def _cut_around(tables: Sequence[_Table], page: Any, words: Any) -> list[str | _Table]:
    height, width = page.get_height(), page.get_width()
    pieces, top = list[str | _Table](), 0.0
    for table in tables:
        pieces += [_clean_page(words.get_text_bounded(0, height - table.top + 0.5, width, height - top)), table]
        top = table.bottom + 0.5
    return [*pieces, _clean_page(words.get_text_bounded(0, 0, width, height - top))]


def _clean_page(text: str) -> str:
    return _JOINED.sub("", text).replace("\r", "")


def _tell_page(page: _Page, tables: TableReader, repeated: set[str]) -> Iterator[Block]:
    place = Place("page", "", page.number, page.number)
    told = list[Block]()
    for piece in page.pieces:
        if isinstance(piece, _Table):
            told += tables.read(Line(row, place) for row in piece.rows)
        else:
            told += (_place(block, place) for block in find_blocks(_split_paragraphs(piece, repeated)))
    yield from told
    if len(page.pieces) > 1 and _count_lost(page.text, told, repeated) > _LOST * max(len(_NUMBER.findall(page.text)), 1):
        yield from (_place(block, place) for block in find_blocks(_split_paragraphs(page.text, repeated)))


def _place(block: Block, place: Place) -> Block:
    return Block(block.kind, block.text, block.level, place)


def _split_paragraphs(text: str, repeated: set[str]) -> str:
    """A line that ends a sentence ends a paragraph: PDF has none."""
    lines = [line.strip() for line in text.split("\n") if _strip_number(line) not in repeated]
    return "\n".join(f"{line}\n" if line.endswith(_SENTENCE) else line for line in lines)


def _find_edges(text: str) -> set[str]:
    lines = [line for line in text.split("\n") if line.strip()]
    return {_strip_number(line) for line in (*lines[:2], *lines[-2:])}


def _strip_number(line: str) -> str:
    return re.sub(r"\d+", "", line).strip()


def _count_lost(text: str, told: Sequence[Block], repeated: set[str]) -> int:
    """Numbers of the page that its structure has not."""
    kept = "\n".join(line for line in text.split("\n") if _strip_number(line) not in repeated)
    lost = Counter(_NUMBER.findall(kept)) - Counter(_NUMBER.findall("\n".join(block.text for block in told)))
    return lost.total()


def _write_pages(numbers: Sequence[int]) -> str:
    """«2, 5–7»."""
    parts, first = list[str](), 0
    for place, number in enumerate(numbers):
        first = first or number
        if place + 1 == len(numbers) or numbers[place + 1] != number + 1:
            parts.append(str(number) if first == number else f"{first}–{number}")
            first = 0
    return ", ".join(parts)


def _choose_title(properties_title: str, document: Document) -> Document:
    """Programs often leave a file's name in the properties: then the first heading or line."""
    first = document.blocks[0]
    if properties_title and "." not in properties_title[-6:] and not properties_title.lower().startswith(("microsoft", "untitled")):
        return Document(properties_title, document.blocks, document.contents)
    return Document(first.text, document.blocks[1:] if first.kind == "heading" else document.blocks, document.contents)
