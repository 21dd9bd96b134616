"""Looks for what standing orders wait for: changes that the mirror's refresh found, and records in which nothing happens.

One look serves all orders: it costs what a refresh costs, one request if nothing has changed.
"""

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, TypeVar
from uuid import uuid4

from bitrix.errors import BitrixError
from bitrix.masking import mask
from orchestrator.analytics.counting import CountingFailed
from orchestrator.analytics.reading import Misunderstood
from orchestrator.analytics.service import MOST_RECORDS, Asker
from orchestrator.domain.actor import Actor
from orchestrator.domain.report import ReportTrouble
from orchestrator.domain.standing_orders import NEW, RECORD_KINDS, WATCHED_FIELDS, Look, OrderTerms, RecordNews, Silence, WatchFailed, Week
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.permissions import find_visible_users
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.links import strip_unknown_links
from orchestrator.language.text import quote
from orchestrator.performers.numbers import Numbers
from state.mirror.changes import (
    SINCE,
    RecordChange,
    Span,
    begin_span,
    read_changes,
    read_changes_since,
    read_moves_since,
    read_silent,
    read_values,
    settle_span,
)
from state.mirror.file import MirrorError, report_trouble
from state.mirror.reading import MirrorState
from state.stored import JsonObject

log = logging.getLogger(__name__)
LOOK_AGE: Final = timedelta(seconds=60)
URGENT_AGE: Final = timedelta(seconds=3)
"""After an event of the portal."""
_WEEK: Final = timedelta(days=7)
_CHUNK: Final = 500
_TITLE: Final = 80
_COLUMNS: Final = {counted: {column: name for name, column in fields.items()} for counted, fields in WATCHED_FIELDS.items()}
_COUNTED: Final = {kind: counted for counted, kind in RECORD_KINDS.items()}
_NUMBERS: Final = frozenset({"person", "funnel", "company", "status"})
_HUNDREDTHS: Final = 100
T = TypeVar("T")
FindTitle = Callable[[str, int], Awaitable[str]]


class MirrorWatch:
    def __init__(self, numbers: Numbers, find_title: FindTitle) -> None:
        self._numbers, self._find_title = numbers, find_title

    async def look(self, tell: Callable[[Look], Awaitable[None]], *, is_urgent: bool = False) -> None:
        """See `RecordWatch.look`."""
        keeper = self._numbers.keeper
        self._numbers.start()
        try:
            with keeper.file.lease("orders") as is_ours:
                if not is_ours or not await keeper.refresh_if_older(URGENT_AGE if is_urgent else LOOK_AGE, asked=False):
                    return
                while (span := await keeper.write(partial(begin_span, epoch=uuid4().hex[:12]))) is not None:
                    await tell(Look(name=span.name, news=await self._read(partial(_read_news, span=span))))
                    await keeper.write(partial(settle_span, span=span))
        except (MirrorError, BitrixError) as error:
            log.warning("changes cannot be looked for now: %s", error, extra={"action": "orders.unread"})

    async def select_matching(self, terms: OrderTerms, records: Sequence[int], actor: Actor) -> frozenset[int]:
        """See `RecordWatch.select_matching`."""
        wanted = _narrow(terms.question, records)
        if not wanted:
            return frozenset()
        asker = self._build_asker(await self._prepare(terms.counted, actor), actor)
        found: set[int] = set()
        for start in range(0, len(wanted), _CHUNK):
            chunk = wanted[start : start + _CHUNK]
            question = {**terms.question, "filter": {**(terms.question.get("filter") or {}), "ID": chunk}}
            found.update(await self._list(question, asker))
        return frozenset(found)

    async def find_silent(self, terms: OrderTerms, actor: Actor, *, after: int) -> Silence:
        """See `RecordWatch.find_silent`."""
        mirror = await self._prepare(terms.counted, actor)
        border = int(self._numbers.build_clock(mirror, actor.time_zone).now.timestamp()) - terms.quiet * 86_400
        silent = await self._read(partial(read_silent, kind=terms.record_kind, after=after, until=border))
        matching = await self.select_matching(terms, [record for record, _ in silent], actor)
        return Silence(records=[one for one in silent if one[0] in matching], border=border)

    async def name_records(self, terms: OrderTerms, actor: Actor) -> str:
        """See `RecordWatch.name_records`."""
        title, filter_text, count = await self._count({**terms.question, "measures": ["count"]}, actor)
        single = find_single(terms.question)
        if single is None:
            return " · ".join(filter(None, (title.partition(":")[0], filter_text if terms.question.get("filter") else "")))
        if not count:
            raise WatchFailed("unclear", "", f"the person sees no such record: {terms.record_kind} {single}")
        kind = load_lexicon("card_fields").read_table("kinds", actor.locale)[terms.record_kind]
        title = escape_text(mask(await self._find_title(terms.record_kind, single)), locale=actor.locale, limit=_TITLE)
        return f"{kind} {quote(strip_unknown_links(title, frozenset(), locale=actor.locale), actor.locale)}"

    async def name_report(self, question: JsonObject, actor: Actor) -> str:
        """See `RecordWatch.name_report`."""
        title, filter_text, _ = await self._count(question, actor)
        return " · ".join(filter(None, (title, filter_text)))

    async def _count(self, question: JsonObject, actor: Actor) -> tuple[str, str, int]:
        sees = find_visible_users(actor)
        answer = await self._numbers.answer(question, sees=sees, zone=actor.time_zone, locale=actor.locale)
        if isinstance(answer, ReportTrouble):
            raise to_failure(answer)
        return answer.title, answer.filter_text, answer.records

    async def review_week(self, terms: OrderTerms, actor: Actor) -> Week:
        """See `RecordWatch.review_week`."""
        mirror = await self._prepare(terms.counted, actor)
        now = self._numbers.build_clock(mirror, actor.time_zone).now
        begin = now - _WEEK
        if terms.quiet:
            border = int((now - timedelta(days=terms.quiet)).timestamp())
            silent = await self._read(partial(read_silent, kind=terms.record_kind, after=0, until=border))
            matching = await self.select_matching(terms, [record for record, _ in silent], actor)
            recent = [record for record, last in silent if record in matching and last > border - _WEEK.total_seconds()]
            return Week(records=recent, count=len(recent), standing=len(matching), since=begin, is_whole=True)
        changes, since = await self._read(partial(_read_week, terms=terms, begin=begin, now=now))
        records = [change.record for change in changes]
        matching = await self.select_matching(terms, list(dict.fromkeys(records)), actor)
        found = [record for record in records if record in matching]
        return Week(records=tuple(dict.fromkeys(found)), count=len(found), since=since, is_whole=since <= begin)

    async def _prepare(self, counted: str, actor: Actor) -> MirrorState:
        mirror = await self._numbers.prepare((counted,), actor.locale)
        if isinstance(mirror, ReportTrouble):
            raise to_failure(mirror)
        return mirror

    def _build_asker(self, mirror: MirrorState, actor: Actor) -> Asker:
        clock = self._numbers.build_clock(mirror, actor.time_zone)
        return Asker(clock=clock, sees=find_visible_users(actor), locale=actor.locale, names=self._numbers.names)

    async def _list(self, question: JsonObject, asker: Asker) -> tuple[int, ...]:
        try:
            numbered = await self._numbers.names.number_departments(question)
            return await self._numbers.analytics.list_records(self._numbers.keeper.file.path, numbered, None, asker, limit=MOST_RECORDS)
        except Misunderstood as fault:
            raise WatchFailed("unclear", "", str(fault)) from None
        except CountingFailed as failure:
            raise WatchFailed("later", "", str(failure)) from None

    async def _read(self, read: Callable[..., T]) -> T:
        """Raises MirrorError."""

        def run() -> T:
            with contextlib.closing(self._numbers.keeper.file.open_for_reading()) as connection, report_trouble():
                return read(connection)

        return await asyncio.to_thread(run)


