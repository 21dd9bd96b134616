"""A call that replaces a list, such as product rows. Only names are read from the portal."""

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final

from bitrix.catalogue.catalogue import ListKind
from orchestrator.directory.param_words import find_common_words, find_param_words
from orchestrator.domain.card_view import PreviewLine
from orchestrator.gate.call import critical_fields, fields, list_comparison, replaced_lists
from orchestrator.gate.call.effect import Call, Facts, Target
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.list_comparison import ListDifference
from orchestrator.gate.call.multifields import is_multifield
from orchestrator.gate.call.replaced_lists import (
    ListChange,
    Rows,
    find_guests_place,
    find_row_value,
    find_written_guests,
    has_value,
    is_primary,
    sum_rows,
)
from orchestrator.gate.call.row_writes import find_owner
from orchestrator.gate.call.targets import PRODUCT_ROW, as_id
from orchestrator.gate.preview.format_params import Place, find_read_name, format_param
from orchestrator.gate.preview.format_values import EMPTY, UNKNOWN, Context, Reader, format_plain, format_value, join_lines
from orchestrator.gate.preview.row_totals import mark_rows_tax, mark_rows_total
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.money_format import find_base_currency, format_sum
from orchestrator.language.text import Locale, quote
from state.stored import JsonObject

_WORDS: Final = load_lexicon("card_lists")
LABELS: Final = {kind: _WORDS.read_titles("labels", kind) for kind in ("products", "contacts", "companies", "people")}
PARTS: Final = {part: _WORDS.read_titles("parts", part) for part in ("added", "removed", "changed", "kept")}
PRIMARY: Final = {kind: _WORDS.read_titles("primary_company" if kind == "company" else "primary") for kind in ("contact", "company")}
_OTHER: Final = {kind: _WORDS.read_titles("other_company" if kind == "company" else "other") for kind in ("contact", "company")}
_NO_PRICE: Final = _WORDS.read_titles("no_price")
_NO_NAME: Final = _WORDS.read_titles("no_name")
_OF_PRODUCT: Final = _WORDS.read_titles("of_product")
_DETAILS: Final = {
    key: _WORDS.read_titles("details", key)
    for key in ("discountrate", "discountsum", "taxrate", "taxincluded", "measurename", "sort", "productid")
}
_TAX_APART: Final = _WORDS.read_titles("details", "taxapart")
_PRODUCT_READER: Final = "catalog.product.get"
_MONEY: Final = frozenset({"discountsum"})
_IN_TEXT: Final = frozenset({"productid", "productname", "price", "quantity"})
_OF_PRESENT: Final = frozenset({"discountrate", "discountsum", "taxrate", "taxincluded"})
"""Shown also of rows that the call does not write."""
_DISCOUNTS: Final = {"1": ("discountsum", "discountrate"), "2": ("discountrate", "discountsum")}
"""By kind of discount: the field that holds it, and the one that the portal then does not heed."""
_IN_LINK: Final = {"contacts": "contactid", "companies": "companyid"}
_PRIMARY_MARK: Final = "isprimary"


