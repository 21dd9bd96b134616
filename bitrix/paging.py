"""Ring 1. Reads the first rows of a list into memory; only for reads, which may be repeated. Whole lists: `bitrix.bulk`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bitrix.bulk_lists import build_inconsistency_error, extract_rows
from bitrix.client import BitrixClient
from bitrix.limiter import Priority


@dataclass(frozen=True, slots=True)
class FirstRows:
    """The rows read; `complete` is False when the list has more than was asked for."""

    rows: list[Any]
    total: int | None
    complete: bool


async def read_first_rows(
    client: BitrixClient,
    method: str,
    params: Mapping[str, Any],
    *,
    max_rows: int,
    priority: Priority = Priority.INTERACTIVE,
) -> FirstRows:
    """Up to `max_rows` rows of a list method, by offset; raise as `BitrixClient.call` does, with nothing half returned.

    Rows that move between pages while they are read may come twice or be missed: sort by an id that does not change.
    """
    rows: list[Any] = []
    start = 0
    while True:
        answer = await client.call(method, {**params, "start": start}, repeatable=True, priority=priority)
        rows += extract_rows(answer.result)
        if answer.next is None:
            enough = answer.total is None or len(rows) >= answer.total
            return FirstRows(rows[:max_rows], answer.total, complete=enough and len(rows) <= max_rows)
        if len(rows) >= max_rows:
            return FirstRows(rows[:max_rows], answer.total, complete=False)
        if answer.next <= start:
            raise build_inconsistency_error("does not move on to its next page")
        start = answer.next
