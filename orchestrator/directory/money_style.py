"""How the portal writes a currency: sign, place of the sign, separators, decimals. Ring 2, pure.

A setting that could make one sum look like another is not followed: then the product's own way of writing stands.
"""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from types import MappingProxyType
from typing import Any, Final

from orchestrator.directory.text import to_visible_line

# A sum that wraps between two lines can be misread on the card where a person approves it.
NO_BREAK_SPACE: Final = "\u00a0"
_DIGITS: Final = 60
_CENTS: Final = 2
_MOST_DECIMALS: Final = 6
_LONGEST: Final = 12
# The value stands where "#" is, which may be the beginning of an entity such as &#8381; as well.
_PLACE: Final = re.compile(r"(?<!&)#")
_TAG: Final = re.compile(r"<[^>]{0,60}>")
_GROUPS: Final = frozenset({"", NO_BREAK_SPACE, ".", ",", "'", "’"})


@dataclass(frozen=True, kw_only=True)
class CurrencyStyle:
    """`prefix` and `suffix` stand around the number; `point` is "" where the portal does not say how numbers are written."""

    prefix: str = ""
    suffix: str = ""
    point: str = ""
    group: str = ""
    decimals: int = 2
    is_base: bool = False
    """The portal's own: a record that names no currency gets it."""

    @property
    def has_sign(self) -> bool:
        """Whether it says what the currency looks like."""
        return bool(self.prefix or self.suffix)

    def format_number(self, amount: Decimal) -> str:
        """The exact amount with the portal's separators: its decimals where there is a fraction, more if needed, none if not."""
        places = count_fraction_digits(amount, self.decimals)
        with localcontext(prec=_DIGITS):
            plain = f"{amount:,.{places}f}"
        return plain.replace(",", "\0").replace(".", self.point).replace("\0", self.group)

    def add_sign(self, number: str) -> str:
        """The number with the sign; a minus stands before everything."""
        minus, plain = ("-", number[1:]) if number.startswith("-") else ("", number)
        return f"{minus}{self.prefix}{plain}{self.suffix}"


CurrencyBook = Mapping[str, CurrencyStyle]
NO_CURRENCY_BOOK: Final[CurrencyBook] = MappingProxyType({})


def find_base_currency(book: CurrencyBook) -> str:
    """The portal's own currency, "" where it does not say."""
    return next((code for code, style in book.items() if style.is_base), "")


def count_fraction_digits(amount: Decimal, decimals: int = _CENTS) -> int:
    """How many digits follow the point: none for whole amounts, never fewer than there are, nor than the currency has."""
    with localcontext(prec=_DIGITS):
        if amount == amount.to_integral_value():
            return 0
        return max(decimals or _CENTS, -int(amount.normalize().as_tuple().exponent))


def parse_currency_style(row: Mapping[str, Any]) -> CurrencyStyle:
    """The style behind a row of crm.currency.list, whose texts may be HTML (`&nbsp;`, `&#8381;`)."""
    prefix, suffix = _parse_sign(str(row.get("FORMAT_STRING") or ""))
    point = html.unescape(str(row.get("DEC_POINT") or ""))
    group = _parse_separator(row.get("THOUSANDS_SEP"), point)
    known = point in {".", ","} and group in _GROUPS and group != point
    decimals = str(row.get("DECIMALS") if row.get("DECIMALS") is not None else _CENTS)
    return CurrencyStyle(
        prefix=prefix,
        suffix=suffix,
        point=point if known else "",
        group=group if known else "",
        is_base=row.get("BASE") == "Y",
        decimals=min(int(decimals), _MOST_DECIMALS) if decimals.isascii() and decimals.isdecimal() else _CENTS,
    )


def _parse_sign(pattern: str) -> tuple[str, str]:
    """What stands before and after the number; nothing when it could be read as a part of the number."""
    parts = _PLACE.split(_TAG.sub("", pattern))
    if len(parts) != _CENTS:
        return "", ""
    before, after = (_clean_piece(part) for part in parts)
    odd = any(len(part) > _LONGEST or any(char.isdigit() or char in "-−–" for char in part) for part in (before, after))
    return ("", "") if odd else (before, after)


def _clean_piece(part: str) -> str:
    """One visible piece; its spaces do not break the line, and only those beside the number count."""
    shown = html.unescape(part)
    inner = to_visible_line(shown).replace(" ", NO_BREAK_SPACE)
    if not inner:
        return ""
    return f"{NO_BREAK_SPACE if shown[0].isspace() else ''}{inner}{NO_BREAK_SPACE if shown[-1].isspace() else ''}"


def _parse_separator(value: Any, point: str) -> str:
    """The separator of thousands; null means the usual one beside that decimal point, as the list does not name it then."""
    if value is None:
        return "," if point == "." else NO_BREAK_SPACE
    shown = html.unescape(str(value))
    return NO_BREAK_SPACE if shown and shown.isspace() else shown
