"""Formats values as people read them on a card: names for codes, money with its currency, times in the person's zone.

A card shows exactly what will be sent: a value that cannot be interpreted is shown unchanged.
"""

import re
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
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
"""Maximum length in characters of a name that the portal returns, and of a value in the middle of a sentence."""
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
_FROM_COMMAND: Final = _WORDS.read_titles("from_command")
UNKNOWN: Final = _WORDS.read_titles("unknown")
"""Shown in place of an old value that was not among the data read from the portal."""
MADE_BY: Final = _WORDS.read_titles("made_by_command")
NAMED_BY: Final = _WORDS.read_titles("named_by_command")
_VALUE_TYPES: Final = {locale: _WORDS.read_table("value_types", locale) for locale in _LOCALES}
_EMAIL_TYPES: Final = {locale: _WORDS.read_table("email_types", locale) for locale in _LOCALES}
_UNITS: Final = {locale: _WORDS.read_table("durations", locale) for locale in _LOCALES}
_DURATIONS: Final = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}
_LONGEST_DURATION: Final = 10**10
_CURRENCIES: Final = ("CURRENCY_ID", "CURRENCY")
"""What methods call the currency of their sums; a sum with a currency of its own names it in data/language/card_*params.yaml."""
_TASK_STATUS: Final = {locale: _WORDS.read_table("task_statuses", locale) for locale in _LOCALES}


@dataclass(frozen=True, kw_only=True)
class Reader:
    """The person for whom values are formatted (language, time zone), and the source of names."""

    names: Names
    locale: Locale
    zone: str
    user: int = 0
    """The person's user id in the portal; 0 if the person has none."""
    now: datetime | None = None
    """Dates in the year of `now` are written without the year; with None the year is always written."""

    def format_day(self, day: date) -> str:
        """Return a date as text in this person's language."""
        return format_day(day, today=self.now.astimezone(ZoneInfo(self.zone)).date() if self.now else _LONG_AGO, locale=self.locale)


@dataclass(frozen=True, kw_only=True)
class Context:
    """What is needed to interpret a field's value: the record's kind, currency and funnel."""

    entity: str
    currency: str = ""
    category: int = 0
    is_new: bool = False
    """Whether the record is yet to be created: sums without a currency are then in the portal's base currency."""


async def format_value(value: object, kind: str, *, context: Context, reader: Reader) -> str:
    """Return `value` as text, formatted by its `kind` (money, date, user and so on); a dash (EMPTY) for an empty value."""
    if value is None or value in ("", [], {}):
        return EMPTY
    if find_references(value):
        return _FROM_COMMAND[reader.locale].format(value=format_plain(value, reader))
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
    """Return the whole of any JSON value as text, hidden characters made visible; each element of a list is a line of its own."""
    return join_lines([_flatten(item) for item in value] if isinstance(value, list) else [_flatten(value)], reader)


def format_steps(steps: Sequence[Step], reader: Reader, *, is_new: bool = False) -> str:
    """Return what happens to each phone or address, one a line: an added or removed one is marked so, an edited one is «old → new».

    If the record is new (`is_new`), the values stand without a mark.
    """
    if is_new and all(step.verb == "add" for step in steps):
        return join_lines([_format_typed(step, step.value_type, reader.locale) for step in steps], reader) or EMPTY
    return join_lines([_format_step(step, reader.locale) for step in steps], reader) or EMPTY


def find_currency(values: JsonObject, entity: str) -> str:
    """Return the currency that stands in the fields `values`, under any of the portal's names for this field; "" if there is none."""
    for name in _CURRENCIES if values else ():
        found = fields.find_value(values, name, entity)
        if found:
            return str(found)
    return ""


def format_duration(value: object, locale: Locale) -> str:
    """Return seconds as «1 ч 30 мин», with nothing rounded; a value that is no whole number of seconds is returned as it is."""
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
    """Return the texts one a line; a line break inside of one becomes a symbol, so no text can pass for two."""
    return "\n".join(escape_text(text, locale=reader.locale) for text in texts)


def shorten_value(text: str, locale: Locale) -> str:
    """Return a formatted value for the middle of a sentence: on one line, cut at `NAME_LIMIT` characters.

    A cut text ends with a mark that says how many characters are missing.
    """
    line = ", ".join(text.split("\n"))
    return line if len(line) <= NAME_LIMIT else mark_cut(line[:NAME_LIMIT], len(line) - NAME_LIMIT, locale)


def format_multifield(kind: str, value: str) -> str:
    """Return a phone number as people write it; a value of any other kind is returned unchanged."""
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
    value, said = format_multifield(step.kind, step.value), words.get(value_type.upper(), value_type)
    return f"{value} ({said})" if value_type not in {"", "WORK"} else value


async def format_own_value(name: str, value: object, *, context: Context, reader: Reader) -> str:
    """Return the value of a custom field as text, with the portal's names for it (such as the name of a list item).

    If the portal has no names for the value, the value is shown unchanged.
    """
    if value is None or value in ("", [], {}) or find_references(value):
        return await format_value(value, "text", context=context, reader=reader)
    try:
        found = await reader.names.describe_field_value(context.entity, name, value, locale=reader.locale, zone=reader.zone)
    except BitrixError:
        found = None
    return format_plain(value, reader) if found is None else join_lines(found, reader)


async def _format_names(value: object, kind: str, *, context: Context, reader: Reader) -> str:
    first_funnel = kind == "category" and str(value).strip() == "0"  # of anything else 0 means that there is none
    ids = {"0"} if first_funnel else fields.parse_ids(value)
    found = [await _format_name(item, kind, context=context, reader=reader) for item in sorted(ids, key=lambda item: (len(item), item))]
    return "\n".join(found) or EMPTY


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
    """Return the name, or `otherwise` if the portal cannot be read or has no name. A card is shown even without the name."""
    try:
        found = await name
    except BitrixError:
        found = ""
    is_number = _NUMBER.fullmatch(found) is not None  # the portal has no name
    return escape_text(format_number(found[1:], reader.locale) if is_number else found or otherwise, locale=reader.locale, limit=NAME_LIMIT)


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
