"""Values of the portal's own fields as people read them: list values, money, flags, people, linked records. Ring 2.

It answers only where it says more than the value itself; None leaves the showing to the caller. Doubt shows what is there.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, Protocol
from zoneinfo import ZoneInfo

from bitrix.errors import BitrixError
from orchestrator.directory.date_format import day_of, format_day
from orchestrator.directory.reference_data import Field
from orchestrator.directory.text import Locale, clean
from orchestrator.directory.zones import moment_of

_NAME: Final = 80
_MOST: Final = 20
_LONGEST_ID: Final = 15
_LONG_AGO: Final = date(1, 1, 1)  # any other year than the shown one, so that the year always stands there
_FLAGS: Final = {
    "ru": {"Y": "Да", "1": "Да", "True": "Да", "N": "Нет", "0": "Нет", "False": "Нет"},
    "en": {"Y": "Yes", "1": "Yes", "True": "Yes", "N": "No", "0": "No", "False": "No"},
}
_MONEY: Final = re.compile(r"(-?[0-9]{1,15}(?:\.[0-9]{1,6})?)\|([A-Z]{3})", re.ASCII)
_CODED: Final = re.compile(r"(?:(CO|SI|[DCLQ]|T[0-9a-f]{1,8})_)?([1-9][0-9]{0,14})", re.ASCII)
_CODES: Final = {"D": "deal", "C": "contact", "L": "lead", "CO": "company", "Q": "item:7", "SI": "item:31"}
_SETTINGS: Final = {
    "LEAD": "lead",
    "DEAL": "deal",
    "CONTACT": "contact",
    "COMPANY": "company",
    "QUOTE": "item:7",
    "SMART_INVOICE": "item:31",
}
_LINKS: Final = {"crm_deal": "deal", "crm_lead": "lead", "crm_contact": "contact", "crm_company": "company", "crm_quote": "item:7"}
_WORDS: Final = {
    "ru": {
        "iblock_section": "раздел",
        "iblock_element": "элемент списка",
        "hlblock": "запись справочника",
        "file": "файл",
        "resourcebooking": "бронирование",
        "crm": "запись CRM",
    },
    "en": {
        "iblock_section": "section",
        "iblock_element": "list item",
        "hlblock": "directory entry",
        "file": "file",
        "resourcebooking": "booking",
        "crm": "CRM record",
    },
}


class NamesOfValues(Protocol):
    """What a value may need to be named."""

    async def user(self, user_id: int) -> str:
        """A colleague's name."""
        ...

    async def titles(self, targets: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], str]:
        """What records are called."""
        ...

    async def category(self, category_id: int, entity: str = "deal") -> str:
        """The name of a funnel."""
        ...

    async def entry(self, book: str, code: str) -> str:
        """The name of an entry of a book of the CRM."""
        ...

    async def money(self, amount: Any, currency: str, locale: Locale) -> str:
        """A sum as the portal writes it."""
        ...


@dataclass(frozen=True, kw_only=True)
class Place:
    """Whose field it is, and whose eyes the value is for; `portal_zone` is meant by moments that name none."""

    entity: str
    locale: Locale
    zone: str
    portal_zone: str


async def in_words(value: Any, field: Field, names: NamesOfValues, place: Place) -> str | None:
    """The value of a field in words, each of several; None where the value speaks for itself. May raise BitrixError."""
    several = value if isinstance(value, list) else [value]
    if value in (None, "", [], {}, False) and field.type != "boolean":
        return None
    titles = await _titles(several[:_MOST], field, names)
    shown = [titles.get(str(item).strip()) or await _one(item, field, names, place) for item in several[:_MOST]]
    if not shown or all(item is None for item in shown):
        return None
    parts = [_plain(item) if said is None else said for item, said in zip(several, shown, strict=False)]
    rest = len(several) - len(shown)
    return ", ".join(parts) + (f" … +{rest}" if rest else "")


