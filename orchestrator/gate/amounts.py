"""Which sums a call is about, in which currency, and whether one is above a limit. Ring 2, pure; it converts only by rates it is given.

Fail closed: a sum that cannot be read, or whose currency cannot be compared with that of the limit, is above every limit.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from orchestrator.gate import criticals, fields
from orchestrator.gate.currency import RUBLES, Money
from orchestrator.gate.effects import Call, Facts

SUM: Final = "OPPORTUNITY"
CURRENCY: Final = "CURRENCY_ID"
_UNREADABLE: Final = "?"
_ENDLESS: Final = Decimal("Infinity")
_EMPTY: Final[tuple[Any, ...]] = (None, "", [], {})
_ROW: Final = "productrow"
_ROWS: Final = frozenset({"rows", "productrows"})
_MANUAL_SUM_KEY: Final = "ismanualopportunity"
_IMPORT_KEY: Final = "data"
"""Where an import holds its records."""


@dataclass(frozen=True, kw_only=True)
class RawSum:
    """A value as it is written or stands there; currency "" is that of the portal."""

    value: Any
    currency: str = ""

    @property
    def text(self) -> str:
        """ "30 000 USD"."""
        return f"{self.plain} {self.currency}".strip()

    @property
    def plain(self) -> str:
        """1000000.00 as "1 000 000"; a question mark for what cannot be read."""
        known = fields.parse_number(self.value)
        return f"{known:,.2f}".removesuffix(".00").replace(",", " ") if known is not None else _UNREADABLE


def find_sum_above(call: Call, limit: Decimal, facts: Facts, *, money: Money = RUBLES, currency: str = "") -> RawSum | None:
    """The largest sum of the call that is above `limit` of `currency` (that of `money` where it is ""), None when all are below."""
    return find_largest_sum(one for one in collect_sums(call, facts) if _is_above(one, limit, currency or money.currency, money))


def find_largest_sum(sums: Iterable[RawSum]) -> RawSum | None:
    """The one that is told; what cannot be read is larger than all."""
    return max(sums, key=lambda one: abs(fields.parse_number(one.value) or _ENDLESS), default=None)


def _is_above(one: RawSum, limit: Decimal, currency: str, money: Money) -> bool:
    if one.value in _EMPTY:
        return False
    known = fields.parse_number(one.value)
    if known is None:
        return True
    pair = money.convert_pair(abs(known), one.currency, currency)
    return known != 0 if pair is None else pair[0] > limit * pair[1]


def collect_sums(call: Call, facts: Facts) -> Iterator[RawSum]:
    """The sums that it writes, that stand on its record, and to which its record comes by it."""
    record = criticals.find_current_record(call, facts)
    now, then = find_currencies(call, record)
    written = list(criticals.list_written_sums(call)) if call.entity != _ROW else []
    yield from (RawSum(value=value, currency=then) for _, value in written)
    yield from (RawSum(value=total, currency=then) for total in calculate_row_totals(call, record))
    if call.entity != _ROW and _is_recalculated(call, record):
        yield RawSum(value=_UNREADABLE)
    for item in _list_imported_records(call):
        yield RawSum(value=fields.find_value(item, SUM, call.entity), currency=str(fields.find_value(item, CURRENCY, call.entity) or ""))
    if record is None:
        if call.unknown_target and not call.target_created:
            yield RawSum(value=_UNREADABLE)
        return
    standing = fields.find_value(record, SUM, call.entity)
    yield RawSum(value=standing, currency=now)
    if then != now:
        yield RawSum(value=standing, currency=then)


def find_currencies(call: Call, record: Mapping[str, Any] | None) -> tuple[str, str]:
    """In which currency the record's sum is now, and in which it will be."""
    now = str(fields.find_value(record or {}, CURRENCY, call.entity) or "")
    written = fields.find_value(criticals.extract_written_fields(call), CURRENCY, call.entity)
    return now, str(written) if written not in _EMPTY else now


def calculate_row_totals(call: Call, record: Mapping[str, Any] | None) -> Iterator[Any]:
    """What the rows of products come to, for the calls that write such: of these the portal makes the sum of the record."""
    written = criticals.extract_written_fields(call)
    for name, value in written.items():
        if fields.to_field_key(name) in _ROWS:
            yield _calculate_total(value)
    if call.entity != _ROW or call.reads_only or any(fields.to_field_key(name) in _ROWS for name in written):
        return
    here = record if call.spec.verb == "add" else None  # of one row nobody knows what the others come to
    standing = fields.parse_number(fields.find_value(here or {}, SUM) or 0) if here is not None else None
    row = _calculate_total([written])
    yield _UNREADABLE if standing is None or row in (_UNREADABLE, None) else str(standing + Decimal(row))


def is_sum_recalculated(call: Call, record: Mapping[str, Any] | None) -> bool:
    """Whether the portal counts the record's sum anew because of it."""
    return next(calculate_row_totals(call, record), None) is not None or _is_recalculated(call, record)


def _calculate_total(rows: Any) -> str:
    """The rows' price by their quantity; an unreadable one makes the whole unreadable."""
    listed = list(rows.values()) if isinstance(rows, Mapping) else rows
    if not isinstance(listed, list | tuple):
        return _UNREADABLE
    total = Decimal(0)
    for row in listed:
        if not isinstance(row, Mapping):
            return _UNREADABLE
        price = fields.parse_number(fields.find_value(row, "PRICE"))
        given = fields.find_value(row, "QUANTITY")
        quantity = Decimal(1) if given in _EMPTY else fields.parse_number(given)
        if price is None or quantity is None:
            return _UNREADABLE
        total += abs(price * quantity)
    return f"{total:f}"


def _is_recalculated(call: Call, record: Mapping[str, Any] | None) -> bool:
    """Whether a sum entered by hand gives way to that of the products, which nobody has read."""
    for name, value in criticals.extract_written_fields(call).items():
        if fields.to_field_key(name, call.entity) == _MANUAL_SUM_KEY and str(value).upper() not in {"Y", "1", "TRUE"}:
            return call.spec.verb != "add" and not criticals.has_value(call, name, value, record)
    return False


def _list_imported_records(call: Call) -> Iterator[Mapping[str, Any]]:
    """The records of an import."""
    if not call.method.lower().endswith("batchimport"):
        return
    listed = call.params.get(_IMPORT_KEY)
    for item in listed.values() if isinstance(listed, Mapping) else listed if isinstance(listed, list) else [listed]:
        yield item if isinstance(item, Mapping) else {SUM: _UNREADABLE}
