"""Ring 1. Many calls with an outcome for each: writes are sent once, reads as often as it takes. Asks nobody for consent."""

from collections.abc import AsyncGenerator, Iterable, Mapping, Sized
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal, Unpack

from bitrix.bulk_flight import BulkOptions, Progress, Sender, yield_in_order
from bitrix.bulk_job import ItemOutcome, Job, Status, Steps
from bitrix.client import BitrixClient
from bitrix.errors import is_missing


@dataclass(frozen=True, slots=True, kw_only=True)
class GetOutcome:
    """What a read of one `id` found: `row` if `found`; `missing` means the portal says there is no such record."""

    id: int | str
    status: Literal["found", "missing", "refused", "unknown", "not_sent"]
    row: Any = None
    code: str = ""
    description: str = ""


async def call_all(client: BitrixClient, steps: Steps, **terms: Unpack[BulkOptions]) -> AsyncGenerator[ItemOutcome, None]:
    """One outcome per step, in the order of the steps; no step is sent again unless a limit proves it did not run.

    Outcomes are in order, execution is not: several batches of 50 are under way at once, and a step that a limit refused
    runs after later ones. Steps that need an order belong into calls one after another.
    After `deadline` or once `stop` is set nothing more is sent. A portal that loses three answers in a row, or shuts the
    webhook, is sent nothing more. `steps` is read as needed; an error it raises comes after the outcomes of what was sent.
    Raises nothing of the network. Close it with `aclosing`: leaving early or being cancelled ends what is under way, and
    outcomes not yet given stay unknown.
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
    """One outcome per id, in the order of `ids`, 50 to a request; only for methods that read: they may be repeated.

    `params` go with every id (crm.item.get needs `entityTypeId`). Raises nothing of the network.
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
    """The record in an answer: `{"item": {…}}` and `{"task": {…}}` are opened; a missing task is `[]` with success."""
    if isinstance(result, Mapping) and len(result) == 1:
        (inner,) = result.values()
        return inner if isinstance(inner, Mapping) else result
    return result
