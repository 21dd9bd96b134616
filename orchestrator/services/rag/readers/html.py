"""Without what a browser does not show."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from lxml import etree
from lxml.html import HTMLParser, document_fromstring

from orchestrator.domain.shelf import Contents
from orchestrator.services.rag.document import Block, Document, UnreadableDocument, clean_text
from orchestrator.services.rag.readers.plain_text import decode_text
from orchestrator.services.rag.readers.tables import Line, TableReader

_DROPPED: Final = frozenset({"script", "style", "noscript", "template", "head", "svg", "object", "iframe", "button", "select"})
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_BLOCKS: Final = frozenset(
    {
        "p",
        "div",
        "li",
        "section",
        "article",
        "header",
        "footer",
        "nav",
        "main",
        "aside",
        "blockquote",
        "pre",
        "dd",
        "dt",
        "br",
        "hr",
        "ul",
        "ol",
    }
    | {"table", "tr", "caption", "figcaption", "body"}
)
_CELLS: Final = frozenset({"td", "th"})
_LARGEST_SPAN: Final = 100


@dataclass(slots=True)
class _Cell:
    text: str
    columns: int
    rows: int


@dataclass(slots=True)
class _Row:
    cells: list[_Cell] = field(default_factory=list)
    are_names: bool = True


@dataclass(slots=True)
class _Page:
    text: list[str] = field(default_factory=list)
    rows: list[_Row] = field(default_factory=list)
    depth: int = 0
    """Of tables; what is inside of a cell is text of this cell."""
    in_cell: bool = False
    tables: TableReader = field(default_factory=TableReader)


def read_html(data: bytes) -> Document:
    """Raises UnreadableDocument."""
    try:
        root = document_fromstring(data, parser=_build_parser(data))
    except (etree.LxmlError, ValueError, AssertionError):
        text = decode_text(data)
        if text is None:
            raise UnreadableDocument("broken") from None
        return Document("", (Block("text", text),))
    title = clean_text(root.findtext(".//title") or "")
    blocks = tuple(block for block in _walk_page(root) if block.text)
    if not title and blocks and blocks[0].kind == "heading":
        title, blocks = blocks[0].text, blocks[1:]
    rows = [block.text for block in blocks if block.kind == "row"]
    return Document(title, blocks, Contents(rows=len(rows), sample=rows[0] if rows else next((one.text for one in blocks), "")))


def _build_parser(data: bytes) -> HTMLParser:
    """It fetches nothing, and believes the page's encoding, else ours."""
    declared = b"charset" in data[:2000].lower() or data.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"))
    try:
        data.decode("utf-8")
        encoding = "utf-8"
    except UnicodeDecodeError:
        encoding = "" if declared else "cp1251"
    return HTMLParser(encoding=encoding or None, remove_comments=True, remove_pis=True, no_network=True)


def _walk_page(root: etree._Element) -> Iterator[Block]:
    page = _Page()
    dropped: etree._Element | None = None
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if dropped is not None:
            if event == "end" and element is dropped:
                dropped = None
                page.text.append(element.tail or "")
        elif event == "start" and (element.tag in _DROPPED or _is_hidden(element)):
            dropped = element
        else:
            yield from _enter(element, page) if event == "start" else _leave(element, page)
    yield from _flush(page)


def _is_hidden(element: etree._Element) -> bool:
    style = (element.get("style") or "").replace(" ", "").lower()
    return element.get("hidden") is not None or "display:none" in style or "visibility:hidden" in style


def _enter(element: etree._Element, page: _Page) -> Iterator[Block]:
    tag = str(element.tag)
    if tag == "table":
        page.depth += 1
    if tag == "table" and page.depth == 1:
        yield from _flush(page)
        page.rows = []
    elif tag == "tr" and page.depth == 1:
        page.rows.append(_Row())
    elif tag in _CELLS and page.depth == 1 and page.rows:
        page.text, page.in_cell = [], True
        page.rows[-1].are_names &= tag == "th"
    elif page.in_cell:
        page.text.append(" ")
    elif tag in _BLOCKS or tag in _HEADINGS:
        yield from _flush(page)
    page.text.append(element.text or "")


def _leave(element: etree._Element, page: _Page) -> Iterator[Block]:
    tag = str(element.tag)
    page.depth -= tag == "table"
    if tag in _CELLS and page.in_cell and page.depth == 1:
        page.rows[-1].cells.append(_Cell(clean_text("".join(page.text)), _read_span(element, "colspan"), _read_span(element, "rowspan")))
        page.text, page.in_cell = [], False
    elif tag == "table" and page.depth == 0:
        page.tables.names = []
        yield from page.tables.read(_build_grid(page.rows))
        page.text, page.rows = [], []
    elif page.in_cell:
        page.text.append(" ")
    elif tag in _HEADINGS:
        yield from _flush(page, _HEADINGS[tag])
    elif tag in _BLOCKS:
        yield from _flush(page)
    page.text.append(element.tail or "")


def _read_span(element: etree._Element, name: str) -> int:
    written = element.get(name) or ""
    return min(int(written), _LARGEST_SPAN) if written.isascii() and written.isdigit() and int(written) else 1


def _build_grid(rows: Sequence[_Row]) -> Iterator[Line]:
    """As a browser draws it: a cell that spans rows stands in each of them, one that spans columns in the first."""
    below: dict[int, tuple[int, str]] = {}
    for row in rows:
        cells, waiting = list[str](), list(row.cells)
        while waiting or len(cells) in below:
            place = len(cells)
            if place in below:
                left, text = below[place]
                cells.append(text)
                if left > 1:
                    below[place] = (left - 1, text)
                else:
                    del below[place]
                continue
            cell = waiting.pop(0)
            for column in range(cell.columns):
                cells.append("" if column else cell.text)
                if cell.rows > 1:
                    below[place + column] = (cell.rows - 1, cells[-1])
        yield Line(cells, are_names=row.are_names and bool(row.cells), is_group=len(row.cells) == 1)


def _flush(page: _Page, level: int = 0) -> Iterator[Block]:
    text = clean_text(" ".join("".join(page.text).split()))
    page.text = []
    if text:
        yield Block("heading" if level else "text", text, level or 1)
