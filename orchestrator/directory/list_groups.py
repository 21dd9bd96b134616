"""Counts a list by one field, with the sum of each group. Reads all pages."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

from bitrix.bulk.bulk import list_all
from bitrix.bulk.lists import LISTS
from bitrix.catalogue import names
from bitrix.errors import BitrixError
from orchestrator.directory.answers import GroupedView, RecordRow, to_number
from orchestrator.directory.labels import build_card_url, parse_amount
from orchestrator.directory.list_columns import EMPTY, Column, ViewContext, find_column, find_value, format_column
from orchestrator.directory.outcome_view import OWN_RECORDS, extract_rows, format_sums, has_prose
from orchestrator.directory.reference_data import parse_funnel
from orchestrator.domain.effect import Outcome
from orchestrator.domain.outputs import Row, Table
from orchestrator.language.date_format import format_day, parse_portal_date
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.time_zones import parse_moment
from state.stored import JsonObject

MOST_GROUPS: Final = 50
MOST_ROWS: Final = 50_000
WITHIN: Final = 60.0
"""A person waits for the answer."""
UNITS: Final = ("day", "month", "year")
_WORDS: Final = load_lexicon("records")
_MONTHS: Final = {locale: load_lexicon("dates").read_words("shown", locale, "months_alone") for locale in ("ru", "en")}
_NAMED: Final = frozenset({"user", "employee", "stage", "category", "company", "contact", "flag", "boolean", "enumeration", "crm_status"})
"""Nobody's free text stands in groups of these kinds."""
_DATES: Final = frozenset({"date", "datetime"})
_WITH_SUM: Final = frozenset({"deal", "lead", "item:7", "item:31"})
_BY: Final = re.compile(r"([A-Za-z][A-Za-z0-9_]{0,80})(?::(day|month|year))?", re.ASCII)
FORMS: Final = (
    "person, stage, source, funnel, company, day, month, year, or the name of a field; FIELD:month, FIELD:day, FIELD:year for dates"
)


@dataclass(slots=True)
class _Group:
    count: int = 0
    sums: dict[str, Decimal] = field(default_factory=dict)

    def add(self, other: "_Group") -> None:
        self.count += other.count
        for currency, amount in other.sums.items():
            self.sums[currency] = self.sums.get(currency, Decimal(0)) + amount


class _Unreadable(Exception):
    """The message tells the model why."""


async def group_list(outcome: Outcome, by: str, context: ViewContext) -> GroupedView:
    """With the conditions of the call. Raises no errors of the portal."""
    entity = context.naming.find_entity(outcome.method, outcome.call)
    parsed = _BY.fullmatch(by.strip())
    if parsed is None or OWN_RECORDS.fullmatch(outcome.method) is None or outcome.method.lower() not in LISTS:
        return GroupedView(trouble=f"group_by is for lists of CRM records and tasks, with {FORMS}")
    name, unit = _find_field(parsed, entity, context)
    rows = extract_rows(outcome.result)
    column = await find_column(entity, name, rows, context)
    if column is None:
        return GroupedView(trouble=f"these records have no field {name}; group_by takes {FORMS}")
    if column.kind in _DATES and not unit:
        unit = "month"
    elif column.kind not in _DATES and unit:
        return GroupedView(trouble=f"{name} is no date, so it cannot be grouped by {unit}")
    heading = _name_heading(parsed[1].lower(), unit, column, entity, context)
    counter = _Counter(entity, column, unit, context, await context.naming.load_portal_zone(), heading=heading)
    try:
        async with asyncio.timeout(WITHIN):
            async for row in _iterate_rows(outcome, rows, counter):
                counter.add(row)
    except (TimeoutError, BitrixError, ValueError):
        return GroupedView(trouble="the list could not be read to its end, so it is not grouped; a narrower filter may help")
    except _Unreadable as error:
        return GroupedView(trouble=str(error))
    return await counter.build_view()


