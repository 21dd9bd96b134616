"""Money for people, Russian and English, exact and short. Ring 2, pure."""

from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from typing import Final

from orchestrator.directory.currencies import SIGNS
from orchestrator.directory.money_style import NO_BREAK_SPACE, NO_CURRENCY_BOOK, CurrencyBook, count_fraction_digits
from orchestrator.directory.text import Locale

_CENT: Final = Decimal("0.01")
_MILLION: Final = Decimal(10) ** 6
_BILLION: Final = Decimal(10) ** 9
_UNITS: Final = {"ru": {_MILLION: "млн", _BILLION: "млрд"}, "en": {_MILLION: "M", _BILLION: "B"}}
_PRECISION: Final = 60


def format_sum(amount: Decimal, currency: str | None = None, *, locale: Locale = "ru", book: CurrencyBook = NO_CURRENCY_BOOK) -> str:
    """The exact sum: «1 200 000 ₽», "₽1,200,000"; kopecks only if there are any. ValueError for NaN and infinity.

    A currency of `book` is written as the portal writes it, in every language; one that is nowhere known by its code.
    """
    style = book.get(currency or "")
    if style is None or not style.point:
        return _add_currency(_format_number(amount, locale, style.decimals if style else 2), currency, locale, book)
    if not amount.is_finite():
        raise ValueError("a sum must be a finite number")
    return _add_currency(style.format_number(amount), currency, locale, book)


def format_sum_short(amount: Decimal, currency: str | None = None, *, locale: Locale = "ru", book: CurrencyBook = NO_CURRENCY_BOOK) -> str:
    """The sum for a button: below a million in full, above as «1,2 млн ₽».

    At most two decimals, none of them an idle zero: one list has one way of writing. Billions are used only where they are exact, so no
    short sum is more than 5,000 away from the truth.
    """
    if not amount.is_finite() or abs(amount) < _MILLION:
        return format_sum(amount, currency, locale=locale, book=book)
    with localcontext(prec=_PRECISION):
        unit = _BILLION if abs(amount) >= _BILLION and amount % (_BILLION * _CENT) == 0 else _MILLION
        exact = amount / unit
        rounded = exact.quantize(_CENT, rounding=ROUND_HALF_EVEN)
        shown = rounded.normalize()
    number = _group_digits(f"{shown:,f}", locale)
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
