"""Finds what was deleted, or is not visible any more, by counting ranges of ids: only ranges whose count differs are looked into.

The same finds records that became visible without a change: they are added.
"""

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from bitrix.bulk.bulk import walk_by_id
from bitrix.bulk.lists import PAGE, extract_ids, extract_rows
from bitrix.client.batch import MAX_COMMANDS, CommandOutcome
from bitrix.errors import Refused
from orchestrator.mirror.load import list_fields, store_rows
from orchestrator.mirror.parse_rows import PortalRow
from orchestrator.mirror.session import MirrorSession
from orchestrator.mirror.sources import ACTIVITIES, DEALS, HISTORY, Source
from state.mirror.writing import MirrorWriter

MOST_BATCHES: Final = 20
"""To read everything anew costs about as much."""
_FEWEST_PARTS: Final = 4
_FIRST_BATCHES: Final = ((20, 1), (45, 2), (200, 5))
"""If so many are missing: so many requests for the first ranges (tried out for 50,000 records)."""


@dataclass(frozen=True, slots=True)
class _Range:
    """Ids above `low`, up to `high` (None: without end); `ids` are those of the mirror."""

    low: int
    high: int | None
    ids: Sequence[int]

    def split(self, parts: int) -> list["_Range"]:
        """Into pieces of equally many known ids, of a page at least."""
        parts = max(2, min(parts, -(-len(self.ids) // PAGE)))
        size = -(-len(self.ids) // parts)
        pieces: list[_Range] = []
        low = self.low
        for start in range(0, len(self.ids), size):
            ids = self.ids[start : start + size]
            is_last = start + size >= len(self.ids)
            pieces.append(_Range(low, self.high if is_last else ids[-1], ids))
            low = ids[-1]
        return pieces

    @property
    def is_page(self) -> bool:
        return len(self.ids) <= PAGE

    def build_conditions(self, name: str) -> dict[str, Any]:
        return {f">{name}": self.low, **({} if self.high is None else {f"<={name}": self.high})}


@dataclass(slots=True)
class _Findings:
    gone: list[int] = field(default_factory=list)
    rows: list[PortalRow] = field(default_factory=list)
    """Of records that the mirror does not have."""
    total: int = 0


async def reconcile_source(session: MirrorSession, source: Source, difference: int) -> None:
    """Make the mirror have exactly the records that the portal counts; `difference` is how many it counts more or less.

    Of 50,000 records 3 deleted ones take 3 requests, 96 take 15; above 200 the list is read anew, in 21.
    """
    writer = session.writer
    if source is ACTIVITIES and difference < 0:
        difference += await _delete_orphans(session)
    if difference == 0:
        return
    ids = await session.write(partial(writer.list_ids, source.kind))
    fields = await session.write(partial(list_fields, writer, source))
    findings = await _count_ranges(session, source, fields, _split_ids(ids, abs(difference))) or await _read_all(
        session, source, fields, ids
    )
    new = set(extract_ids(findings.rows, source.ids.row_field)) - set(ids)
    moves: list[PortalRow] = []
    if source is DEALS and new and writer.read_mark(f"part.{HISTORY.part}") == "ready":
        moves = await _read(session, HISTORY, (), {"@OWNER_ID": sorted(new)})
    await session.write(partial(_store, writer, source, fields, findings, moves))


async def _delete_orphans(session: MirrorSession) -> int:
    """Activities go with their deal or lead; ask for those, and say how many are gone."""
    orphans = (await session.write(session.writer.list_orphans))[: MAX_COMMANDS * PAGE]
    name = ACTIVITIES.ids.query_field
    pages = [orphans[start : start + PAGE] for start in range(0, len(orphans), PAGE)]
    outcomes = await session.ask([ACTIVITIES.build_count(f"o{number}", {f"@{name}": page}) for number, page in enumerate(pages)])
    for outcome in outcomes:
        if outcome.status != "success":
            raise Refused(outcome.error, outcome.description)
    present = {number for outcome in outcomes for number in extract_ids(extract_rows(outcome.result), ACTIVITIES.ids.row_field)}
    gone = [number for number in orphans if number not in present]
    await session.write(partial(session.writer.delete_records, ACTIVITIES.kind, gone))
    return len(gone)


def _store(writer: MirrorWriter, source: Source, fields: tuple[str, ...], findings: _Findings, moves: Sequence[PortalRow]) -> None:
    writer.delete_records(source.kind, findings.gone)
    store_rows(writer, source, fields, findings.rows)
    store_rows(writer, HISTORY, (), moves)
    gap = findings.total - writer.count_rows(source.kind)
    writer.set_marks({f"gap.{source.part}": gap or None})


def _split_ids(ids: Sequence[int], missing: int) -> list[_Range]:
    """The ranges to count first: if many records are missing, almost every wide range would differ."""
    batches = next((batches for most, batches in _FIRST_BATCHES if missing <= most), 0)
    return _Range(0, None, ids).split(batches * MAX_COMMANDS) if ids and batches else []


async def _count_ranges(session: MirrorSession, source: Source, fields: tuple[str, ...], ranges: list[_Range]) -> _Findings | None:
    """None if it would take too many requests."""
    name = source.ids.query_field
    findings, batches, is_first = _Findings(), 0, True
    while ranges:
        batches += -(-len(ranges) // MAX_COMMANDS)
        if batches > MOST_BATCHES:
            return None
        commands = [
            source.build_page(f"r{number}", fields, part.build_conditions(name))
            if part.is_page
            else source.build_count(f"r{number}", part.build_conditions(name))
            for number, part in enumerate(ranges)
        ]
        differing: list[_Range] = []
        for part, outcome in zip(ranges, await session.ask(commands), strict=True):
            if outcome.status != "success":
                raise Refused(outcome.error, outcome.description)
            findings.total += (outcome.total or 0) if is_first else 0
            if (outcome.total or 0) != len(part.ids) and not _settle(source, part, outcome, findings):
                differing.append(part)
        wide = [part for part in differing if part.is_page]  # new records in a place that had few
        for part in wide:
            _compare(source, part, await _read(session, source, fields, part.build_conditions(name)), findings)
        narrow = [part for part in differing if not part.is_page]
        parts = max(_FEWEST_PARTS, MAX_COMMANDS // max(1, len(narrow)))
        ranges = [piece for part in narrow for piece in part.split(parts)]
        is_first = False
    return None if is_first else findings


def _settle(source: Source, part: _Range, outcome: CommandOutcome, findings: _Findings) -> bool:
    """Say whether the answer tells which records of this range are gone and which are new."""
    if not outcome.total:
        findings.gone += part.ids
        return True
    if not part.is_page or outcome.total > PAGE:
        return False
    _compare(source, part, extract_rows(outcome.result), findings)
    return True


def _compare(source: Source, part: _Range, rows: Sequence[PortalRow], findings: _Findings) -> None:
    present = dict(zip(extract_ids(list(rows), source.ids.row_field), rows, strict=True))
    findings.gone += [number for number in part.ids if number not in present]
    known = set(part.ids)
    findings.rows += [row for number, row in present.items() if number not in known]


async def _read_all(session: MirrorSession, source: Source, fields: tuple[str, ...], ids: Sequence[int]) -> _Findings:
    rows = await _read(session, source, fields, {})
    present = set(extract_ids(rows, source.ids.row_field))
    return _Findings([number for number in ids if number not in present], rows, len(present))


async def _read(session: MirrorSession, source: Source, fields: tuple[str, ...], conditions: dict[str, Any]) -> list[PortalRow]:
    rows: list[PortalRow] = []
    async with aclosing(walk_by_id(session.sender, source.build_query(fields, conditions))) as portions:
        async for portion in portions:
            rows += portion
    return rows