def _find_field(parsed: re.Match[str], entity: str, context: ViewContext) -> tuple[str, str]:
    spec = context.reads.catalogue.entities[entity.partition(":")[0]]
    word, unit = parsed[1].lower(), parsed[2] or ""
    created = "CREATED_DATE" if entity == "task" else "DATE_CREATE"
    fields = {
        "person": spec.owner_field,
        "stage": "STATUS_ID" if entity in {"lead", "item:7"} else "STATUS" if entity == "task" else "STAGE_ID",
        "source": "SOURCE_ID",
        "funnel": "CATEGORY_ID",
        "company": "COMPANY_ID",
        **dict.fromkeys(UNITS, created),
    }
    return fields.get(word, parsed[1]), unit or (word if word in UNITS else "")


def _name_heading(word: str, unit: str, column: Column, entity: str, context: ViewContext) -> str:
    headings = _WORDS.read_table("group_headings", context.actor.locale)
    if word in headings and not (word == "person" and entity == "task"):
        return headings[word]
    return f"{headings[unit]}: {column.title}" if unit else column.title


async def _iterate_rows(outcome: Outcome, rows: Sequence[JsonObject], counter: "_Counter") -> AsyncIterator[JsonObject]:
    """Without a further read if the call has read all, with the fields."""
    is_whole = outcome.total is None or len(rows) >= outcome.total
    if is_whole and (not rows or counter.can_count(rows)):
        for row in rows:
            yield row
        return
    if "start" in outcome.call:
        raise _Unreadable("a list with start is one page; leave start out to group the whole list")
    if (outcome.total or 0) > MOST_ROWS:
        raise _Unreadable(f"the list has more than {MOST_ROWS} rows, so it is not grouped; a narrower filter helps")
    params = {key: join_conditions(value) if key == "filter" else value for key, value in outcome.call.items() if key not in _OURS}
    count = 0
    client = counter.context.reads.client
    async with aclosing(list_all(client, outcome.method, {**params, "select": counter.list_fields(outcome.method)})) as pages:
        async for row in pages:
            count += 1
            if count > MOST_ROWS:
                raise _Unreadable(f"the list has more than {MOST_ROWS} rows, so it is not grouped; a narrower filter helps")
            yield row


_OURS: Final = frozenset({"select", "order", "start"})


def join_conditions(conditions: object) -> object:
    """So that a condition on ids can be added with AND: conditions joined by OR are wrapped."""
    joined = isinstance(conditions, list) or (isinstance(conditions, Mapping) and "logic" in {name.lower() for name in conditions})
    return {"0": conditions} if joined else conditions


