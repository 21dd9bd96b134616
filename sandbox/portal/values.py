"""Sandbox portal, values: parses field values from requests and renders stored values as the old methods and `crm.item.*` do."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta, timezone
from functools import lru_cache, partial
from typing import Any

from sandbox.portal import files
from sandbox.portal.schema import ALL, LINK_TYPES, Field, Row, Schema

PORTAL_ZONE = timezone(timedelta(hours=3))
_DATE_FORMATS = ("%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M", "%d.%m.%Y")
_LEADING_INT = re.compile(r"\s*[+-]?\d+")
_LEADING_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)")
_NUMBERED = LINK_TYPES | {"enumeration", "employee", "crm_deal", "crm_entity"}
MULTIFIELDS = ("PHONE", "EMAIL", "WEB", "IM", "LINK")


def parse_moment(text: str) -> datetime:
    """Return the time that a text gives as a date or a time; without a zone it is in the portal's zone.

    Raises ValueError for other texts.
    """
    text = text.strip()
    moment: datetime | None = None
    with contextlib.suppress(ValueError):
        moment = datetime.fromisoformat(text)
    for form in _DATE_FORMATS:
        if moment is not None:
            break
        with contextlib.suppress(ValueError):
            moment = datetime.strptime(text, form).replace(tzinfo=PORTAL_ZONE)
    if moment is None:
        raise ValueError("not a date")
    return moment if moment.tzinfo else moment.replace(tzinfo=PORTAL_ZONE)


def store_moment(moment: datetime) -> str:
    """Return a time as the store keeps it: UTC text such as `2026-12-31T15:00:00Z`, which sorts by time."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@lru_cache(maxsize=4096)
def show_moment(stored: str) -> str:
    """Return a stored time as answers show it: `2026-12-31T18:00:00+03:00`, with the portal's offset."""
    return datetime.fromisoformat(stored).astimezone(PORTAL_ZONE).strftime("%Y-%m-%dT%H:%M:%S+03:00")


def to_int(raw: Any) -> int:
    """Return anything as an integer, as PHP converts it: its leading digits, else 0."""
    if isinstance(raw, bool | int | float):
        return int(raw)
    found = _LEADING_INT.match(raw) if isinstance(raw, str) else None
    return int(found.group()) if found else 0


def to_float(raw: Any) -> float:
    """Return anything as a number, as PHP converts it: its leading number, else 0."""
    if isinstance(raw, bool | int | float):
        return float(raw)
    found = _LEADING_NUMBER.match(raw.replace(",", ".")) if isinstance(raw, str) else None
    return float(found.group()) if found else 0.0


def to_flag(raw: Any) -> str:
    """Return `Y` for True and for the texts `Y`, `1` and `TRUE` in any case, otherwise `N`."""
    return "Y" if raw is True or str(raw).upper() in {"Y", "1", "TRUE"} else "N"


def parse(field: Field, raw: Any) -> Any:
    """Return a raw value from a request as the store keeps it. Raises ValueError if it does not fit the type of the field."""
    if field.type == "raw":
        return raw
    if field.multiple:
        items = raw if isinstance(raw, list) else list(raw.values()) if isinstance(raw, dict) else [raw]
        if field.type == "string":
            return [str(item) for item in items if item not in (None, "", False)]
        return [number for number in map(to_int, items) if number]
    if isinstance(raw, dict | list):
        raise ValueError("a single value is expected")  # noqa: TRY004  (callers translate one error)
    value = _parse_scalar(field.type, raw)
    if field.type == "enumeration" and value is not None and value not in dict(field.choices):
        raise ValueError("no such item of the list")
    return value


def _parse_scalar(kind: str, raw: Any) -> Any:
    if kind == "bool":
        return to_flag(raw) == "Y"
    if kind in {"char", "boolean"}:
        return to_flag(raw)
    if raw is None or raw == "" or raw is False:
        return None
    if kind in _NUMBERED:
        return to_int(raw) or (0 if kind == "crm_category" else None)
    if kind == "money":
        return _money(str(raw))
    if kind == "integer":
        return to_int(raw)
    if kind == "double":
        return round(to_float(raw), 2)
    if kind in {"date", "datetime"}:
        moment = parse_moment(str(raw))
        return moment.date().isoformat() if kind == "date" else store_moment(moment)
    return str(raw)


def _money(text: str) -> str | None:
    """Return a money value as the store keeps it, such as `1234.56|RUB`.

    Without a currency it gets RUB; without an amount the result is None. The currency code is not checked.
    """
    amount, _, currency = text.strip().partition("|")
    return f"{amount.strip()}|{currency.strip() or 'RUB'}" if amount.strip() else None


def _date(stored: Any) -> str | None:
    """Return a stored date as answers show it: midnight in UTC, written in the portal's offset, as `2026-12-31T03:00:00+03:00`."""
    return f"{stored}T03:00:00+03:00" if stored else None


