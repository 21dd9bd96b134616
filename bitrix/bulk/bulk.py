"""Bulk work: reads whole lists, reads many records, makes many calls, with few requests and an outcome for each item.

Writes are sent once, reads are retried. Never asks for confirmation.
"""

from collections.abc import AsyncGenerator, Iterable, Mapping, Sized
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal, Unpack

from bitrix.bulk.job import ItemOutcome, Job, Status, Step, Steps
from bitrix.bulk.lists import LISTS, IdList
from bitrix.bulk.offset_pages import stream_pages
from bitrix.bulk.query import IdQuery
from bitrix.bulk.sender import BulkOptions, Progress, Sender, yield_in_order
from bitrix.bulk.walk import walk_by_id
from bitrix.client.client import BitrixClient
from bitrix.errors import is_missing

__all__ = ["BulkOptions", "GetOutcome", "ItemOutcome", "Progress", "Step", "Steps", "call_all", "get_many", "list_all"]


async def list_all(
    client: BitrixClient, method: str, params: Mapping[str, Any], *, id_field: str | None = None, **terms: Unpack[BulkOptions]
) -> AsyncGenerator[Any, None]:
    """Yield every row of a list once, in order of id if the list can be walked by id, with a few batches in memory at a time.

    `id_field` names the id by which a list that is not in `LISTS` can be walked. Other lists are read by offset: a row that moves to
    another page meanwhile, because rows were removed or added, may come twice or be missed. Raises ValueError for params that walking
    cannot honour (another order, `start`), `Refused`, `NotSent`, and `OutcomeUnknown` if rows might be missing or `deadline` passed. Close
    it with `aclosing`.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class GetOutcome:
    """The result of reading one `id`: `row` if `found`; `missing` means the portal says there is no such record."""

    id: int | str
    status: Literal["found", "missing", "refused", "unknown", "not_sent"]
    row: Any = None
    code: str = ""
    description: str = ""


async def call_all(client: BitrixClient, steps: Steps, **terms: Unpack[BulkOptions]) -> AsyncGenerator[ItemOutcome, None]:
    """Yield one outcome per step, in the order of the steps; no step is sent again unless a limit proves it did not run.

    Outcomes are in order, execution is not: several batches of 50 are under way at once, and a step that a limit refused runs after later
    ones. Steps that depend on order belong in calls one after another. After `deadline` or once `stop` is set nothing more is sent, nor to
    a portal that loses three answers in a row or refuses the webhook. `steps` is read as needed; an error it raises comes after the
    outcomes of what was sent. Raises no network errors. Close it with `aclosing`: leaving early or being cancelled ends what is under way,
    and outcomes not yet yielded stay unknown.
    """
    sender = Sender(client=client, **terms)
    async with aclosing(_stream_outcomes(sender, Job(sender, sender.write), steps)) as outcomes:
        async for outcome in outcomes:
            yield outcome


async def get_many(
    client: BitrixClient,
    method: str,
    ids: Iterable[int | str],
    *,
    params: Mapping[str, Any] | None = None,
    id_param: str = "id",
    **terms: Unpack[BulkOptions],
) -> AsyncGenerator[GetOutcome, None]:
    """Yield one outcome per id, in the order of `ids`, 50 to a request; only for read methods, which may be repeated.

    `params` are added to every id (crm.item.get needs `entityTypeId`). Raises no network errors.
    """
    wanted = list(ids)
    sender = Sender(client=client, **terms)
    steps = [(method, {**(params or {}), id_param: number}) for number in wanted]
    async with aclosing(_stream_outcomes(sender, Job(sender, sender.read), steps)) as outcomes:
        async for outcome in outcomes:
            yield _to_get_outcome(wanted[outcome.index], outcome)


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


def _to_get_outcome(number: int | str, outcome: ItemOutcome) -> GetOutcome:
    if outcome.status == "done":
        row = _extract_record(outcome.result)
        return GetOutcome(id=number, status="found" if row else "missing", row=row or None)
    missing = outcome.status == "refused" and is_missing(outcome.code, outcome.description)
    return GetOutcome(id=number, status="missing" if missing else outcome.status, code=outcome.code, description=outcome.description)


def _extract_record(result: Any) -> Any:
    """Return the record in an answer, unwrapped from `{"item": {…}}` or `{"task": {…}}`; `[]` for a missing task, which is no error."""
    if isinstance(result, Mapping) and len(result) == 1:
        (inner,) = result.values()
        return inner if isinstance(inner, Mapping) else result
    return result
