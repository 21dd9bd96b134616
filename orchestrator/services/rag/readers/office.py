import logging
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from itertools import chain, islice
from typing import BinaryIO, Final

from orchestrator.services.rag.document import Block, Document, UnreadableDocument, clean_text
from orchestrator.services.rag.readers.plain_text import find_blocks, find_header, write_row

_MOST_PAGES: Final = 3000
_HEADER_AMONG: Final = 10
_MOST_COLUMNS: Final = 200
_MOST_CELLS: Final = 2_000_000


def read_docx(file: BinaryIO) -> Document:
    """Headings by their styles. Raises UnreadableDocument."""
    import docx  # noqa: PLC0415 - each reader's library is imported in the worker that needs it
    from docx.table import Table  # noqa: PLC0415 - see above

    try:
        document = docx.Document(file)
    except (KeyError, ValueError, zipfile.BadZipFile):
        raise UnreadableDocument("broken") from None
    blocks: list[Block] = []
    title = ""
    for part in document.iter_inner_content():
        if isinstance(part, Table):
            blocks.extend(_read_word_table([[cell.text for cell in row.cells] for row in part.rows]))
            continue
        style = (part.style.name or "").lower() if part.style is not None else ""
        if style == "title" and not title:
            title = part.text
        else:
            blocks.append(_read_paragraph(part.text, style))
    blocks = [block for block in blocks if block.text.strip()]
    if not title and blocks:
        title = blocks[0].text
        blocks = blocks[1:] if blocks[0].kind == "heading" else blocks
    return Document(title, tuple(blocks))


def _read_paragraph(text: str, style: str) -> Block:
    if style.startswith("heading ") and style[-1:].isdigit():
        return Block("heading", text, int(style[-1]))
    return Block("text", text)


def _read_word_table(rows: Sequence[Sequence[str]]) -> Iterator[Block]:
    if not rows:
        return
    header, body = (rows[0], rows[1:]) if len(rows) > 1 else ((), rows)
    for row in body:
        if text := write_row(header, row):
            yield Block("row", text)


def read_xlsx(file: BinaryIO) -> Document:
    """Each sheet under a heading, each row a sentence. Raises UnreadableDocument."""
    import openpyxl  # noqa: PLC0415 - see read_docx

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl tells what it leaves out: styles, pictures, checks
        try:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        except (KeyError, ValueError, TypeError, zipfile.BadZipFile):
            raise UnreadableDocument("broken") from None
        blocks: list[Block] = []
        for sheet in book.worksheets:
            sheet.reset_dimensions()  # what a file claims about its size is not believed
            blocks.append(Block("heading", sheet.title, 2))
            blocks.extend(_read_sheet(sheet.iter_rows(values_only=True, max_col=_MOST_COLUMNS)))
        title = book.properties.title or ""
    return Document(title, tuple(blocks))


def _read_sheet(values: Iterator[Sequence[object]]) -> Iterator[Block]:
    rows = (row for row in ([_write_cell(value) for value in one] for one in _count_cells(values)) if any(row))
    first = list(islice(rows, _HEADER_AMONG))
    place = find_header(first)
    header = first[place] if place >= 0 else []
    for row in first[: max(place, 0)]:
        yield Block("text", ". ".join(cell for cell in row if cell) + ".")
    for row in chain(first[place + 1 :], rows):
        yield Block("row", write_row(header, row))


def _count_cells(values: Iterator[Sequence[object]]) -> Iterator[Sequence[object]]:
    """Raises UnreadableDocument for too many cells."""
    cells = 0
    for row in values:
        cells += max(len(row), 1)
        if cells > _MOST_CELLS:
            raise UnreadableDocument("too_long")
        yield row


def _write_cell(value: object) -> str:
    """As a person would write it."""
    if value is None:
        return ""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else f"{value:.10g}"
    if isinstance(value, datetime):
        return f"{value:%d.%m.%Y}" if value.time() == time() else f"{value:%d.%m.%Y %H:%M}"
    if isinstance(value, date):
        return f"{value:%d.%m.%Y}"
    return clean_text(str(value))


def read_pdf(file: BinaryIO) -> Document:
    """A scan has no text and is refused. Raises UnreadableDocument."""
    import pypdf  # noqa: PLC0415 - see read_docx
    from pypdf.errors import DependencyError, PyPdfError  # noqa: PLC0415 - see above

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = pypdf.PdfReader(file)
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadableDocument("password")
        if len(reader.pages) > _MOST_PAGES:
            raise UnreadableDocument("too_long")
        text = "\n\n".join(page.extract_text() for page in reader.pages)
        title = reader.metadata.title if reader.metadata is not None else None
    except DependencyError:
        raise UnreadableDocument("password") from None
    except (PyPdfError, RecursionError, ValueError, KeyError, TypeError, AttributeError, IndexError, AssertionError, OSError):
        raise UnreadableDocument("broken") from None
    blocks = list(find_blocks(text))
    if not blocks:
        raise UnreadableDocument("no_text")
    return _choose_title(clean_text(title or ""), Document("", tuple(blocks)))


def _choose_title(properties_title: str, document: Document) -> Document:
    """Programs often leave a file's name in the properties: then the first heading or line."""
    first = document.blocks[0]
    if properties_title and "." not in properties_title[-6:] and not properties_title.lower().startswith(("microsoft", "untitled")):
        return Document(properties_title, document.blocks)
    return Document(first.text[:120], document.blocks[1:] if first.kind == "heading" else document.blocks)
