"""Values as people read them on a card: names for codes, money with its currency, moments in the person's zone. Ring 2.

It shows what will be sent and nothing kinder: a value it cannot read is shown as it is.
"""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Protocol, assert_never
from zoneinfo import ZoneInfo

from bitrix.batch import references
from bitrix.errors import BitrixError
from orchestrator.directory.date_format import day_of, format_day
from orchestrator.directory.money_style import Book, base_of
from orchestrator.directory.phone_format import format_phone
from orchestrator.directory.sum_format import format_sum
from orchestrator.directory.text import Locale
from orchestrator.gate import fields
from orchestrator.gate.multifields import Step
from orchestrator.gate.visible import visible

EMPTY = "—"
_LONGEST_ID = 15
_LONG_AGO = date(1, 1, 1)  # any other year than the shown one, so that the year stands there
_FLAGS = {"ru": {"Y": "Да", "1": "Да", "N": "Нет", "0": "Нет"}, "en": {"Y": "Yes", "1": "Yes", "N": "No", "0": "No"}}
_DELETED = {"ru": "удалить {value}", "en": "remove {value}"}
_ADDED = {"ru": "добавить {value}", "en": "add {value}"}
_FROM_COMMAND = {"ru": "из ответа другой команды: {value}", "en": "from another command's answer: {value}"}
UNKNOWN = {"ru": "неизвестно", "en": "unknown"}
"""What stood there is not in what was read."""
MADE_BY = {"ru": "запись из команды {key}", "en": "the record made by command {key}"}
NAMED_BY = {"ru": "запись из ответа команды {key}", "en": "a record from the answer of command {key}"}
_TASK_STATUS = {
    "ru": {"2": "ждёт выполнения", "3": "выполняется", "4": "ждёт контроля", "5": "завершена", "6": "отложена"},
    "en": {"2": "pending", "3": "in progress", "4": "awaiting control", "5": "completed", "6": "deferred"},
}


class Names(Protocol):
    """Names of people, stages and records; may read the portal and then raise BitrixError."""

    async def user(self, user_id: int) -> str:
        """A colleague's name."""
        ...

    async def stage(self, entity: str, stage_id: str, category_id: int = 0) -> str:
        """The name of a stage."""
        ...

    async def category(self, category_id: int, entity: str = "deal") -> str:
        """The name of a funnel."""
        ...

    async def kind(self, entity: str, locale: Locale) -> str:
        """What a smart process calls its records; "" for the kinds that doors name themselves."""
        ...

    async def title(self, entity: str, record_id: int) -> str:
        """What a record is called."""
        ...

    async def field_title(self, entity: str, name: str) -> str:
        """What the portal calls a field, "" where it has no title or cannot be asked."""
        ...

    async def field_value(self, entity: str, name: str, value: Any, *, locale: Locale, zone: str) -> str | None:
        """The value of the portal's own field in words; None where the value says all."""
        ...

    async def book(self) -> Book:
        """How the portal writes its currencies; never fails."""
        ...

    def card_url(self, entity: str, record_id: int, *, user: int = 0) -> str:
        """The address of its card as `user` sees it, "" when it has none."""
        ...


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Whose eyes the card is for, and where names come from."""

    names: Names
    locale: Locale
    zone: str
    user: int = 0
    """The person's number in the portal, 0 for one without."""
    now: datetime | None = None
    """Days of this year are said without it; None says the year always."""

    def day(self, day: date) -> str:
        """A day as the person reads it."""
        return format_day(day, today=self.now.astimezone(ZoneInfo(self.zone)).date() if self.now else _LONG_AGO, locale=self.locale)


@dataclass(frozen=True, kw_only=True)
class Context:
    """What the meaning of a value hangs on: the kind of record, its currency and its funnel."""

    entity: str
    currency: str = ""
    category: int = 0
    is_new: bool = False
    """It is to be made: what names no currency gets the portal's own."""


async def show(value: Any, kind: str, *, context: Context, reader: Reader) -> str:
    """`value` in words; EMPTY for nothing."""
    if value is None or value in ("", [], {}):
        return EMPTY
    if references(value):
        return _FROM_COMMAND[reader.locale].format(value=plain(value, reader))
    match kind:
        case "user" | "company" | "contact" | "category":
            return await _named(value, kind, context=context, reader=reader)
        case "stage":
            return await _name_or(reader.names.stage(context.entity, str(value), context.category), str(value), reader)
        case "money":
            return await _money(value, context, reader)
        case "date" | "datetime":
            return _moment(value, kind, reader)
        case "flag":
            return _FLAGS[reader.locale].get(
                str(value), _FLAGS[reader.locale]["Y" if value is True else "N"] if value in (True, False) else plain(value, reader)
            )
        case "enum" if context.entity == "task":
            return _TASK_STATUS[reader.locale].get(str(value), plain(value, reader))
        case _:
            return plain(value, reader)


