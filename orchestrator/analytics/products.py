"""Product rows of a filtered set of deals: read from the portal for each report, as the mirror has none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Final, Protocol

from orchestrator.analytics.compiler import Scope, compile_product_deals
from orchestrator.analytics.counting import Counter
from orchestrator.analytics.facts import Facts
from orchestrator.analytics.findings import Counted, Findings, Key, Number, join_groups
from orchestrator.analytics.jobs import build_job
from orchestrator.analytics.question import Question
from orchestrator.analytics.stretches import Stretch

MOST_DEALS: Final = 2_500
_HUNDRED: Final = Decimal(100)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductRow:
    """`price` is that of one, with its discount, in the deal's currency; `product` 0 is a row that is written by hand."""

    deal: int
    product: int
    name: str
    quantity: Decimal
    price: Decimal
    discount: Decimal = Decimal(0)
    """Of one."""


class ProductRows(Protocol):
    async def read_product_rows(self, deals: Sequence[int]) -> Sequence[ProductRow]:
        """All rows of at most MOST_DEALS deals. Raises ProductsUnread."""


class ProductsUnread(Exception):
    """The portal does not give them now."""


class TooManyDeals(Exception):
    """More than MOST_DEALS."""

    def __init__(self) -> None:
        super().__init__(f"product rows of more than {MOST_DEALS} deals would have to be read: narrow the period or the filter")


@dataclass(frozen=True, slots=True)
class _Sold:
    """Of one group: whole hundredths of the base currency."""

    amount: int = 0
    discount: int = 0
    quantity: Decimal = Decimal(0)
    deals: frozenset[int] = frozenset()


async def count_products(
    path: Path, question: Question, facts: Facts, scope: Scope, sources: tuple[Counter, ProductRows]
) -> tuple[Findings, Mapping[str, str]]:
    """With the names of the products, by their keys. Raises TooManyDeals, ProductsUnread and CountingFailed."""
    job = build_job(question, scope)
    now, names, deals = await _sum_stretch(path, question, question.stretch, facts, scope, sources)
    total = _to_total(question, now)
    left_out = (deals - total.records,)
    if question.compared is None:
        return replace(join_groups(job, _to_groups(question, now), None, total, None), left_out=left_out), names
    before, earlier_names, _ = await _sum_stretch(path, question, question.compared, facts, scope, sources)
    groups = _to_groups(question, now), _to_groups(question, before)
    findings = join_groups(job, *groups, total, _to_total(question, before))
    return replace(findings, left_out=left_out), {**earlier_names, **names}


async def _sum_stretch(
    path: Path, question: Question, stretch: Stretch | None, facts: Facts, scope: Scope, sources: tuple[Counter, ProductRows]
) -> tuple[dict[Key, _Sold], dict[str, str], int]:
    """What was sold by group, the names of products, and the number of deals."""
    counter, products = sources
    (deal_rows,) = await counter.read(path, (compile_product_deals(question, stretch, scope, MOST_DEALS + 1),))
    deals = {int(str(row[0])): (str(row[1] or ""), [None if code is None else str(code) for code in row[2:]]) for row in deal_rows}
    if len(deals) > MOST_DEALS:
        raise TooManyDeals
    sold: dict[Key, _Sold] = {}
    names: dict[str, str] = {}
    for row in await products.read_product_rows(list(deals)) if deals else ():
        currency, keys = deals[row.deal]
        product = str(row.product) if row.product else row.name
        names[product] = row.name
        place = next((place for place, group in enumerate(question.groups) if group.code == "product"), None)
        key = tuple(keys) if place is None else (*keys[:place], product, *keys[place + 1 :])
        sold[key] = _add_row(sold.get(key, _Sold()), row, facts.amounts.get(currency))
    return sold, names, len(deals)


async def list_product_deals(
    path: Path, question: Question, keys: Key, facts: Facts, scope: Scope, sources: tuple[Counter, ProductRows]
) -> tuple[int, ...]:
    """The deals of one group, the newest first. Raises as `count_products` does."""
    sold, *_ = await _sum_stretch(path, question, question.stretch, facts, scope, sources)
    return tuple(sorted(sold[keys].deals, reverse=True)) if keys in sold else ()


def _add_row(sold: _Sold, row: ProductRow, rate: float | None) -> _Sold:
    """Without a rate of its currency a row counts as a quantity only."""
    factor = _HUNDRED * Decimal(str(rate or 0))
    return _Sold(
        sold.amount + int((row.price * row.quantity * factor).to_integral_value(ROUND_HALF_UP)),
        sold.discount + int((row.discount * row.quantity * factor).to_integral_value(ROUND_HALF_UP)),
        sold.quantity + row.quantity,
        sold.deals | {row.deal},
    )


def _to_groups(question: Question, sold: Mapping[Key, _Sold]) -> dict[Key, Counted]:
    return {key: _to_counted(question, group) for key, group in sold.items()} if question.groups else {}


def _to_total(question: Question, sold: Mapping[Key, _Sold]) -> Counted:
    groups = sold.values()
    total = _Sold(
        sum(group.amount for group in groups),
        sum(group.discount for group in groups),
        sum((group.quantity for group in groups), Decimal(0)),
        frozenset().union(*(group.deals for group in groups)),
    )
    return _to_counted(question, total)


def _to_counted(question: Question, sold: _Sold) -> Counted:
    quantity = int(sold.quantity) if sold.quantity == int(sold.quantity) else float(sold.quantity)
    parts: dict[str, tuple[Number, ...]] = {
        "sum": (sold.amount,),
        "quantity": (quantity,),
        "deals": (len(sold.deals),),
        "discount": (sold.discount,),
        "discount_rate": (sold.discount, sold.amount + sold.discount),
    }
    return Counted(len(sold.deals), tuple(part for choice in question.measures for part in parts[choice.code]))
