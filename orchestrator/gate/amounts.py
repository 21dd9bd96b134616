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
_UNREAD: Final = "?"
_ENDLESS: Final = Decimal("Infinity")
_EMPTY: Final[tuple[Any, ...]] = (None, "", [], {})
_ROW: Final = "productrow"
_ROWS: Final = frozenset({"rows", "productrows"})
_BY_HAND: Final = "ismanualopportunity"
_MANY: Final = "data"
"""Where an import holds its records."""


@dataclass(frozen=True, kw_only=True)
class Sum:
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
        known = fields.number(self.value)
        return f"{known:,.2f}".removesuffix(".00").replace(",", " ") if known is not None else _UNREAD


def above(call: Call, limit: Decimal, facts: Facts, *, money: Money = RUBLES, currency: str = "") -> Sum | None:
    """The largest sum of the call that is above `limit` of `currency` (that of `money` where it is ""), None when all are below."""
    return largest(one for one in of(call, facts) if _is_above(one, limit, currency or money.currency, money))


def largest(sums: Iterable[Sum]) -> Sum | None:
    """The one that is told; what cannot be read is larger than all."""
    return max(sums, key=lambda one: abs(fields.number(one.value) or _ENDLESS), default=None)


def _is_above(one: Sum, limit: Decimal, currency: str, money: Money) -> bool:
    if one.value in _EMPTY:
        return False
    known = fields.number(one.value)
    if known is None:
        return True
    pair = money.compared(abs(known), one.currency, currency)
    return known != 0 if pair is None else pair[0] > limit * pair[1]


def of(call: Call, facts: Facts) -> Iterator[Sum]:
    """The sums that it writes, that stand on its record, and to which its record comes by it."""
    record = criticals.before(call, facts)
    now, then = currencies(call, record)
    written = list(criticals.sums(call)) if call.entity != _ROW else []
    yield from (Sum(value=value, currency=then) for _, value in written)
    yield from (Sum(value=total, currency=then) for total in totals(call, record))
    if call.entity != _ROW and _is_recounted(call, record):
        yield Sum(value=_UNREAD)
    for item in _imported(call):
        yield Sum(value=fields.value_of(item, SUM, call.entity), currency=str(fields.value_of(item, CURRENCY, call.entity) or ""))
    if record is None:
        if call.unknown_target and not call.target_created:
            yield Sum(value=_UNREAD)
        return
    standing = fields.value_of(record, SUM, call.entity)
    yield Sum(value=standing, currency=now)
    if then != now:
        yield Sum(value=standing, currency=then)


def currencies(call: Call, record: Mapping[str, Any] | None) -> tuple[str, str]:
    """In which currency the record's sum is now, and in which it will be."""
    now = str(fields.value_of(record or {}, CURRENCY, call.entity) or "")
    written = fields.value_of(criticals.written_fields(call), CURRENCY, call.entity)
    return now, str(written) if written not in _EMPTY else now


def totals(call: Call, record: Mapping[str, Any] | None) -> Iterator[Any]:
    """What the rows of products come to, for the calls that write such: of these the portal makes the sum of the record."""
    written = criticals.written_fields(call)
    for name, value in written.items():
        if fields.squeeze(name) in _ROWS:
            yield _total(value)
    if call.entity != _ROW or call.reads_only or any(fields.squeeze(name) in _ROWS for name in written):
        return
    here = record if call.spec.verb == "add" else None  # of one row nobody knows what the others come to
    standing = fields.number(fields.value_of(here or {}, SUM) or 0) if here is not None else None
    row = _total([written])
    yield _UNREAD if standing is None or row in (_UNREAD, None) else str(standing + Decimal(row))


def sets_sum(call: Call, record: Mapping[str, Any] | None) -> bool:
    """Whether the portal counts the record's sum anew because of it."""
    return next(totals(call, record), None) is not None or _is_recounted(call, record)


def _total(rows: Any) -> str:
    """The rows' price by their quantity; an unreadable one makes the whole unreadable."""
    listed = list(rows.values()) if isinstance(rows, Mapping) else rows
    if not isinstance(listed, list | tuple):
        return _UNREAD
    total = Decimal(0)
    for row in listed:
        if not isinstance(row, Mapping):
            return _UNREAD
        price = fields.number(fields.value_of(row, "PRICE"))
        given = fields.value_of(row, "QUANTITY")
        quantity = Decimal(1) if given in _EMPTY else fields.number(given)
        if price is None or quantity is None:
            return _UNREAD
        total += abs(price * quantity)
    return f"{total:f}"


def _is_recounted(call: Call, record: Mapping[str, Any] | None) -> bool:
    """Whether a sum entered by hand gives way to that of the products, which nobody has read."""
    for name, value in criticals.written_fields(call).items():
        if fields.squeeze(name, call.entity) == _BY_HAND and str(value).upper() not in {"Y", "1", "TRUE"}:
            return call.spec.verb != "add" and not criticals.holds(call, name, value, record)
    return False


def _imported(call: Call) -> Iterator[Mapping[str, Any]]:
    """The records of an import."""
    if not call.method.lower().endswith("batchimport"):
        return
    listed = call.params.get(_MANY)
    for item in listed.values() if isinstance(listed, Mapping) else listed if isinstance(listed, list) else [listed]:
        yield item if isinstance(item, Mapping) else {SUM: _UNREAD}
