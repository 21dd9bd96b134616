"""Ring 1. The face of bulk work: read whole lists, read many records, make many calls; few requests, nothing lost in silence."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Unpack

from bitrix.bulk_flight import BulkOptions, Progress, Sender
from bitrix.bulk_job import ItemOutcome, Step, Steps
from bitrix.bulk_lists import LISTS, IdList
from bitrix.bulk_pages import stream_pages
from bitrix.bulk_query import IdQuery
from bitrix.bulk_steps import GetOutcome, call_all, get_many
from bitrix.bulk_walk import walk
from bitrix.client import BitrixClient

__all__ = ["BulkOptions", "GetOutcome", "ItemOutcome", "Progress", "Step", "Steps", "call_all", "get_many", "list_all"]


async def list_all(
    client: BitrixClient, method: str, params: Mapping[str, Any], *, id_field: str | None = None, **terms: Unpack[BulkOptions]
) -> AsyncGenerator[Any, None]:
    """Every row of a list, each once and in order of id where it can be walked, holding a few batches at a time.

    `id_field` says that an unknown list can be walked by that id. Other lists are read by offset, which the portal counts:
    a row that moves between pages while they are read, because one leaves and one joins, may come twice or be missed.
    Raises ValueError for params that walking cannot honour (another order, `start`), `Refused`, `NotSent`, and
    `OutcomeUnknown` where rows might be missing or `deadline` passed. Close it with `aclosing`.
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
        async with aclosing(walk(sender, IdQuery(method, params, ids))) as portions:
            async for rows in portions:
                yield rows, None
        return
    if any(name.lower() == "start" for name in params):
        msg = "a list that is read to its end takes no 'start'"
        raise ValueError(msg)
    async with aclosing(stream_pages(sender, method, params)) as counted:
        async for portion in counted:
            yield portion