def _text(stored: Any) -> str | None:
    return stored if stored is None or type(stored) is str else str(stored)


def _truth(stored: Any) -> bool:
    return bool(stored)


_CLASSIC: dict[str, Callable[[Any], Any]] = {
    "double": lambda v: None if v is None else f"{v:.2f}",
    "date": _date,
    "datetime": lambda v: show_moment(v) if v else None,
    "bool": _truth,
    "boolean": lambda v: None if v is None else "1" if v == "Y" else "0",
    "raw": lambda v: [] if v is None else v,
}


def _number(stored: Any) -> Any:
    return 0 if stored is None else int(stored) if float(stored).is_integer() else stored


_UNIVERSAL: dict[str, Callable[[Any], Any]] = {
    "double": _number,
    "date": _date,
    "datetime": lambda v: show_moment(v) if v else None,
    "crm_company": _number,
    "crm_contact": _number,
    "crm_category": _number,
    "boolean": lambda v: v or "N",
}


def _listed(stored: Any) -> list[str]:
    """Return the values of a multiple custom field as texts. None gives an empty list."""
    return [str(item) for item in stored or ()]


def _as_is(stored: Any) -> Any:
    return stored


def _has(kind: str, row: Row) -> str:
    return "Y" if any(m["TYPE_ID"] == kind for m in row.get("FM", ())) else "N"


@lru_cache(maxsize=256)
def _classic_shape(kind: str, names: tuple[str, ...]) -> tuple[Row, dict[str, Callable[[Any], Any]], tuple[str, ...]]:
    """Return how the old methods show records of a kind with the fields `names`; the result is cached.

    The parts are: the rendered values of an empty record, a render function for each ordinary field, and the fields made of phones or
    e-mails.
    """
    blank: Row = {}
    plain: dict[str, Callable[[Any], Any]] = {}
    special = []
    for name in names:
        field = ALL[kind].fields[name]
        if field.type == "crm_multifield" or name in {"HAS_PHONE", "HAS_EMAIL"}:
            special.append(name)
            continue
        if field.type == "file" and field.custom:
            plain[name] = partial(files.show_classic, field)
        else:
            plain[name] = _listed if field.multiple else _CLASSIC.get(field.type, _text)
        blank[name] = plain[name](None)
    return blank, plain, tuple(special)


def show_classic(schema: Schema, row: Row, names: Iterable[str] | None = None) -> Row:
    """Return one record as the old methods show it, with upper-case names, strings and nulls.

    `names` are the fields to show; without them these are all fields that are neither custom nor multiple.
    """
    blank, plain, special = _classic_shape(schema.kind, tuple(names or schema.plain))
    shown = blank.copy()
    for name, value in row.items():
        if value is not None and name in plain:
            shown[name] = plain[name](value)
    for name in special:
        if name in {"HAS_PHONE", "HAS_EMAIL"}:
            shown[name] = _has(name[4:], row)
        elif phones := multifield(row, name):
            shown[name] = phones
    return shown


def show_universal(schema: Schema, row: Row, names: Iterable[str], *, original_uf: str = "N", base_url: str = "/") -> Row:
    """Return a record as `crm.item.*` shows it: camelCase names, and numbers as numbers.

    With `original_uf` = `Y` custom fields keep their `UF_...` names.
    """
    shown: Row = {}
    for name in names:
        field = schema.fields[name]
        if field.type == "crm_multifield":
            continue
        key = field.name if field.custom and original_uf == "Y" else field.camel
        if field.type == "file" and field.custom:
            shown[key] = files.show_universal(field, row.get(name), base_url)
        elif field.multiple:
            shown[key] = row.get(name) or []
        elif name in {"HAS_PHONE", "HAS_EMAIL"}:
            shown[key] = _has(name[4:], row)
        else:
            shown[key] = _UNIVERSAL.get(field.type, _as_is)(row.get(name))
    return shown


def multifield(row: Row, kind: str) -> list[Row]:
    """Return the entries of one multifield (`kind` is `PHONE`, `EMAIL`, ...) of a record, in the form of the old methods."""
    return [
        {"ID": str(m["ID"]), "VALUE_TYPE": m["VALUE_TYPE"], "VALUE": m["VALUE"], "TYPE_ID": kind}
        for m in row.get("FM", ())
        if m["TYPE_ID"] == kind
    ]


def universal_fm(row: Row) -> list[Row]:
    """Return all phones, e-mails and messengers of a record, in the form that `crm.item.*` shows as `fm`."""
    return [{"id": m["ID"], "typeId": m["TYPE_ID"], "valueType": m["VALUE_TYPE"], "value": m["VALUE"]} for m in row.get("FM", ())]


def day(moment: datetime) -> date:
    """Return the calendar day at a moment in the portal's time zone."""
    return moment.astimezone(PORTAL_ZONE).date()
