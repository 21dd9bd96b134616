"""A number typed as the whole answer to a question: 25, −3, «700 тыс», «двадцать пять».

"150.000" and a currency of which the question does not speak are asked about again.
"""

import re
from dataclasses import dataclass
from typing import Final

from orchestrator.language.money_format import SIGNS
from orchestrator.language.money_parser import Sum, UnclearSum, list_currencies, parse_sum
from orchestrator.language.number_words import read_words
from orchestrator.language.request_words import strip_value_words
from orchestrator.language.text import Locale, fold

_GAPS: Final = re.compile(r"(?<=\d)[ \u00a0\u202f](?=\d{3}(?!\d))")
_NUMBER: Final = re.compile(r"[+-]?\d{1,15}(?:[.,]\d{1,15})?")
_AMBIGUOUS: Final = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
"""Behind a zero, or more digits than a group has, only decimals stand."""
_USUAL: Final = "RUB"
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class AmbiguousNumber:
    thousands: str
    decimals: str


@dataclass(frozen=True, slots=True)
class UnaskedCurrency:
    """A sum in a currency of which the question does not speak."""

    currency: str
    number: str


def read_typed_number(text: str, *, question: str = "", locale: Locale = "ru") -> int | float | AmbiguousNumber | UnaskedCurrency | None:
    """An int where nothing stands behind the point; None if it is no number."""
    plain = _GAPS.sub("", text).replace("−", "-")
    if plain.isascii() and _NUMBER.fullmatch(plain):
        number = shorten_number(float(plain.replace(",", ".")))
        if _AMBIGUOUS.fullmatch(plain):
            return AmbiguousNumber(thousands=plain.replace(".", "").replace(",", "").lstrip("+"), decimals=str(number))
        return number
    return _read_sum(text[:_LONGEST], question, locale) if len(text) <= _LONGEST else None


def _read_sum(text: str, question: str, locale: Locale) -> int | float | AmbiguousNumber | UnaskedCurrency | None:
    bare = strip_value_words(text)
    try:
        options: tuple[Sum, ...] = (parse_sum(bare, locale=locale),)
    except UnclearSum as error:
        options = error.options
    match options:
        case [Sum(amount=amount, currency=currency)]:
            number = shorten_number(float(amount))
            currencies = list_currencies(question) or {_USUAL}
            if currency is not None and currency not in currencies:
                return UnaskedCurrency(currency=SIGNS.get(currency, currency), number=str(number))
            return number
        case [decimals, thousands]:
            low, high = sorted((decimals.amount, thousands.amount))
            return AmbiguousNumber(thousands=str(shorten_number(float(high))), decimals=str(shorten_number(float(low))))
        case _:
            return read_words(re.split(r"[ -]", fold(bare).strip(" .!")))


def shorten_number(number: float) -> int | float:
    return int(number) if float(number).is_integer() else number
