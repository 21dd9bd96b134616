"""Builds the card lines of a call that replaces a list of a record (such as product rows): what is added, removed, changed and kept.

Each element stands on its own line; product rows also have their totals. Names are the only data read from the portal here. A value of an
element that the code does not know is shown unchanged.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final

from bitrix.catalogue.catalogue import ListKind
from orchestrator.domain.card_view import PreviewLine
from orchestrator.gate.approve.format_params import Place, find_read_name, format_param
from orchestrator.gate.approve.format_values import EMPTY, UNKNOWN, Context, Reader, format_plain, format_value
from orchestrator.gate.call import critical_fields, fields, replaced_lists, unread_lists
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.multifields import is_multifield
from orchestrator.gate.call.param_words import find_common_words
from orchestrator.gate.call.replaced_lists import (
    ListChange,
    ListDifference,
    Rows,
    find_row_value,
    has_value,
    is_primary,
    sum_rows,
)
from orchestrator.gate.call.targets import PRODUCT_ROW, as_id
from orchestrator.gate.call.unread_lists import find_guests_place, find_written_guests
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.money_format import find_base_currency, format_sum
from orchestrator.language.text import Locale
from state.stored import JsonObject

_WORDS: Final = load_lexicon("card_lists")
_LABELS: Final = {kind: _WORDS.read_titles("labels", kind) for kind in ("products", "contacts", "companies", "people")}
_PARTS: Final = {part: _WORDS.read_titles("parts", part) for part in ("added", "removed", "changed", "kept")}
_OWNER: Final = _WORDS.read_titles("owner")
_TOTAL: Final = _WORDS.read_titles("total")
_SUM: Final = _WORDS.read_titles("sum")
_PRIMARY: Final = {kind: _WORDS.read_titles("primary_company" if kind == "company" else "primary") for kind in ("contact", "company")}
_IDLE: Final = {part: _WORDS.read_titles("idle", part) for part in ("added", "removed")}
_NO_PRICE: Final = _WORDS.read_titles("no_price")
_NO_NAME: Final = _WORDS.read_titles("no_name")
_DETAILS: Final = {
    key: _WORDS.read_titles("details", key)
    for key in ("discountrate", "discountsum", "discounttypeid", "taxrate", "taxincluded", "measurename", "sort", "productid")
}
_PRODUCT_READER: Final = "catalog.product.get"
_MONEY: Final = frozenset({"discountsum"})
_IN_TEXT: Final = frozenset({"productid", "productname", "price", "quantity"})
"""Fields of a product row that stand in its text anyway."""
_OF_PRESENT: Final = frozenset({"discountrate", "discountsum", "taxrate", "taxincluded"})
"""Details that are also shown of rows that the call does not write."""
_IN_LINK: Final = {"contacts": frozenset({"contactid", "isprimary"}), "companies": frozenset({"companyid", "isprimary"})}
"""Fields of a linked contact or company that stand in its text anyway."""
_PEOPLE: Final = frozenset({"user", "contact", "company"})


async def build_list_lines(call: Call, facts: Facts, context: Context, reader: Reader) -> list[PreviewLine] | None:
    """Return the card lines of a call that replaces a list (such as product rows) or changes one product row; None for any other call.

    None is also returned if the list that the call writes cannot be parsed; the card then shows this list unchanged.
    """
    record = critical_fields.find_current_record(call, facts)
    if call.targets[:1] and call.targets[0][0] == PRODUCT_ROW and record is not None and call.spec.verb in {"update", "delete"}:
        return await _build_row_lines(call, record, context, reader)
    change = replaced_lists.find_list_change(call, record)
    if change is None:
        return None
    drawing = _Drawing(change.kind, context, reader, [*(change.old or ()), *change.new], is_whole=not change.is_partial)
    if change.old is None:
        new = change.new[-1:] if change.is_partial else change.new
        return [_build_line(change.name, drawing.label, await drawing.format_rows(new), before=UNKNOWN[reader.locale])]
    lines = await _build_part_lines(change.name, replaced_lists.compare_lists(change.old, change.new, change.kind), drawing)
    if change.is_partial:
        lines = [line for line in lines if line.name != drawing.name_part("kept")]
        lines = lines or [await _build_idle_line(call, change, drawing)]
    if change.kind == "products":
        lines += await _build_total_lines(change, record, drawing)
    return lines or [_build_line(change.name, drawing.label, EMPTY, before=EMPTY)]


async def split_list_line(line: PreviewLine, call: Call, facts: Facts, context: Context, reader: Reader) -> list[PreviewLine]:
    """Return the card lines of a field: if it holds several elements, those added, those removed and those kept, each in a line.

    Otherwise the only line is `line`. People, contacts and companies are compared by their ids, anything else by its text.
    """
    name, record = line.field, critical_fields.find_current_record(call, facts)
    value = critical_fields.extract_written_fields(call).get(name)
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
    """Return the card lines of one product row that a call edits or deletes; `record` is the present row."""
    written = critical_fields.extract_written_fields(call) if call.spec.verb == "update" else None
    old = replaced_lists.to_stored_rows([record], "products")[0]
    drawing = _Drawing("products", context, reader, [old])
    title = str(record.get(unread_lists.OWNER_TITLE) or "")
    lines = [_build_line("", _OWNER[reader.locale], escape_text(title, locale=reader.locale))] if title else []
    if written is None:
        new: JsonObject = {}
        lines.append(_build_line("", drawing.name_part("removed"), await drawing.format_row(old, is_written=False)))
    else:
        keys = {fields.to_field_key(name) for name in written}
        new = {**{name: value for name, value in old.items() if fields.to_field_key(name) not in keys}, **written}
        lines.append(_build_line("", drawing.name_part("changed"), await drawing.format_pair(old, new)))
    present, before, after = fields.parse_number(record.get(unread_lists.OWNER_SUM)), sum_rows([old]), sum_rows([new] if new else [])
    if present is not None and before is not None and after is not None and before != after:
        texts = [await drawing.format_money(amount) for amount in (present, present - before + after)]
        lines.append(_build_line("", _SUM[reader.locale], texts[1], before=texts[0]))
    return lines


async def _divide_people(line: PreviewLine, value: object, old: object, kind: str, context: Context, reader: Reader) -> list[PreviewLine]:
    """Return the lines of a field with several people, contacts or companies: those added, those removed and those kept, each in a line.

    `value` is what the call writes to the field, `old` what the record has in it. Of several contacts or companies the first is the primary
    one, and is marked as such.
    """
    written, held = fields.parse_ids(value), fields.parse_ids(old)
    found = {"added": written - held, "removed": held - written, "kept": written & held}
    lines = []
    for part, ids in found.items():
        first = "" if kind == "user" else _find_first(old if part == "removed" else value)
        texts = []
        for item in sorted(ids, key=lambda item: (len(item), item)):
            text = await format_value(item, kind, context=context, reader=reader)
            texts.append(_PRIMARY[kind][reader.locale].format(name=text) if item == first else text)
        lines += [_build_line(line.field, _PARTS[part][reader.locale].format(name=line.name), "\n".join(texts))] if texts else []
    return lines


def _find_first(ids: object) -> str:
    """Return the first of several ids as text; "" for one or none."""
    return str(ids[0]) if isinstance(ids, list) and len(ids) > 1 else ""


def _divide_texts(line: PreviewLine, locale: Locale) -> list[PreviewLine]:
    old, new = (Counter(text for text in value.split("\n") if text != EMPTY) for value in (line.before, line.after))
    found = {"added": new - old, "removed": old - new, "kept": old & new}
    return [
        _build_line(line.field, _PARTS[part][locale].format(name=line.name), "\n".join(texts.elements()))
        for part, texts in found.items()
        if texts
    ]


def find_list_label(call: Call, name: str, locale: Locale) -> str:
    """Return the name for people of the list that `call` replaces, «Товары» for "rows"; "" if `name` is no such list."""
    return _LABELS[call.spec.replaces[name]][locale] if name in call.spec.replaces else ""


async def format_list(rows: object, kind: ListKind, context: Context, reader: Reader) -> str:
    """Return a list that was read from the portal as text, one element a line; a dash for an empty list."""
    if kind == "people":
        return await format_value(rows, "user", context=context, reader=reader)
    held = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, Sequence) and not isinstance(rows, str) else []
    drawing = _Drawing(kind, context, reader, held)
    return "\n".join([await drawing.format_row(row, is_written=False) for row in held]) or EMPTY


class _Drawing:
    """Formats the elements of one list of a record for a card, such as its product rows."""

    def __init__(self, kind: ListKind, context: Context, reader: Reader, rows: Rows, *, is_whole: bool = True) -> None:
        """Collect the names of products from `rows`, because a call may give a product by its number only.

        `rows` are the elements of the present and the new list. `is_whole` is False if the call adds or removes one element and does not
        write the others.
        """
        self._is_whole = is_whole
        self.kind = kind
        self.reader = reader
        self._context = context
        self._names = {
            str(find_row_value(row, "productid")): str(find_row_value(row, "productname")) for row in rows if has_value(row, "productname")
        }

    @property
    def label(self) -> str:
        """The name for people of the list that is formatted, such as «Товары» for product rows."""
        return _LABELS[self.kind][self.reader.locale]

    def name_part(self, part: str) -> str:
        """Return the name for people of the card line for one part of the list: `part` is "added", "removed", "changed" or "kept"."""
        return _PARTS[part][self.reader.locale].format(name=self.label)

    async def format_rows(self, rows: Rows, *, is_written: bool = True) -> str:
        """Return the elements, one a line; `is_written` says that the call writes them, as in `format_row`."""
        return "\n".join([await self.format_row(row, is_written=is_written) for row in rows]) or EMPTY

    async def format_pair(self, old: JsonObject, new: JsonObject) -> str:
        """Return an element as it is and as it will be, in one line."""
        before, after = await self.format_row(old, is_written=False), await self.format_row(new, is_written=self._is_whole)
        numbers = [str(find_row_value(row, "productid") or 0) for row in (old, new)]
        if before == after or (has_value(new, "productid") and numbers[0] != numbers[1]):  # another product under the same name
            before, after = await self.format_row(old, in_full=True), await self.format_row(new, in_full=True)
        return f"{before} → {after}"

    async def format_row(self, row: JsonObject, *, is_written: bool = True, in_full: bool = False) -> str:
        """Return one element in one line, such as «Монтаж 3 × 777 ₽», followed by its discount and tax if it has any.

        Its other fields follow too if the call writes the element (`is_written`). With `in_full` they always follow, also the number of its
        product.
        """
        text = await (self._format_product(row) if self.kind == "products" else self._format_link(row))
        details = [
            await self._format_detail(name, value)
            for name, value in row.items()
            if self._is_detail(name, row, is_written=is_written, in_full=in_full)
        ]
        return escape_text(", ".join([text, *details]), locale=self.reader.locale)

    def _is_detail(self, name: str, row: JsonObject, *, is_written: bool, in_full: bool) -> bool:
        key, value = fields.to_field_key(name), row[name]
        if value in (None, "", "N", [], {}) or fields.parse_number(value) == 0 or key in _IN_LINK.get(self.kind, ()):
            return False
        if self.kind == "products" and key in _IN_TEXT:
            return in_full and key == "productid"
        if key == "discounttypeid" and not in_full:
            return has_value(row, "discountrate") and has_value(row, "discountsum")
        return is_written or in_full or key in _OF_PRESENT

    async def _format_detail(self, name: str, value: object) -> str:
        key, locale = fields.to_field_key(name), self.reader.locale
        is_number = fields.parse_number(value) is not None
        plain = _format_number(value, locale) if is_number else format_plain(value, self.reader)
        text = await self.format_money(value) if key in _MONEY else plain
        if key in _DETAILS:
            return _DETAILS[key][locale].format(value=text)
        words = find_common_words(name)
        if words is None:
            return f"{name}: {text}"
        place = Place(method="", context=self._context, siblings={})
        said = words.names[locale]
        return f"{said[:1].lower()}{said[1:]}: {await format_param(value, words, place, self.reader)}"

    async def _format_product(self, row: JsonObject) -> str:
        locale, number = self.reader.locale, find_row_value(row, "productid")
        name = str(find_row_value(row, "productname") or "") or self._names.get(str(number), "")
        if not name and isinstance(number, str | int) and as_id(number):
            name = await find_read_name(_PRODUCT_READER, int(number), {"id": int(number)}, self.reader)
        quantity = _format_number(find_row_value(row, "quantity") if has_value(row, "quantity") else 1, locale)
        price = await self.format_money(find_row_value(row, "price")) if has_value(row, "price") else _NO_PRICE[locale]
        return f"{name or _NO_NAME[locale].format(number=number or '?')} {quantity} × {price}"

    async def _format_link(self, row: JsonObject) -> str:
        kind = "contact" if self.kind == "contacts" else "company"
        name = await format_value(replaced_lists.find_link(row, self.kind), kind, context=self._context, reader=self.reader)
        return _PRIMARY[kind][self.reader.locale].format(name=name) if is_primary(row) else name

    async def format_money(self, value: object) -> str:
        """Return a sum in the currency of the record; a value that is no number is returned unchanged."""
        amount = value if isinstance(value, Decimal) else fields.parse_number(value)
        if amount is None:
            return format_plain(value, self.reader)
        book = await self.reader.names.load_currency_book()
        currency = self._context.currency or (find_base_currency(book) if self._context.is_new else "")
        return format_sum(amount, escape_text(currency) if currency else None, locale=self.reader.locale, book=book)


async def _build_part_lines(name: str, found: ListDifference, drawing: _Drawing) -> list[PreviewLine]:
    texts = {
        "added": [await drawing.format_row(row) for row in found.added],
        "removed": [await drawing.format_row(row, is_written=False) for row in found.removed],
        "changed": [await drawing.format_pair(old, new) for old, new in found.changed],
        "kept": [await drawing.format_row(row, is_written=False) for row in found.kept],
    }
    return [_build_line(name, drawing.name_part(part), "\n".join(rows)) for part, rows in texts.items() if rows]


async def _build_idle_line(call: Call, change: ListChange, drawing: _Drawing) -> PreviewLine:
    """Return the card line of a call that links a contact or company linked already, or unlinks one that is not linked.

    Such a call changes nothing.
    """
    part = "added" if call.spec.changes_one == "add" else "removed"
    one = call.params[call.spec.fields_at]
    text = _IDLE[part][drawing.reader.locale].format(name=await drawing.format_row(one))
    return _build_line(change.name, drawing.label, text)


async def _build_total_lines(change: ListChange, record: JsonObject | None, drawing: _Drawing) -> list[PreviewLine]:
    """Return the card line with the total of the product rows before and after the call, and perhaps one with the record's sum.

    The second line is there if the record's present sum is not the present total of its rows, and the portal will compute it anew from the
    new rows.
    """
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


def _format_number(value: object, locale: Locale) -> str:
    number = fields.parse_number(value)
    if number is None:
        return str(value)
    text = f"{number.normalize():f}"
    return text.replace(".", ",") if locale == "ru" else text
