"""What is no CRM record, such as a calendar event, and its name."""

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
"""The best name first."""
_KEYS: Final = frozenset(name.replace("_", "").lower() for name in _TITLES)


async def read_name(method: str, params: JsonObject, number: int, *, client: PortalCaller, catalogue: Catalogue, locale: Locale) -> str:
    """Empty also if `method` does not only read. Only those of `params` are sent that it knows. May raise BitrixError."""
    rows = await _read_rows(method, params, number, client, catalogue)
    return next((name for row in rows if (name := _extract_name(row, locale))), "")


async def read_part(method: str, params: JsonObject, number: int, *, client: PortalCaller, catalogue: Catalogue) -> JsonObject | None:
    """None if there is no such row. May raise BitrixError."""
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
    """What the method requires, and the id. Others may be new values: the new name of a department."""
    params_by_name = {name.lower(): value for name, value in params.items() if value not in (None, "")}
    needed = [path for path in (*row.required, *row.target) if "." not in path]
    ids = [path for path in row.params if path.lower().endswith("id") and to_number(params_by_name.get(path.lower())) == number]
    return {name: params_by_name[name.lower()] for name in dict.fromkeys((*needed, *ids)) if name.lower() in params_by_name}


def _list_rows(result: object, number: int) -> Iterator[JsonObject]:
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
    values_by_key = {key: value for name, value in row.items() if (key := name.replace("_", "").lower()) in _KEYS}
    for title in _TITLES:
        value = values_by_key.get(title.replace("_", "").lower())
        if isinstance(value, Mapping):
            value = value.get(locale) or next(iter(value.values()), "")
        text = trim_text(to_visible_line(value), limit=_NAME) if isinstance(value, str) and not value.isdecimal() else ""
        if text:
            paid = _format_paid_sum(row, locale) if title == "ACCOUNT_NUMBER" else ""
            return ", ".join(filter(None, (text, paid, *name_organisation(row))))
    return ""


def _format_paid_sum(row: JsonObject, locale: Locale) -> str:
    """Empty if the row lacks one of both."""
    amount, currency = parse_amount(row.get("sum")), row.get("currency")
    return (
        format_sum(amount, to_visible_line(currency, limit=12), locale=locale, book=NO_CURRENCY_BOOK)
        if amount and isinstance(currency, str)
        else ""
    )
