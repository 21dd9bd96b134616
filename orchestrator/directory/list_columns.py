"""Lists with the columns that the model asked for: code finds and formats the values, which never get into the prompt."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from bitrix.catalogue import names
from bitrix.catalogue.catalogue import FieldInfo
from bitrix.errors import BitrixError
from bitrix.masking import mask
from orchestrator.directory.answers import ColumnedTable, RecordRow, to_number
from orchestrator.directory.labels import parse_amount
from orchestrator.directory.naming import Naming
from orchestrator.directory.outcome_view import extract_rows, find_row_kind
from orchestrator.directory.param_words import ParamWords, find_common_words, find_param_words
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.directory.reference_data import Field
from orchestrator.domain.actor import Actor
from orchestrator.domain.address import parse_target
from orchestrator.domain.effect import Outcome
from orchestrator.domain.outputs import Table
from orchestrator.language.date_format import format_day, parse_portal_date
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.money_format import format_sum
from orchestrator.language.text import Locale, format_dialed_phone, to_visible_line
from orchestrator.language.time_zones import parse_moment
from state.stored import JsonObject

MOST_COLUMNS: Final = 8
EMPTY: Final = "—"
_LONGEST_CELL: Final = 80
_CHUNK: Final = 20
"""Values named at once."""
_MOST_NAMED: Final = 200
"""Different values of one column that are named."""
_SUMS: Final = frozenset({"opportunity", "taxvalue", "revenue"})
"""In the currency of their record."""
_OWNER, _OWNER_TYPE = "ownerid", "OWNER_TYPE_ID"
_IN_TITLE: Final = frozenset({"title", "name", "lastname", "secondname"})
"""Normalized fields that stand in each row's title anyway."""
_ADDRESSES: Final = frozenset({"phone", "phonenumber", "email", "web", "im", "fm"})
_CARD_WORDS: Final = load_lexicon("card_fields")
_ROW_COLUMNS: Final = load_lexicon("records").read_table("row_columns")
_FLAGS: Final = {"Y": "set", "1": "set", "N": "unset", "0": "unset"}


