"""Values as people read them: names for codes, money with its currency, times in the person's zone.

What cannot be interpreted is shown unchanged: a card shows exactly what will be sent.
"""

import re
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from html import unescape
from typing import Final, assert_never
from zoneinfo import ZoneInfo

from bitrix.client.batch import find_references
from bitrix.errors import BitrixError
from orchestrator.gate.call import fields
from orchestrator.gate.call.escape_text import escape_text, mark_cut
from orchestrator.gate.call.multifields import Step
from orchestrator.gate.call.ports import Names
from orchestrator.language.date_format import format_day, parse_portal_date
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.money_format import find_base_currency, format_sum
from orchestrator.language.text import Locale, format_number, format_phone
from state.stored import JsonObject

EMPTY = "—"
NAME_LIMIT = 200
"""Of a name from the portal, and of a value within a sentence."""
_LONGEST_ID = 15
_NUMBER = re.compile("№[0-9]+", re.ASCII)
_LONG_AGO = date(1, 1, 1)  # any other year than the shown one, so that the year stands there
_WORDS: Final = load_lexicon("card_fields")
_LOCALES: Final[tuple[Locale, ...]] = ("ru", "en")
_FLAGS: Final = {
    locale: {code: _WORDS.read_text("flags", locale, state) for code, state in (("Y", "set"), ("1", "set"), ("N", "unset"), ("0", "unset"))}
    for locale in _LOCALES
}
_DELETED: Final = _WORDS.read_titles("removed")
_ADDED: Final = _WORDS.read_titles("added")
FROM_COMMAND: Final = _WORDS.read_titles("from_command")
UNKNOWN: Final = _WORDS.read_titles("unknown")
"""In place of an old value that was not read."""
MADE_BY: Final = _WORDS.read_titles("made_by_command")
NAMED_BY: Final = _WORDS.read_titles("named_by_command")
_VALUE_TYPES: Final = {locale: _WORDS.read_table("value_types", locale) for locale in _LOCALES}
_EMAIL_TYPES: Final = {locale: _WORDS.read_table("email_types", locale) for locale in _LOCALES}
_UNITS: Final = {locale: _WORDS.read_table("durations", locale) for locale in _LOCALES}
_DURATIONS: Final = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}
_LONGEST_DURATION: Final = 10**10
_CURRENCIES: Final = ("CURRENCY_ID", "CURRENCY")
"""A sum with a currency of its own names it in data/language/card_*params.yaml."""
_TASK_STATUS: Final = {locale: _WORDS.read_table("task_statuses", locale) for locale in _LOCALES}


@dataclass(frozen=True, kw_only=True)
class Reader:
    names: Names
    locale: Locale
    zone: str
    user: int = 0
    """0 if the person has none in the portal."""
    now: datetime | None = None
    """Dates of its year stand without the year; None always writes it."""

    def format_day(self, day: date) -> str:
        return format_day(day, today=self.now.astimezone(ZoneInfo(self.zone)).date() if self.now else _LONG_AGO, locale=self.locale)


@dataclass(frozen=True, kw_only=True)
class Context:
    entity: str
    currency: str = ""
    category: int = 0
    is_new: bool = False
    """Sums without a currency are then in the portal's base currency."""


async def format_value(value: object, kind: str, *, context: Context, reader: Reader) -> str:
    """A dash for an empty value."""
    if value is None or value in ("", [], {}):
        return EMPTY
    if find_references(value):
        return FROM_COMMAND[reader.locale].format(value=format_plain(value, reader))
    match kind:
        case "user" | "company" | "contact" | "category":
            return await _format_names(value, kind, context=context, reader=reader)
        case "stage":
            return await _name_or_default(reader.names.find_stage_name(context.entity, str(value), context.category), str(value), reader)
        case "money":
            return await _format_money(value, context, reader)
        case "date" | "datetime":
            return _format_moment(value, kind, reader)
        case "flag":
            return _FLAGS[reader.locale].get(
                str(value), _FLAGS[reader.locale]["Y" if value is True else "N"] if value in (True, False) else format_plain(value, reader)
            )
        case "enum" if context.entity == "task":
            return _TASK_STATUS[reader.locale].get(str(value), format_plain(value, reader))
        case _:
            return format_plain(value, reader)


def format_plain(value: object, reader: Reader) -> str:
    """The whole of any JSON value, hidden characters visible, one line for each element of a list."""
    return join_lines([_flatten(item) for item in value] if isinstance(value, list) else [_flatten(value)], reader)


def unescape_value(value: object) -> object:
    """As people read what the portal gives with entities; never for what is sent."""
    if isinstance(value, list):
        return [unescape_value(item) for item in value]
    return unescape(value) if isinstance(value, str) else value


def format_steps(steps: Sequence[Step], reader: Reader, *, is_new: bool = False) -> str:
    """One line each, marked as added or removed, or «old → new»; without marks for a new record."""
    if is_new and all(step.verb == "add" for step in steps):
        return join_lines([_format_typed(step, step.value_type, reader.locale) for step in steps], reader) or EMPTY
    return join_lines([_format_step(step, reader.locale) for step in steps], reader) or EMPTY


def find_currency(values: JsonObject, entity: str) -> str:
    """Under any of the portal's names for it; "" if there is none."""
    for name in _CURRENCIES if values else ():
        currency = fields.find_value(values, name, entity)
        if currency:
            return str(currency)
    return ""


