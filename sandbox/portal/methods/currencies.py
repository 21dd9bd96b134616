"""Sandbox portal, methods: currencies and their formats; rates and formats are read-only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sandbox.portal import query
from sandbox.portal.context import Call
from sandbox.portal.errors import classic
from sandbox.portal.schema import Row
from sandbox.portal.values import show_moment

_UPDATED = "2026-01-12T06:00:00Z"
_SEPARATORS = {"B": "&nbsp;", "C": ",", "D": ".", "N": ""}


class Currency(NamedTuple):
    """A currency: names in Russian and English, the rate of `units`, order, and for each language format, point and separator."""

    code: str
    names: tuple[str, ...]
    rate: str
    sort: int
    styles: tuple[tuple[str, str, str], ...]
    units: str = "1"


_CURRENCIES = (
    Currency("RUB", ("Российский рубль", "Russian Ruble"), "1.0000", 100, (("# &#8381;", ",", "B"), ("&#8381;#", ".", "C"))),
    Currency("USD", ("Доллар США", "US Dollar"), "92.5000", 200, (("# $", ",", "B"), ("$#", ".", "C"))),
    Currency("EUR", ("Евро", "Euro"), "100.1000", 300, (("# &euro;", ",", "B"), ("&euro;#", ".", "C"))),
)


def _local(name: str, style: tuple[str, str, str]) -> Row:
    written, point, variant = style
    return {"FORMAT_STRING": written, "FULL_NAME": name, "DEC_POINT": point, "THOUSANDS_SEP": _SEPARATORS[variant], "DECIMALS": "2"}


def _currencies(call: Call) -> dict[str, Currency]:
    """Return the currencies of the portal by code: the three of the sample firm and those of its store."""
    more = (
        Currency(
            *(row["CODE"], tuple(row["NAMES"]), row["AMOUNT"], row["SORT"]),
            ((f"# {row['SIGN']}", ",", "B"), (f"{row['SIGN']}#", ".", "C")),
            row["AMOUNT_CNT"],
        )
        for row in call.store.walk("currency")
    )
    return {currency.code: currency for currency in (*_CURRENCIES, *more)}


def _row(currency: Currency) -> Row:
    """Return one currency with its rate, and with its name and format in the portal's language (Russian)."""
    code, own = currency.code, _local(currency.names[0], currency.styles[0])
    return {
        "CURRENCY": code,
        "AMOUNT_CNT": currency.units,
        "AMOUNT": currency.rate,
        "SORT": str(currency.sort),
        "BASE": "Y" if code == "RUB" else "N",
        "FULL_NAME": own.pop("FULL_NAME"),
        "LID": "ru",
        **own,
        "DATE_UPDATE": show_moment(_UPDATED),
    }


def _list(call: Call) -> query.Page:
    """Return all currencies; the documentation says that `total` is always 0 here."""
    rows = [_row(currency) for currency in _currencies(call).values()]
    order = query.want_array(call.folded(), "order")
    for name, way in reversed(list(order.items()) if isinstance(order, dict) else []):
        key = str(name).upper()
        if key in rows[0]:
            rows.sort(key=lambda row, key=key: row[key], reverse=str(way).lower() == "desc")  # type: ignore[misc]
    return query.Page(rows, 0)


def _get(call: Call) -> Row:
    currency = _currencies(call).get(str(call.any_case("id") or ""))
    if currency is None:
        raise classic("Not found")
    languages = {}
    for language, name, style in zip(("ru", "en"), currency.names, currency.styles, strict=True):
        languages[language] = {**_local(name, style), "THOUSANDS_VARIANT": style[2], "HIDE_ZERO": "Y"}
    return {**_row(currency), "LANG": languages}


def _base(_: Call) -> str:
    return "RUB"


METHODS: dict[str, Callable[[Call], Any]] = {
    "crm.currency.list": _list,
    "crm.currency.get": _get,
    "crm.currency.base.get": _base,
}
