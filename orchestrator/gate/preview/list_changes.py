"""A call that replaces a list, such as product rows. Only names are read from the portal."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from bitrix.catalogue.catalogue import ListKind
from orchestrator.domain.card_view import PreviewLine
from orchestrator.gate.call import critical_fields, fields, list_comparison, replaced_lists, unread_lists
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.list_comparison import ListDifference
from orchestrator.gate.call.multifields import is_multifield
from orchestrator.gate.call.replaced_lists import ListChange, sum_rows
from orchestrator.gate.call.targets import PRODUCT_ROW
from orchestrator.gate.call.unread_lists import find_guests_place, find_written_guests
from orchestrator.gate.preview.format_values import EMPTY, UNKNOWN, Context, Reader, format_value
from orchestrator.gate.preview.list_drawing import LABELS, PARTS, PRIMARY, ListDrawing
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import Locale
from state.stored import JsonObject

_WORDS: Final = load_lexicon("card_lists")
_OWNER: Final = _WORDS.read_titles("owner")
_TOTAL: Final = _WORDS.read_titles("total")
_ORDER: Final = _WORDS.read_titles("order")
_SUM: Final = _WORDS.read_titles("sum")
_SENT_TOO: Final = _WORDS.read_titles("sent_too")
_IDLE: Final = {part: _WORDS.read_titles("idle", part) for part in ("added", "removed")}
_PEOPLE: Final = frozenset({"user", "contact", "company"})


async def build_list_lines(call: Call, facts: Facts, context: Context, reader: Reader) -> list[PreviewLine] | None:
    """None for other calls, and for a written list that cannot be parsed: its card shows it unchanged."""
    record = critical_fields.find_current_record(call, facts)
    if call.targets[:1] and call.targets[0][0] == PRODUCT_ROW and record is not None and call.spec.verb in {"update", "delete"}:
        return await _build_row_lines(call, record, context, reader)
    change = replaced_lists.find_list_change(call, record)
    if change is None:
        return None
    drawing = ListDrawing(change.kind, context, reader, [*(change.old or ()), *change.new], is_whole=not change.is_partial)
    if change.old is None:
        part = "removed" if call.spec.changes_one == "remove" else "added"
        name = drawing.name_part(part) if change.is_partial else drawing.label
        before = "" if change.is_partial else UNKNOWN[reader.locale]
        return [_build_line(change.name, name, await drawing.format_rows(change.new), before=before)]
    lines = await _build_part_lines(change.name, list_comparison.compare_lists(change.old, change.new, change.kind), drawing)
    if change.is_partial:
        lines = [line for line in lines if line.name != drawing.name_part("kept")]
        lines = [*(lines or [await _build_idle_line(call, change, drawing)]), *await _build_unheeded_lines(call, drawing)]
    elif list_comparison.is_reordered(change.old, change.new, change.kind):
        before, after = [await drawing.format_names(rows) for rows in (change.old, list_comparison.sort_written(change.new, change.kind))]
        lines.append(_build_line(change.name, _ORDER[reader.locale].format(name=drawing.label), after, before=before))
    if change.kind == "products":
        lines += await _build_total_lines(change, record, drawing)
    return lines or [_build_line(change.name, drawing.label, EMPTY, before=EMPTY)]


async def split_list_line(line: PreviewLine, call: Call, facts: Facts, context: Context, reader: Reader) -> list[PreviewLine]:
    """The added, removed and kept elements of a field each in a line; any other field is `line` alone."""
    name, record = line.field, critical_fields.find_current_record(call, facts)
    value = call.written_fields.get(name)
    for place in find_guests_place(call) if name in call.spec.replaces else ():
        guests = facts.records.get(place)
        if guests is None:
            return [line.model_copy(update={"before": UNKNOWN[reader.locale]})]
        return await _divide_people(line, find_written_guests(call), guests.get(name), "user", context, reader) or [line]
    several = isinstance(value, list) and "\n" in f"{line.before}{line.after}"
    if record is None or not several or line.before in ("", EMPTY, UNKNOWN[reader.locale]) or is_multifield(name):
        return [line]
    known = call.spec.stands_for.get(name, name)
    info = fields.find_field_info(call.entities.get(call.entity), known)
    if info is None or info.kind not in _PEOPLE:
        return _divide_texts(line, reader.locale)
    return await _divide_people(line, value, fields.find_value(record, known, call.entity), info.kind, context, reader)


async def _build_row_lines(call: Call, record: JsonObject, context: Context, reader: Reader) -> list[PreviewLine]:
    field_values = call.written_fields if call.spec.verb == "update" else None
    old = replaced_lists.to_stored_rows([record], "products")[0]
    drawing = ListDrawing("products", context, reader, [old])
    title = str(record.get(unread_lists.OWNER_TITLE) or "")
    lines = [_build_line("", _OWNER[reader.locale], escape_text(title, locale=reader.locale))] if title else []
    if field_values is None:
        new: JsonObject = {}
        lines.append(_build_line("", drawing.name_part("removed"), await drawing.format_row(old, is_written=False)))
    else:
        keys = {fields.to_field_key(name) for name in field_values}
        new = {**{name: value for name, value in old.items() if fields.to_field_key(name) not in keys}, **field_values}
        lines.append(_build_line("", drawing.name_part("changed"), await drawing.format_pair(old, new)))
    present, before, after = fields.parse_number(record.get(unread_lists.OWNER_SUM)), sum_rows([old]), sum_rows([new] if new else [])
    if present is not None and before is not None and after is not None and before != after:
        texts = [await drawing.format_money(amount) for amount in (present, present - before + after)]
        lines.append(_build_line("", _SUM[reader.locale], texts[1], before=texts[0]))
    return lines


async def _divide_people(line: PreviewLine, value: object, old: object, kind: str, context: Context, reader: Reader) -> list[PreviewLine]:
    """`value` is written, `old` is there now. Of several contacts or companies the first is marked as primary."""
    new_ids, old_ids = fields.parse_ids(value), fields.parse_ids(old)
    ids_by_part = {"added": new_ids - old_ids, "removed": old_ids - new_ids, "kept": new_ids & old_ids}
    lines = []
    for part, ids in ids_by_part.items():
        first = "" if kind == "user" else _find_first(old if part == "removed" else value)
        texts = []
        for item in sorted(ids, key=lambda item: (len(item), item)):
            text = await format_value(item, kind, context=context, reader=reader)
            texts.append(PRIMARY[kind][reader.locale].format(name=text) if item == first else text)
        lines += [_build_line(line.field, PARTS[part][reader.locale].format(name=line.name), "\n".join(texts))] if texts else []
    return lines


def _find_first(ids: object) -> str:
    return str(ids[0]) if isinstance(ids, list) and len(ids) > 1 else ""


def _divide_texts(line: PreviewLine, locale: Locale) -> list[PreviewLine]:
    before, after = ([text for text in value.split("\n") if text != EMPTY] for value in (line.before, line.after))
    old, new = Counter(before), Counter(after)
    if [text for text in before if text in new] != [text for text in after if text in old]:  # the order changes: both lists say which
        return [line]
    texts_by_part = {"added": new - old, "removed": old - new, "kept": old & new}
    return [
        _build_line(line.field, PARTS[part][locale].format(name=line.name), "\n".join(texts.elements()))
        for part, texts in texts_by_part.items()
        if texts
    ]


def find_list_label(call: Call, name: str, locale: Locale) -> str:
    """«Товары» for "rows"; "" if `name` is no such list."""
    return LABELS[call.spec.replaces[name]][locale] if name in call.spec.replaces else ""


async def format_list(rows: object, kind: ListKind, context: Context, reader: Reader) -> str:
    """One element a line; a dash for an empty list."""
    if kind == "people":
        return await format_value(rows, "user", context=context, reader=reader)
    elements = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, Sequence) and not isinstance(rows, str) else []
    drawing = ListDrawing(kind, context, reader, elements)
    return "\n".join([await drawing.format_row(row, is_written=False) for row in elements]) or EMPTY


async def _build_part_lines(name: str, list_difference: ListDifference, drawing: ListDrawing) -> list[PreviewLine]:
    texts = {
        "added": [await drawing.format_row(row) for row in list_difference.added],
        "removed": [await drawing.format_row(row, is_written=False) for row in list_difference.removed],
        "changed": [await drawing.format_pair(old, new) for old, new in list_difference.changed],
        "kept": [await drawing.format_row(row, is_written=False) for row in list_difference.kept],
    }
    return [_build_line(name, drawing.name_part(part), "\n".join(rows)) for part, rows in texts.items() if rows]


async def _build_idle_line(call: Call, change: ListChange, drawing: ListDrawing) -> PreviewLine:
    part = "added" if call.spec.changes_one == "add" else "removed"
    element = replaced_lists.find_written_element(call)
    text = _IDLE[part][drawing.reader.locale].format(name=await drawing.format_row(element))
    return _build_line(change.name, drawing.label, text)


async def _build_unheeded_lines(call: Call, drawing: ListDrawing) -> list[PreviewLine]:
    element = replaced_lists.find_written_element(call)
    if call.spec.changes_one != "remove" or len(element) <= 1:
        return []
    return [_build_line("", _SENT_TOO[drawing.reader.locale], await drawing.format_row(element))]


async def _build_total_lines(change: ListChange, record: JsonObject | None, drawing: ListDrawing) -> list[PreviewLine]:
    """The record's sum too, if the portal will compute it anew and it is not the rows' present total."""
    locale = drawing.reader.locale
    totals = [sum_rows(rows) for rows in (change.old or (), change.new)]
    before, after = [UNKNOWN[locale] if total is None else await drawing.format_money(total) for total in totals]
    lines = [_build_line("", _TOTAL[locale], after, before=before)]
    present = fields.parse_number(fields.find_value(record or {}, "OPPORTUNITY"))
    if present is not None and present != totals[0] and replaced_lists.sets_sum(record):
        lines.append(_build_line("", _SUM[locale], after, before=await drawing.format_money(present)))
    return lines


def _build_line(field: str, name: str, after: str, *, before: str = "") -> PreviewLine:
    return PreviewLine(field=field, name=name, before=before, after=after)
