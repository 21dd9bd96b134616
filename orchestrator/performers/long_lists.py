"""Adds up a list that is too long to keep. Never writes."""

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from decimal import Decimal

from bitrix.bulk.bulk import Progress, list_all
from bitrix.client.client import BitrixClient
from bitrix.errors import BitrixError
from bitrix.limits.limiter import Priority
from orchestrator.directory.labels import parse_amount
from orchestrator.directory.list_groups import join_conditions
from orchestrator.gate.call.effect import Call
from orchestrator.performers.read_progress import get_progress

log = logging.getLogger(__name__)

WITHIN = 60.0
"""In seconds, because a person waits."""
MAX_SUMMED_ROWS = 50_000
_CLASSIC = ("ID", "OPPORTUNITY", "CURRENCY_ID")
_WITH_SUMS: Mapping[str, tuple[str, str, str]] = {
    "crm.deal.list": _CLASSIC,
    "crm.lead.list": _CLASSIC,
    "crm.quote.list": _CLASSIC,
    "crm.item.list": ("id", "opportunity", "currencyId"),
}
"""Methods → fields with id, sum and currency."""
_OURS = frozenset({"select", "order", "start"})
TOO_LONG = f"the list has more than {MAX_SUMMED_ROWS} rows, so no sum is given; a narrower filter gives one"
NOT_READ = "the list could not be read to its end in time, so no sum is given; a narrower filter may help"


@dataclass(frozen=True, kw_only=True)
class ListSums:
    """Sums by currency as decimal text; after `trouble` there are none, and `rows` is None."""

    sums: Mapping[str, str] = field(default_factory=dict)
    rows: int | None = None
    trouble: str = ""


class _TooLong(Exception):
    """More than `MAX_SUMMED_ROWS` rows."""


async def sum_rows(client: BitrixClient, call: Call, first: Iterable[object], total: int | None) -> ListSums | None:
    """None if the records have no sums; never raises errors of the network.

    `first` rows are read already; all are counted again, so that count and sums agree.
    """
    names = _WITH_SUMS.get(call.method.lower())
    if names is None or not any(isinstance(row, Mapping) and parse_amount(row.get(names[1])) is not None for row in first):
        return None
    if (total or 0) > MAX_SUMMED_ROWS:
        return ListSums(trouble=TOO_LONG)
    watch = get_progress()
    try:
        async with watch.run_limited(WITHIN):
            return await _read_sums(client, call, names, lambda progress: watch.tell(progress.done, total or 0))
    except _TooLong:
        return ListSums(trouble=TOO_LONG)
    except (TimeoutError, BitrixError, ValueError) as error:  # ValueError: a filter that reading in id ranges cannot honour
        log.info("a long list was not added up: %s", type(error).__name__, extra={"action": "sum_left_out"})
        return ListSums(trouble=NOT_READ)


async def _read_sums(client: BitrixClient, call: Call, names: tuple[str, str, str], tell: Callable[[Progress], None]) -> ListSums:
    _, amount_name, currency_name = names
    params = {
        name: join_conditions(value) if name == "filter" else value for name, value in call.params.items() if name.lower() not in _OURS
    }
    params["select"] = list(names)
    sums: dict[str, Decimal] = {}
    count = 0
    # BULK: the list is known to be long, so it starts with full batches and lets short requests of others go first.
    async with aclosing(list_all(client, call.method, params, priority=Priority.BULK, on_progress=tell)) as rows:
        async for row in rows:
            count += 1
            if count > MAX_SUMMED_ROWS:
                raise _TooLong
            amount = parse_amount(row.get(amount_name))
            if amount is not None:
                currency = str(row.get(currency_name) or "")
                sums[currency] = sums.get(currency, Decimal(0)) + amount
    return ListSums(sums={currency: f"{amount:f}" for currency, amount in sums.items()}, rows=count)