async def _one(value: Any, field: Field, names: NamesOfValues, place: Place) -> str | None:
    text = str(value).strip()
    match field.type:
        case "enumeration":
            return field.choices.get(text) or f"№{text}"
        case "boolean" | "char" if text in _FLAGS[place.locale]:
            return _FLAGS[place.locale][text]
        case "money":
            found = _MONEY.fullmatch(text)
            return await names.money(found[1], found[2], place.locale) if found else None
        case "date" | "datetime":
            return _moment(text, field.type, place)
        case "file":  # its addresses may carry a key to the portal
            return _file(value, place.locale)
        case _:
            return await _named(text, field, names, place)


def _file(value: Any, locale: Locale) -> str:
    number = value.get("id", value.get("ID")) if isinstance(value, Mapping) else value
    found = _CODED.fullmatch(str(number))
    return f"{_WORDS[locale]['file']} №{found[2]}" if found else _WORDS[locale]["file"]


async def _named(text: str, field: Field, names: NamesOfValues, place: Place) -> str | None:
    """The name behind a code or a number; the number with a word for it where the portal cannot say more."""
    match field.type:
        case "crm_status" if field.book:
            return await names.entry(field.book, text)
        case "crm_category" if _is_id(text):
            return await names.category(int(text), place.entity)
        case "user" | "employee" if _is_id(text):
            return await names.user(int(text))
    word = _WORDS[place.locale].get(field.type)
    number = _CODED.fullmatch(text)
    return f"{word} №{number[2]}" if word and number else None


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _LONGEST_ID


async def _titles(values: Sequence[Any], field: Field, names: NamesOfValues) -> dict[str, str]:
    """The titles of the records that values point at, read together; their numbers where that fails."""
    linked = {text: target for value in values if (target := _linked(text := str(value).strip(), field)) is not None}
    if not linked:
        return {}
    try:
        found = await names.titles(list(linked.values()))
    except BitrixError:
        found = {}
    return {text: found.get(target) or f"№{target[1]}" for text, target in linked.items()}


def _linked(text: str, field: Field) -> tuple[str, int] | None:
    """The record that a field points at: by its type, by the kind its settings name, or by the code before the number ("D_10")."""
    found = _CODED.fullmatch(text)
    if found is None:
        return None
    parent = field.settings.get("parentEntityTypeId")
    if field.type in _LINKS:
        kind = _LINKS[field.type]
    elif field.type == "crm_entity" and isinstance(parent, int):
        kind = f"item:{parent}"
    elif field.type == "crm":
        kind = _by_code(found[1]) if found[1] else _only_kind(field.settings)
    else:
        return None
    return (kind, int(found[2])) if kind else None


def _by_code(code: str) -> str:
    return _CODES.get(code) or f"item:{int(code[1:], 16)}"


def _only_kind(settings: Mapping[str, Any]) -> str:
    """Where one kind of record is allowed, its numbers stand alone."""
    allowed = [name for name, value in settings.items() if value == "Y"]
    if len(allowed) != 1:
        return ""
    number = allowed[0].removeprefix("DYNAMIC_")
    return _SETTINGS.get(allowed[0]) or (f"item:{number}" if number.isascii() and number.isdecimal() else "")


def _moment(text: str, kind: str, place: Place) -> str | None:
    """A day is never shifted by a zone; a moment is shown in the person's."""
    if kind == "date":
        try:
            return format_day(day_of(text), today=_LONG_AGO, locale=place.locale)
        except ValueError:
            return None
    moment = moment_of(text, zone=place.portal_zone)
    if moment is None:
        return None
    try:
        here = moment.astimezone(ZoneInfo(place.zone))
    except OverflowError:  # beyond the year 9999 where the person is
        return None
    return f"{format_day(here.date(), today=_LONG_AGO, locale=place.locale)}, {here:%H:%M}"


def _plain(value: Any) -> str:
    return clean(str(value), limit=_NAME)
