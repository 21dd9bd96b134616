"""Without what a browser does not show."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from lxml import etree
from lxml.html import HTMLParser, document_fromstring

from orchestrator.services.rag.document import Block, Document, UnreadableDocument, clean_text
from orchestrator.services.rag.readers.plain_text import decode_text, write_row

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


@dataclass(slots=True)
class _Page:
    text: list[str] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    header: list[str] = field(default_factory=list)
    are_names: bool = False
    in_cell: bool = False


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
    return Document(title, blocks)


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
        page.header = []
    if tag == "tr":
        page.cells, page.are_names = [], True
    if tag in _CELLS:
        page.text, page.in_cell, page.are_names = [], True, page.are_names and tag == "th"
    elif page.in_cell:
        page.text.append(" ")
    elif tag in _BLOCKS or tag in _HEADINGS:
        yield from _flush(page)
    page.text.append(element.text or "")


def _leave(element: etree._Element, page: _Page) -> Iterator[Block]:
    tag = str(element.tag)
    if tag in _CELLS:
        page.cells.append(clean_text("".join(page.text)))
        page.text, page.in_cell = [], False
    elif tag == "tr":
        if page.are_names and page.cells:
            page.header = page.cells
        else:
            yield Block("row", write_row(page.header, page.cells))
        page.text, page.cells, page.in_cell = [], [], False
    elif page.in_cell:
        page.text.append(" ")
    elif tag in _HEADINGS:
        yield from _flush(page, _HEADINGS[tag])
    elif tag in _BLOCKS:
        yield from _flush(page)
    page.text.append(element.tail or "")


def _flush(page: _Page, level: int = 0) -> Iterator[Block]:
    text = clean_text(" ".join("".join(page.text).split()))
    page.text = []
    if text:
        yield Block("heading" if level else "text", text, level or 1)