def to_failure(trouble: ReportTrouble) -> WatchFailed:
    if trouble.code in {"loading", "unread", "no_numbers", "too_long"}:
        return WatchFailed("later", trouble.text, trouble.detail)
    return WatchFailed("closed" if trouble.code.startswith("no_") else "unclear", trouble.text, trouble.detail)


def _narrow(question: JsonObject, records: Sequence[int]) -> list[int]:
    """An order about one record needs no reading to see that it is not among these."""
    known = find_ids(question)
    if known is None:
        return list(records)
    return [record for record in records if str(record) in known]


def find_ids(question: JsonObject) -> frozenset[str] | None:
    known = (question.get("filter") or {}).get("ID")
    return None if known is None else frozenset(map(str, known if isinstance(known, list) else [known]))


def find_single(question: JsonObject) -> int | None:
    """The id of the only record that it can be about."""
    known = find_ids(question)
    number = next(iter(known)) if known and len(known) == 1 else ""
    return int(number) if number.isascii() and number.isdecimal() else None


def _read_news(connection: sqlite3.Connection, *, span: Span) -> list[RecordNews]:
    changes = read_changes(connection, span)
    by_record: dict[tuple[str, int], list[RecordChange]] = {}
    for change in changes:
        by_record.setdefault((change.kind, change.record), []).append(change)
    values = {
        kind: read_values(connection, kind, [record for known, record in by_record if known == kind])
        for kind in {kind for kind, _ in by_record}
    }
    news = [_build_news(kind, record, rows, values[kind].get(record)) for (kind, record), rows in by_record.items()]
    return [one for one in news if one is not None]


def _build_news(kind: str, record: int, rows: Sequence[RecordChange], values: Mapping[str, object] | None) -> RecordNews | None:
    """None for a record that is gone, or came back to what it was."""
    if values is None:
        return None
    before = dict(values)
    for row in reversed(rows):
        if row.field:
            before[row.field] = row.before
    is_new = any(not row.field for row in rows)
    names = _COLUMNS[_COUNTED[kind]]
    old, now = ({names[column]: to_portal_value(column, value) for column, value in one.items()} for one in (before, values))
    changed = frozenset({NEW}) if is_new else frozenset(name for name in now if now[name] != old[name])
    if not changed:
        return None
    return RecordNews(counted=_COUNTED[kind], record=record, changed=changed, before=old, now=now, at=max(row.at for row in rows))


def to_portal_value(column: str, value: object) -> object:
    """As conditions compare it: money in whole units, people and funnels as numbers."""
    if value is None:
        return None
    if column == "amount":
        return int(str(value)) / _HUNDREDTHS
    if column == "deadline":
        return datetime.fromtimestamp(int(str(value)), UTC).isoformat()
    return int(str(value)) if column in _NUMBERS else str(value)


def _read_week(connection: sqlite3.Connection, *, terms: OrderTerms, begin: datetime, now: datetime) -> tuple[list[RecordChange], datetime]:
    columns = {"" if name == NEW else WATCHED_FIELDS[terms.counted][name] for name in terms.changes}
    moment = int(begin.timestamp())
    if columns == {"stage"} and terms.counted == "deals":
        return read_moves_since(connection, moment), begin
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (SINCE,)).fetchone()
    since = max(begin, datetime.fromtimestamp(int(row[0]), UTC)) if row else now
    rows = read_changes_since(connection, terms.record_kind, moment)
    return [one for one in rows if one.field in columns], since