_FLAG_KINDS: Final = frozenset({"flag", "boolean", "char"})
_NO_SUM: Final = re.compile(r"\|[A-Z]{3}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class ViewContext:
    reads: PortalReader
    naming: Naming
    actor: Actor
    now: datetime


@dataclass(frozen=True, kw_only=True)
class Column:
    """`name` is as rows have it."""

    name: str
    title: str
    info: FieldInfo | None
    field: Field | None
    words: ParamWords | None

    @property
    def kind(self) -> str:
        """As the catalogue or else the portal or the words of cards tell it."""
        if self.info is not None and self.info.kind not in {"text", "enum"}:
            return self.info.kind
        if self.field is not None:
            return self.field.type
        return self.info.kind if self.info is not None else self.words.kind if self.words is not None else ""

    @property
    def key(self) -> str:
        return names.to_field_key(self.name)


async def add_columns(outcome: Outcome, table: Table, field_names: Sequence[str], context: ViewContext) -> ColumnedTable:
    """Return `table`, the list in `outcome`, with the columns `field_names`; raises no errors of the portal.

    Fields that the call did not read are read once more with its conditions. A field that the records do not have gives no column.
    """
    entity = find_entity(outcome, table)
    wanted = field_names or _ROW_COLUMNS.get(entity, "").split()
    if not wanted:
        return ColumnedTable(table=table, unknown=())
    found = await find_columns(outcome, table, wanted, context)
    cells = [await format_column(found.entity, column, found.rows, context) for column in found.columns]
    new_rows = tuple(
        row.model_copy(update={"label": row.label.partition(" · ")[0], "cells": tuple(column[number] for column in cells)})
        for number, row in enumerate(table.rows)
    )
    columns, heading = tuple(column.title for column in found.columns), _name_kind(found.entity, context.actor.locale)
    columned = table.model_copy(update={"rows": new_rows, "columns": columns, "heading": heading})
    return ColumnedTable(table=columned, unknown=tuple(name for name in found.unknown if name in field_names))


def _name_kind(entity: str, locale: Locale) -> str:
    """Of what stands first in each row; "" where it has no name."""
    word = _CARD_WORDS.read_table("kinds", locale).get(entity, "")
    return word[:1].upper() + word[1:]


@dataclass(frozen=True, kw_only=True)
class FoundColumns:
    """`rows` are those of the table, as the portal gave them; `unknown` are names of no field."""

    entity: str
    columns: Sequence[Column]
    rows: Sequence[JsonObject]
    unknown: Sequence[str] = ()


async def find_columns(
    outcome: Outcome, table: Table, wanted: Sequence[str], context: ViewContext, *, most: int = MOST_COLUMNS
) -> FoundColumns:
    """What the call did not read is read once more with its conditions; raises no errors of the portal."""
    entity = find_entity(outcome, table)
    read_rows = extract_rows(outcome.result)
    rows = {RecordRow.model_validate(row).id: row for row in read_rows}
    named_columns = [(name, await find_column(entity, name, read_rows, context, outcome.method)) for name in wanted]
    columns = [column for _, column in named_columns if column is not None and not _is_in_title(entity, column)][:most]
    missing = [column for column in columns if not any(find_value(row, column) is not None for row in rows.values())]
    if missing:
        rows = _merge_rows(rows, await _read_missing(outcome, entity, missing, len(rows), context))
    known = [rows.get(parse_target(row.target)[1] if row.target else 0, {}) for row in table.rows]
    if len(rows) < len(read_rows) == len(table.rows):
        known = list(read_rows)  # rows without ids, or one record in several rows
    return FoundColumns(entity=entity, columns=columns, rows=known, unknown=[name for name, column in named_columns if column is None])


def find_entity(outcome: Outcome, table: Table) -> str:
    return next((parse_target(row.target)[0] for row in table.rows if row.target), find_row_kind(outcome))


async def find_column(entity: str, name: str, rows: Sequence[JsonObject], context: ViewContext, method: str) -> Column | None:
    """None if these records have none. The portal's own fields must be named exactly: a similar one may be another."""
    info = _find_info(entity, name, context)
    field = await context.naming.find_field(entity, name)
    own = names.is_custom_field(name)
    key = names.to_field_key(name, entity)
    spelt = (name, names.to_classic(name, entity), names.to_universal(name, entity))
    row_name = next((one for row in rows for one in row if one in spelt or (not own and names.to_field_key(one, entity) == key)), None)
    words = None if own else find_param_words(method, entity, name) or find_common_words(name)
    if info is None and field is None and row_name is None:
        return None
    portal = to_visible_line(field.title, limit=40) if field is not None else ""
    title = (info.ru if context.actor.locale == "ru" else info.en) if info is not None else portal or to_visible_line(name, limit=40)
    if info is None and field is None and words is not None:
        title = words.names[context.actor.locale]
    return Column(name=row_name or (field.code if field is not None else name), title=title, info=info, field=field, words=words)


def _find_info(entity: str, name: str, context: ViewContext) -> FieldInfo | None:
    spec = context.reads.catalogue.entities.get("item" if entity.startswith("item:") or entity == "quote" else entity)
    known = spec.by_key.get(names.to_field_key(name, entity)) if spec is not None else None
    return spec.fields[known] if spec is not None and known is not None else None


def _is_in_title(entity: str, column: Column) -> bool:
    return column.key in (_IN_TITLE if entity in {"contact", "user"} else {"title"})


def find_value(row: JsonObject, column: Column) -> object:
    """In any spelling; None if the row has none."""
    if column.name in row:
        return row[column.name]
    if names.is_custom_field(column.name):
        spelt = (names.to_classic(column.name), names.to_universal(column.name))
        return next((row[name] for name in spelt if name in row), None)
    return next((value for name, value in row.items() if names.to_field_key(name) == column.key), None)


def _merge_rows(rows: Mapping[int, JsonObject], more: Sequence[JsonObject]) -> dict[int, JsonObject]:
    read = {RecordRow.model_validate(row).id: row for row in more}
    return {number: {**row, **read.get(number, {})} for number, row in rows.items()}


async def _read_missing(outcome: Outcome, entity: str, columns: Sequence[Column], count: int, context: ViewContext) -> Sequence[JsonObject]:
    """[] if that is not possible."""
    spec = context.reads.catalogue.find(outcome.method)
    if spec is None or spec.verb != "list" or not spec.reads_only or "start" in outcome.call:
        return []
    is_universal = outcome.method.startswith("crm.item.")
    spell = names.to_universal if is_universal else names.to_classic
    fields = [*(column.name for column in columns), *(["CURRENCY_ID"] if any(column.key in _SUMS for column in columns) else [])]
    fields += [_OWNER_TYPE] if entity == "activity" and any(column.key == _OWNER for column in columns) else []
    select = ["id" if is_universal else "ID", *dict.fromkeys(spell(name, entity) for name in fields)]
    try:
        return await context.reads.load_rows(outcome.method, {**outcome.call, "select": select}, limit=count)
    except BitrixError:  # the values are left blank: the list itself was read
        return []


async def format_column(entity: str, column: Column, rows: Sequence[JsonObject], context: ViewContext) -> list[str]:
    """Raises no errors of the portal."""
    values = [find_value(row, column) for row in rows]
    if entity == "activity" and column.key == _OWNER:
        return await _name_owners(rows, column, context)
    single = list(dict.fromkeys(str(one) for value in values for one in _split(value, column)))
    words_by_value = await _name_values(entity, column, single[:_MOST_NAMED], context)
    cells = []
    for value, row in zip(values, rows, strict=True):
        words = [words_by_value.get(str(one)) or await _format_one(entity, column, one, row, context) for one in _split(value, column)]
        cells.append(to_visible_line(mask(", ".join(words)), limit=_LONGEST_CELL) or EMPTY)
    return cells


async def _name_owners(rows: Sequence[JsonObject], column: Column, context: ViewContext) -> list[str]:
    """On which records activities stand; of those that the person may not see the number."""
    numbers = [to_number(find_value(row, column)) for row in rows]
    owners = [(names.CRM.get(to_number(row.get(_OWNER_TYPE)), ""), number) for row, number in zip(rows, numbers, strict=True)]
    known = list(dict.fromkeys(owner for owner in owners if all(owner)))[:_MOST_NAMED]
    try:
        records = await context.reads.load_records(known) if known else {}
    except BitrixError:  # the list itself was read
        records = {}
    naming = context.naming
    titles = {
        (kind, number): naming.extract_title(kind, record)
        for (kind, number), record in records.items()
        if record is not None and naming.is_visible(kind, record, context.actor)
    }
    return [
        to_visible_line(mask(titles.get(owner, "")), limit=_LONGEST_CELL) or (f"№{owner[1]}" if owner[1] else EMPTY) for owner in owners
    ]


def _split(value: object, column: Column) -> list[object]:
    """Of a file its number; `false` stands for an empty field of several values, and "|RUB" for no sum."""
    if value is False and column.kind not in _FLAG_KINDS:
        return []
    elements = value if isinstance(value, list) else [value]
    plain_values = [item.get("VALUE", item.get("value", item.get("id", ""))) if isinstance(item, Mapping) else item for item in elements]
    return [item for item in plain_values if item not in (None, "", [], {}, "0000-00-00 00:00:00") and not _NO_SUM.fullmatch(str(item))]


async def _name_values(entity: str, column: Column, values: Sequence[str], context: ViewContext) -> dict[str, str]:
    numbers = [(value, number) for value in values if (number := to_number(value))]
    naming, kind = context.naming, column.kind
    try:
        match kind:
            case "company" | "contact":
                titles = await naming.find_titles([(kind, number) for _, number in numbers])
                return {value: titles[kind, number] for value, number in numbers}
            case "user":
                return {value: await naming.find_user_name(number) for value, number in numbers}
            case "category":
                return {value: await naming.find_category_name(to_number(value), entity) for value in values}
            case "stage" | "date" | "datetime" | "multifield":
                return {}
            case "money" if column.info is not None:
                return {}
    except BitrixError:
        return {}
    words_by_value: dict[str, str] = {}
    for start in range(0, len(values), _CHUNK) if column.field is not None else ():
        part = list(values[start : start + _CHUNK])
        words = await naming.describe_field_value(entity, column.name, part, locale=context.actor.locale, zone=context.actor.time_zone)
        words_by_value |= dict(zip(part, words, strict=True)) if words is not None and len(words) == len(part) else {}
    return words_by_value


async def _format_one(entity: str, column: Column, value: object, row: JsonObject, context: ViewContext) -> str:
    record, text, locale = RecordRow.model_validate(row), str(value), context.actor.locale
    if column.words is not None and (choice := column.words.choices.get(text.lower())) is not None:
        return choice[locale]
    match column.kind:
        case "money" | "double" if column.key in _SUMS:
            return await context.naming.format_money(value, record.currency_id, locale)
        case "stage":
            try:
                return await context.naming.find_stage_name(entity, text, record.category_id)
            except BitrixError:
                return text
        case "date" | "datetime" as kind:
            return await _format_date(text, kind, context)
        case "enum" if entity == "task" and column.key in {"status", "realstatus"}:
            return _CARD_WORDS.read_table("task_statuses", locale).get(text, text)
        case "seconds" | "money" | "number" if (number := parse_amount(text)) is not None:
            return _format_seconds(int(number)) if column.kind == "seconds" else format_sum(number, None, locale=locale)
        case "flag" | "boolean" if text in _FLAGS:
            return _CARD_WORDS.read_text("flags", locale, _FLAGS[text])
        case _ if column.key in _ADDRESSES:
            return format_dialed_phone(text)
        case _:
            return text


def _format_seconds(seconds: int) -> str:
    """«12:05», «1:02:05»."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


async def _format_date(text: str, kind: str, context: ViewContext) -> str:
    """In the person's zone; the text itself if it is neither."""
    zone = ZoneInfo(context.actor.time_zone)
    today = context.now.astimezone(zone).date()
    if kind == "date":
        try:
            return format_day(parse_portal_date(text), today=today, locale=context.actor.locale)
        except ValueError:
            return text
    moment = parse_moment(text, zone=await context.naming.load_portal_zone())
    if moment is None:
        return text
    try:
        here = moment.astimezone(zone)
    except OverflowError:
        return text
    return f"{format_day(here.date(), today=today, locale=context.actor.locale)}, {here:%H:%M}"
