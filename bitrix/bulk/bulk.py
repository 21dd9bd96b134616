"""Reads whole lists of a portal with few requests, in ranges of ids where it can: every row comes once and in order.

Reads are repeated after a failure; nothing here writes.
"""

import asyncio
import itertools
import math
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Unpack

from bitrix.bulk.lists import LISTS, PAGE, IdList, IdQuery, build_inconsistency_error, extract_ids, extract_rows
from bitrix.bulk.offset_pages import stream_pages
from bitrix.bulk.sender import LIMITS, Backoff, BulkOptions, Progress, Sender, TaskPool
from bitrix.client.batch import MAX_COMMANDS, Command, CommandOutcome, read_answer
from bitrix.client.read_only import PortalCaller
from bitrix.errors import OutcomeUnknown, Refused
from bitrix.limits.limiter import Priority

ROWS = MAX_COMMANDS * PAGE
_DENSE = 0.98
_MEASURED = ROWS // 2
_NEXT_TO_NOTHING = ROWS // 10


@dataclass(frozen=True, slots=True)
class Gap:
    low: int
    high: int

    def __len__(self) -> int:
        return self.high - self.low


@dataclass(slots=True)
class Density:
    rows: float = 0.0
    span: float = 0.0
    measured: bool = False
    is_empty: bool = False

    def record(self, rows: int, gap: Gap) -> None:
        self.rows = self.rows / 2 + rows
        self.span = self.span / 2 + len(gap)
        self.measured = self.measured or rows >= _MEASURED
        self.is_empty = rows < _NEXT_TO_NOTHING

    def reset(self, rows: int, gap: Gap) -> None:
        self.rows, self.span, self.is_empty = float(rows), float(len(gap)), False
        self.measured = rows >= _MEASURED

    @property
    def value(self) -> float:
        return min(1.0, self.rows / self.span) if self.span else 1.0

    @property
    def is_reliable(self) -> bool:
        return self.measured or self.value >= _DENSE

    def split_window(self, gap: Gap) -> Gap:
        """Cut off one and a half standard deviations below a full batch: a little too wide needs a second request."""
        density = self.value
        if self.is_empty or density == 0.0:
            return gap
        spread = math.sqrt(ROWS * (1.0 - density))
        width = ROWS if density >= _DENSE else max(ROWS, int((ROWS - 1.5 * spread) / density))
        return Gap(gap.low, min(gap.high, gap.low + width))

    def count_pages(self, gap: Gap) -> int:
        expected = ROWS if self.is_empty else len(gap) * self.value
        likely = math.ceil((expected + 3.0 * math.sqrt(expected + 1.0)) / PAGE) + 1
        return max(1, min(MAX_COMMANDS, likely, math.ceil(len(gap) / PAGE)))


Rows = list[Any]
_SMALL_START = 1
_RECENT = 1000
_BLANK_ANSWERS = 2
_PROBES = 3


@dataclass(slots=True)
class _WindowRows:
    rows: Rows
    rest: Gap | None


@dataclass(slots=True)
class _Window:
    gap: Gap
    task: asyncio.Task[_WindowRows]
    seen: bool = False


async def walk_by_id(sender: Sender, query: IdQuery) -> AsyncGenerator[Rows, None]:
    """Yield the rows in order of id.

    Rows added above the highest id meanwhile are not read. Raises `OutcomeUnknown` for an inconsistent list.
    """
    reader = _Reader(sender, query)
    rows, tail, gap, density = await reader.begin(_SMALL_START if sender.priority is Priority.INTERACTIVE else MAX_COMMANDS - 1)
    yield rows
    if gap is not None:
        async with TaskPool() as crew:
            line = _WindowQueue(gap, density, reader, crew, sender.in_flight)
            while line.parts:
                line.fill()
                head = line.parts[0]
                if isinstance(head, _Window) and head.task.done():
                    line.split()
                    line.parts.popleft()
                    line.fill()
                    yield head.task.result().rows
                else:
                    await crew.wait_any()
                    line.split()
    if tail:
        yield tail


