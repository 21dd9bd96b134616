"""Bulk work on a portal: reads whole lists, reads many records by id, or makes many calls, with few requests.

Each item gets an outcome of its own. Reads are repeated after a failure; a write that may have run is never repeated. Nothing here asks for
confirmation.
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
from bitrix.client.read_only import PortalCaller
from bitrix.errors import is_missing

__all__ = ["BulkOptions", "GetOutcome", "ItemOutcome", "Progress", "Step", "Steps", "call_all", "get_many", "list_all"]


async def list_all(
    client: PortalCaller, method: str, params: Mapping[str, Any], *, id_field: str | None = None, **terms: Unpack[BulkOptions]
) -> AsyncGenerator[Any, None]:
    """Yield every row of a list once, in order of id if possible. Only a few batches are in memory at a time.

    A list method named in `bitrix.bulk.lists.LISTS`, or one whose id field is named in `id_field`, is read in ranges of ids. Any other list
    is read by offset: if rows are added or removed meanwhile, a row may come twice or be missed. Raises ValueError for parameters that
    reading by id does not allow (another order, `start`). Raises `Refused`, `NotSent`, and `OutcomeUnknown` if rows may be missing or the
    option `deadline` (see `BulkOptions`) has passed. Close the generator with `aclosing`.
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
    """The result of reading the record with one `id`. `row` holds the record if `status` is "found".

    "missing" means that the portal has no such record. The other statuses are those of `ItemOutcome`.
    """

    id: int | str
    status: Literal["found", "missing", "refused", "unknown", "not_sent"]
    row: Any = None
    code: str = ""
    description: str = ""


async def call_all(client: BitrixClient, steps: Steps, **terms: Unpack[BulkOptions]) -> AsyncGenerator[ItemOutcome, None]:
    """Make many calls in batches, and yield one outcome per step (call), in the order of the steps.

    A step is sent again only if a limit of the portal proves that it did not run. Several batches of 50 run at once, so the steps are not
    executed in their order; steps that depend on each other need separate calls. Nothing more is sent after the option `deadline` has
    passed or `stop` is set (see `BulkOptions`), once the answers to three batches in a row were lost, or once the portal refuses the
    webhook.

    `steps` is read only as needed. An error that it raises comes after the outcomes of the steps already sent. Network errors are not
    raised but reported in outcomes. Close the generator with `aclosing`: this cancels running batches, and outcomes not yet yielded are
    then unknown.
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
    """Read many records by id, 50 to a request, and yield one outcome per id, in the order of `ids`.

    `method` must only read, since it may be repeated; its parameter `id_param` takes the id. `params` are added to the call for each id
    (crm.item.get needs `entityTypeId`). Network errors are not raised but reported in outcomes.
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
    """Return the record in an answer. `{"item": {…}}` and `{"task": {…}}` give the inner object.

    For a task that does not exist the portal answers `[]` without an error; this is returned as it is.
    """
    if isinstance(result, Mapping) and len(result) == 1:
        (inner,) = result.values()
        return inner if isinstance(inner, Mapping) else result
    return result
