"""The warm refresh: one batch tells what has changed since the last, how many records there are, and from time to time the books.

A change is found by its time on the portal's clock, with an overlap; rows that only come are found by their ids. Changes are written before
counts are compared: a record added and another deleted leave the count as it was.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from typing import Any, Final

from bitrix.bulk.bulk import walk_by_id
from bitrix.bulk.lists import PAGE, extract_ids, extract_rows
from bitrix.client.batch import MAX_COMMANDS, Command, CommandOutcome
from bitrix.errors import Refused
from orchestrator.mirror.books import (
    BOOKS_SECONDS,
    FIELDS_SECONDS,
    Books,
    KnownBooks,
    build_commands,
    parse_books,
    write_books,
)
from orchestrator.mirror.load import describe_clock, describe_fields, list_fields, parse_server_time, store_rows
from orchestrator.mirror.parse_rows import PortalRow
from orchestrator.mirror.reconcile import reconcile_source
from orchestrator.mirror.session import MirrorSession, classify_refusal
from orchestrator.mirror.sources import CALLS, DEALS, HISTORY, SOURCES, Source
from state.clock import Clock
from state.mirror.writing import MirrorWriter

OVERLAP_SECONDS: Final = 30
"""A record may be stored a little after the time of change that stands in it."""
OVERLAP_IDS: Final = 20
"""A row with a smaller id may be stored later than one with a greater."""
_MOST_PAGES: Final = 200
"""Above so many pages of changes a list is walked."""


@dataclass(slots=True)
class _Changes:
    """What one source has to tell; `after` is the id of the last row read."""

    source: Source
    fields: tuple[str, ...]
    conditions: Mapping[str, Any]
    rows: list[PortalRow] = field(default_factory=list)
    after: int = 0
    left: int = 0
    """Pages that are still to be read, as far as the count says."""

    def read(self, outcome: CommandOutcome) -> None:
        self.add(extract_rows(outcome.result))
        self.left = max(0, -(-((outcome.total or 0) - PAGE) // PAGE))

    def add(self, rows: Sequence[PortalRow]) -> bool:
        """Say whether this page was the last."""
        if rows:
            self.rows += rows
            self.after = extract_ids([rows[-1]], self.source.ids.row_field)[0]
        return len(rows) < PAGE


async def refresh(session: MirrorSession, clock: Clock) -> None:
    """One request if nothing has changed."""
    writer = session.writer
    mark = clock.mark()
    plan = await session.write(partial(_plan_refresh, writer, clock))
    outcomes = await session.ask(plan.commands)
    by_key = {outcome.key: outcome for outcome in outcomes}
    first = {part.source.part: by_key[f"changed-{part.source.part}"] for part in plan.changes}
    readable = [part for part in plan.changes if first[part.source.part].status == "success"]
    for part in readable:
        part.read(first[part.source.part])
    await _read_rest(session, readable)
    books = parse_books(outcomes)
    if rest := books.build_rest(plan.known):
        books = parse_books([*outcomes, *await session.ask(rest)])
    counts = {source: by_key[key] for source in SOURCES if (key := f"count-{source.part}") in by_key}
    refused = [outcome for outcome in first.values() if outcome.status != "success"]
    answer = _Answer(parse_server_time(by_key["time"]), readable, refused, books, mark)
    await session.write(partial(_store_refresh, writer, plan, answer))
    for source, count in counts.items():
        if count.status == "success":
            await _compare_count(session, source, count.total or 0)


@dataclass(frozen=True, slots=True)
class _Answer:
    now: datetime
    changes: list[_Changes]
    refused: list[CommandOutcome]
    books: Books
    mark: str

    @property
    def moment(self) -> int:
        return int(self.now.timestamp())


@dataclass(frozen=True, slots=True)
class _Plan:
    commands: list[Command]
    changes: list[_Changes]
    ready: frozenset[str]
    known: KnownBooks
    has_books: bool
    has_fields: bool


def _plan_refresh(writer: MirrorWriter, clock: Clock) -> _Plan:
    """The history stands before the records: a move that is read belongs to a record that is there, or was deleted."""
    ready = frozenset(source.part for source in (*SOURCES, HISTORY) if writer.read_mark(f"part.{source.part}") == "ready")
    has_books = _is_due(writer, clock, "books.at", BOOKS_SECONDS)
    has_fields = has_books and _is_due(writer, clock, "fields.at", FIELDS_SECONDS)
    changes = [_plan_changes(writer, source) for source in (HISTORY, *SOURCES) if source.part in ready]
    counted = [source for source in SOURCES if (source.changed or has_books) and source.part in ready]
    known = KnownBooks.load(writer)
    commands = [
        Command("time", "server.time", {}),
        *(part.source.build_page(f"changed-{part.source.part}", part.fields, part.conditions) for part in changes),
        *(source.build_count(f"count-{source.part}") for source in counted),
        *(build_commands(known, with_fields=has_fields) if has_books else ()),
    ]
    return _Plan(commands, changes, ready, known, has_books, has_fields)


def _is_due(writer: MirrorWriter, clock: Clock, name: str, seconds: float) -> bool:
    age = clock.measure_since(writer.read_mark(name) or "")
    return age is None or not 0 <= age.total_seconds() < seconds


def _plan_changes(writer: MirrorWriter, source: Source) -> _Changes:
    name = source.ids.query_field
    if source.changed:
        zone = timezone(timedelta(minutes=int(writer.read_mark("utc_offset") or 0)))
        since = int(writer.read_mark(f"watermark.{source.part}") or 0) - OVERLAP_SECONDS
        return _Changes(source, list_fields(writer, source), {f">={source.changed}": datetime.fromtimestamp(since, zone).isoformat()})
    conditions: dict[str, Any] = {f">{name}": max(0, writer.find_greatest_id(source.kind) - OVERLAP_IDS)}
    if source is HISTORY and writer.read_mark("part.older_history") != "ready":
        conditions[">=CREATED_TIME"] = datetime.fromtimestamp(int(writer.read_mark("history.since") or 0), UTC).isoformat()
    return _Changes(source, (), conditions)


async def _read_rest(session: MirrorSession, changes: Sequence[_Changes]) -> None:
    """The pages after the first of each source, of all sources in the same batches."""
    waiting = [part for part in changes if part.left]
    for part in [part for part in waiting if part.left > _MOST_PAGES]:
        waiting.remove(part)
        query = part.source.build_query(part.fields, {**part.conditions, f">{part.source.ids.query_field}": part.after})
        async for rows in walk_by_id(session.sender, query):
            part.add(rows)
    while waiting:
        commands: dict[str, str] = {}
        for part in waiting:
            query = part.source.build_query(part.fields, part.conditions)
            pages = min(part.left, MAX_COMMANDS - len(commands))
            commands |= query.build_pages(part.after, None, pages, prefix=f"{part.source.part}-")
        answers = await session.send(commands)
        waiting = [part for part in waiting if not _add_pages(part, answers)]


def _add_pages(part: _Changes, answers: Iterable[CommandOutcome]) -> bool:
    """Say whether the list ended. What comes later has a later time, or a greater id, and is read by the next refresh."""
    for outcome in answers:
        if outcome.key.rpartition("-")[0] != part.source.part:
            continue
        if outcome.status == "error":
            raise Refused(outcome.error, outcome.description)
        part.left -= 1
        if part.add(extract_rows(outcome.result)):
            return True
    return part.left <= 0


def _store_refresh(writer: MirrorWriter, plan: _Plan, answer: "_Answer") -> None:
    marks: dict[str, str | int | None] = {"as_of": answer.moment, "refreshed": answer.mark, **describe_clock(answer.now)}
    if plan.has_books:
        write_books(writer, answer.books)
        marks["books.at"] = answer.mark
    if plan.has_fields and answer.books.fields is not None:
        marks |= _store_fields(writer, plan, answer.books, answer.mark)
    if answer.moment < int(writer.read_mark("as_of") or 0) - OVERLAP_SECONDS:
        marks |= _mark_all_unread(plan)
    writer.set_marks(marks)
    for part in sorted(answer.changes, key=lambda part: part.source is HISTORY):
        store_rows(writer, part.source, part.fields, part.rows)
        if part.source.changed:
            writer.set_marks({f"watermark.{part.source.part}": answer.moment})
    for outcome in answer.refused:
        writer.set_marks(_mark_refused(outcome))
    if plan.has_books and DEALS.part in plan.ready:
        writer.delete_stray_moves(answer.moment - OVERLAP_SECONDS)
        writer.derive_chances(answer.moment)


def _mark_all_unread(plan: _Plan) -> dict[str, str | int | None]:
    """The portal's clock was set back: nobody knows what has changed since the last time, so all is read once more."""
    parts = [part.source.part for part in plan.changes if part.source.changed]
    return {f"part.{part}": "loading" for part in parts} | {f"mark.{part}": None for part in parts}


def _mark_refused(outcome: CommandOutcome) -> dict[str, str | int | None]:
    part = outcome.key.partition("-")[2]
    status = classify_refusal(outcome)
    if status is None:
        raise Refused(outcome.error, outcome.description)
    return {f"part.{part}": status, **({"calls": "activities"} if part == CALLS.part else {})}


def _store_fields(writer: MirrorWriter, plan: _Plan, books: Books, mark: str) -> dict[str, str | int | None]:
    """A list field that is new makes its records be read once more: they have values of it, and did not change."""
    before = writer.read_mark("fields")
    marks = describe_fields(books.fields or {}, books.unread_fields)
    if marks["fields"] != before:
        for source in SOURCES:
            if source.fields_kind and source.part in plan.ready:
                marks |= {f"part.{source.part}": "loading", f"mark.{source.part}": None}
        writer.keep_choices(books.fields or {})
    return {**marks, "fields.at": mark}


async def _compare_count(session: MirrorSession, source: Source, total: int) -> None:
    writer = session.writer
    difference = total - await session.write(partial(writer.count_rows, source.kind))
    if difference != int(writer.read_mark(f"gap.{source.part}") or 0):
        await reconcile_source(session, source)
