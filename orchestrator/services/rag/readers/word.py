"""DOCX as Word shows it: changes accepted, fields of templates, boxes, notes, headers, and the numbers that Word writes itself."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Final

from lxml import etree

from orchestrator.domain.shelf import Contents
from orchestrator.language.lexicon import load_lexicon
from orchestrator.services.rag.document import Block, Document, Place
from orchestrator.services.rag.readers.office_parts import OfficeFile
from orchestrator.services.rag.readers.tables import Line, TableReader

_W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK: Final = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_REMOVED: Final = frozenset({f"{_W}del", f"{_W}moveFrom"})
_NO_TEXT: Final = _REMOVED | {f"{_W}{name}" for name in ("instrText", "delText", "rPr", "pPr", "fldData", "txbxContent")} | {_FALLBACK}
_WRAPPERS: Final = frozenset(f"{_W}{name}" for name in ("sdt", "sdtContent", "ins", "moveTo", "smartTag", "customXml"))
_BLANKS: Final = frozenset(f"{_W}{name}" for name in ("tab", "br", "cr"))
_BODY_LEVEL: Final = 9
"""Outline level of what is no heading."""
_NO_NUMBER: Final = frozenset({"bullet", "none"})
_VALUES: Final = (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1)
_ROMAN: Final = tuple(zip(_VALUES, ("m", "cm", "d", "cd", "c", "xc", "l", "xl", "x", "ix", "v", "iv", "i"), strict=True))


def read_docx(file: BinaryIO) -> Document:
    """Raises UnreadableDocument."""
    office = OfficeFile(file)
    text = _Text(office)
    body = office.parse("word/document.xml")
    blocks = list(text.walk(body[0])) if body is not None and len(body) else []
    beside = list(_read_beside(office, text))
    notes = [
        block
        for part in ("footnotes", "endnotes")
        if (root := office.parse(f"word/{part}.xml")) is not None
        for note in root
        for block in text.walk(note)
    ]
    title = next((block.text for block in blocks if block.kind != "row"), "")
    if blocks and blocks[0].kind == "heading":
        blocks = blocks[1:]
    tables = text.reader
    sample = next((block.text for block in blocks if block.kind != "heading"), "")
    contents = Contents(rows=tables.rows, columns=text.columns, sample=tables.sample or sample)
    return Document(title, (*beside, *blocks, *notes), contents)


def _read_beside(office: OfficeFile, text: "_Text") -> Iterator[Block]:
    """Headers and footers, each text once: «Действует с 01.12.2026» stands there."""
    seen = set[str]()
    for part in (*office.list_parts("word/header"), *office.list_parts("word/footer")):
        root = office.parse(part)
        for block in text.walk(root) if root is not None else ():
            if block.text not in seen and block.text.strip("0123456789 /"):
                seen.add(block.text)
                yield Block("text", block.text)


def _find_value(element: etree._Element | None, name: str, usual: str = "") -> str:
    found = element.find(f"{_W}{name}") if element is not None else None
    return found.get(f"{_W}val", usual) if found is not None else usual


@dataclass(frozen=True, slots=True)
class _Style:
    name: str
    outline: int
    numbering: tuple[str, str] | None
    """(number of the list, level)."""
    based_on: str


class _Styles:
    def __init__(self, root: etree._Element | None) -> None:
        found = root.iter(f"{_W}style") if root is not None else ()
        self._styles = {one.get(f"{_W}styleId", ""): _read_style(one) for one in found}

    def find_name(self, style: str) -> str:
        return self._styles[style].name if style in self._styles else ""

    def find_outline(self, style: str) -> int:
        return next((one.outline for one in self._iterate(style) if one.outline < _BODY_LEVEL), _BODY_LEVEL)

    def find_numbering(self, style: str) -> tuple[str, str] | None:
        return next((one.numbering for one in self._iterate(style) if one.numbering is not None), None)

    def _iterate(self, style: str) -> Iterator[_Style]:
        for _ in range(12):
            if style not in self._styles:
                return
            yield self._styles[style]
            style = self._styles[style].based_on


def _read_style(element: etree._Element) -> _Style:
    properties = element.find(f"{_W}pPr")
    return _Style(
        name=_find_value(element, "name").lower(),
        outline=_to_number(_find_value(properties, "outlineLvl"), _BODY_LEVEL),
        numbering=_read_numbering(properties),
        based_on=_find_value(element, "basedOn"),
    )


def _read_numbering(properties: etree._Element | None) -> tuple[str, str] | None:
    found = properties.find(f"{_W}numPr") if properties is not None else None
    return (_find_value(found, "numId"), _find_value(found, "ilvl", "0")) if found is not None else None


def _to_number(text: str, usual: int) -> int:
    return int(text) if text.isascii() and text.isdigit() else usual


@dataclass(frozen=True, slots=True)
class _Level:
    form: str
    text: str
    """«%1.%2.»."""
    start: int


@dataclass(slots=True)
class _List:
    levels: dict[int, _Level]
    counters: dict[int, int] = field(default_factory=dict)
    """Shared by all numbers of one definition, unless a number begins anew."""


class _Numbers:
    """Counts as Word does; a text has its number only there."""

    def __init__(self, root: etree._Element | None) -> None:
        self._lists: dict[str, _List] = {}
        if root is None:
            return
        shared = {one.get(f"{_W}abstractNumId", ""): _List(_read_levels(one)) for one in root.iter(f"{_W}abstractNum")}
        for number in root.iter(f"{_W}num"):
            base = shared.get(_find_value(number, "abstractNumId"))
            if base is None:
                continue
            restarts = list(number.iter(f"{_W}lvlOverride"))
            own = {_to_number(one.get(f"{_W}ilvl", ""), 0): one for one in restarts}
            levels = {level: _override(known, own.get(level)) for level, known in base.levels.items()}
            self._lists[number.get(f"{_W}numId", "")] = _List(levels) if restarts else base

    def count(self, number: str, level_text: str) -> str:
        """ "" for a bullet or an unknown list."""
        counted, level = self._lists.get(number), _to_number(level_text, 0)
        if counted is None or level not in counted.levels:
            return ""
        counters = counted.counters
        counters[level] = counters.get(level, counted.levels[level].start - 1) + 1
        for deeper in [one for one in counters if one > level]:
            del counters[deeper]
        if counted.levels[level].form in _NO_NUMBER:
            return ""
        text = counted.levels[level].text
        for upper in range(level + 1):
            known = counted.levels.get(upper, _Level("decimal", "", 1))
            text = text.replace(f"%{upper + 1}", _spell(counters.get(upper, known.start), known.form))
        return text.strip()


def _read_levels(element: etree._Element) -> dict[int, _Level]:
    return {_to_number(one.get(f"{_W}ilvl", ""), 0): _read_level(one) for one in element.iter(f"{_W}lvl")}


def _read_level(element: etree._Element) -> _Level:
    return _Level(_find_value(element, "numFmt", "decimal"), _find_value(element, "lvlText"), _to_number(_find_value(element, "start"), 1))


def _override(known: _Level, own: etree._Element | None) -> _Level:
    if own is None:
        return known
    inner = own.find(f"{_W}lvl")
    level = _read_level(inner) if inner is not None else known
    start = _find_value(own, "startOverride")
    return _Level(level.form, level.text, _to_number(start, level.start))


def _spell(number: int, form: str) -> str:
    match form:
        case "russianLower" | "russianUpper":
            letters = load_lexicon("documents").read_text("list_letters")
            letter = letters[(number - 1) % len(letters)]
            return letter if form == "russianLower" else letter.upper()
        case "lowerLetter" | "upperLetter":
            letter = chr(97 + (number - 1) % 26)
            return letter if form == "lowerLetter" else letter.upper()
        case "lowerRoman" | "upperRoman":
            text = ""
            for value, sign in _ROMAN:
                text += sign * (number // value)
                number %= value
            return text if form == "lowerRoman" else text.upper()
    return str(number)


class _Text:
    def __init__(self, office: OfficeFile) -> None:
        self._styles = _Styles(office.parse("word/styles.xml"))
        self._numbers = _Numbers(office.parse("word/numbering.xml"))
        self.reader = TableReader(level=7)
        self.columns: tuple[str, ...] = ()

    def walk(self, element: etree._Element) -> Iterator[Block]:
        """Paragraphs and tables in the order in which they stand."""
        for child in element:
            if child.tag == f"{_W}p":
                yield from self._read_paragraph(child)
            elif child.tag == f"{_W}tbl":
                yield from self._read_table(child)
            elif child.tag in _WRAPPERS:
                yield from self.walk(child)

    def _read_paragraph(self, paragraph: etree._Element) -> Iterator[Block]:
        properties = paragraph.find(f"{_W}pPr")
        style = _find_value(properties, "pStyle")
        text = _join_text(paragraph)
        if text:
            numbering = _read_numbering(properties) or self._styles.find_numbering(style)
            number = self._numbers.count(*numbering) if numbering is not None and numbering[0] != "0" else ""
            place = Place("clause", number.rstrip(".)")) if number else None
            level = self._find_heading(style)
            yield Block("heading" if level else "text", f"{number} {text}".strip(), level or 1, place)
        for box in paragraph.iter(f"{_W}txbxContent"):
            if not any(above.tag == _FALLBACK for above in box.iterancestors()):  # a box stands there twice
                yield from self.walk(box)

    def _find_heading(self, style: str) -> int:
        """0 for none."""
        name, outline = self._styles.find_name(style), self._styles.find_outline(style)
        if name == "title":
            return 1
        if name.startswith("heading ") and name[-1:].isdigit():
            return int(name[-1])
        return outline + 1 if outline < _BODY_LEVEL else 0

    def _read_table(self, table: etree._Element) -> Iterator[Block]:
        lines: list[Line] = []
        inner: list[etree._Element] = []
        above: dict[int, str] = {}
        for row in _list_own(table, "tr", table):
            cells = list[str]()
            for cell in _list_own(row, "tc", table):
                properties = cell.find(f"{_W}tcPr")
                merged = properties.find(f"{_W}vMerge") if properties is not None else None
                text = " ".join(block.text for block in self._walk_cell(cell))
                if merged is not None and merged.get(f"{_W}val") != "restart":
                    text = above.get(len(cells), "")
                above[len(cells)] = text
                cells += [text, *[""] * (min(_to_number(_find_value(properties, "gridSpan"), 1), 100) - 1)]
                inner += _list_own(cell, "tbl", table)
            is_group = len(cells) > 1 and len(_list_own(row, "tc", table)) == 1
            lines.append(Line(cells, is_group=is_group, are_names=not lines and row.find(f"{_W}trPr/{_W}tblHeader") is not None))
        if len(lines) == 1 or max((len(line.cells) for line in lines), default=0) == 1:  # a frame, no table
            yield from (Block("text", text) for line in lines for text in line.cells if text)
        else:
            self.reader.names = []
            yield from self.reader.read(lines)
            self.columns = self.columns or tuple(filter(None, self.reader.names))
        for one in inner:
            yield from self._read_table(one)

    def _walk_cell(self, cell: etree._Element) -> Iterator[Block]:
        for child in cell:
            if child.tag == f"{_W}p":
                yield from self._read_paragraph(child)
            elif child.tag in _WRAPPERS:
                yield from self._walk_cell(child)


def _list_own(element: etree._Element, name: str, table: etree._Element) -> list[etree._Element]:
    """Those of this table, also within fields of a template, without those of tables inside of it."""
    return [
        one
        for one in element.iter(f"{_W}{name}")
        if one is not table
        and next(one.iterancestors(f"{_W}tbl"), None) is table
        and not any(above.tag in _REMOVED for above in one.iterancestors())
    ]


def _join_text(paragraph: etree._Element) -> str:
    return " ".join("".join(_iterate_text(paragraph)).replace("\u00ad", "").split())


def _iterate_text(element: etree._Element) -> Iterator[str]:
    for child in element:
        if child.tag in _NO_TEXT:
            continue
        if child.tag == f"{_W}t":
            yield child.text or ""
        elif child.tag in _BLANKS:
            yield " "
        elif child.tag == f"{_W}noBreakHyphen":
            yield "-"
        else:
            yield from _iterate_text(child)
