"""The tables that programs save as XML for Excel (SpreadsheetML 2003), often under the name of an old workbook."""

from orchestrator.domain.shelf import Contents
from orchestrator.services.rag.document import Block, Document, Place
from orchestrator.services.rag.readers.office_parts import parse_xml
from orchestrator.services.rag.readers.tables import Line, TableReader, place_at

_MOST_GAP = 1_000


def read_sheet_xml(data: bytes) -> Document:
    """Raises UnreadableDocument."""
    root, blocks, rows, sheets = parse_xml(data), list[Block](), 0, 0
    columns, sample = tuple[str, ...](), ""
    for sheet in root.iter("{*}Worksheet"):
        name = next((value for key, value in sheet.attrib.items() if str(key).endswith("Name")), "")
        lines, number = list[Line](), 0
        for row in sheet.iter("{*}Row"):
            number = _find_index(row.attrib) or number + 1
            cells = list[str]()
            for cell in row.iter("{*}Cell"):
                cells += [""] * min(max(_find_index(cell.attrib) - 1 - len(cells), 0), _MOST_GAP)
                cells.append("".join(map(str, cell.itertext())))
            lines.append(Line(cells, place_at(Place("sheet", str(name)), number)))
        reader = TableReader()
        blocks += [Block("heading", str(name), 2, Place("sheet", str(name))), *reader.read(lines)]
        sheets, rows, columns, sample = (
            sheets + 1,
            rows + reader.rows,
            columns or tuple(filter(None, reader.names)),
            sample or reader.sample,
        )
    return Document("", tuple(blocks), Contents(sheets=sheets, rows=rows, columns=columns, sample=sample))


def _find_index(attributes: object) -> int:
    found = next((value for key, value in attributes.items() if str(key).endswith("}Index")), "")  # type: ignore[attr-defined]
    return int(found) if str(found).isdigit() else 0