class _Counter:
    def __init__(self, entity: str, column: Column, unit: str, context: ViewContext, zone: str, *, heading: str) -> None:
        self.context = context
        self._heading = heading
        self._entity = entity
        self._column = column
        self._unit = unit
        self._portal_zone = zone
        self._groups: dict[str, _Group] = {}
        self._all = _Group()

    def can_count(self, rows: Sequence[JsonObject]) -> bool:
        has_sum = self._entity not in _WITH_SUM or any(RecordRow.model_validate(row).opportunity is not None for row in rows)
        return has_sum and any(find_value(row, self._column) is not None for row in rows)

    def list_fields(self, method: str) -> list[str]:
        field_names = ["ID", self._column.name]
        if self._entity in _WITH_SUM:
            field_names += ["OPPORTUNITY", "CURRENCY_ID"]
        spell = names.to_universal if method.startswith("crm.item.") else names.to_classic
        return list(dict.fromkeys(spell(name, self._entity) for name in field_names))

    def add(self, row: JsonObject) -> None:
        """Once for each value."""
        record = RecordRow.model_validate(row)
        amount = parse_amount(record.opportunity) if self._entity in _WITH_SUM else None
        row_group = _Group(1, {record.currency_id: amount} if amount is not None else {})
        value = find_value(row, self._column)
        for key in dict.fromkeys(map(self._to_key, value if isinstance(value, list) and value else [value])):
            self._groups.setdefault(key, _Group()).add(row_group)
        self._all.add(row_group)

    def _to_key(self, value: object) -> str:
        """Empty values give ""."""
        text = "" if value in (None, "", [], {}, False) else str(value)
        if not text or not self._unit:
            return "" if text == "0" and self._column.kind in {"user", "employee", "company", "contact"} else text
        length = {"day": 10, "month": 7, "year": 4}[self._unit]
        try:
            if self._column.kind == "date":
                return parse_portal_date(text).isoformat()[:length]
            moment = parse_moment(text, zone=self._portal_zone)
            return moment.astimezone(ZoneInfo(self.context.actor.time_zone)).date().isoformat()[:length] if moment else ""
        except (ValueError, OverflowError):
            return ""

    async def build_view(self) -> GroupedView:
        """Dates in order, others by their number of records."""
        book, locale = await self.context.naming.load_currency_book(), self.context.actor.locale
        words = _WORDS.read_table("groups", locale)
        by_date = sorted(self._groups) if self._unit else sorted(self._groups, key=lambda key: (-self._groups[key].count, key))
        shown_keys, rest = by_date[:MOST_GROUPS], by_date[MOST_GROUPS:]
        labels = [label if label != EMPTY else words["none"] for label in await self._name_groups(shown_keys)]
        groups = [self._groups[key] for key in shown_keys]
        if rest:
            other = _Group()
            for key in rest:
                other.add(self._groups[key])
            labels, groups, shown_keys = [*labels, words["more"].format(count=len(rest))], [*groups, other], [*shown_keys, ""]
        sums = [format_sums(group.sums, self.context.actor, book) for group in groups]
        has_sums = any(sums)
        rows = tuple(
            {name: value for name, value in {"group": label, "value": key, "count": group.count, "sum": total}.items() if value != ""}
            for label, key, group, total in zip(labels, shown_keys, groups, sums, strict=True)
        )
        table = Table(
            rows=tuple(
                self._build_row(label, key, (str(group.count), *((total or EMPTY,) if has_sums else ())))
                for label, key, group, total in zip(labels, shown_keys, groups, sums, strict=True)
            ),
            columns=(words["count"], *((words["sum"],) if has_sums else ())),
            heading=self._heading,
            shown=len(groups),
            total=self._all.count,
            sum_text=format_sums(self._all.sums, self.context.actor, book),
            is_grouped=True,
            groups=len(self._groups),
        )
        is_named = self._unit or self._column.kind in _NAMED
        prose = not is_named and has_prose([*labels, *shown_keys])
        return GroupedView(rows=rows, table=table, labels=tuple(labels), prose=prose)

    async def _name_groups(self, keys: Sequence[str]) -> list[str]:
        if self._unit:
            return [self._format_date(key) if key else EMPTY for key in keys]
        labels = await format_column(self._entity, self._column, [{self._column.name: key} for key in keys], self.context)
        funnels = {parse_funnel(key) or 0 for key in keys if key}
        if self._column.kind != "stage" or len(funnels) < 2 or self._entity in {"lead", "item:7"}:  # noqa: PLR2004 - one funnel needs no name
            return labels
        names_of = {number: await self._find_funnel(number) for number in funnels}
        return [f"{label} ({names_of[parse_funnel(key) or 0]})" if key else label for label, key in zip(labels, keys, strict=True)]

    async def _find_funnel(self, number: int) -> str:
        try:
            return await self.context.naming.find_category_name(number, self._entity)
        except BitrixError:
            return f"№{number}"

    def _format_date(self, key: str) -> str:
        locale = self.context.actor.locale
        match self._unit:
            case "year":
                return key
            case "month":
                year, _, month = key.partition("-")
                return f"{_MONTHS[locale][int(month) - 1]} {year}"
            case _:
                today = self.context.now.astimezone(ZoneInfo(self.context.actor.time_zone)).date()
                return format_day(parse_portal_date(key), today=today, locale=locale)

    def _build_row(self, label: str, key: str, cells: tuple[str, ...]) -> Row:
        number = to_number(key) if self._column.kind in {"user", "employee"} else 0
        if not number:
            return Row(label=label, cells=cells)
        url = build_card_url(self.context.reads.client.base_url, "user", number)
        return Row(label=label, url=url, target=f"user:{number}", cells=cells)
