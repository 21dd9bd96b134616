"""Reads lists by offset. A list that shrinks is an error; one row removed and one added meanwhile go unnoticed."""

from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from bitrix.bulk.lists import PAGE, build_inconsistency_error, extract_rows
from bitrix.bulk.sender import LIMITS, Backoff, Sender, yield_in_order
from bitrix.client.batch import MAX_COMMANDS, Command, CommandOutcome, build_cmd, read_answer
from bitrix.client.read_only import PortalCaller
from bitrix.errors import OutcomeUnknown, Refused
from bitrix.limits.limiter import Priority

Rows = list[Any]
_BLANK_ANSWERS = 2


async def stream_pages(sender: Sender, method: str, params: Mapping[str, Any]) -> AsyncGenerator[tuple[Rows, int | None], None]:
    first = await sender.read(method, {**params, "start": 0})
    rows = extract_rows(first.result)
    yield rows, first.total
    done, total, following = len(rows), first.total, first.next
    while following is not None:
        starts = range(following, max(total or 0, following + 1), PAGE)
        reader = _Reader(sender, method, params)
        last: CommandOutcome | None = None
        async with aclosing(yield_in_order(reader.generate_batches(starts), allowed=sender.in_flight)) as batches:
            async for outcomes in batches:
                for outcome in outcomes:
                    if total is not None and (outcome.total is None or outcome.total < total):
                        raise build_inconsistency_error("grew shorter while it was read")
                    rows = extract_rows(outcome.result)
                    if outcome.next is not None and len(rows) != PAGE:
                        raise build_inconsistency_error("has a short page before its end")
                    yield rows, outcome.total
                    done, last = done + len(rows), outcome
        if last is None or (last.next is not None and last.next <= starts[-1]):
            raise build_inconsistency_error("does not move on to its next page")
        total, following = last.total, last.next
    if total is not None and done < total:
        raise build_inconsistency_error("ends before its count")


class _Reader:
    def __init__(self, sender: Sender, method: str, params: Mapping[str, Any]) -> None:
        self._sender = sender
        self._method = method
        self._params = params

    async def generate_batches(self, starts: range) -> AsyncGenerator[Coroutine[Any, Any, Sequence[CommandOutcome]], None]:
        for place in range(0, len(starts), MAX_COMMANDS):
            yield self._read_batch(starts[place : place + MAX_COMMANDS])

    async def _read_batch(self, starts: Sequence[int]) -> Sequence[CommandOutcome]:
        commands = [Command(f"p{start}", self._method, {**self._params, "start": start}) for start in starts]
        pages: dict[str, CommandOutcome] = {}
        patience = Backoff(self._sender)
        while len(pages) < len(commands):
            missing = [command for command in commands if command.key not in pages]
            answer = await self._sender.read("batch", {"halt": 0, "cmd": build_cmd(missing)})
            outcomes = read_answer(missing, answer)
            pages |= {outcome.key: outcome for outcome in outcomes if outcome.status == "success"}
            for outcome in outcomes:
                if outcome.status == "error" and outcome.error not in LIMITS:
                    raise Refused(outcome.error, outcome.description)
            await self._read_missing([outcome for outcome in outcomes if outcome.status != "success"], patience)
        return [pages[command.key] for command in commands]

    async def _read_missing(self, missing: Sequence[CommandOutcome], patience: Backoff) -> None:
        if not missing:
            return
        limited = any(outcome.status == "error" for outcome in missing)
        if not await (patience.wait() if limited else patience.wait(at_most=_BLANK_ANSWERS)):
            raise OutcomeUnknown("a page of the list is not in the answer", code=missing[0].error)


@dataclass(frozen=True, slots=True)
class FirstRows:
    rows: list[Any]
    total: int | None
    complete: bool


async def read_first_rows(
    client: PortalCaller,
    method: str,
    params: Mapping[str, Any],
    *,
    max_rows: int,
    priority: Priority = Priority.INTERACTIVE,
    on_page: Callable[[int, int | None], None] | None = None,
) -> FirstRows:
    """Read the beginning of a list, all or nothing. Rows that move meanwhile may come twice or be missed."""
    rows: list[Any] = []
    start = 0
    while True:
        answer = await client.call(method, {**params, "start": start}, repeatable=True, priority=priority)
        rows += extract_rows(answer.result)
        if on_page is not None:
            on_page(len(rows), answer.total)
        if answer.next is None:
            enough = answer.total is None or len(rows) >= answer.total
            return FirstRows(rows[:max_rows], answer.total, complete=enough and len(rows) <= max_rows)
        if len(rows) >= max_rows:
            return FirstRows(rows[:max_rows], answer.total, complete=False)
        if answer.next <= start:
            raise build_inconsistency_error("does not move on to its next page")
        start = answer.next
