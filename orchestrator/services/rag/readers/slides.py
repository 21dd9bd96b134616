"""PPTX, slide by slide, with the notes below each."""

import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from lxml import etree

from orchestrator.domain.shelf import Contents, Note
from orchestrator.language.lexicon import load_lexicon
from orchestrator.services.rag.document import Block, Document, Place
from orchestrator.services.rag.readers.office_parts import OfficeFile
from orchestrator.services.rag.readers.tables import Line, TableReader

_A: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P: Final = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_ID: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_TITLES: Final = frozenset({"title", "ctrTitle"})


def read_slides(file: BinaryIO) -> Document:
    """Hidden slides stay out. Raises UnreadableDocument."""
    office = OfficeFile(file)
    blocks, hidden, tables, seen = list[Block](), 0, TableReader(level=4), 0
    for number, part in enumerate(_list_slides(office), 1):
        root = office.parse(part)
        if root is None:
            continue
        if root.get("show") == "0":
            hidden += 1
            continue
        seen += 1
        blocks += _read_slide(office, part, root, Place("slide", "", number, number), tables)
    notes = (Note("slides_hidden", {"count": str(hidden)}),) if hidden else ()
    title = next((block.text for block in blocks), "")
    sample = next((block.text for block in blocks if block.kind != "heading"), title)
    return Document(title, tuple(blocks), Contents(slides=seen, rows=tables.rows, sample=sample, notes=notes))


def _list_slides(office: OfficeFile) -> list[str]:
    """In the order of the presentation."""
    root, targets = office.parse("ppt/presentation.xml"), office.find_targets("ppt/presentation.xml")
    listed = [targets[one.get(_ID, "")] for one in root.iter(f"{_P}sldId") if one.get(_ID, "") in targets] if root is not None else []
    return listed or sorted(office.list_parts("ppt/slides/slide"), key=lambda part: int(re.sub(r"\D", "", part) or 0))


def _read_slide(office: OfficeFile, part: str, root: etree._Element, place: Place, tables: TableReader) -> Iterator[Block]:
    title, texts = "", list[str]()
    for shape in root.iter(f"{_P}sp"):
        paragraphs = list(filter(None, map(_join_text, shape.iter(f"{_A}p"))))
        holder = shape.find(f".//{_P}ph")
        if holder is not None and holder.get("type") in _TITLES and not title:
            title = " ".join(paragraphs)
        else:
            texts += paragraphs
    yield Block("heading", title or f"{load_lexicon('documents').read_text('slide')} {place.first}", 2, place)
    yield from (Block("text", text, place=place) for text in texts)
    for table in root.iter(f"{_A}tbl"):
        tables.names = []
        yield from tables.read(
            Line([" ".join(filter(None, map(_join_text, cell.iter(f"{_A}p")))) for cell in row.iter(f"{_A}tc")], place)
            for row in table.iter(f"{_A}tr")
        )
    for target in office.find_targets(part).values():
        if "notesslide" in target and (notes := office.parse(target)) is not None:
            yield from _read_notes(notes, place)


def _read_notes(root: etree._Element, place: Place) -> Iterator[Block]:
    for shape in root.iter(f"{_P}sp"):
        holder = shape.find(f".//{_P}ph")
        if holder is not None and holder.get("type") == "body":
            yield from (Block("text", text, place=place) for text in map(_join_text, shape.iter(f"{_A}p")) if text)


def _join_text(paragraph: etree._Element) -> str:
    return " ".join("".join(one.text or "" if one.tag == f"{_A}t" else " " for one in paragraph.iter(f"{_A}t", f"{_A}br")).split())
