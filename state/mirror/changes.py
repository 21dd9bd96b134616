"""What refreshes found changed, and how far it was looked at. A look is noted before its news are stored, so that it can be repeated."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from state.mirror.schema import WATCHED
from state.mirror.writing import MirrorWriter

KEPT_SECONDS: Final = 8 * 86_400
"""A week can be looked back at."""
MOST_AT_ONCE: Final = 20_000
SINCE: Final = "changes.since"
"""The mark of the moment from which changes are noted."""
_FROM, _UNTIL, _EPOCH = "orders.from", "orders.until", "orders.epoch"


@dataclass(frozen=True, slots=True)
class RecordChange:
    """`field` is a column of the mirror, "" for a new record; money is in hundredths."""

    seq: int
    kind: str
    record: int
    field: str
    before: str | None
    after: str | None
    at: int


@dataclass(frozen=True, slots=True)
class Span:
    """Changes after `after`, up to `until`. `epoch` differs for each file, whose numbers begin anew."""

    epoch: str
    after: int
    until: int

    @property
    def name(self) -> str:
        return f"{self.epoch}:{self.after}"


def begin_span(writer: MirrorWriter, epoch: str) -> Span | None:
    """The span that is not settled yet, else the next one; None if nothing has changed. In a transaction.

    `epoch` is taken if the file has none: then what changed before is nobody's news.
    """
    known = writer.read_mark(_EPOCH)
    last = writer.find_last_change()
    if known is None:
        writer.set_marks({_EPOCH: epoch, _FROM: last, _UNTIL: last})
        return None
    after, until = int(writer.read_mark(_FROM) or 0), int(writer.read_mark(_UNTIL) or 0)
    if until <= after:
        until = min(last, after + MOST_AT_ONCE)
        if until <= after:
            return None
        writer.set_marks({_UNTIL: until})
    return Span(known, after, until)


def settle_span(writer: MirrorWriter, span: Span) -> None:
    """Its news are stored. In a transaction."""
    writer.set_marks({_FROM: span.until, _UNTIL: span.until})
    writer.prune_changes(KEPT_SECONDS)


def read_changes(connection: sqlite3.Connection, span: Span) -> list[RecordChange]:
    query = "SELECT seq, kind, record, field, before, after, at FROM change WHERE seq > ? AND seq <= ? ORDER BY seq"
    return [RecordChange(*row) for row in connection.execute(query, (span.after, span.until))]


def read_changes_since(connection: sqlite3.Connection, kind: str, moment: int) -> list[RecordChange]:
    query = "SELECT seq, kind, record, field, before, after, at FROM change WHERE kind = ? AND at >= ? ORDER BY seq"
    return [RecordChange(*row) for row in connection.execute(query, (kind, moment))]


def read_moves_since(connection: sqlite3.Connection, moment: int) -> list[RecordChange]:
    """Of the history of stages, which the portal keeps for longer than changes are noted."""
    query = """SELECT id, 'deal', deal, 'stage', came_from, stage, entered FROM move
        WHERE entered >= ? AND came_from IS NOT NULL ORDER BY entered, id"""
    return [RecordChange(*row) for row in connection.execute(query, (moment,))]


_LIFE: Final = {
    "deal": ("max(coalesce(active, modified), coalesce(moved, 0))", "semantics = 'P'"),
    "lead": ("max(modified, coalesce(moved, 0))", "semantics = 'P'"),
    "task": ("modified", "done IS NULL"),
}
"""The last moment at which something happened to a record, and which records are open."""


def read_silent(connection: sqlite3.Connection, kind: str, after: int, until: int) -> list[tuple[int, int]]:
    """Open records in which the last thing happened in (after, until], those silent for longest first."""
    life, is_open = _LIFE[kind]
    query = f"SELECT id, {life} AS life FROM {kind} WHERE {is_open} AND life > ? AND life <= ? ORDER BY life, id"  # noqa: S608 - our own names
    return [(int(number), int(last)) for number, last in connection.execute(query, (after, until))]


_CHUNK: Final = 500


def read_values(connection: sqlite3.Connection, kind: str, records: Sequence[int]) -> dict[int, dict[str, object]]:
    """The watched columns of these records, as the mirror has them now."""
    columns = ("id", *WATCHED[kind])
    values: dict[int, dict[str, object]] = {}
    for start in range(0, len(records), _CHUNK):
        chunk = tuple(records[start : start + _CHUNK])
        query = f"SELECT {', '.join(columns)} FROM {kind} WHERE id IN ({', '.join('?' * len(chunk))})"  # noqa: S608 - our own names and placeholders
        for number, *row in connection.execute(query, chunk):
            values[int(number)] = dict(zip(columns[1:], row, strict=True))
    return values