class ListDrawing:
    def __init__(self, kind: ListKind, context: Context, reader: Reader, rows: Rows, *, is_whole: bool = True) -> None:
        """`rows` give names of products that a call names by number only; `is_whole` is False if it writes one element."""
        self._is_whole = is_whole
        self.kind = kind
        self.reader = reader
        self._context = context
        self._names = {
            str(find_row_value(row, "productid")): str(find_row_value(row, "productname")) for row in rows if has_value(row, "productname")
        }
        self._products: dict[str, str] = {}

    @property
    def label(self) -> str:
        return LABELS[self.kind][self.reader.locale]

    def name_part(self, part: str) -> str:
        """`part` is "added", "removed", "changed" or "kept"."""
        return PARTS[part][self.reader.locale].format(name=self.label)

    async def format_rows(self, rows: Rows, *, is_written: bool = True) -> str:
        """`is_written` as in `format_row`."""
        return "\n".join([await self.format_row(row, is_written=is_written) for row in rows]) or EMPTY

    async def format_names(self, rows: Rows) -> str:
        texts = [await self._format_element(row, is_written=False) for row in rows]
        return join_lines(texts, self.reader) or EMPTY

    async def format_pair(self, old: JsonObject, new: JsonObject) -> str:
        before = await self.format_row(old, is_written=False)
        after = await self.format_row(new, is_written=self._is_whole, present=old)
        numbers = [str(find_row_value(row, "productid") or 0) for row in (old, new)]
        if before == after or (has_value(new, "productid") and numbers[0] != numbers[1]):  # another product under the same name
            before, after = await self.format_row(old, in_full=True), await self.format_row(new, in_full=True)
        return f"{before} → {after}"

    async def format_row(
        self, row: JsonObject, *, is_written: bool = True, in_full: bool = False, present: JsonObject | None = None
    ) -> str:
        """«Монтаж 3 × 777 ₽» with discount and tax. Other fields follow if the call writes it, or `in_full`."""
        details = [
            await self._format_detail(name, value)
            for name, value in row.items()
            if self._is_detail(name, row, is_written=is_written, in_full=in_full, present=present)
        ]
        text = await self._format_element(row, is_written=is_written)
        if is_written and present is None and not in_full and self.kind == "products":
            details = [*await self._name_other_product(row), *details]
        return escape_text(", ".join([text, *details]), locale=self.reader.locale)

    async def _format_element(self, row: JsonObject, *, is_written: bool) -> str:
        return await (self._format_product(row) if self.kind == "products" else self._format_link(row, is_written=is_written))

    def _is_detail(self, name: str, row: JsonObject, *, is_written: bool, in_full: bool, present: JsonObject | None) -> bool:
        key, value = fields.to_field_key(name), row[name]
        if self.kind == "products" and key in _IN_TEXT:
            return in_full and key == "productid" and has_value(row, key) and fields.parse_number(value) != 0
        if self.kind != "products" and (key == _IN_LINK[self.kind] or (key == _PRIMARY_MARK and (is_primary(row) or _is_unset(value)))):
            return False
        if key == "discounttypeid" and not in_full:
            return _is_discount_unclear(row) and (is_written or all(has_value(row, name) for name in ("discountrate", "discountsum")))
        if value in (None, "", [], {}) and replaced_lists.is_known_key(key, self.kind):
            return False
        if _is_unset(value) and (not is_written or (present is not None and _is_unset(find_row_value(present, key)))):
            return key == "taxrate" and is_written and not has_value(present or {}, key)  # a rate of zero is not the same as no tax
        return is_written or in_full or key in _OF_PRESENT

    async def _format_detail(self, name: str, value: object) -> str:
        key, locale = fields.to_field_key(name), self.reader.locale
        is_number = fields.parse_number(value) is not None
        plain = _format_number(value, locale) if is_number else format_plain(value, self.reader)
        text = await self.format_money(value) if key in _MONEY else plain
        if key == "taxincluded" and _is_unset(value):
            return _TAX_APART[locale]
        if key in _DETAILS:
            return _DETAILS[key][locale].format(value=text)
        words = find_param_words("", PRODUCT_ROW if self.kind == "products" else "", name) or find_common_words(name)
        if words is None:
            return f"{name}: {text}"
        place = Place(method="", context=self._context, siblings={})
        label = words.names[locale]
        return f"{label[:1].lower()}{label[1:]}: {await format_param(value, words, place, self.reader)}"

    async def _format_product(self, row: JsonObject) -> str:
        locale, number = self.reader.locale, find_row_value(row, "productid")
        name = str(find_row_value(row, "productname") or "") or self._names.get(str(number), "")
        if not name and isinstance(number, str | int) and as_id(number):
            name = await find_read_name(_PRODUCT_READER, int(number), {"id": int(number)}, self.reader)
        quantity = _format_number(find_row_value(row, "quantity") if has_value(row, "quantity") else 1, locale)
        price = await self.format_money(find_row_value(row, "price")) if has_value(row, "price") else _NO_PRICE[locale]
        return f"{name or _NO_NAME[locale].format(number=number or '?')} {quantity} × {price}"

    async def _name_other_product(self, row: JsonObject) -> list[str]:
        number, own_name = find_row_value(row, "productid"), str(find_row_value(row, "productname") or "")
        if not own_name or not isinstance(number, str | int) or not as_id(number):
            return []
        if str(number) not in self._products:
            self._products[str(number)] = await find_read_name(_PRODUCT_READER, int(number), {"id": int(number)}, self.reader)
        product_name, locale = self._products[str(number)], self.reader.locale
        if _to_plain_name(product_name) == _to_plain_name(own_name):
            return []
        return [_OF_PRODUCT[locale].format(name=quote(product_name, locale)) if product_name else _NO_NAME[locale].format(number=number)]

    async def _format_link(self, row: JsonObject, *, is_written: bool) -> str:
        kind = "contact" if self.kind == "contacts" else "company"
        name = await format_value(replaced_lists.find_link(row, self.kind), kind, context=self._context, reader=self.reader)
        if is_primary(row):
            return PRIMARY[kind][self.reader.locale].format(name=name)
        says_other = is_written and any(fields.to_field_key(key) == _PRIMARY_MARK and _is_unset(value) for key, value in row.items())
        return _OTHER[kind][self.reader.locale].format(name=name) if says_other else name

    async def format_money(self, value: object) -> str:
        """In the record's currency; what is no number stays."""
        amount = value if isinstance(value, Decimal) else fields.parse_number(value)
        if amount is None:
            return format_plain(value, self.reader)
        book = await self.reader.names.load_currency_book()
        currency = self._context.currency or (find_base_currency(book) if self._context.is_new else "")
        return format_sum(amount, escape_text(currency) if currency else None, locale=self.reader.locale, book=book)


