"""Formats money, and parses the portal's currency styles. A style that could make one sum look like another is ignored."""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from types import MappingProxyType
from typing import Final

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import Locale, to_visible_line

# A sum that wraps between two lines can be misread on the card where a person approves it.
NO_BREAK_SPACE: Final = "\u00a0"
_DIGITS: Final = 60
_CENTS: Final = 2
_MOST_DECIMALS: Final = 6
_LONGEST: Final = 12
# "#" marks the place of the number, unless it belongs to an HTML entity such as &#8381;.
_PLACE: Final = re.compile(r"(?<!&)#")
_TAG: Final = re.compile(r"<[^>]{0,60}>")
_GROUPS: Final = frozenset({"", NO_BREAK_SPACE, ".", ",", "'", "’"})


@dataclass(frozen=True, kw_only=True)
class CurrencyStyle:
    """`point` is "" if the portal sets no usable number format."""

    prefix: str = ""
    suffix: str = ""
    point: str = ""
    group: str = ""
    decimals: int = 2
    is_base: bool = False

    @property
    def has_sign(self) -> bool:
        return bool(self.prefix or self.suffix)

    def format_number(self, amount: Decimal) -> str:
        """A whole amount has no decimals, any other as many as it needs to be exact."""
        places = count_fraction_digits(amount, self.decimals)
        with localcontext(prec=_DIGITS):
            plain = f"{amount:,.{places}f}"
        return plain.replace(",", "\0").replace(".", self.point).replace("\0", self.group)

    def add_sign(self, number: str) -> str:
        """A minus stays in front: "-$5"."""
        minus, plain = ("-", number[1:]) if number.startswith("-") else ("", number)
        return f"{minus}{self.prefix}{plain}{self.suffix}"


CurrencyBook = Mapping[str, CurrencyStyle]
NO_CURRENCY_BOOK: Final[CurrencyBook] = MappingProxyType({})


def find_base_currency(book: CurrencyBook) -> str:
    """Empty if the portal names none."""
    return next((code for code, style in book.items() if style.is_base), "")


def count_fraction_digits(amount: Decimal, decimals: int = _CENTS) -> int:
    """0 for a whole amount, more than `decimals` if the amount has more."""
    with localcontext(prec=_DIGITS):
        if amount == amount.to_integral_value():
            return 0
        return max(decimals or _CENTS, -int(amount.normalize().as_tuple().exponent))


def parse_currency_style(row: Mapping[str, object]) -> CurrencyStyle:
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
    parts = _PLACE.split(_TAG.sub("", pattern))
    if len(parts) != _CENTS:
        return "", ""
    before, after = (_clean_piece(part) for part in parts)
    odd = any(len(part) > _LONGEST or any(char.isdigit() or char in "-−–" for char in part) for part in (before, after))
    return ("", "") if odd else (before, after)


def _clean_piece(part: str) -> str:
    unescaped = html.unescape(part)
    inner = to_visible_line(unescaped).replace(" ", NO_BREAK_SPACE)
    if not inner:
        return ""
    return f"{NO_BREAK_SPACE if unescaped[0].isspace() else ''}{inner}{NO_BREAK_SPACE if unescaped[-1].isspace() else ''}"


def _parse_separator(value: object, point: str) -> str:
    """For null the usual one beside `point`."""
    if value is None:
        return "," if point == "." else NO_BREAK_SPACE
    separator = html.unescape(str(value))
    return NO_BREAK_SPACE if separator and separator.isspace() else separator


_CENT: Final = Decimal("0.01")
_MILLION: Final = Decimal(10) ** 6
_BILLION: Final = Decimal(10) ** 9
_WORDS: Final = load_lexicon("money")
_UNITS: Final = {
    locale: {
        _MILLION: _WORDS.read_text("shown_units", locale, "million"),
        _BILLION: _WORDS.read_text("shown_units", locale, "billion"),
    }
    for locale in ("ru", "en")
}
_PRECISION: Final = 60


def format_sum(amount: Decimal, currency: str | None = None, *, locale: Locale = "ru", book: CurrencyBook = NO_CURRENCY_BOOK) -> str:
    """«1 200 000 ₽» or "₽1,200,000", exact. Raises ValueError for NaN and infinity. A currency in `book` is written as in the portal."""
    style = book.get(currency or "")
    if style is None or not style.point:
        return _add_currency(_format_number(amount, locale, style.decimals if style else 2), currency, locale, book)
    if not amount.is_finite():
        raise ValueError("a sum must be a finite number")
    return _add_currency(style.format_number(amount), currency, locale, book)


def format_sum_short(amount: Decimal, currency: str | None = None, *, locale: Locale = "ru", book: CurrencyBook = NO_CURRENCY_BOOK) -> str:
    """«1,2 млн ₽» from a million on; at most 5,000 units away from the exact sum."""
    if not amount.is_finite() or abs(amount) < _MILLION:
        return format_sum(amount, currency, locale=locale, book=book)
    with localcontext(prec=_PRECISION):
        unit = _BILLION if abs(amount) >= _BILLION and amount % (_BILLION * _CENT) == 0 else _MILLION
        exact = amount / unit
        rounded = exact.quantize(_CENT, rounding=ROUND_HALF_EVEN)
        short = rounded.normalize()
    number = _group_digits(f"{short:,f}", locale)
    word = _UNITS[locale][unit]
    return _add_currency(number + (word if locale == "en" else NO_BREAK_SPACE + word), currency, locale, book)


def _format_number(amount: Decimal, locale: Locale, decimals: int) -> str:
    if not amount.is_finite():
        raise ValueError("a sum must be a finite number")
    plain = amount.to_integral_value()
    if amount == plain:
        return _group_digits(f"{plain:,f}", locale)
    with localcontext(prec=_PRECISION):
        return _group_digits(f"{amount:,.{count_fraction_digits(amount, decimals)}f}", locale)


def _group_digits(english: str, locale: Locale) -> str:
    return english if locale == "en" else english.replace(",", NO_BREAK_SPACE).replace(".", ",")


def _add_currency(number: str, currency: str | None, locale: Locale, book: CurrencyBook) -> str:
    if currency is None:
        return number
    style = book.get(currency)
    if style is not None and style.has_sign:
        return style.add_sign(number)
    sign = SIGNS.get(currency)
    if locale == "en" and sign is not None:
        return f"-{sign}{number[1:]}" if number.startswith("-") else sign + number
    return f"{number}{NO_BREAK_SPACE}{sign or currency}"


_CURRENCY_PATTERNS: Final = tuple((code, "|".join(patterns)) for code, patterns in _WORDS.read_lists("currencies").items())
SIGNS: Final = {"RUB": "₽", "USD": "$", "EUR": "€", "GBP": "£", "KZT": "₸", "UAH": "₴", "TRY": "₺"}
CURRENCY_AFTER: Final = "|".join(f"(?:{pattern})" for _, pattern in _CURRENCY_PATTERNS)
CURRENCY_BEFORE: Final = "[$€£₽₸₴₺]|" + "|".join(rf"{code.lower()} " for code, pattern in _CURRENCY_PATTERNS if code.lower() in pattern)


def parse_currency(name: str) -> str | None:
    """From a folded name, sign or code; None if it is unknown."""
    return next((code for code, pattern in _CURRENCY_PATTERNS if re.fullmatch(pattern, name)), None)
