"""Locates records in a SQLite file, for reports of damage. It parses the file format itself, so it can read a damaged database. Read-only.

SQLite answers "malformed" for the whole file, and its own `PRAGMA integrity_check` names pages, not the row of the journal whose bytes
changed. Reports of damage say file and offset, where a backup can be compared; nothing else pays for it.
Format: https://www.sqlite.org/fileformat2.html. A page that is in the write-ahead log is read from the log, as SQLite does.
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
    """A place on disk: a file, and an offset in it in bytes."""

    file: str
    offset: int


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One record of a B-tree: its columns as far as they can be read, its rowid (None in an index), and where on disk it begins."""

    columns: tuple[Any, ...]
    rowid: int | None
    spot: Spot


@dataclass(frozen=True, slots=True)
class _Page:
    number: int
    data: bytes
    spot: Spot
    start: int
    """The offset of the page header: on the first page the file header stands before it."""

    @property
    def kind(self) -> int:
        """The type of the page; in an intact page one of the four types of the format."""
        return self.data[self.start]

    @property
    def count(self) -> int:
        """The number of cells according to the page header."""
        return int.from_bytes(self.data[self.start + 3 : self.start + 5], "big")


class SqliteFile:
    """An opened SQLite file. Whatever the file contains, no error is raised: what cannot be read is left out."""

    def __init__(self, path: Path) -> None:
        """Open the file. Raises OSError."""
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
        """Return this object."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close the file."""
        self._file.close()

    def find_page(self, number: int) -> Spot:
        """Return where the page with that number is."""
        if number in self._in_wal:
            return Spot(file=str(self._wal), offset=self._in_wal[number])
        return Spot(file=str(self._path), offset=(max(number, 1) - 1) * self.page_size)

    def find_truncation(self) -> Spot | None:
        """Return where the file is cut off; None if it is as long as its header says."""
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
        """Return the number of the first page of each table and index by name, as far as the schema table can be read."""
        if self._roots:
            return self._roots
        found = {"sqlite_master": 1}
        for cell in self.iterate_cells(1):
            if len(cell.columns) > 3 and isinstance(cell.columns[1], str) and isinstance(cell.columns[3], int):  # noqa: PLR2004 - type, name, table, page
                found[cell.columns[1]] = cell.columns[3]
        self._roots = found
        return found

    def find_table(self, name: str) -> Spot:
        """Return where the first page of a table or index is; the beginning of the file if the schema does not tell."""
        return self.find_page(self.list_roots().get(name, 1))

    def find_row(self, table: str, key: tuple[Any, ...]) -> Spot:
        """Return where the row is whose first columns are `key`.

        If these columns are damaged, the row is found by an index; if that fails, too, the beginning of the table is returned.
        """
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
        """Return where the row with that rowid is; None if it is not found."""
        return next((cell.spot for cell in self.iterate_cells(self.list_roots().get(table, 0)) if cell.rowid == rowid), None)

    def find_broken_pages(self) -> Iterator[tuple[str, Spot]]:
        """Yield (table or index, where the page is) for every page that cannot belong to its tree, as far as the trees can be followed."""
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
        """Yield the child pages of a page without reading its records."""
        if page.kind in _INNER:
            for at in self._list_offsets(page):
                yield int.from_bytes(page.data[at : at + 4], "big")
            yield int.from_bytes(page.data[page.start + 8 : page.start + 12], "big")

    def _list_offsets(self, page: _Page) -> Iterator[int]:
        """Yield the offsets of a page's cells, without offsets that lie outside the page."""
        pointers = page.start + (12 if page.kind in _INNER else 8)
        for number in range(min(page.count, (self.page_size - pointers) // 2)):
            at = int.from_bytes(page.data[pointers + 2 * number : pointers + 2 * number + 2], "big")
            if at + 4 <= len(page.data):
                yield at

    def iterate_cells(self, root: int) -> Iterator[Cell]:
        """Yield every record of the tree with root page `root`, in tree order."""
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
        """Yield the records of a page and its child page numbers, in tree order."""
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
    """Parse the varint (an integer of 1 to 9 bytes) at the offset `at`; return its value and the offset where it ends.

    Bytes past the end of the data count as zero.
    """
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
    """Parse the columns of a record; undecodable bytes of a text are replaced."""
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
