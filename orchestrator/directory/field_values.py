"""Values of fields in words; None for a plain text or number."""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from bitrix.errors import BitrixError
from orchestrator.directory.reference_data import Field
from orchestrator.language.date_format import format_day, parse_portal_date
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import Locale, format_number, quote, to_visible_line
from orchestrator.language.time_zones import parse_moment
from state.stored import JsonObject

if TYPE_CHECKING:
    from orchestrator.directory.naming import Naming

_MOST_NAMED: Final = 20
_LONGEST_ID: Final = 15
_LONGEST_NAME: Final = 80
_LONG_AGO: Final = date(1, 1, 1)  # any other year than the shown one, so that the year always stands there
_TITLES: Final = load_lexicon("card_fields")
_LOCALES: Final[tuple[Locale, ...]] = ("ru", "en")
_STATES: Final = {"Y": "set", "1": "set", "True": "set", "N": "unset", "0": "unset", "False": "unset"}
_FLAGS: Final = {locale: {code: _TITLES.read_text("flags", locale, state) for code, state in _STATES.items()} for locale in _LOCALES}
_MONEY: Final = re.compile(r"(-?[0-9]{1,15}(?:\.[0-9]{1,6})?)(?:\|([A-Z]{3}))?", re.ASCII)
_ADDRESS: Final = re.compile(r"(.+?)\|(?:-?[0-9.]+;-?[0-9.]+)?(?:\|[0-9]*)?", re.ASCII | re.DOTALL)
"""«Москва, Тверская, 1|55.76;37.6|12»: coordinates and the number of the stored address are for programs."""
_CODED: Final = re.compile(r"(?:(CO|SI|[DCLQ]|T[0-9a-f]{1,8})_)?([1-9][0-9]{0,14})", re.ASCII)
_CODES: Final = {"D": "deal", "C": "contact", "L": "lead", "CO": "company", "Q": "item:7", "SI": "item:31"}
_TEXT: Final = "string"
_SETTINGS: Final = {
    "LEAD": "lead",
    "DEAL": "deal",
    "CONTACT": "contact",
    "COMPANY": "company",
    "QUOTE": "item:7",
    "SMART_INVOICE": "item:31",
}
_LINKS: Final = {"crm_deal": "deal", "crm_lead": "lead", "crm_contact": "contact", "crm_company": "company", "crm_quote": "item:7"}
_WORDS: Final = {locale: _TITLES.read_table("own_values", locale) for locale in _LOCALES}


@dataclass(frozen=True, kw_only=True)
class ValueContext:
    """`portal_zone` is that of times without an offset."""

    entity: str
    locale: Locale
    zone: str
    portal_zone: str


async def describe_value(value: object, field: Field, names: "Naming", place: ValueContext) -> list[str] | None:
    """One text for each value, a value without a name unchanged; None if none needs words. May raise BitrixError."""
    several = value if isinstance(value, list) and not _is_new_file(value, field) else [value]
    if value in (None, "", [], {}, False) and field.type != "boolean":
        return None
    titles = await _find_linked_titles(several[:_MOST_NAMED], field, names)
    if field.type == _TEXT:  # it may be a mere number of the company's: what is written stands beside its title
        titles = {text: f"{title} ({text})" for text, title in titles.items() if not title.startswith("№")}
    words = [titles.get(str(item).strip()) or await _format_one(item, field, names, place) for item in several[:_MOST_NAMED]]
    if not words or all(item is None for item in words):
        return None
    return [str(item) if said is None else said for item, said in itertools.zip_longest(several, words)]


def _is_new_file(value: Sequence[object], field: Field) -> bool:
    """["a.txt", base64] is one file, not two values."""
    return field.type == "file" and len(value) == len(("name", "content")) and all(isinstance(part, str) for part in value)


async def _format_one(value: object, field: Field, names: "Naming", place: ValueContext) -> str | None:
    text = str(value).strip()
    match field.type:
        case "enumeration":
            return field.choices.get(text) or format_number(text, place.locale)
        case "boolean" | "char" if text in _FLAGS[place.locale]:
            return _FLAGS[place.locale][text]
        case "money":
            money = _MONEY.fullmatch(text)  # a number alone is one in the portal's currency
            return await names.format_money(money[1], money[2] or await names.find_base_currency(), place.locale) if money else None
        case "address":
            address = _ADDRESS.fullmatch(text)
            return address[1] if address else None
        case "date" | "datetime":
            return _format_moment(text, field.type, place)
        case "file":  # file addresses may contain an access key of the portal
            return _format_file(value, place.locale)
        case _:
            return await _find_name(text, field, names, place)


