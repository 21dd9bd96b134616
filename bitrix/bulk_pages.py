"""Ring 1. Reads a list by offset, 50 pages to a batch, for lists whose ids cannot be walked. Only for reads.

The portal counts these lists: a list that shrinks while it is read, or whose pages do not fit its count, is an error,
for rows may have slipped from a page not yet read to one that was.
"""

from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from bitrix.batch import MAX_COMMANDS, Command, CommandOutcome, build_cmd, read_answer
from bitrix.bulk_flight import LIMITS, Patience, Sender, in_order
from bitrix.bulk_lists import PAGE, IdList, ids_of, nonsense, rows_of
from bitrix.errors import OutcomeUnknown, Refused

Rows = list[Any]
_BLANK_ANSWERS = 2


async def pages(
    sender: Sender, method: str, params: Mapping[str, Any], *, ids: IdList | None
) -> AsyncGenerator[tuple[Rows, int | None], None]:
    """The rows of a list in portions with the portal's count; raise as `Sender.read`, `OutcomeUnknown` if the list moves.

    A list with a known id is sorted by it, unless the caller sorts: then what is added comes at the end.
    """
    sorted_by_us = ids is not None and "order" not in params
    wanted = {**params, "order": {ids.asked: "ASC"}} if sorted_by_us and ids is not None else dict(params)
    check = _Check(ids.told if sorted_by_us and ids is not None else None)
    first = await sender.read(method, {**wanted, "start": 0})
    yield check.rows(first.result), first.total
    total, following = first.total, first.next
    while following is not None:
        starts = range(following, max(total or 0, following + 1), PAGE)
        reader = _Reader(sender, method, wanted)
        last: CommandOutcome | None = None
        async with aclosing(in_order(reader.works(starts), allowed=lambda: sender.in_flight)) as batches:
            async for outcomes in batches:
                for outcome in outcomes:
                    if total is not None and (outcome.total is None or outcome.total < total):
                        raise nonsense("grew shorter while it was read")
                    yield check.rows(outcome.result, full=outcome.next is not None), outcome.total
                    last = outcome
        if last is None or (last.next is not None and last.next <= starts[-1]):
            raise nonsense("does not move on to its next page")
        total, following = last.total, last.next


class _Check:
    """Watches that no row comes twice and no page is short, as far as that can be seen."""

    def __init__(self, told: str | None) -> None:
        self._told = told
        self._last = 0

    def rows(self, result: object, *, full: bool = False) -> Rows:
        """The rows of one page; `full` when the portal says that another page follows."""
        rows = rows_of(result)
        if full and len(rows) != PAGE:
            raise nonsense("has a short page before its end")
        for number in ids_of(rows, self._told) if self._told else ():
            if number <= self._last:
                raise nonsense("does not come in the order of its ids")
            self._last = number
        return rows


class _Reader:
    """Sends batches of pages; asks again for those that a limit refused."""

    def __init__(self, sender: Sender, method: str, params: Mapping[str, Any]) -> None:
        self._sender = sender
        self._method = method
        self._params = params

    async def works(self, starts: range) -> AsyncGenerator[Coroutine[Any, Any, Sequence[CommandOutcome]], None]:
        """One piece of work per 50 pages."""
        for place in range(0, len(starts), MAX_COMMANDS):
            yield self._batch(starts[place : place + MAX_COMMANDS])

    async def _batch(self, starts: Sequence[int]) -> Sequence[CommandOutcome]:
        commands = [Command(f"p{start}", self._method, {**self._params, "start": start}) for start in starts]
        found: dict[str, CommandOutcome] = {}
        patience = Patience(self._sender)
        while len(found) < len(commands):
            missing = [command for command in commands if command.key not in found]
            answer = await self._sender.read("batch", {"halt": 0, "cmd": build_cmd(missing)})
            outcomes = read_answer(missing, answer)
            found |= {outcome.key: outcome for outcome in outcomes if outcome.status == "success"}
            for outcome in outcomes:
                if outcome.status == "error" and outcome.error not in LIMITS:
                    raise Refused(outcome.error, outcome.description)
            await self._rest([outcome for outcome in outcomes if outcome.status != "success"], patience)
        return [found[command.key] for command in commands]

    async def _rest(self, missing: Sequence[CommandOutcome], patience: Patience) -> None:
        if not missing:
            return
        limited = any(outcome.status == "error" for outcome in missing)
        if not await (patience.wait() if limited else patience.wait(at_most=_BLANK_ANSWERS)):
            raise OutcomeUnknown("a page of the list is not in the answer", code=missing[0].error)
