"""A grid of cells as rows with the names of their columns; the same rule for sheets, pages, slides and texts."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import groupby, zip_longest
from typing import Final

from orchestrator.language.lexicon import load_lexicon
from orchestrator.services.rag.document import Block, Place, clean_text

_LONGEST_CELL: Final = 2_000
_LONGEST_HEADING: Final = 60
_SHORT: Final = 30
_AHEAD: Final = 40
"""Rows of a region among which those of the names are looked for."""
_FIGURES: Final = r"[\s\d.,%₽$€+\-–—:/x\u0445×°()]*"
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_NOTE: Final = ("*", "•", "-", "–", "—", "(")


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the grid, also without any text, as it stands in its file."""

    cells: Sequence[str]
    place: Place | None = None
    are_names: bool = False
    """The file says so."""
    is_group: bool = False
    """Its only cell spans the table."""


@dataclass(slots=True)
class TableReader:
    """Reads the grids of one sheet, page or text after each other: a table may go on behind a gap or on the next page."""

    level: int = 3
    """Of the headings of its groups."""
    names: list[str] = field(default_factory=list)
    """Of the columns of the last table."""
    rows: int = 0
    """Told by now, without names, headings and notes."""
    sample: str = ""
    """The first of them."""
    _are_said: bool = False
    """The file says what the names are."""
    _form: tuple[int, int, frozenset[int]] = (0, 0, frozenset())
    """First and last column of the last table, and those of figures."""

    def read(self, lines: Iterable[Line]) -> Iterator[Block]:
        """Each line is told once, as a row, a heading, a note or a row of names."""
        cleaned = (replace(line, cells=[clean_text(cell or "") for cell in line.cells]) for line in lines)
        for has_text, region in groupby(cleaned, key=lambda line: any(line.cells)):
            if has_text:
                yield from self._read_region(list(region))

    def _read_region(self, lines: list[Line]) -> Iterator[Block]:
        is_card = _is_card(lines)
        start, body = -1 if is_card else find_names(lines), lines
        if start >= 0:
            for line in lines[:start]:
                yield _tell_note(line)
            names, used = _join_levels(lines, start)
            self._are_said = lines[start].are_names
            if names != self.names and not self._are_said:
                yield _tell_names(names, lines[start])
            self.names, body = names, lines[start + used :]
            self._form = _describe_form(body)
        elif is_card or not self._goes_on(lines):
            self.names = []
        if is_card:
            for line in lines:
                yield from self._tell_row(_name_value(line))
        else:
            yield from self._read_body(body)

    def _goes_on(self, lines: Sequence[Line]) -> bool:
        """The region has the form of the table before it: without names rather than with wrong ones."""
        first, last, figures = _describe_form(lines)
        return bool(self.names) and (first, last) == self._form[:2] and (figures == self._form[2] or not self._form[2])

    def _read_body(self, lines: Sequence[Line]) -> Iterator[Block]:
        is_table, last = sum(map(bool, self.names)) > 1 or max(map(_count, lines), default=0) > 1, len(lines) - 1
        for number, line in enumerate(lines):
            cells = line.cells
            if _is_repeated(cells, self.names) or (number == 0 and _is_numbering(cells)):
                continue
            if _count(cells) > 1 or not is_table or (self._are_said and not line.is_group):
                yield from self._tell_row(line)
                continue
            (text,) = filter(None, cells)
            if number < last and _is_heading(text):
                is_upper = _count(lines[number + 1].cells) == 1 and number + 1 < last and _is_heading(_join(lines[number + 1].cells))
                is_lower = number > 0 and _count(lines[number - 1].cells) == 1 and _is_heading(_join(lines[number - 1].cells))
                yield Block("heading", text, self.level + (is_lower and not is_upper), line.place)
            else:
                yield Block("text", text, place=line.place)

    def _tell_row(self, line: Line) -> Iterator[Block]:
        if text := write_row(self.names, line.cells):
            self.rows += 1
            self.sample = self.sample or text
            yield Block("row", text, place=line.place)


