"""Parses sums as people write them into exact decimals. With two possible meanings («1,500») a sum is rejected."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.money_format import CURRENCY_AFTER, CURRENCY_BEFORE, format_sum, format_sum_short, parse_currency
from orchestrator.language.number_words import PATTERN, read_words
from orchestrator.language.text import Locale, fold

__all__ = [
    "LARGEST",
    "Sum",
    "SumReason",
    "UnclearSum",
    "find_amounts",
    "format_sum",
    "format_sum_short",
    "has_currency",
    "list_currencies",
    "parse_sum",
]

LARGEST: Final = Decimal(10) ** 12
SumReason = Literal["no_sum", "two_readings", "negative", "too_large", "below_kopeck", "more_than_sum"]


@dataclass(frozen=True, slots=True)
class Sum:
    amount: Decimal
    currency: str | None = None


class UnclearSum(ValueError):
    """Not exactly one sum; `options` are its possible meanings, if there are several."""

    def __init__(self, reason: SumReason, options: tuple[Sum, ...] = ()) -> None:
        super().__init__(reason)
        self.reason: SumReason = reason
        self.options = options


def parse_sum(text: str, *, locale: Locale = "ru") -> Sum:
    """The whole text must be one sum. Raises `UnclearSum`."""
    folded = fold(text).strip(" .!?;")
    if _NEGATIVE.match(folded):
        raise UnclearSum("negative")
    reading = _read_sum(folded, 0, locale)
    if reading is not None and reading.end != len(folded):
        reading = _read_units(folded, _read_short_thousands(folded, reading))
    if reading is None:
        raise UnclearSum("no_sum" if _START.search(folded) is None else "more_than_sum")
    if reading.end != len(folded):
        raise UnclearSum("more_than_sum")
    return _to_sum(reading)


def find_amounts(text: str, *, locale: Locale = "ru") -> list[tuple[Sum, int, int]]:
    """Each sum with its start and end.

    Only what has a currency, a multiplier, groups of digits or a word such as «сумма»; not what has two meanings.
    """
    folded, amounts, at = fold(text), [], 0
    while start := _START.search(folded, at):
        at = max(start.end(), start.start() + 1)  # the match for «миллион» is empty, so the search must move on by one character
        try:
            reading = _read_sum(folded, start.start(), locale)
        except UnclearSum:
            continue
        if reading is None:
            continue
        reading = _read_units(folded, _read_short_thousands(folded, reading))
        at = max(at, reading.end)
        if reading.marked or _ABOUT_MONEY.search(folded[max(start.start() - _BEFORE, 0) : start.start()]):
            amounts += [(value, start.start(), reading.end) for value in _find_certain(reading, folded, start.start())]
    return amounts


def list_currencies(text: str) -> frozenset[str]:
    """With a number or without: «Бюджет в долларах?»."""
    codes = (parse_currency(named[0]) for named in _NAMED_CURRENCY.finditer(fold(text)))
    return frozenset(code for code in codes if code is not None)


def has_currency(text: str) -> bool:
    return _ANY_CURRENCY.search(fold(text)) is not None


@dataclass(frozen=True, slots=True)
class _Reading:
    amounts: tuple[Decimal, ...]
    currency: str | None
    marked: bool
    end: int


@dataclass(frozen=True, slots=True)
class _Term:
    numbers: tuple[Decimal, ...]
    scale: int
    grouped: bool
    end: int


# No sum begins in the middle of a word, a number, a date or a time, after a sign, or one space after another number.
_EDGE: Final = r"(?<![\w.,:/+−–-])(?<![0-9] )"
_DIGITS: Final = re.compile(
    r"(?>[0-9]+(?:(?:[.,:/–-]|[ '’](?=[0-9]{3}(?![0-9])))[0-9]+)*)(?! ?[0-9])",
)
_LEXICON: Final = load_lexicon("money")
_GLUED: Final = _LEXICON.read_table("glued_scales")
_SCALE: Final = tuple(
    (int(scale), re.compile(rf"(?: ?(?:{words})|{_GLUED[scale]}(?!\w))")) for scale, words in _LEXICON.read_table("scales").items()
)
_WORDS: Final = re.compile(rf"(?:{PATTERN})(?:[ -](?:and )?(?:{PATTERN})){{0,4}}(?!\w)")
_ONE: Final = re.compile(
    rf"(?=(?:{_LEXICON.join_patterns('one_of')})(?!\w))|an? (?=(?:{_LEXICON.join_patterns('one_of_english')})(?!\w))",
)
_AND_A_HALF: Final = rf"(?:{_LEXICON.join_patterns('one_and_a_half')}) "
_HALVES: Final = (
    (re.compile(rf"{_AND_A_HALF}(?=\w)"), Decimal("1.5")),
    (re.compile(rf"(?:{_LEXICON.join_patterns('half')})(?=(?:{_LEXICON.join_patterns('half_of')}))"), Decimal("0.5")),
)
_HALF_ONE: Final = Decimal("0.5")
_SENTENCE_END: Final = re.compile(r"\s*(?:[.!?;:,)»\"]|\Z)")
_HUNDRED: Final = 100
_THOUSAND: Final = 1000
_AND_HALF: Final = re.compile(rf" (?:{_LEXICON.join_patterns('and_half')})(?!\w)")
_HALF_OF: Final = _LEXICON.join_patterns("half_of_russian")
_START: Final = re.compile(
    rf"{_EDGE}(?:(?:{CURRENCY_BEFORE}) ?(?=[0-9])|[0-9]|(?:{PATTERN})(?!\w)|{_ONE.pattern}|{_AND_A_HALF}"
    rf"|{_LEXICON.read_text('half_begins')}(?={_HALF_OF})|{_LEXICON.read_text('half_begins_glued')}(?={_HALF_OF})"
    rf"|{_LEXICON.read_text('half_english')})",
)
_NEGATIVE: Final = re.compile(rf"(?:{_LEXICON.join_patterns('minus')}) ?[^\W_]")
_SIGN: Final = re.compile(rf"(?:{CURRENCY_BEFORE}) ?")
_CODE: Final = re.compile(rf" ?(?:{CURRENCY_AFTER})(?!\w)\.?")
_ANY_CURRENCY: Final = re.compile(rf"(?:{CURRENCY_BEFORE}) ?[0-9]|(?:{CURRENCY_AFTER})(?!\w)")
_NAMED_CURRENCY: Final = re.compile(rf"(?<!\w)(?:{CURRENCY_AFTER})(?!\w)")
_GLUED_ON: Final = re.compile(r"\w| ?[%‰]|[–-] ?[0-9]|[.,:/][0-9]")
_KOPECKS: Final = re.compile(rf" ?([0-9]{{1,2}}) ?(?:{_LEXICON.read_text('kopecks')})(?!\w)")
_ABOUT_MONEY: Final = re.compile(
    rf"(?<!\w)(?:{_LEXICON.join_patterns('about_money')})(?: (?:{_LEXICON.join_patterns('about_money_then')}))* ?[:=—–-]? ?$"
)
_NOT_MONEY: Final = re.compile(rf"(?:{_LEXICON.join_patterns('not_money_signs')}|(?<!\w)(?:{_LEXICON.join_patterns('not_money')})) ?$")
_BEFORE: Final = 40
_LONGEST: Final = 24  # characters including separators; at this length the decimal arithmetic below stays exact
_GROUPS: Final = re.compile(r"[0-9]{1,3}(?:([ '’.,])[0-9]{3})(?:\1[0-9]{3})*")


def _read_sum(text: str, start: int, locale: Locale) -> _Reading | None:
    sign = _SIGN.match(text, start)
    term = _read_term(text, sign.end() if sign else start, "en" if sign and not sign.group()[0].isalpha() else locale)
    if term is None:
        return None
    amounts, end, least = tuple(number * term.scale for number in term.numbers), term.end, term.scale
    while (more := _read_next_term(text, end, least, locale)) is not None:
        amounts, end, least = tuple(a + b * more.scale for a in amounts for b in more.numbers), more.end, more.scale
    code = _CODE.match(text, end)
    currency = parse_currency(sign.group().strip()) if sign else None
    if code and currency is None:
        currency, end = parse_currency(code.group().strip(" .")), code.end()
        if kopecks := _KOPECKS.match(text, end):
            amounts, end = tuple(a + Decimal(kopecks[1]) / 100 for a in amounts), kopecks.end()
    if _GLUED_ON.match(text, end) is not None:
        return None
    return _Reading(amounts, currency, currency is not None or term.scale > 1 or term.grouped, end)


def _read_short_thousands(text: str, millions: _Reading) -> _Reading:
    """«миллион двести» is 1,200,000. Only round hundreds at the end of a sentence are read so."""
    number, end = _read_last_words(text, millions.end)
    is_whole = millions.currency is None and all(amount > 0 and amount % 1_000_000 == 0 for amount in millions.amounts)
    if number is None or not is_whole or number < 100 or number % 50:  # noqa: PLR2004 — «миллион пять» may mean anything
        return millions
    return _Reading(tuple(amount + number * 1000 for amount in millions.amounts), None, marked=True, end=end)


def _read_units(text: str, thousands: _Reading) -> _Reading:
    """«сорок восемь тысяч пятьсот» is 48,500. «сто тысяч пять» may mean anything and stays."""
    number, end = _read_last_words(text, thousands.end)
    has_thousands = all(amount > _THOUSAND and amount % _THOUSAND == 0 and amount % 1_000_000 for amount in thousands.amounts)
    if number is None or number < _HUNDRED or thousands.currency is not None or not has_thousands:
        return thousands
    return _Reading(tuple(amount + number for amount in thousands.amounts), None, marked=True, end=end)


def _read_last_words(text: str, start: int) -> tuple[int | None, int]:
    """Number words that end a sentence: what they count, a word behind them might say."""
    words = _WORDS.match(text, start + 1) if text.startswith(" ", start) else None
    if words is None or _SENTENCE_END.match(text, words.end()) is None:
        return None, start
    return read_words(re.split(r"[ -]", words.group())), words.end()


def _read_next_term(text: str, end: int, least: int, locale: Locale) -> _Term | None:
    """«200 тыс» after «1 млн»: smaller than `least`, the multiplier before. A bare «200» may mean anything."""
    if least == 1 or not text.startswith(" ", end):
        return None
    term = _read_term(text, end + 1, locale)
    is_units = term is not None and least == _THOUSAND and _CODE.match(text, term.end) is not None  # «150 тысяч 500 рублей»
    if term is None or term.scale >= least or not (term.scale > 1 or term.grouped or is_units):
        return None
    return term if max(term.numbers) * term.scale < least else None


def _read_term(text: str, start: int, locale: Locale) -> _Term | None:
    if digits := _DIGITS.match(text, start):
        numbers = _parse_digits(digits.group(), locale)
        if not numbers:
            return None
        scale, end = _read_scale(text, digits.end())
        if scale == 1 and (half := _AND_HALF.match(text, digits.end())):  # «2 с половиной миллиона»
            scale, end = _read_scale(text, half.end())
            if scale > 1 and all(number == number.to_integral_value() for number in numbers):
                return _Term(tuple(number + _HALF_ONE for number in numbers), scale, grouped=False, end=end)
            return None
        return _Term(numbers, scale, _GROUPS.match(digits.group()) is not None, end)
    for value, begin in _read_spelled(text, start):
        scale, end = _read_scale(text, begin)
        if scale > 1:
            return _Term((value,), scale, grouped=False, end=end)
        if _CODE.match(text, begin):  # «пятьсот рублей»: the currency tells that it is money
            return _Term((value,), 1, grouped=True, end=begin)
    return None


def _read_spelled(text: str, start: int) -> Iterator[tuple[Decimal, int]]:
    for pattern, value in _HALVES:
        if half := pattern.match(text, start):
            yield value, half.end()
    if words := _WORDS.match(text, start):
        number = read_words([word for word in re.split(r"[ -]", words.group()) if word != "and"])
        if number is not None:
            if half := _AND_HALF.match(text, words.end()):
                yield number + _HALF_ONE, half.end()
            yield Decimal(number), words.end()
    if single := _ONE.match(text, start):
        yield Decimal(1), single.end()


def _read_scale(text: str, at: int) -> tuple[int, int]:
    for scale, pattern in _SCALE:
        if match := pattern.match(text, at):
            return scale, match.end()
    return 1, at


def _parse_digits(raw: str, locale: Locale) -> tuple[Decimal, ...]:
    """Two for «1,500», none for dates, times and phones."""
    if len(raw) > _LONGEST:
        return ()
    compact = re.sub(r"(?<=[0-9])[ '’](?=[0-9]{3})", "", raw) if _is_spaced_well(raw) else raw
    signs = [char for char in compact if not char.isdigit()]
    match signs:
        case []:
            return (Decimal(compact),)
        case [one] if one in ",.":
            return _parse_one_sign(compact, one, grouped=compact != raw, locale=locale)
        case [*groups, last] if set(groups) <= set(",.") and last in ",." and len(set(groups)) == 1:
            return _parse_many_signs(compact, groups[0], last)
        case _:
            return ()


def _is_spaced_well(raw: str) -> bool:
    return re.fullmatch(r"[1-9][0-9]{0,2}(?:[ '’][0-9]{3})+(?:[.,][0-9]+)?", raw) is not None


def _parse_one_sign(compact: str, sign: str, *, grouped: bool, locale: Locale) -> tuple[Decimal, ...]:
    head, tail = compact.split(sign)
    decimal = Decimal(f"{head}.{tail}")
    if grouped or len(tail) != 3 or len(head) > 3 or head.startswith("0"):  # noqa: PLR2004 — a group is three digits
        return (decimal,)
    if locale == "en" and sign == ",":
        return (Decimal(head + tail),)
    return (decimal, Decimal(head + tail))


def _parse_many_signs(compact: str, group: str, last: str) -> tuple[Decimal, ...]:
    whole, _, fraction = compact.rpartition(last) if last != group else (compact, "", "")
    if re.fullmatch(rf"[1-9][0-9]{{0,2}}(?:{re.escape(group)}[0-9]{{3}})+", whole) is None:
        return ()
    return (Decimal(f"{whole.replace(group, '')}.{fraction or 0}"),)


def _to_sum(reading: _Reading) -> Sum:
    if min(reading.amounts) > LARGEST:
        raise UnclearSum("too_large")
    options = tuple(Sum(amount, reading.currency) for amount in map(_normalize, reading.amounts))
    if len(options) > 1:
        raise UnclearSum("two_readings", options)
    (only,) = options
    if only.amount != round(only.amount, 2):
        raise UnclearSum("below_kopeck", options)
    return only


def _normalize(amount: Decimal) -> Decimal:
    whole = amount.to_integral_value()
    return whole if amount == whole else amount.normalize()


def _find_certain(reading: _Reading, text: str, start: int) -> Iterator[Sum]:
    if reading.currency is None and _NOT_MONEY.search(text[max(start - _BEFORE, 0) : start]):
        return
    try:
        yield _to_sum(reading)
    except UnclearSum:
        return
