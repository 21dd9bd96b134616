"""The cold load: deals first, then all else, each portion in one transaction with its mark, so that a killed load goes on where it was."""

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from bitrix.bulk.bulk import walk_by_id
from bitrix.client.batch import Command, CommandOutcome
from bitrix.errors import Refused, Unreadable
from orchestrator.mirror.books import KnownBooks, build_commands, parse_books, write_books
from orchestrator.mirror.parse_rows import PortalRow, parse_choices
from orchestrator.mirror.session import MirrorSession, classify_refusal, mark_closed
from orchestrator.mirror.sources import CALLS, DEALS, HISTORY, MONTHS_FIRST, SOURCES, Source
from state.mirror.changes import SINCE as CHANGES_SINCE
from state.mirror.reading import PARTS
from state.mirror.writing import MirrorWriter

AGAIN_SECONDS: Final = 6 * 3600
"""Then it is asked again whether what could not be read can be."""


def must_begin(writer: MirrorWriter) -> bool:
    """Whether it is not known of every part if it can be read, or was asked long ago."""
    statuses = {writer.read_mark(f"part.{part}") or "waiting" for part in PARTS}
    age = int(writer.read_mark("as_of") or 0) - int(writer.read_mark("begun.at") or 0)
    return "waiting" in statuses or (age >= AGAIN_SECONDS and not statuses <= {"ready", "loading"})


async def begin_load(session: MirrorSession, mark: str) -> None:
    """Read books and counts, and mark what there is to load. Two requests. `mark` is this moment by our clock."""
    known = await session.write(partial(KnownBooks.load, session.writer))
    counts = [source.build_count(f"count-{source.part}") for source in SOURCES]
    outcomes = await session.ask([Command("time", "server.time", {}), *counts, *build_commands(known, with_fields=True)])
    now = parse_server_time(outcomes[0])
    stored = session.writer.read_mark("history.since")
    since = datetime.fromtimestamp(int(stored), UTC) if stored else find_history_start(now)
    books = parse_books(outcomes)
    more = await session.ask(
        [
            HISTORY.build_count("count-history", {">=CREATED_TIME": since.isoformat()}),
            HISTORY.build_count("count-older_history", {"<CREATED_TIME": since.isoformat()}),
            *books.build_rest(known),
        ]
    )
    all_books = parse_books([*outcomes, *more])
    moment = int(now.timestamp())
    marks: dict[str, str | int | None] = describe_clock(now)
    if stored is None:
        marks |= {"as_of": moment, "history.since": int(since.timestamp()), CHANGES_SINCE: moment}
    for outcome in [*outcomes[1 : len(counts) + 1], *more[:2]]:
        marks |= _begin_part(session.writer, outcome, moment)

    def store() -> None:
        write_books(session.writer, all_books)
        session.writer.set_marks(
            {
                **marks,
                **describe_fields(all_books.fields or {}, all_books.unread_fields),
                "books.at": mark,
                "fields.at": mark,
                "begun.at": moment,
            }
        )

    await session.write(store)


def _begin_part(writer: MirrorWriter, outcome: CommandOutcome, now: int) -> dict[str, str | int | None]:
    part = outcome.key.partition("-")[2]
    if writer.read_mark(f"part.{part}") == "ready":
        return {}
    if outcome.status != "success":
        try:
            return mark_closed(part, classify_refusal(Refused(outcome.error, outcome.description)))
        except Refused:
            return {f"part.{part}": "waiting"}
    marks: dict[str, str | int | None] = {f"part.{part}": "loading" if outcome.total else "ready", f"total.{part}": outcome.total or 0}
    if writer.read_mark(f"watermark.{part}") is None:
        marks[f"watermark.{part}"] = now
    return marks | ({"calls": "voximplant"} if part == CALLS.part else {})