def plain(value: Any, reader: Reader) -> str:
    """Any JSON value on one line, with every hidden sign named and a visible cut."""
    return visible(_flat(value), locale=reader.locale)


def steps_in_words(steps: Sequence[Step], reader: Reader) -> str:
    """What happens to each phone or address: added, edited or removed; one whose value is new to the record is never called an edit."""
    return visible("; ".join(_step(step, reader.locale) for step in steps), locale=reader.locale) or EMPTY


def in_words(kind: str, value: str) -> str:
    """A phone as people write it, anything else as it is."""
    return format_phone(value) if kind == "PHONE" else value


def _step(step: Step, locale: Locale) -> str:
    was, value = in_words(step.kind, step.old.value if step.old is not None else ""), in_words(step.kind, step.value)
    match step.verb:
        case "add":
            return _ADDED[locale].format(value=_typed(value, step.value_type))
        case "edit" if step.old is not None and step.value == step.old.value:
            return f"{_typed(was, step.old.value_type)} → {_typed(value, step.value_type)}"
        case "edit" if was == value and step.old is not None:  # the same number written otherwise: that is what changes
            return f"{step.old.value} → {step.value}"
        case "edit":
            return f"{was} → {value}"
        case "remove":
            return _DELETED[locale].format(value=was)
        case _:
            assert_never(step.verb)


def _typed(value: str, value_type: str) -> str:
    return f"{value} ({value_type})" if value_type not in {"", "WORK"} else value


async def show_own(name: str, value: Any, *, context: Context, reader: Reader) -> str:
    """The value of a field of the portal's own, by the names that the portal gives it; else as it is."""
    if value is None or value in ("", [], {}) or references(value):
        return await show(value, "text", context=context, reader=reader)
    try:
        found = await reader.names.field_value(context.entity, name, value, locale=reader.locale, zone=reader.zone)
    except BitrixError:
        found = None
    return plain(value, reader) if found is None else visible(found, locale=reader.locale)


async def _named(value: Any, kind: str, *, context: Context, reader: Reader) -> str:
    found = [
        await _one_name(item, kind, context=context, reader=reader)
        for item in sorted(fields.ids(value), key=lambda item: (len(item), item))
    ]
    return ", ".join(found) or EMPTY


async def _one_name(item: str, kind: str, *, context: Context, reader: Reader) -> str:
    if not (item.isascii() and item.isdigit()):
        return plain(item, reader)
    if len(item) > _LONGEST_ID:
        return f"№{visible(item, locale=reader.locale)}"
    number = int(item)
    match kind:
        case "user":
            return await _name_or(reader.names.user(number), f"№{item}", reader)
        case "category":
            return await _name_or(reader.names.category(number, context.entity), f"№{item}", reader)
        case _:
            return await _name_or(reader.names.title(kind, number), f"№{item}", reader)


async def _name_or(name: Awaitable[str], otherwise: str, reader: Reader) -> str:
    """The name, or the number where the portal cannot be asked: a card never fails for a name."""
    try:
        found = await name
    except BitrixError:
        found = ""
    return visible(found or otherwise, locale=reader.locale)


async def _money(value: Any, context: Context, reader: Reader) -> str:
    amount = fields.number(value)
    if amount is None:
        return plain(value, reader)
    book = await reader.names.book()
    currency = context.currency or (base_of(book) if context.is_new else "")
    return format_sum(amount, visible(currency) if currency else None, locale=reader.locale, book=book)


def _moment(value: Any, kind: str, reader: Reader) -> str:
    text = str(value).strip()
    try:
        if kind == "date" or "T" not in text:
            return reader.day(day_of(text)) if len(text) == len("2026-11-21") or kind == "date" else plain(text, reader)
        moment = datetime.fromisoformat(text)
    except ValueError:
        return plain(text, reader)
    if moment.tzinfo is None:
        return plain(text, reader)
    try:
        here = moment.astimezone(ZoneInfo(reader.zone))
    except OverflowError:  # beyond the year 9999 where the person is
        return plain(text, reader)
    return f"{reader.day(here.date())}, {here:%H:%M}"


def _flat(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_flat(item)}" for name, item in value.items())
    if isinstance(value, list):
        return "; ".join(_flat(item) for item in value)
    return str(value)
