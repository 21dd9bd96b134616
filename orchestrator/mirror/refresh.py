"""The warm refresh: one batch tells what has changed since the last, how many records there are, and from time to time the books.

A change is found by its time on the portal's clock, with an overlap; rows that only come are found by their ids. Changes are written before
counts are compared: a record added and another deleted leave the count as it was.
"""

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from typing import Any, Final

from bitrix.bulk.bulk import walk_by_id
from bitrix.bulk.lists import PAGE, build_inconsistency_error, extract_ids, extract_rows
from bitrix.client.batch import MAX_COMMANDS, Command, CommandOutcome
from bitrix.errors import Refused, Unreadable
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
from orchestrator.mirror.session import MirrorSession, classify_refusal, mark_closed
from orchestrator.mirror.sources import DEALS, HISTORY, SOURCES, Source
from state.clock import Clock
from state.mirror.reading import PartStatus
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

    closed: PartStatus | None = None
    """Why the list cannot be read any more."""

    def begin(self, outcome: CommandOutcome) -> None:
        self.left = max(1, -(-(outcome.total or 0) // PAGE))
        self.read(outcome)

    def read(self, outcome: CommandOutcome) -> None:
        """Add the next page. What comes after the last has a later time, or a greater id, and is read by the next refresh."""
        try:
            if outcome.status != "success":
                raise Refused(outcome.error, outcome.description)  # noqa: TRY301 - one way for all that closes a list
            rows = extract_rows(outcome.result)
            ids = extract_ids(rows, self.source.ids.row_field)
            if ids and ids[0] <= self.after:
                raise build_inconsistency_error("does not obey a filter by id")
        except (Refused, Unreadable) as error:
            self.closed, self.left = classify_refusal(error), 0
        else:
            self.rows += rows
            self.after = ids[-1] if ids else self.after
            self.left = self.left - 1 if len(rows) == PAGE else 0


async def refresh(session: MirrorSession, clock: Clock) -> None:
    """One request if nothing has changed."""
    writer = session.writer
    mark = clock.mark()
    plan = await session.write(partial(_plan_refresh, writer, clock))
    outcomes = await session.ask(plan.commands)
    by_key = {outcome.key: outcome for outcome in outcomes}
    for part in plan.changes:
        part.begin(by_key[f"changed-{part.source.part}"])
    await _read_rest(session, plan.changes)
    books = parse_books(outcomes)
    if rest := books.build_rest(plan.known):
        books = parse_books([*outcomes, *await session.ask(rest)])
    counts = {source: by_key[key] for source in SOURCES if (key := f"count-{source.part}") in by_key}
    answer = _Answer(parse_server_time(by_key["time"]), books, mark)
    await session.write(partial(_store_refresh, writer, plan, answer))
    for source, count in counts.items():
        if count.status == "success":
            await _compare_count(session, source, count.total or 0)


@dataclass(frozen=True, slots=True)
class _Answer:
    now: datetime
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
    for part in changes:
        if part.left > _MOST_PAGES:
            await _walk(session, part)
    while waiting := [part for part in changes if part.left > 0]:
        commands: dict[str, str] = {}
        for part in waiting:
            query = part.source.build_query(part.fields, part.conditions)
            pages = min(part.left, MAX_COMMANDS - len(commands))
            commands |= query.build_pages(part.after, None, pages, prefix=f"{part.source.part}-")
        for outcome in await session.send(commands):
            part = next(part for part in waiting if part.source.part == outcome.key.rpartition("-")[0])
            if part.left > 0:
                part.read(outcome)


async def _walk(session: MirrorSession, part: _Changes) -> None:
    query = part.source.build_query(part.fields, {**part.conditions, f">{part.source.ids.query_field}": part.after})
    part.left = 0
    try:
        async with aclosing(walk_by_id(session.sender, query)) as portions:
            async for rows in portions:
                part.rows += rows
    except (Refused, Unreadable) as error:
        part.closed = classify_refusal(error)


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
    for part in sorted(plan.changes, key=lambda part: part.source is HISTORY):
        if part.closed is not None:
            writer.set_marks(mark_closed(part.source.part, part.closed))
            continue
        store_rows(writer, part.source, part.fields, part.rows)
        if part.source.changed:
            writer.set_marks({f"watermark.{part.source.part}": answer.moment})
    if plan.has_books and DEALS.part in plan.ready:
        writer.delete_stray_moves(answer.moment - OVERLAP_SECONDS)
        writer.derive_chances(answer.moment)


def _mark_all_unread(plan: _Plan) -> dict[str, str | int | None]:
    """The portal's clock was set back: nobody knows what has changed since the last time, so all is read once more."""
    parts = [part.source.part for part in plan.changes if part.source.changed]
    return {f"part.{part}": "loading" for part in parts} | {f"mark.{part}": None for part in parts}


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
        await reconcile_source(session, source, difference)