def _is_unset(value: object) -> bool:
    return value in (None, "", "N", False, [], {}) or fields.parse_number(value) == 0


def _is_discount_unclear(row: JsonObject) -> bool:
    own, other = _DISCOUNTS.get(str(find_row_value(row, "discounttypeid")), ("", ""))
    return has_value(row, "discounttypeid") and (not own or not has_value(row, own) or has_value(row, other))


def _to_plain_name(name: str) -> str:
    return " ".join(name.split()).casefold()


def _format_number(value: object, locale: Locale) -> str:
    number = fields.parse_number(value)
    if number is None:
        return str(value)
    text = f"{number.normalize():f}"
    return text.replace(".", ",") if locale == "ru" else text


_OWNER: Final = _WORDS.read_titles("owner")
_TOTAL: Final = _WORDS.read_titles("total")
_ORDER: Final = _WORDS.read_titles("order")
_SUM: Final = _WORDS.read_titles("sum")
_TAX: Final = _WORDS.read_titles("tax")
_AFTER_OTHERS: Final = _WORDS.read_titles("after_others")
_SENT_TOO: Final = _WORDS.read_titles("sent_too")
_IDLE: Final = {part: _WORDS.read_titles("idle", part) for part in ("added", "removed")}
_PEOPLE: Final = frozenset({"user", "contact", "company"})


async def build_list_lines(call: Call, facts: Facts, context: Context, reader: Reader) -> list[PreviewLine] | None:
    """None for other calls, and for a written list that cannot be parsed: its card shows it unchanged."""
    record = critical_fields.find_current_record(call, facts)
    if call.targets[:1] and call.targets[0][0] == PRODUCT_ROW and record is not None and call.spec.verb in {"update", "delete"}:
        return await _build_row_lines(call, facts, record, context, reader)
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
        lines += await _build_total_lines(change, call, facts, drawing)
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


async def _build_row_lines(call: Call, facts: Facts, record: JsonObject, context: Context, reader: Reader) -> list[PreviewLine]:
    field_values = call.written_fields if call.spec.verb == "update" else None
    old = replaced_lists.to_stored_rows([record], "products")[0]
    drawing = ListDrawing("products", context, reader, [old])
    title = str(record.get(replaced_lists.OWNER_TITLE) or "")
    lines = [_build_line("", _OWNER[reader.locale], escape_text(title, locale=reader.locale))] if title else []
    if field_values is None:
        new: JsonObject = {}
        lines.append(_build_line("", drawing.name_part("removed"), await drawing.format_row(old, is_written=False)))
    else:
        keys = {fields.to_field_key(name) for name in field_values}
        new = {**{name: value for name, value in old.items() if fields.to_field_key(name) not in keys}, **field_values}
        lines.append(_build_line("", drawing.name_part("changed"), await drawing.format_pair(old, new)))
    present, before, after = fields.parse_number(record.get(replaced_lists.OWNER_SUM)), sum_rows([old]), sum_rows([new] if new else [])
    if present is not None and before is not None and after is not None and before != after:
        lines.append(await _build_sum_line(_SUM, find_owner(call, record), (present, present - before + after), facts, drawing))
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


async def _build_total_lines(change: ListChange, call: Call, facts: Facts, drawing: ListDrawing) -> list[PreviewLine]:
    """The record's sum in place of the rows' total, if the portal will compute it anew and it is another one."""
    record = critical_fields.find_current_record(call, facts)
    totals = [sum_rows(rows) for rows in (change.old or (), change.new)]
    present = fields.parse_number(fields.find_value(record or {}, "OPPORTUNITY"))
    differs = present is not None and present != totals[0] and replaced_lists.sets_sum(record)
    owner = next(iter(call.targets), None)
    line = await _build_sum_line(_SUM if differs else _TOTAL, owner, (present if differs else totals[0], totals[1]), facts, drawing)
    tax = replaced_lists.sum_tax(change.new)
    return [line, *([_build_line(mark_rows_tax(owner), _TAX[drawing.reader.locale], await drawing.format_money(tax))] if tax else [])]


async def _build_sum_line(
    names: Mapping[Locale, str], owner: Target | None, totals: tuple[Decimal | None, Decimal | None], facts: Facts, drawing: ListDrawing
) -> PreviewLine:
    locale = drawing.reader.locale
    before, after = [UNKNOWN[locale] if total is None else await drawing.format_money(total) for total in totals]
    name = _AFTER_OTHERS[locale].format(name=names[locale]) if facts.planned else names[locale]
    return _build_line(mark_rows_total(owner), name, after, before=before)


def _build_line(field: str, name: str, after: str, *, before: str = "") -> PreviewLine:
    return PreviewLine(field=field, name=name, before=before, after=after)