class _WindowQueue:
    def __init__(self, gap: Gap, density: Density, reader: "_Reader", crew: TaskPool, in_flight: int) -> None:
        self.parts: deque[Gap | _Window] = deque([gap])
        self._density = density
        self._reader = reader
        self._crew = crew
        self._in_flight = in_flight

    def fill(self) -> None:
        allowed = self._in_flight if self._density.is_reliable else 1
        place = 0
        windows = sum(isinstance(part, _Window) for part in self.parts)
        while place < len(self.parts):
            part = self.parts[place]
            if isinstance(part, Gap):
                if place > 0 and (self._crew.running >= allowed or windows >= self._in_flight):
                    return
                window = self._density.split_window(part)
                work = self._reader.read(window, self._density.count_pages(window))
                self.parts[place] = _Window(window, self._crew.start(work))
                windows += 1
                if window.high < part.high:
                    self.parts.insert(place + 1, Gap(window.high, part.high))
            place += 1

    def split(self) -> None:
        parts: deque[Gap | _Window] = deque()
        for part in self.parts:
            rest = None
            if isinstance(part, _Window) and not part.seen and part.task.done():
                part.seen = True
                read = part.task.result()
                rest = read.rest
                self._learn(read, part.gap)
            if isinstance(part, Gap) and parts and isinstance(before := parts[-1], Gap):
                parts[-1] = Gap(before.low, part.high)
            else:
                parts.append(part)
            if rest is not None:
                parts.append(rest)
        self.parts = parts

    def _learn(self, read: _WindowRows, gap: Gap) -> None:
        if read.rest is None:
            self._density.record(len(read.rows), gap)
        else:  # more rows than expected: the density changes here
            self._density.reset(*self._reader.measure_recent(read.rows))


class _Reader:
    def __init__(self, sender: Sender, query: IdQuery) -> None:
        self._sender = sender
        self._query = query

    async def begin(self, pages: int) -> tuple[Rows, Rows, Gap | None, Density]:
        for _ in range(_PROBES):
            if (ends := await self._probe_ends(pages)) is not None:
                return ends
        raise build_inconsistency_error("ends before its greatest id")

    async def _probe_ends(self, pages: int) -> tuple[Rows, Rows, Gap | None, Density] | None:
        query = self._query
        cmd = {"top": query.build_last_page()} | query.build_pages(query.floor, query.ceiling, pages)
        patience = Backoff(self._sender)
        while (outcomes := await self._send(cmd))[0].status != "success":
            await self._wait(outcomes[0], patience)
        falling = _extract_page(outcomes[0])
        ids = extract_ids(falling, query.ids.row_field)
        if any(second > first for first, second in itertools.pairwise(ids)):
            raise build_inconsistency_error("does not come in the order of its ids")
        rows, last, ended, _ = self._join_pages(outcomes[1:], query.floor, query.ceiling)
        above = [(row, number) for row, number in zip(reversed(falling), reversed(ids), strict=True) if number > last]
        if ended and above:
            return None
        tail = _drop_repeats([row for row, _ in above], [number for _, number in above], last, query.ids)
        gap = Gap(last, above[0][1] - 1) if above and above[0][1] > last + 1 else None
        density = Density()
        density.reset(*self.measure_recent(rows))
        return rows, tail, gap, density

    async def read(self, gap: Gap, pages: int) -> _WindowRows:
        patience = Backoff(self._sender)
        while True:
            outcomes = await self._send(self._query.build_pages(gap.low, gap.high, pages))
            rows, last, ended, trouble = self._join_pages(outcomes, gap.low, gap.high)
            if rows or ended:
                return _WindowRows(rows, None if ended or last >= gap.high else Gap(last, gap.high))
            if trouble is not None:
                await self._wait(trouble, patience)

    async def _send(self, cmd: dict[str, str]) -> Sequence[CommandOutcome]:
        answer = await self._sender.read("batch", {"halt": 1, "cmd": cmd})
        return read_answer([Command(key, "", {}) for key in cmd], answer, halt=True)

    def _join_pages(self, outcomes: Sequence[CommandOutcome], low: int, high: int | None) -> tuple[Rows, int, bool, CommandOutcome | None]:
        """Join the pages up to the first that is short or missing: (rows, last id, ended, missing page or None)."""
        rows: Rows = []
        last = low
        for outcome in outcomes:
            if outcome.status != "success":
                if outcome.status == "error" and outcome.error not in LIMITS:
                    raise Refused(outcome.error, outcome.description)
                return rows, last, False, outcome
            page = _extract_page(outcome)
            ids = extract_ids(page, self._query.ids.row_field)
            page = _drop_repeats(page, ids, last, self._query.ids)
            rows += page
            last = ids[-1] if ids else last
            if high is not None and last > high:
                raise build_inconsistency_error("does not obey a filter by id")
            if len(ids) < PAGE:
                return rows, last, True, None
        return rows, last, False, None

    async def _wait(self, outcome: CommandOutcome, patience: Backoff) -> None:
        """Pause before a page is read again.

        Raises an error if no pause is left, or if the page was refused for another reason than a limit.
        """
        if outcome.status == "error" and outcome.error not in LIMITS:
            raise Refused(outcome.error, outcome.description)
        limited = outcome.status == "error"
        if not await (patience.wait() if limited else patience.wait(at_most=_BLANK_ANSWERS)):
            raise OutcomeUnknown(outcome.description or "a page of the list is not in the answer", code=outcome.error)

    def measure_recent(self, rows: Rows) -> tuple[int, Gap]:
        recent = rows[-_RECENT:]
        ids = extract_ids([recent[0], recent[-1]], self._query.ids.row_field) if recent else [1, 0]
        return len(recent), Gap(ids[0] - 1, ids[1])


