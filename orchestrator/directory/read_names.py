"""Reads what is no record of the CRM, such as a calendar event or a file, and its name, with the method that reads it."""

from collections.abc import Iterator, Mapping
from typing import Final

from bitrix.catalogue.catalogue import Catalogue, Method
from bitrix.client.read_only import PortalCaller
from orchestrator.directory.labels import parse_amount
from orchestrator.directory.rows import name_organisation, to_number
from orchestrator.language.money_format import NO_CURRENCY_BOOK, format_sum
from orchestrator.language.text import Locale, to_visible_line, trim_text
from state.stored import JsonObject

_NAME: Final = 80
_TITLES: Final = (
    "TITLE",
    "NAME",
    "SUBJECT",
    "PRODUCT_NAME",
    "ACCOUNT_NUMBER",
    "EDIT_FORM_LABEL",
    "FIELD_TITLE",
    "FULL_NAME",
    "COMMENT",
    "POST_MESSAGE",
    "COMMENT_TEXT",
    "FIELD_NAME",
    "DEAL_ID",
)
"""The fields that may hold a name, the best one first."""
_KEYS: Final = frozenset(name.replace("_", "").lower() for name in _TITLES)


async def read_name(method: str, params: JsonObject, number: int, *, client: PortalCaller, catalogue: Catalogue, locale: Locale) -> str:
    """Return the name of the thing with the id `number` that the reading method `method` finds; "" if there is none.

    It is also "" if the catalogue does not list `method` as one that only reads. Of `params`, those that the method knows are sent. If it
    answers with several rows, the one with the id `number` counts. May raise BitrixError.
    """
    rows = await _read_rows(method, params, number, client, catalogue)
    return next((name for row in rows if (name := _extract_name(row, locale))), "")


async def read_part(method: str, params: JsonObject, number: int, *, client: PortalCaller, catalogue: Catalogue) -> JsonObject | None:
    """Return the row with the id `number` in what the reading `method` returns, as `read_name` reads it; None if there is no such row.

    May raise BitrixError.
    """
    rows = await _read_rows(method, params, number, client, catalogue)
    return next((row for row in rows if to_number(row.get("ID") or row.get("id")) == number), None)


async def _read_rows(method: str, params: JsonObject, number: int, client: PortalCaller, catalogue: Catalogue) -> list[JsonObject]:
    row = catalogue.find(method)
    if row is None or not row.reads_only:
        return []
    sent = _pick_params(row, params, number)
    if any(path not in sent for path in row.required):
        return []
    return list(_list_rows((await client.call(row.name, sent, repeatable=True)).result, number))


def _pick_params(row: Method, params: JsonObject, number: int) -> dict[str, object]:
    """Return those of `params` that the method needs, in the spelling of the method: what it requires, and the id.

    Other parameters of a call may be new values under the name of a condition, such as the new name of a department.
    """
    given = {name.lower(): value for name, value in params.items() if value not in (None, "")}
    needed = [path for path in (*row.required, *row.target) if "." not in path]
    ids = [path for path in row.params if path.lower().endswith("id") and to_number(given.get(path.lower())) == number]
    return {name: given[name.lower()] for name in dict.fromkeys((*needed, *ids)) if name.lower() in given}


def _list_rows(result: object, number: int) -> Iterator[JsonObject]:
    """Yield the rows in the answer that may be the thing with the id `number`: of several rows only those with this id."""
    if isinstance(result, list):
        for row in result:
            if isinstance(row, Mapping) and number in {to_number(row.get("ID")), to_number(row.get("id"))}:
                yield row
    elif isinstance(result, Mapping):
        inner = [value for value in result.values() if isinstance(value, Mapping | list)]
        if len(result) == 1 and inner:  # the answer has the row under a key of its own
            yield from _list_rows(inner[0], number)
        elif to_number(result.get("ID") or result.get("id")) in {0, number}:
            yield result


def _extract_name(row: JsonObject, locale: Locale) -> str:
    found = {key: value for name, value in row.items() if (key := name.replace("_", "").lower()) in _KEYS}
    for title in _TITLES:
        value = found.get(title.replace("_", "").lower())
        if isinstance(value, Mapping):
            value = value.get(locale) or next(iter(value.values()), "")
        text = trim_text(to_visible_line(value), limit=_NAME) if isinstance(value, str) and not value.isdecimal() else ""
        if text:
            paid = _format_paid_sum(row, locale) if title == "ACCOUNT_NUMBER" else ""
            return ", ".join(filter(None, (text, paid, *name_organisation(row))))
    return ""


def _format_paid_sum(row: JsonObject, locale: Locale) -> str:
    """Return the sum of a payment with its currency; "" if the row does not have both."""
    amount, currency = parse_amount(row.get("sum")), row.get("currency")
    return (
        format_sum(amount, to_visible_line(currency, limit=12), locale=locale, book=NO_CURRENCY_BOOK)
        if amount and isinstance(currency, str)
        else ""
    )
