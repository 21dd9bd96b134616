"""XLSX, XLS, XLSB and ODS: values by calamine; what it does not tell of XLSX (formats, what is hidden) from the parts themselves."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any, BinaryIO, Final

import python_calamine

from orchestrator.domain.shelf import Contents, Note
from orchestrator.services.rag.document import Block, Document, Place, UnreadableDocument, clean_text
from orchestrator.services.rag.readers.office_parts import OfficeFile
from orchestrator.services.rag.readers.tables import Line, TableReader, fill_down, place_at

_MAIN: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_ID: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_MOST_COLUMNS: Final = 1_000
_MOST_CELLS: Final = 3_000_000
_EXACT: Final = 15
"""Figures of a number that a sheet keeps."""
_TRUE: Final = frozenset({"1", "true"})
_PERCENTS: Final[Mapping[str, str]] = {"9": "0%", "10": "0.00%"}
"""Formats that are not written in the file."""


@dataclass(slots=True)
class _Marks:
    """Places from 0."""

    formats: dict[tuple[int, int], str] = field(default_factory=dict)
    hidden_columns: set[int] = field(default_factory=set)
    hidden_rows: set[int] = field(default_factory=set)
    filtered_rows: set[int] = field(default_factory=set)
    size: int = 0
    """Cells from the first to the last that holds something."""


def read_workbook(file: BinaryIO) -> Document:
    """Each sheet under a heading, each row a sentence; hidden sheets, columns and rows stay out. Raises UnreadableDocument."""
    marks = _read_marks(file)
    file.seek(0)
    try:
        book = python_calamine.CalamineWorkbook.from_filelike(file)
    except python_calamine.PasswordError:
        raise UnreadableDocument("password") from None
    except (python_calamine.CalamineError, OSError, ValueError):
        raise UnreadableDocument("broken") from None
    blocks, notes = list[Block](), list[Note]()
    visible, table = python_calamine.SheetVisibleEnum.Visible, python_calamine.SheetTypeEnum.WorkSheet
    seen = [sheet.name for sheet in book.sheets_metadata if sheet.visible == visible and sheet.typ == table]
    hidden = [sheet.name for sheet in book.sheets_metadata if sheet.visible != visible]
    if hidden:
        notes.append(Note("sheets_hidden", {"names": ", ".join(f"«{name}»" for name in hidden), "count": str(len(hidden))}))
    rows, sample, columns, cells = 0, "", tuple[str, ...](), 0
    for name in seen:
        reader = TableReader()
        own = marks.get(name, _Marks())
        cells += own.size
        sheet = book.get_sheet_by_name(name) if cells <= _MOST_CELLS else None
        if sheet is None or sheet.total_height * min(sheet.total_width, _MOST_COLUMNS) > _MOST_CELLS:
            raise UnreadableDocument("too_long")
        read = [Block("heading", name, 2, Place("sheet", name)), *reader.read(_iterate_lines(sheet, name, own))]
        if len(read) > 1:
            blocks += read
            columns = columns or tuple(filter(None, reader.names))
            rows, sample = rows + reader.rows, sample or reader.sample
        notes += _tell_hidden(name, own)
    contents = Contents(sheets=len(seen), rows=rows, columns=columns, sample=sample, notes=tuple(notes))
    return Document("", tuple(blocks), contents)


def _iterate_lines(sheet: Any, name: str, marks: _Marks) -> Iterator[Line]:
    values = sheet.to_python(skip_empty_area=False)
    texts = [
        [_write_cell(value, marks.formats.get((number, column), "")) for column, value in enumerate(row[:_MOST_COLUMNS])]
        for number, row in enumerate(values)
    ]
    spans = [(top, left, bottom, right) for (top, left), (bottom, right) in sheet.merged_cell_ranges or () if bottom > top]
    kept = [column for column in range(max(map(len, texts), default=0)) if column not in marks.hidden_columns]
    for number, row in enumerate(fill_down(texts, spans)):
        if number not in marks.hidden_rows:
            yield Line([row[column] if column < len(row) else "" for column in kept], place_at(Place("sheet", name), number + 1))


def _tell_hidden(name: str, marks: _Marks) -> Iterator[Note]:
    if marks.hidden_columns:
        yield Note("columns_hidden", {"name": name, "count": str(len(marks.hidden_columns))})
    if marks.hidden_rows:
        yield Note("rows_hidden", {"name": name, "count": str(len(marks.hidden_rows))})
    if marks.filtered_rows:
        yield Note("rows_filtered", {"name": name, "count": str(len(marks.filtered_rows))})


def _write_cell(value: object, number_format: str = "") -> str:
    """As a person reads it in the sheet."""
    if value is None or isinstance(value, str):
        return clean_text(value or "")
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int | float):
        return _write_number(value, number_format)
    if isinstance(value, datetime):
        return f"{value:%d.%m.%Y}" if value.time() == time() else f"{value:%d.%m.%Y %H:%M}"
    if isinstance(value, date):
        return f"{value:%d.%m.%Y}"
    if isinstance(value, timedelta):
        minutes = int(value.total_seconds()) // 60
        return f"{minutes // 60}:{minutes % 60:02d}"
    return f"{value:%H:%M}" if isinstance(value, time) else clean_text(str(value))


def _write_number(value: float, number_format: str) -> str:
    if "%" in number_format:
        return f"{value * 100:.10g}%"
    if number_format:  # zeros before the number
        return f"{int(value):0{len(number_format)}d}"
    if abs(value) >= 10**_EXACT:  # further figures are not those that were typed
        return f"{int(value)}"[:_EXACT] + "…"
    return str(int(value)) if float(value).is_integer() else f"{value:.10g}"


def _read_marks(file: BinaryIO) -> dict[str, _Marks]:
    """By sheet; {} for what is no XLSX. Raises UnreadableDocument."""
    file.seek(0)
    if file.read(2) != b"PK":
        return {}
    file.seek(0)
    office = OfficeFile(file)
    book = next((part for part in office.list_parts("xl/workbook") if part.endswith(".xml")), "")
    root = office.parse(book)
    if root is None:
        return {}
    targets, formats = office.find_targets(book), _read_formats(office)
    return {
        sheet.get("name", ""): _read_sheet_marks(office, targets[sheet.get(_ID, "")], formats)
        for sheet in root.iter(f"{_MAIN}sheet")
        if sheet.get(_ID, "") in targets
    }


def _read_formats(office: OfficeFile) -> dict[str, str]:
    """By number of the style, percents and zeros before a number alone."""
    root = office.parse("xl/styles.xml")
    if root is None:
        return {}
    named = {one.get("numFmtId", ""): one.get("formatCode", "") for one in root.iter(f"{_MAIN}numFmt")}
    cells = root.find(f"{_MAIN}cellXfs")
    ids = [one.get("numFmtId", "") for one in cells] if cells is not None else []
    codes = {str(number): _PERCENTS.get(one) or _simplify(named.get(one, "")) for number, one in enumerate(ids)}
    return {number: code for number, code in codes.items() if code}


def _simplify(code: str) -> str:
    first = code.partition(";")[0]
    if "%" in first and '"%"' not in first and "\\%" not in first:
        return "0%"
    plain = first.strip().strip('"')
    return plain if len(plain) > 1 and set(plain) == {"0"} else ""


def _read_sheet_marks(office: OfficeFile, part: str, formats: Mapping[str, str]) -> _Marks:
    marks, hidden, filtered, number, last = _Marks(), set[int](), range(0), 0, (0, 0)
    tags = [f"{_MAIN}{tag}" for tag in ("col", "row", "c", "autoFilter")]
    for element in office.iterate(part, *tags):
        tag = element.tag.removeprefix(_MAIN)
        if tag == "c":
            place = _find_place(element.get("r", "")) if len(element) else None
            if place is None:
                continue
            last = max(last[0], place[0]), max(last[1], place[1])
            code = formats.get(element.get("s", ""), "")
            if code and element.get("t", "n") == "n":
                marks.formats[place] = code
        elif tag == "row":
            number = int(element.get("r") or number + 1)
            if element.get("hidden") in _TRUE:
                hidden.add(number - 1)
        elif tag == "col" and element.get("hidden") in _TRUE:
            marks.hidden_columns.update(range(int(element.get("min") or 1) - 1, min(int(element.get("max") or 1), _MOST_COLUMNS)))
        elif tag == "autoFilter" and len(element):
            places = [_find_place(one) for one in element.get("ref", "").split(":")]
            filtered = range(places[0][0], places[-1][0] + 1) if places[0] is not None and places[-1] is not None else range(0)
    marks.filtered_rows = {row for row in hidden if row in filtered}
    marks.hidden_rows = hidden - marks.filtered_rows
    marks.size = (last[0] + 1) * (last[1] + 1)
    return marks


def _find_place(name: str) -> tuple[int, int] | None:
    """«B12» → (11, 1)."""
    letters = name.rstrip("0123456789")
    if not letters.isascii() or not letters.isalpha() or not name[len(letters) :].isdigit():
        return None
    column = 0
    for letter in letters.upper():
        column = column * 26 + ord(letter) - 64
    return int(name[len(letters) :]) - 1, column - 1