def _extract_page(outcome: CommandOutcome) -> Rows:
    rows = extract_rows(outcome.result)
    if len(rows) > PAGE:
        raise build_inconsistency_error("has a page of more than 50 rows")
    return rows


def _drop_repeats(rows: Rows, ids: Sequence[int], last: int, names: IdList) -> Rows:
    """Drop repeated rows, which only a list with `names.repeats` may have."""
    fresh: Rows = []
    for row, number in zip(rows, ids, strict=True):
        if number > last:
            fresh.append(row)
            last = number
        elif not names.repeats or number < last:
            raise build_inconsistency_error("does not come in the order of its ids")
    return fresh


async def list_all(
    client: PortalCaller, method: str, params: Mapping[str, Any], *, id_field: str | None = None, **terms: Unpack[BulkOptions]
) -> AsyncGenerator[Any, None]:
    """Yield every row once, in order of id if possible. Close with `aclosing`.

    Read by offset (no id field is known), a row may come twice or be missed. Raises ValueError, `Refused`, `NotSent`, or `OutcomeUnknown`
    if rows may be missing.
    """
    ids = IdList(id_field, id_field) if id_field is not None else LISTS.get(method.lower())
    sender = Sender(client=client, **terms)
    done = 0
    async with aclosing(_stream_portions(sender, method, params, ids)) as portions:
        async for rows, total in portions:
            done += len(rows)
            sender.report_progress(Progress(done=done, total=total))
            for row in rows:
                yield row


async def _stream_portions(
    sender: Sender, method: str, params: Mapping[str, Any], ids: IdList | None
) -> AsyncGenerator[tuple[list[Any], int | None], None]:
    if ids is not None:
        async with aclosing(walk_by_id(sender, IdQuery(method, params, ids))) as portions:
            async for rows in portions:
                yield rows, None
        return
    if any(name.lower() == "start" for name in params):
        msg = "a list that is read to its end takes no 'start'"
        raise ValueError(msg)
    async with aclosing(stream_pages(sender, method, params)) as counted:
        async for portion in counted:
            yield portion