def _format_file(value: object, locale: Locale) -> str:
    """«файл №12»; one that is written has a name and its content in base64, one that an undo brings back a name and a size."""
    value = value.get("fileData", value) if isinstance(value, Mapping) else value
    if isinstance(value, Mapping) and "digest" in value:
        size = _TITLES.read_titles("kilobytes")[locale].format(count=max(1, -(-int(value["size"]) // 1024)))
        return f"{_WORDS[locale]['file']} {quote(to_visible_line(str(value['name']), limit=_LONGEST_NAME), locale)} ({size})"
    if isinstance(value, list | tuple) and value and all(isinstance(part, str) for part in value):
        return f"{_WORDS[locale]['file']} {quote(to_visible_line(value[0], limit=_LONGEST_NAME), locale)}"
    number = value.get("id", value.get("ID")) if isinstance(value, Mapping) else value
    coded = _CODED.fullmatch(str(number))
    return f"{_WORDS[locale]['file']} {format_number(coded[2], locale)}" if coded else _WORDS[locale]["file"]


async def _find_name(text: str, field: Field, names: "Naming", place: ValueContext) -> str | None:
    """None for no code or id; without a name, a word for the type with the id («раздел №7»)."""
    match field.type:
        case "crm_status" if field.status_entity_id:
            return await names.find_status_name(field.status_entity_id, text)
        case "crm_category" if _is_id(text):
            return await names.find_category_name(int(text), place.entity)
        case "user" | "employee" if _is_id(text):
            return await names.find_user_name(int(text))
    word = _WORDS[place.locale].get(field.type)
    number = _CODED.fullmatch(text)
    return f"{word} {format_number(number[2], place.locale)}" if word and number else None


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _LONGEST_ID


async def _find_linked_titles(values: Sequence[object], field: Field, names: "Naming") -> dict[str, str]:
    """In one request; «№» with the id stands for a missing title."""
    linked = {text: target for value in values if (target := _parse_link(text := str(value).strip(), field)) is not None}
    if not linked:
        return {}
    try:
        titles = await names.find_titles(list(linked.values()))
    except BitrixError:
        titles = {}
    return {text: titles.get(target) or f"№{target[1]}" for text, target in linked.items()}


def _parse_link(text: str, field: Field) -> tuple[str, int] | None:
    """(kind, id) by type, settings or prefix ("D_10"); None if it is no link."""
    coded = _CODED.fullmatch(text)
    if coded is None:
        return None
    parent = field.settings.get("parentEntityTypeId")
    if field.type in _LINKS:
        kind = _LINKS[field.type]
    elif field.type == "crm_entity" and isinstance(parent, int):
        kind = f"item:{parent}"
    elif field.type == "crm":
        kind = (_CODES.get(coded[1]) or f"item:{int(coded[1][1:], 16)}") if coded[1] else _find_only_kind(field.settings)
    elif field.type == _TEXT and coded[1] in _CODES:
        kind = _CODES[coded[1]]
    else:
        return None
    return (kind, int(coded[2])) if kind else None


def _find_only_kind(settings: JsonObject) -> str:
    """Empty if several kinds are allowed: each value then has a prefix."""
    allowed = [name for name, value in settings.items() if value == "Y"]
    if len(allowed) != 1:
        return ""
    number = allowed[0].removeprefix("DYNAMIC_")
    return _SETTINGS.get(allowed[0]) or (f"item:{number}" if number.isascii() and number.isdecimal() else "")


def _format_moment(text: str, kind: str, place: ValueContext) -> str | None:
    """None if it is neither. A date is the same in every zone."""
    if kind == "date":
        try:
            return format_day(parse_portal_date(text), today=_LONG_AGO, locale=place.locale)
        except ValueError:
            return None
    moment = parse_moment(text, zone=place.portal_zone)
    if moment is None:
        return None
    try:
        here = moment.astimezone(ZoneInfo(place.zone))
    except OverflowError:  # beyond the year 9999 in the reader's zone
        return None
    return f"{format_day(here.date(), today=_LONG_AGO, locale=place.locale)}, {here:%H:%M}"