def describe_clock(now: datetime) -> dict[str, str | int | None]:
    offset = now.utcoffset()
    return {"utc_offset": int(offset.total_seconds() // 60) if offset else 0}


def describe_fields(fields: Mapping[str, Sequence[str]], unread: int) -> dict[str, str | int | None]:
    return {"fields": " ".join(f"{kind}.{code}" for kind, codes in sorted(fields.items()) for code in codes), "fields.unread": unread}


def parse_server_time(outcome: CommandOutcome) -> datetime:
    """With the portal's offset. Raises Unreadable."""
    try:
        moment = datetime.fromisoformat(str(outcome.result))
    except ValueError:
        raise Unreadable("the portal does not say its time") from None
    if moment.tzinfo is None:
        raise Unreadable("the portal does not say the offset of its time")
    return moment


def find_history_start(now: datetime) -> datetime:
    """The first of the month, 13 months ago."""
    months = now.year * 12 + now.month - 1 - MONTHS_FIRST
    return now.replace(year=months // 12, month=months % 12 + 1, day=1, hour=0, minute=0, second=0, microsecond=0)


async def load_records(session: MirrorSession) -> None:
    """Everything but the history."""
    loaded = [await _load_source(session, source, source.part, {}) for source in SOURCES]
    if any(loaded):
        await session.write(partial(_finish_load, session.writer))


async def load_history(session: MirrorSession, part: str = HISTORY.part) -> None:
    """Of the last 13 months, or as part "older_history" what was before."""
    since = int(session.writer.read_mark("history.since") or 0)
    moment = datetime.fromtimestamp(since, UTC).isoformat()
    if await _load_source(session, HISTORY, part, {f"{'>=' if part == HISTORY.part else '<'}CREATED_TIME": moment}):
        await session.write(partial(_finish_load, session.writer))


def _finish_load(writer: MirrorWriter) -> None:
    begun = int(writer.read_mark(f"watermark.{DEALS.part}") or 0)
    writer.delete_stray_moves(begun)
    writer.derive_chances(begun)


async def _load_source(session: MirrorSession, source: Source, part: str, conditions: Mapping[str, Any]) -> bool:
    """Say whether there was something to load. A list that the portal does not give, or not as it says, is closed: the others go on."""
    writer = session.writer
    if writer.read_mark(f"part.{part}") != "loading":
        return False
    fields = list_fields(writer, source)
    after = int(writer.read_mark(f"mark.{part}") or 0)
    query = source.build_query(fields, {**conditions, f">{source.ids.query_field}": after})
    marks: dict[str, str | int | None] = {f"part.{part}": "ready", f"mark.{part}": None, f"done.{part}": None}
    try:
        async with aclosing(walk_by_id(session.sender, query)) as portions:
            async for rows in portions:
                await session.write(partial(_store_portion, writer, source, part, fields, rows))
    except (Refused, Unreadable) as error:
        marks = mark_closed(part, classify_refusal(error))
    await session.write(partial(writer.set_marks, marks))
    return True


def _store_portion(writer: MirrorWriter, source: Source, part: str, fields: tuple[str, ...], rows: Sequence[PortalRow]) -> None:
    if not rows:
        return
    store_rows(writer, source, fields, rows)
    done = int(writer.read_mark(f"done.{part}") or 0) + len(rows)
    writer.set_marks({f"mark.{part}": int(rows[-1][source.ids.row_field]), f"done.{part}": done})


def store_rows(writer: MirrorWriter, source: Source, fields: tuple[str, ...], rows: Sequence[PortalRow]) -> None:
    parsed = [source.parse(row) for row in rows]
    writer.put_rows(source.kind, parsed)
    if fields:
        choices = [choice for row in rows for choice in parse_choices(source.kind, row, fields)]
        writer.put_choices(source.kind, [row[0] for row in parsed], choices, fields)


def list_fields(writer: MirrorWriter, source: Source) -> tuple[str, ...]:
    """The list fields of this kind that are mirrored."""
    codes = (writer.read_mark("fields") or "").split()
    return tuple(code.partition(".")[2] for code in codes if code.partition(".")[0] == source.fields_kind)
