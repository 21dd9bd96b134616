"""Where a record stands in a SQLite file (ring 1): reads the file format itself, so a damaged database is no obstacle. Changes nothing.

Format: https://www.sqlite.org/fileformat2.html. Pages that a write-ahead log holds are taken from there, as SQLite does.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from state.sql.sqlite_wal import find_committed_pages

HEADER = 100
MAGIC = b"SQLite format 3\x00"
USUAL_PAGE = 4096
_TABLE_LEAF, _TABLE_INNER, _KEY_LEAF, _KEY_INNER = 13, 5, 10, 2
_INNER = frozenset({_TABLE_INNER, _KEY_INNER})
_INT_SIZES = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A place on disk."""

    file: str
    offset: int


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One record of a tree: its columns as far as they can be read, its rowid (None in a tree of keys), and where it begins."""

    columns: tuple[Any, ...]
    rowid: int | None
    spot: Spot


@dataclass(frozen=True, slots=True)
class _Page:
    number: int
    data: bytes
    spot: Spot
    start: int
    """Where its own header begins: the first page carries that of the file before it."""

    @property
    def kind(self) -> int:
        """Which of the four kinds of pages it says to be."""
        return self.data[self.start]

    @property
    def count(self) -> int:
        """How many cells it says to have."""
        return int.from_bytes(self.data[self.start + 3 : self.start + 5], "big")


class SqliteFile:
    """An opened file. Nothing here raises for what the file holds: what cannot be read is left out."""

    def __init__(self, path: Path) -> None:
        """OSError where the file cannot be opened."""
        self._path = path
        self._file = path.open("rb")
        head = self._file.read(HEADER)
        size = int.from_bytes(head[16:18], "big")
        size = 65536 if size == 1 else size
        self.page_size = size if 512 <= size <= 65536 and size & (size - 1) == 0 else USUAL_PAGE  # noqa: PLR2004 - bounds of the format
        self.begins_well = not head or head.startswith(MAGIC)
        self._usable = self.page_size - (head[20] if len(head) > 20 and head[20] < self.page_size // 4 else 0)  # noqa: PLR2004 - the byte's place
        self._wal = path.with_name(f"{path.name}-wal")
        self._in_wal = find_committed_pages(self._wal, self.page_size)
        self._roots: dict[str, int] = {}

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close the file."""
        self._file.close()

    def find_page(self, number: int) -> Spot:
        """Where the page with that number stands."""
        if number in self._in_wal:
            return Spot(file=str(self._wal), offset=self._in_wal[number])
        return Spot(file=str(self._path), offset=(max(number, 1) - 1) * self.page_size)

    def find_truncation(self) -> Spot | None:
        """Where the file ends before its time, None where it is as long as its header says."""
        first = self._read_page(1)
        length = self._path.stat().st_size
        if first is None or not first.data.startswith(MAGIC):
            return Spot(file=str(self._path), offset=length) if length < HEADER else None
        counted = int.from_bytes(first.data[28:32], "big") if first.data[24:28] == first.data[92:96] else 0
        whole = length // self.page_size
        gone = any(number not in self._in_wal for number in range(whole + 1, min(counted, whole + len(self._in_wal) + 1) + 1))
        torn = length % self.page_size and whole + 1 not in self._in_wal
        return Spot(file=str(self._path), offset=length) if gone or torn else None

    def list_roots(self) -> dict[str, int]:
        """The first page of each table and index, as far as the list of them can be read."""
        if self._roots:
            return self._roots
        found = {"sqlite_master": 1}
        for cell in self.iterate_cells(1):
            if len(cell.columns) > 3 and isinstance(cell.columns[1], str) and isinstance(cell.columns[3], int):  # noqa: PLR2004 - type, name, table, page
                found[cell.columns[1]] = cell.columns[3]
        self._roots = found
        return found

    def find_table(self, name: str) -> Spot:
        """Where a table or index begins; the file's first page for one that is not known."""
        return self.find_page(self.list_roots().get(name, 1))

    def find_row(self, table: str, key: tuple[Any, ...]) -> Spot:
        """Where the row stands whose first columns are `key`; if its key is damaged, where the index leads; else the table's beginning."""
        roots = self.list_roots()
        for cell in self.iterate_cells(roots.get(table, 1)):
            if cell.columns[: len(key)] == key:
                return cell.spot
        for number in range(1, 3):
            for cell in self.iterate_cells(roots.get(f"sqlite_autoindex_{table}_{number}", 0)):
                if cell.columns[: len(key)] == key and isinstance(cell.columns[-1], int):
                    return self.find_rowid(table, cell.columns[-1]) or cell.spot
        return self.find_page(roots.get(table, 1))

    def find_rowid(self, table: str, rowid: int) -> Spot | None:
        """Where the row with that number stands."""
        return next((cell.spot for cell in self.iterate_cells(self.list_roots().get(table, 0)) if cell.rowid == rowid), None)

    def find_broken_pages(self) -> Iterator[tuple[str, Spot]]:
        """(table or index, page) for every page that cannot be one of its tree, as far as the trees can be followed."""
        for name, root in self.list_roots().items():
            first = self._read_page(root)
            kinds = {_TABLE_LEAF, _TABLE_INNER} if first is None or first.kind in {_TABLE_LEAF, _TABLE_INNER} else {_KEY_LEAF, _KEY_INNER}
            for page in self._iterate_pages(root):
                pointers = page.start + (12 if page.kind in _INNER else 8)
                if page.kind not in kinds or pointers + 2 * page.count > self.page_size:
                    yield name, page.spot

    def _iterate_pages(self, root: int) -> Iterator[_Page]:
        seen: set[int] = set()
        waiting = [root]
        while waiting:
            number = waiting.pop()
            if number not in seen and (page := self._read_page(number)) is not None:
                seen.add(number)
                yield page
                waiting.extend(self._list_children(page))

    def _list_children(self, page: _Page) -> Iterator[int]:
        """The pages that a page leads to; none of its records is read."""
        if page.kind in _INNER:
            for at in self._list_offsets(page):
                yield int.from_bytes(page.data[at : at + 4], "big")
            yield int.from_bytes(page.data[page.start + 8 : page.start + 12], "big")

    def _list_offsets(self, page: _Page) -> Iterator[int]:
        """Where in a page its records begin, as far as they can be in it."""
        pointers = page.start + (12 if page.kind in _INNER else 8)
        for number in range(min(page.count, (self.page_size - pointers) // 2)):
            at = int.from_bytes(page.data[pointers + 2 * number : pointers + 2 * number + 2], "big")
            if at + 4 <= len(page.data):
                yield at

    def iterate_cells(self, root: int) -> Iterator[Cell]:
        """Every record of the tree that begins on page `root`, in its order."""
        seen: set[int] = set()
        waiting: list[int | Cell] = [root]
        while waiting:
            item = waiting.pop()
            if isinstance(item, Cell):
                yield item
            elif item not in seen and (page := self._read_page(item)) is not None:
                seen.add(item)
                waiting.extend(reversed(list(self._read_items(page))))

    def _read_page(self, number: int) -> _Page | None:
        if number < 1:
            return None
        spot = self.find_page(number)
        if spot.file == str(self._path):
            self._file.seek(spot.offset)
            data = self._file.read(self.page_size)
        else:
            with Path(spot.file).open("rb") as wal:
                wal.seek(spot.offset)
                data = wal.read(self.page_size)
        if len(data) < self.page_size:
            data += bytes(self.page_size - len(data)) if data else b""
        return _Page(number, data, spot, HEADER if number == 1 else 0) if data else None

    def _read_items(self, page: _Page) -> Iterator[int | Cell]:
        """The records of a page, and the numbers of the pages between and after them."""
        data, start = page.data, page.start
        kind = page.kind
        if kind not in {_TABLE_LEAF, _TABLE_INNER, _KEY_LEAF, _KEY_INNER}:
            return
        for at in self._list_offsets(page):
            if kind in _INNER:
                yield int.from_bytes(data[at : at + 4], "big")
            if kind != _TABLE_INNER:
                yield self._parse_cell(page, at, kind)
        if kind in _INNER:
            yield int.from_bytes(data[start + 8 : start + 12], "big")

    def _parse_cell(self, page: _Page, begin: int, kind: int) -> Cell:
        at = begin + (4 if kind == _KEY_INNER else 0)
        size, at = parse_varint(page.data, at)
        rowid = None
        if kind == _TABLE_LEAF:
            rowid, at = parse_varint(page.data, at)
        payload = self._read_payload(page.data, at, size, kind)
        spot = Spot(file=page.spot.file, offset=page.spot.offset + begin)
        return Cell(columns=parse_columns(payload), rowid=_to_signed(rowid), spot=spot)

    def _read_payload(self, data: bytes, at: int, size: int, kind: int) -> bytes:
        usable = self._usable
        least = (usable - 12) * 32 // 255 - 23
        most = usable - 35 if kind == _TABLE_LEAF else (usable - 12) * 64 // 255 - 23
        if size <= most:
            return data[at : at + size]
        kept = least + (size - least) % (usable - 4)
        kept = kept if kept <= most else least
        parts, left = [data[at : at + kept]], size - kept
        following, seen = int.from_bytes(data[at + kept : at + kept + 4], "big"), set[int]()
        while left > 0 and following not in seen and (page := self._read_page(following)) is not None:
            seen.add(following)
            parts.append(page.data[4 : min(usable, 4 + left)])
            left -= usable - 4
            following = int.from_bytes(page.data[:4], "big")
        return b"".join(parts)


def parse_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number that begins at `at`, and where it ends; zero past the end of the data."""
    value = 0
    for number in range(9):
        byte = data[at] if at < len(data) else 0
        at += 1
        if number == 8:  # noqa: PLR2004 - the ninth byte counts whole
            return value << 8 | byte, at
        value = value << 7 | byte & 0x7F
        if byte < 0x80:  # noqa: PLR2004 - the format's sign that more follows
            break
    return value, at


def parse_columns(payload: bytes) -> tuple[Any, ...]:
    """The columns of a record, text decoded as far as it is text."""
    ends, at = parse_varint(payload, 0)
    kinds = []
    while at < min(ends, len(payload)):
        kind, at = parse_varint(payload, at)
        kinds.append(kind)
    found, at = [], ends
    for kind in kinds:
        size = _INT_SIZES[kind] if kind < len(_INT_SIZES) else max(0, kind - 12) // 2
        found.append(_parse_value(kind, payload[at : at + size]))
        at += size
    return tuple(found)


def _parse_value(kind: int, data: bytes) -> Any:
    match kind:
        case 0:
            return None
        case 8 | 9:
            return kind - 8
        case _ if kind < 7:  # noqa: PLR2004 - integers of one to eight bytes
            return int.from_bytes(data, "big", signed=True)
        case _ if kind % 2 and kind > 12:  # noqa: PLR2004 - text
            return data.decode("utf-8", "replace")
        case _:
            return data


def _to_signed(rowid: int | None) -> int | None:
    return rowid - (1 << 64) if rowid is not None and rowid >= 1 << 63 else rowid