def _is_card(lines: Sequence[Line]) -> bool:
    """Two columns of which the first names what stands in the second, such as requisites or questions with answers."""
    if any(line.are_names for line in lines):
        return False
    pairs = [[cell for cell in line.cells if cell] for line in lines]
    pairs = [pair for number, pair in enumerate(pairs) if len(pair) > 1 and pair not in pairs[:number]]
    if not pairs or max(map(len, pairs)) > 2 or any(is_value(first) for first, _ in pairs):  # noqa: PLR2004
        return False
    if all(map(_is_name, pairs[0])):
        return False
    named = sum(_begins_with_name(pair) for pair in pairs[1:])
    if named or any(pair[0].endswith(":") for pair in pairs):
        return True
    if any(map(_is_name, pairs[0])):
        return False
    below = pairs[1:]
    figures = sum(is_value(second) for _, second in below)
    if figures:
        return not is_value(pairs[0][1]) and 0.15 * len(below) < figures < 0.85 * len(below)
    longest = sorted(len(second) for _, second in below)
    return not longest or max(map(len, pairs[0])) > _SHORT or longest[len(longest) // 2] <= 2 * _SHORT


def _name_value(line: Line) -> Line:
    cells = [cell for cell in line.cells if cell]
    return line if len(cells) < 2 else Line([f"{cells[0].rstrip(': ')}: {cells[1]}"], line.place)  # noqa: PLR2004


def write_row(names: Sequence[str], cells: Sequence[str]) -> str:
    """«name: cell; name: cell.», "" if all cells are empty."""
    parts = [f"{name}: {_cut(cell)}" if name else _cut(cell) for name, cell in zip_longest(names, cells, fillvalue="") if cell]
    return "; ".join(parts) + "." if parts else ""


def _cut(cell: str) -> str:
    return cell if len(cell) <= _LONGEST_CELL else f"{cell[: _LONGEST_CELL - 1]}…"


def find_names(lines: Sequence[Line]) -> int:
    """The line that names the columns of those after it, -1 for none: it stands before the first values, and holds no value itself.

    Names may have figures in them («Цена с НДС 20%»), or be figures under a word that names («Товар; 10; 50; 100»).
    """
    if (said := next((number for number, line in enumerate(lines[:-1]) if line.are_names), -1)) >= 0:
        return said
    width = max((_count(line.cells) for line in lines), default=0)
    has_values = False
    for number, line in enumerate(lines[:_AHEAD]):
        cells = [cell for cell in line.cells if cell]
        if len(cells) < 2 or 2 * len(cells) < width or not any(_count(next_.cells) > 1 for next_ in lines[number + 1 : number + 4]):  # noqa: PLR2004
            has_values = has_values or (len(cells) > 1 and any(map(is_value, cells)))
            continue
        if _begins_with_name(cells):
            return number
        if any(map(is_value, cells)):
            has_values = True
        elif not has_values:
            return number
    return -1


def is_value(cell: str) -> bool:
    """Only figures, signs and a unit; the number of a year may be a name."""
    return _compile_value().fullmatch(cell) is not None and _YEAR.fullmatch(cell) is None


@cache
def _compile_value() -> re.Pattern[str]:
    units = "|".join(map(re.escape, sorted(_load_words("units"), key=len, reverse=True)))
    return re.compile(rf"{_FIGURES}\d{_FIGURES}(?:(?:{units})\.?)?(?:\s*/\s*(?:{units})\.?)?", re.IGNORECASE)


def _begins_with_name(cells: Sequence[str]) -> bool:
    return _is_name(cells[0])


def _is_name(cell: str) -> bool:
    return cell.casefold().strip(".: ") in _load_words("column_names")


@cache
def _load_words(key: str) -> frozenset[str]:
    return frozenset(load_lexicon("documents").read_words(key))


def _join_levels(lines: Sequence[Line], start: int) -> tuple[list[str], int]:
    """The names, and how many lines they take: below a name that spans columns those of each, below names their units."""
    first = list(lines[start].cells)
    below = lines[start + 1] if start + 2 < len(lines) else None
    if below is None or any(map(is_value, filter(None, below.cells))):
        return _clean_names(first), 1
    pairs = list(zip_longest(first, below.cells, fillvalue=""))
    if _are_units(below.cells):
        return _clean_names([f"{name}, {unit}" if name and unit and unit not in name else name for name, unit in pairs]), 2
    has_gap = any(not upper and lower for upper, lower in pairs)
    if not has_gap or not any(is_value(cell) for line in lines[start + 2 : start + 4] for cell in line.cells if cell):
        return _clean_names(first), 1
    names, spanning = [], ""
    for upper, lower in pairs:
        spanning = upper or spanning
        names.append(upper if not lower or lower == upper else f"{spanning} {lower}".strip())
    return _clean_names(names), 2


def _are_units(cells: Sequence[str]) -> bool:
    return all(cell.casefold().strip(".() ") in _load_words("units") for cell in cells if cell)


def _clean_names(names: Sequence[str]) -> list[str]:
    """Of equal ones each with the number of its column, so that values are not taken for each other."""
    stripped = [name.rstrip(": ") for name in names]
    return [f"{name} ({number})" if name and stripped.count(name) > 1 else name for number, name in enumerate(stripped, 1)]


def _describe_form(lines: Sequence[Line]) -> tuple[int, int, frozenset[int]]:
    rows = [line.cells for line in lines if _count(line.cells) > 1]
    filled = {place for cells in rows for place, cell in enumerate(cells) if cell}
    figures = {place for place in filled if 2 * sum(place < len(cells) and is_value(cells[place]) for cells in rows) > len(rows)}
    return min(filled, default=0), max(filled, default=0), frozenset(figures)


def _is_repeated(cells: Sequence[str], names: Sequence[str]) -> bool:
    """The names once more, as at the top of a page."""
    return _count(cells) > 1 and _clean_names(list(cells)) == list(names)


def _is_numbering(cells: Sequence[str]) -> bool:
    """«1; 2; 3» below the names."""
    filled = [cell for cell in cells if cell]
    return len(filled) > 1 and filled == [str(number) for number in range(1, len(filled) + 1)]


def _is_heading(text: str) -> bool:
    return len(text) <= _LONGEST_HEADING and not is_value(text) and not text.startswith(_NOTE) and not text.endswith((".", ":", ";"))


def _tell_names(names: Sequence[str], line: Line) -> Block:
    """So that what was taken for names by mistake is told, too."""
    label = load_lexicon("documents").read_text("columns")
    return Block("text", f"{label}: {'; '.join(filter(None, names))}.", place=line.place)


def _tell_note(line: Line) -> Block:
    return Block("text", f"{_join(line.cells).rstrip('.')}.", place=line.place)


def _join(cells: Sequence[str]) -> str:
    return ". ".join(filter(None, cells))


def _count(line: Line | Sequence[str]) -> int:
    return sum(map(bool, line.cells if isinstance(line, Line) else line))


def fill_down(rows: Sequence[Sequence[str]], spans: Iterable[tuple[int, int, int, int]]) -> list[list[str]]:
    """Cells that span rows, (first row, first column, last row, last column): each row gets the text, further columns stay empty."""
    filled = [list(row) for row in rows]
    for top, left, bottom, _right in spans:
        for row in filled[top + 1 : bottom + 1]:
            row.extend([""] * (left + 1 - len(row)))
            row[left] = row[left] or (filled[top][left] if left < len(filled[top]) else "")
    return filled


def place_at(place: Place, number: int) -> Place:
    return replace(place, first=number, last=number)
