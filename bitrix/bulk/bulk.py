"""Bulk work on a portal: reads whole lists, or makes many calls, with few requests.

Each item gets an outcome of its own. Reads are repeated after a failure; a write that may have run is never repeated. Nothing here asks for
confirmation.
"""

from collections.abc import AsyncGenerator, Mapping, Sized
from contextlib import aclosing
from typing import Any, Unpack

from bitrix.bulk.job import ItemOutcome, Job, Status, Step, Steps
from bitrix.bulk.lists import LISTS, IdList
from bitrix.bulk.offset_pages import stream_pages
from bitrix.bulk.query import IdQuery
from bitrix.bulk.sender import BulkOptions, Progress, Sender, yield_in_order
from bitrix.bulk.walk import walk_by_id
from bitrix.client.client import BitrixClient
from bitrix.client.read_only import PortalCaller

__all__ = ["BulkOptions", "ItemOutcome", "Progress", "Step", "Steps", "call_all", "list_all"]


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


async def call_all(client: BitrixClient, steps: Steps, **terms: Unpack[BulkOptions]) -> AsyncGenerator[ItemOutcome, None]:
    """Yield one outcome per step in their order; up to several batches of 50 run at once. Close with `aclosing`.

    Nothing more is sent after `deadline` or `stop`, three lost batches in a row, or a refused webhook.
    """
    sender = Sender(client=client, **terms)
    async with aclosing(_stream_outcomes(sender, Job(sender, sender.write), steps)) as outcomes:
        async for outcome in outcomes:
            yield outcome


async def _stream_outcomes(sender: Sender, job: Job, steps: Steps) -> AsyncGenerator[ItemOutcome, None]:
    total = len(steps) if isinstance(steps, Sized) else None
    counts: dict[Status, int] = {"done": 0, "refused": 0, "unknown": 0, "not_sent": 0}
    async with aclosing(yield_in_order(job.generate_batches(steps), allowed=job.count_allowed)) as chunks:
        async for outcomes in chunks:
            for outcome in outcomes:
                counts[outcome.status] += 1
            sender.report_progress(Progress(total=total, **counts))
            for outcome in outcomes:
                yield outcome
