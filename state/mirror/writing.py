"""Writing to the mirror: rows, marks and what is derived of both, each portion with its mark in one transaction."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from state.mirror.derive import derive_called, derive_chances, derive_deals, derive_items, derive_reached
from state.mirror.file import MirrorFile, NoMirror, report_trouble
from state.mirror.money import Converter
from state.mirror.rows import (
    BASED_TABLES,
    CallRow,
    ChoiceRow,
    DealRow,
    ItemRow,
    LeadRow,
    MoveRow,
    PersonRow,
    RateRow,
    RecordTable,
    StageRow,
    find_table,
)

Row = tuple[Any, ...]
_CHUNK: Final = 500


class MirrorWriter:
    """One connection; `transaction` is used by one thread at a time. Every method may raise MirrorError."""

    def __init__(self, file: MirrorFile, *, committing: Callable[[], None] = lambda: None) -> None:
        self._file = file
        self._connection = file.open_for_writing()
        self._identity = file.identify()
        self._committing = committing
        self._calls = "activities"

    def close(self) -> None:
        self._connection.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Raises NoMirror if the file was deleted or set aside: what is written now would be in no file."""
        with report_trouble():
            if self._file.identify() != self._identity:
                raise NoMirror
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._read_meaning()
                yield
                self._committing()
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def read_mark(self, name: str) -> str | None:
        with report_trouble():
            row = self._connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def set_marks(self, marks: Mapping[str, str | int | None]) -> None:
        """None removes a mark."""
        gone = [(name,) for name, value in marks.items() if value is None]
        self._connection.executemany("DELETE FROM meta WHERE name = ?", gone)
        kept = [(name, str(value)) for name, value in marks.items() if value is not None]
        self._connection.executemany("INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", kept)
        if "calls" in marks and marks["calls"] != self._calls:
            self._read_meaning()
            leads = self._connection.execute("SELECT id FROM lead").fetchall()
            derive_called(self._connection, (number for (number,) in leads), self._calls)

    def put_rows(self, kind: str, rows: Sequence[Row]) -> None:
        """Insert or replace the rows of one kind, and derive what follows from them."""
        if not rows:
            return
        table = find_table(kind)
        self._connection.executemany(_build_upsert(table), rows)
        if table.row is DealRow:
            derive_deals(self._connection, (row[0] for row in rows))
        elif table.row is MoveRow:
            derive_deals(self._connection, {row[1] for row in rows})
        elif table.row is LeadRow:
            derive_called(self._connection, (row[0] for row in rows), self._calls)
        elif table.row is ItemRow:
            derive_items(self._connection, rows[0][0])
        else:
            self._derive_calls_of_leads(table, rows)

    def put_choices(self, kind: str, records: Iterable[int], choices: Sequence[ChoiceRow], fields: Sequence[str]) -> None:
        """Replace the values of these fields of these records."""
        if fields:
            place = ", ".join("?" * len(fields))
            delete = f"DELETE FROM choice WHERE kind = ? AND field IN ({place}) AND record = ?"  # noqa: S608 - placeholders only
            self._connection.executemany(delete, ((kind, *fields, record) for record in records))
            self._connection.executemany("INSERT OR IGNORE INTO choice VALUES (?, ?, ?, ?)", choices)

    def keep_choices(self, fields: Mapping[str, Sequence[str]]) -> None:
        """Delete the values of all fields but these, which are given by kind."""
        for kind, code in self._connection.execute("SELECT DISTINCT kind, field FROM choice").fetchall():
            if code not in fields.get(kind, ()):
                self._connection.execute("DELETE FROM choice WHERE kind = ? AND field = ?", (kind, code))

    def put_stages(self, stages: Sequence[StageRow]) -> None:
        """All stages of all kinds."""
        before = self._connection.execute("SELECT * FROM stage ORDER BY kind, funnel, code").fetchall()
        if before == sorted(stages):
            return
        self._connection.execute("DELETE FROM stage")
        self._connection.executemany("INSERT OR REPLACE INTO stage VALUES (?, ?, ?, ?, ?)", stages)
        derive_reached(self._connection)
        for (type_id,) in self._connection.execute("SELECT DISTINCT type FROM item").fetchall():
            derive_items(self._connection, type_id)

    def put_people(self, people: Sequence[PersonRow]) -> None:
        self._connection.execute("DELETE FROM person")
        self._connection.executemany("INSERT OR REPLACE INTO person VALUES (?, ?, ?)", people)

    def put_rates(self, rates: Sequence[RateRow]) -> None:
        """All rates; sums in the base currency follow them."""
        before = dict(self._connection.execute("SELECT name, value FROM meta WHERE name LIKE 'rate.%'").fetchall())
        after = {f"rate.{row.currency}": row.rate for row in rates}
        self._connection.execute("DELETE FROM rate")
        self._connection.executemany(
            "INSERT OR REPLACE INTO rate VALUES (?, ?, ?, ?)", [(row.currency, float(row.rate), row.is_base, row.updated) for row in rates]
        )
        if before == after:
            return
        self.set_marks({**dict.fromkeys(before), **after})
        self._read_meaning()
        for table in BASED_TABLES:
            self._connection.execute(f"UPDATE {table} SET base = to_base(amount, currency)")  # noqa: S608 - the names of three tables

    def derive_chances(self, now: int) -> None:
        derive_chances(self._connection, now)

    def list_ids(self, kind: str) -> list[int]:
        table = find_table(kind)
        return [number for (number,) in self._connection.execute(f"SELECT id FROM {table.name} WHERE {table.where} ORDER BY id")]  # noqa: S608 - as above

    def list_orphans(self) -> list[int]:
        """Activities of deals and leads that are not there: they probably went with them."""
        query = """SELECT id FROM activity WHERE (owner_type = 2 AND owner NOT IN (SELECT id FROM deal))
            OR (owner_type = 1 AND owner NOT IN (SELECT id FROM lead)) ORDER BY id"""
        return [number for (number,) in self._connection.execute(query)]

    def count_rows(self, kind: str) -> int:
        table = find_table(kind)
        return int(self._connection.execute(f"SELECT count(*) FROM {table.name} WHERE {table.where}").fetchone()[0])  # noqa: S608 - as above

    def find_greatest_id(self, kind: str) -> int:
        return int(self._connection.execute(f"SELECT coalesce(max(id), 0) FROM {find_table(kind).name}").fetchone()[0])  # noqa: S608 - as above

    def delete_records(self, kind: str, ids: Sequence[int]) -> None:
        """With what hangs on them: choices, and moves of deals."""
        table = find_table(kind)
        pairs = [(number,) for number in ids]
        self._connection.executemany(f"DELETE FROM {table.name} WHERE id = ? AND {table.where}", pairs)  # noqa: S608 - as above
        if kind in {"deal", "lead"}:
            self._connection.executemany("DELETE FROM choice WHERE kind = ? AND record = ?", [(kind, number) for number in ids])
        self._connection.executemany("DELETE FROM change WHERE kind = ? AND record = ?", [(kind, number) for number in ids])
        if kind == "deal":
            self._connection.executemany("DELETE FROM move WHERE deal = ?", pairs)
        elif kind in {"call", "activity"}:
            leads = self._connection.execute("SELECT id FROM lead WHERE called IS NOT NULL").fetchall()
            derive_called(self._connection, (number for (number,) in leads), self._calls)

    def delete_stray_moves(self, before: int) -> None:
        """Moves of deals that are not there; a deal of the last moments may yet come, so only moves entered before this moment."""
        self._connection.execute("DELETE FROM move WHERE entered < ? AND deal NOT IN (SELECT id FROM deal)", (before,))

    def find_last_change(self) -> int:
        row = self._connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'change'").fetchone()
        return int(row[0]) if row else 0

    def prune_changes(self, seconds: int) -> None:
        """Keep those of the last `seconds` by the portal's clock."""
        self._connection.execute("DELETE FROM change WHERE at < ?", (int(self.read_mark("as_of") or 0) - seconds,))

    def _derive_calls_of_leads(self, table: RecordTable, rows: Sequence[Row]) -> None:
        if table.row is CallRow and self._calls == "voximplant":
            leads = {row[7] for row in rows if row[6] == 1}
        elif table.name == "activity" and self._calls == "activities":
            leads = {row[2] for row in rows if row[1] == 1}
        else:
            return
        derive_called(self._connection, leads, self._calls)

    def _read_meaning(self) -> None:
        """What counts as a call, and the rates: another process may have changed both."""
        self._calls = self.read_mark("calls") or "activities"
        rates = self._connection.execute("SELECT substr(name, 6), value FROM meta WHERE name LIKE 'rate.%'").fetchall()
        self._connection.create_function("to_base", 2, Converter(dict(rates)).convert, deterministic=True)


def _build_upsert(table: RecordTable) -> str:
    columns = table.columns
    names, key = ", ".join(columns), "type, id" if table.type else "id"
    places = ", ".join(f"?{number + 1}" for number in range(len(columns)))
    updated = [column for column in columns if column not in key.split(", ")]
    if table.name in BASED_TABLES:
        names, updated = f"{names}, base", [*updated, "base"]
        places += f", to_base(?{columns.index('amount') + 1}, ?{columns.index('currency') + 1})"
    changes = ", ".join(f"{column} = excluded.{column}" for column in updated)
    return f"INSERT INTO {table.name} ({names}) VALUES ({places}) ON CONFLICT ({key}) DO UPDATE SET {changes}"  # noqa: S608 - names of columns
