"""Reads a list in ranges of ids, in batches and without offsets, so that every row comes once and in order. Only for reads.

The first batch reads pages from the lowest id upwards, and the one page with the highest ids. The ids in between are divided into windows
(ranges of ids), and several windows are read at once. In a batch, each page begins after the last id of the page before it. Bitrix24 does
not document what the pages after one with fewer than 50 rows hold, so those pages of the batch are not used, and every id is checked.
"""

import asyncio
import itertools
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any

from bitrix.bulk.lists import PAGE, IdList, build_inconsistency_error, extract_ids, extract_rows
from bitrix.bulk.query import IdQuery
from bitrix.bulk.sender import LIMITS, Backoff, Sender, TaskPool
from bitrix.bulk.windows import Density, Gap
from bitrix.client.batch import MAX_COMMANDS, Command, CommandOutcome, read_answer
from bitrix.errors import OutcomeUnknown, Refused
from bitrix.limits.limiter import Priority

Rows = list[Any]
_SMALL_START = 1
_RECENT = 1000
_BLANK_ANSWERS = 2
_PROBES = 3


@dataclass(slots=True)
class _WindowRows:
    """The rows of one window (a range of ids) in order. `rest` is the part of the window not read, None if all of it was read."""

    rows: Rows
    rest: Gap | None


@dataclass(slots=True)
class _Window:
    """A range of ids, with the task that reads its rows. `seen` tells whether the result was already evaluated."""

    gap: Gap
    task: asyncio.Task[_WindowRows]
    seen: bool = False


async def walk_by_id(sender: Sender, query: IdQuery) -> AsyncGenerator[Rows, None]:
    """Yield the rows of a list in portions, in ascending order of id.

    Raises the errors of `Sender.read`, and `OutcomeUnknown` if the list is inconsistent. Rows that are added above the highest id after the
    reading has begun are not read. Bulk work begins with a full batch. Interactive work begins with one page, since most lists that a
    person waits for are short.
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
    """The ranges of ids whose rows were not yielded yet, lowest ids first.

    A range is a window, which is being read or was read, or a gap, whose reading has not begun.
    """

    def __init__(self, gap: Gap, density: Density, reader: "_Reader", crew: TaskPool, in_flight: int) -> None:
        self.parts: deque[Gap | _Window] = deque([gap])
        self._density = density
        self._reader = reader
        self._crew = crew
        self._in_flight = in_flight

    def fill(self) -> None:
        """Start reading the lowest gaps, as long as not too many windows are being read or wait to be yielded.

        A gap is a range of ids that nobody reads yet, a window one that is being read or was read. If the first range is a gap, its reading
        is always started, since all later rows have to wait for it.
        """
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
        """Evaluate the windows that were read since the last call: update the density (rows per id), and queue the ids still to be read.

        A window is a range of ids read with one batch. Behind a window that had more rows than one batch can hold, the rest of its ids is
        inserted as a gap (a range to be read).
        """
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
    """Sends the batches for reading one list in ranges of ids, and checks the answers."""

    def __init__(self, sender: Sender, query: IdQuery) -> None:
        self._sender = sender
        self._query = query

    async def begin(self, pages: int) -> tuple[Rows, Rows, Gap | None, Density]:
        """Read both ends of the list; return (lowest rows, highest rows, gap between them or None, density: rows per id).

        `pages` is the number of pages to read from the lowest id upwards.
        """
        for _ in range(_PROBES):
            if (found := await self._probe_ends(pages)) is not None:
                return found
        raise build_inconsistency_error("ends before its greatest id")

    async def _probe_ends(self, pages: int) -> tuple[Rows, Rows, Gap | None, Density] | None:
        """Return the same as `begin`; None if the two ends of the list contradict each other.

        This is so if the pages read from the lowest id upwards say that the list ends there, but the page with the highest ids has rows
        above. Rows that are deleted meanwhile can cause this, so the caller tries again.
        """
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
        """Read the window `gap` (a range of ids) with one batch of `pages` pages; return its rows and the part of `gap` not read."""
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
        """Join the pages of a batch up to the first that is short or missing; return (rows, last id, ended, missing page or None).

        `ended` is True if a page with fewer than 50 rows shows that nothing follows. `low` and `high` are the bounds of the ids.
        """
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
        """Pause before a page is read again because of its `outcome`: a limit refused the page, or the answer did not mention it.

        `patience` makes the pauses: many after a limit of the portal, only a few for a page that is not mentioned. Raises an error if no
        further pause is allowed, or if the page was refused for another reason.
        """
        if outcome.status == "error" and outcome.error not in LIMITS:
            raise Refused(outcome.error, outcome.description)
        limited = outcome.status == "error"
        if not await (patience.wait() if limited else patience.wait(at_most=_BLANK_ANSWERS)):
            raise OutcomeUnknown(outcome.description or "a page of the list is not in the answer", code=outcome.error)

    def measure_recent(self, rows: Rows) -> tuple[int, Gap]:
        """Return (number of rows, range of ids in which they lie) for the last rows, at most 1,000 of them."""
        recent = rows[-_RECENT:]
        ids = extract_ids([recent[0], recent[-1]], self._query.ids.row_field) if recent else [1, 0]
        return len(recent), Gap(ids[0] - 1, ids[1])


def _extract_page(outcome: CommandOutcome) -> Rows:
    rows = extract_rows(outcome.result)
    if len(rows) > PAGE:
        raise build_inconsistency_error("has a page of more than 50 rows")
    return rows


def _drop_repeats(rows: Rows, ids: Sequence[int], last: int, names: IdList) -> Rows:
    """Return `rows` without repeated rows, which may occur only in a list with `names.repeats`; `ids` are the ids of `rows`.

    Raises `OutcomeUnknown` if the ids do not ascend. `last` is the last id before these rows.
    """
    kept: Rows = []
    for row, number in zip(rows, ids, strict=True):
        if number > last:
            kept.append(row)
            last = number
        elif not names.repeats or number < last:
            raise build_inconsistency_error("does not come in the order of its ids")
    return kept
