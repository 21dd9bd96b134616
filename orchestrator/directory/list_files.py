"""A list as a table file: sums and numbers stay numbers, days stay days."""

from collections.abc import Sequence
from typing import Final
from zoneinfo import ZoneInfo

from bitrix.catalogue.names import to_field_key
from orchestrator.directory.labels import parse_amount
from orchestrator.directory.list_columns import (
    EMPTY,
    Column,
    FoundColumns,
    ViewContext,
    find_columns,
    find_entity,
    find_value,
    format_column,
)
from orchestrator.domain.effect import Outcome
from orchestrator.domain.outputs import SheetCell, SheetColumn, SheetPart, SheetRow, SheetUnit, Table
from orchestrator.language.date_format import parse_portal_date
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.time_zones import parse_moment
from state.stored import JsonObject

MOST_COLUMNS: Final = 16
_COLUMNS: Final = load_lexicon("records").read_table("file_columns")
_UNITS: Final[dict[str, SheetUnit]] = {
    "money": "money",
    "double": "number",
    "number": "number",
    "integer": "number",
    "date": "date",
    "datetime": "moment",
}


async def build_sheet(outcome: Outcome, table: Table, fields: Sequence[str], context: ViewContext) -> SheetPart:
    """The columns that were shown come first, then those that people expect of such records. Raises no errors of the portal."""
    entity = find_entity(outcome, table)
    usual = _COLUMNS.get("item" if entity.startswith("item:") else entity, "").split()
    shown = {to_field_key(name, entity) for name in fields}
    wanted = [*fields, *(name for name in usual if to_field_key(name, entity) not in shown)]
    found = await find_columns(outcome, table, wanted, context, most=MOST_COLUMNS)
    portal_zone = await context.naming.load_portal_zone()
    cells = [await _build_cells(column, found, context, portal_zone) for column in found.columns]
    columns = [SheetColumn(title=column.title, unit=_find_unit(column)) for column in found.columns]
    rows = [
        SheetRow(label=row.label.partition(" · ")[0], url=row.url, cells=tuple(column[place] for column in cells))
        for place, row in enumerate(table.rows)
    ]
    return SheetPart(columns=tuple(columns), rows=tuple(rows), total=max(table.total, len(rows)))


def _find_unit(column: Column) -> SheetUnit:
    return _UNITS.get(column.kind, "text") if column.words is None or not column.words.choices else "text"


async def _build_cells(column: Column, found: FoundColumns, context: ViewContext, portal_zone: str) -> list[SheetCell]:
    unit = _find_unit(column)
    if unit == "text":
        return ["" if cell == EMPTY else cell for cell in await format_column(found.entity, column, found.rows, context)]
    return [_to_cell(column, row, unit, context, portal_zone) for row in found.rows]


def _to_cell(column: Column, row: JsonObject, unit: SheetUnit, context: ViewContext, portal_zone: str) -> SheetCell:
    """None for an empty field, the text itself for what is no such value."""
    value = find_value(row, column)
    if value in (None, "", [], {}, False):
        return None
    text = str(value)
    if unit in {"money", "number"}:
        amount = parse_amount(text.partition("|")[0])
        return float(amount) if amount is not None else text.partition("|")[0] or None
    if unit == "date":
        try:
            return parse_portal_date(text).isoformat()
        except ValueError:
            return text
    moment = parse_moment(text, zone=portal_zone)
    return moment.astimezone(ZoneInfo(context.actor.time_zone)).replace(tzinfo=None).isoformat() if moment is not None else text
