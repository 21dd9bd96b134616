"""One line for each product row or linked record. Only names are read from the portal."""

from decimal import Decimal
from typing import Final

from bitrix.catalogue.catalogue import ListKind
from orchestrator.gate.call import fields, replaced_lists
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.param_words import find_common_words, find_param_words
from orchestrator.gate.call.replaced_lists import Rows, find_row_value, has_value, is_primary
from orchestrator.gate.call.targets import PRODUCT_ROW, as_id
from orchestrator.gate.preview.format_params import Place, find_read_name, format_param
from orchestrator.gate.preview.format_values import EMPTY, Context, Reader, format_plain, format_value, join_lines
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
