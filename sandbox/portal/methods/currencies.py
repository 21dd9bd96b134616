"""Sandbox portal, methods: currencies and their formats; rates and formats are read-only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbox.portal import query
from sandbox.portal.context import Call
from sandbox.portal.errors import classic
from sandbox.portal.schema import Row
from sandbox.portal.values import show_moment

_UPDATED = "2026-01-12T06:00:00Z"
_SEPARATORS = {"B": "&nbsp;", "C": ",", "D": ".", "N": ""}

# code, names in Russian and English, rate, order, then for each language: format, decimal point, thousands separator
_CURRENCIES = (
    ("RUB", ("Российский рубль", "Russian Ruble"), "1.0000", 100, (("# &#8381;", ",", "B"), ("&#8381;#", ".", "C"))),
    ("USD", ("Доллар США", "US Dollar"), "92.5000", 200, (("# $", ",", "B"), ("$#", ".", "C"))),
    ("EUR", ("Евро", "Euro"), "100.1000", 300, (("# &euro;", ",", "B"), ("&euro;#", ".", "C"))),
)


def _local(name: str, style: tuple[str, str, str]) -> Row:
    written, point, variant = style
    return {"FORMAT_STRING": written, "FULL_NAME": name, "DEC_POINT": point, "THOUSANDS_SEP": _SEPARATORS[variant], "DECIMALS": "2"}


def _row(code: str) -> Row:
    """Return one currency with its rate, and with its name and format in the portal's language (Russian)."""
    _, names, rate, sort, styles = next(row for row in _CURRENCIES if row[0] == code)
    own = _local(names[0], styles[0])
    return {
        "CURRENCY": code,
        "AMOUNT_CNT": "1",
        "AMOUNT": rate,
        "SORT": str(sort),
        "BASE": "Y" if code == "RUB" else "N",
        "FULL_NAME": own.pop("FULL_NAME"),
        "LID": "ru",
        **own,
        "DATE_UPDATE": show_moment(_UPDATED),
    }


def _list(call: Call) -> query.Page:
    """Return all currencies; the documentation says that `total` is always 0 here."""
    rows = [_row(code) for code, *_ in _CURRENCIES]
    order = query.want_array(call.folded(), "order")
    for name, way in reversed(list(order.items()) if isinstance(order, dict) else []):
        key = str(name).upper()
        if key in rows[0]:
            rows.sort(key=lambda row, key=key: row[key], reverse=str(way).lower() == "desc")  # type: ignore[misc]
    return query.Page(rows, 0)


def _get(call: Call) -> Row:
    wanted = str(call.any_case("id") or "")
    found = next((row for row in _CURRENCIES if row[0] == wanted), None)
    if found is None:
        raise classic("Not found")
    _, names, _, _, styles = found
    languages = {}
    for language, name, style in zip(("ru", "en"), names, styles, strict=True):
        languages[language] = {**_local(name, style), "THOUSANDS_VARIANT": style[2], "HIDE_ZERO": "Y"}
    return {**_row(wanted), "LANG": languages}


def _base(_: Call) -> str:
    return "RUB"


METHODS: dict[str, Callable[[Call], Any]] = {
    "crm.currency.list": _list,
    "crm.currency.get": _get,
    "crm.currency.base.get": _base,
}