def format_duration(value: object, locale: Locale) -> str:
    """Seconds as «1 ч 30 мин», nothing rounded; other values stay."""
    number = fields.parse_number(value)
    if number is None or number != int(number) or not 0 <= number < _LONGEST_DURATION:
        return str(value)
    left, texts = int(number), []
    for unit, length in _DURATIONS.items():
        count, left = divmod(left, length)
        if count:
            texts.append(_UNITS[locale][unit].format(count=count))
    return " ".join(texts) or _UNITS[locale]["second"].format(count=0)


def join_lines(texts: Iterable[str], reader: Reader) -> str:
    """A line break inside of a text becomes a symbol, so no text can pass for two."""
    return "\n".join(escape_text(text, locale=reader.locale) for text in texts)


def shorten_value(text: str, locale: Locale) -> str:
    """On one line, cut at `NAME_LIMIT` with a mark that says how much is missing."""
    line = ", ".join(text.split("\n"))
    return line if len(line) <= NAME_LIMIT else mark_cut(line[:NAME_LIMIT], len(line) - NAME_LIMIT, locale)


def format_multifield(kind: str, value: str) -> str:
    return format_phone(value) if kind == "PHONE" else value


def _format_step(step: Step, locale: Locale) -> str:
    was, value = format_multifield(step.kind, step.old.value if step.old is not None else ""), format_multifield(step.kind, step.value)
    match step.verb:
        case "add":
            return _ADDED[locale].format(value=_format_typed(step, step.value_type, locale))
        case "edit" if step.old is not None and step.value == step.old.value:
            return f"{_format_typed(step, step.old.value_type, locale)} → {_format_typed(step, step.value_type, locale)}"
        case "edit" if was == value and step.old is not None:  # the same number in another spelling: the spelling is the change
            return f"{step.old.value} → {step.value}"
        case "edit":
            return f"{was} → {value}"
        case "remove":
            return _DELETED[locale].format(value=was)
        case _:
            assert_never(step.verb)


def _format_typed(step: Step, value_type: str, locale: Locale) -> str:
    words = (_EMAIL_TYPES if step.kind == "EMAIL" else _VALUE_TYPES)[locale]
    value, type_name = format_multifield(step.kind, step.value), words.get(value_type.upper(), value_type)
    return f"{value} ({type_name})" if value_type not in {"", "WORK"} else value


async def format_own_value(name: str, value: object, *, context: Context, reader: Reader) -> str:
    """With the portal's names; without them unchanged."""
    if value is None or value in ("", [], {}) or find_references(value):
        return await format_value(value, "text", context=context, reader=reader)
    try:
        texts = await reader.names.describe_field_value(context.entity, name, value, locale=reader.locale, zone=reader.zone)
    except BitrixError:
        texts = None
    if texts is not None:
        return join_lines(texts, reader)
    return EMPTY if fields.is_blank(value) else format_plain(value, reader)


async def _format_names(value: object, kind: str, *, context: Context, reader: Reader) -> str:
    first_funnel = kind == "category" and str(value).strip() == "0"  # of anything else 0 means that there is none
    ids = {"0"} if first_funnel else fields.parse_ids(value)
    names = [await _format_name(item, kind, context=context, reader=reader) for item in sorted(ids, key=lambda item: (len(item), item))]
    return "\n".join(names) or EMPTY


async def _format_name(item: str, kind: str, *, context: Context, reader: Reader) -> str:
    if not (item.isascii() and item.isdigit()):
        return format_plain(item, reader)
    if len(item) > _LONGEST_ID:
        return format_number(escape_text(item, locale=reader.locale), reader.locale)
    number, unnamed = int(item), format_number(item, reader.locale)
    match kind:
        case "user":
            return await _name_or_default(reader.names.find_user_name(number), unnamed, reader)
        case "category":
            return await _name_or_default(reader.names.find_category_name(number, context.entity), unnamed, reader)
        case _:
            return await _name_or_default(reader.names.find_title(kind, number), unnamed, reader)


async def _name_or_default(name: Awaitable[str], otherwise: str, reader: Reader) -> str:
    try:
        portal_name = await name
    except BitrixError:
        portal_name = ""
    is_number = _NUMBER.fullmatch(portal_name) is not None  # the portal has no name
    return escape_text(
        format_number(portal_name[1:], reader.locale) if is_number else portal_name or otherwise, locale=reader.locale, limit=NAME_LIMIT
    )


async def _format_money(value: object, context: Context, reader: Reader) -> str:
    amount = fields.parse_number(value)
    if amount is None:
        return format_plain(value, reader)
    book = await reader.names.load_currency_book()
    currency = context.currency or (find_base_currency(book) if context.is_new else "")
    return format_sum(amount, escape_text(currency) if currency else None, locale=reader.locale, book=book)


def _format_moment(value: object, kind: str, reader: Reader) -> str:
    text = str(value).strip()
    try:
        if kind == "date" or "T" not in text:
            return (
                reader.format_day(parse_portal_date(text))
                if len(text) == len("2026-11-21") or kind == "date"
                else format_plain(text, reader)
            )
        moment = datetime.fromisoformat(text)
    except ValueError:
        return format_plain(text, reader)
    if moment.tzinfo is None:
        return format_plain(text, reader)
    try:
        here = moment.astimezone(ZoneInfo(reader.zone))
    except OverflowError:  # beyond the year 9999 in the person's time zone
        return format_plain(text, reader)
    return f"{reader.format_day(here.date())}, {here:%H:%M}"


def _flatten(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_flatten(item)}" for name, item in value.items())
    if isinstance(value, list):
        return "; ".join(_flatten(item) for item in value)
    return str(value)
