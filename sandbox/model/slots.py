"""Finds values in a message: sums, percentages, phones, e-mails, web addresses, record numbers. Sums stay in the person's words."""

import re
from collections.abc import Iterator
from decimal import Decimal

from sandbox.model.lexicon import load
from sandbox.model.text import Span, fold, mask, quotes

_DIGITS = r"(?:\d{1,3}(?:[ .]\d{3})+(?![\d])(?:,\d+)?|\d{1,3}(?:,\d{3})+(?!\d)|\d+(?:[.,]\d+)?)"
_UNITS = {
    r"тыс(?:яч\w*|\.)?|т\.?\s?р\b\.?|thousand|к|k": 1_000,
    r"млн\.?|миллион\w*|лям\w*|mln|million|кк|kk|m|м": 1_000_000,
    r"млрд\.?|миллиард\w*|bn|billion": 1_000_000_000,
}
_UNIT = r"(?:(?:" + "|".join(_UNITS) + r")(?![а-яa-z]))"
_MONEY = r"(?:руб(?:л\w*|\.)?|₽|р\.?(?![а-яa-z])|rub\w*|roubles?|rubles?|долл\w*|\$|usd|евро|eur|€)"
_WORDS = {word: Decimal(value) for value, words in load("words")["numbers"].items() for word in words.split()}
_WORD = r"(?:" + "|".join(_WORDS) + r")"
_HALF = r"(?:полмиллиона|пол-?лимона|half a million|(?:a |one )?million|миллион\w?)"
_SUM = re.compile(
    rf"(?<![\w№#.,-])(?:[$€₽]\s?)?(?:{_DIGITS}\s?{_UNIT}?|{_WORD}(?:\s{_WORD})*\s{_UNIT}|{_HALF}(?![а-яa-z]))(?:\s?{_MONEY})?(?![\w%])",
)
_PERCENT = re.compile(r"(?<![\w.,])(\d+(?:[.,]\d+)?)\s?(?:%|процент\w*|percent)")
_NUMBER = re.compile(
    r"(?:№|#|\bномер(?:ом)?|\bnumber|\bno\.|\bid)\s?(\d+)|(?:\bсделк\w{1,3}|\bdeal|\bзадач\w{1,3}|\btask|\bлид\w{0,2}|\blead)\s(\d+)"
)
_PHONE = re.compile(r"(?<![\w.])\+?\d[\d \-()]{8,16}\d(?!\w)")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_URL = re.compile(r"https?://[^\s,;«»\"']+")


def sums(text: str) -> tuple[Span, ...]:
    """Return all amounts of money and bare numbers in a text, in order. Record numbers, phones and percentages are left out.

    Each amount stays as the person wrote it, but thousands commas become spaces.
    """
    taken = [*numbers(text), *phones(text), *percents(text)]
    found = (Span(m.start(), m.end(), text[m.start() : m.end()]) for m in _SUM.finditer(_unquoted(text)))
    return tuple(_tidy(span) for span in found if not any(_overlap(span, other) for other in taken))


def _unquoted(text: str) -> str:
    """Return the text in lower case, ё as е (see `fold`), without quoted parts: a number inside a title is no value."""
    return fold(mask(text, quotes(text)))


def _tidy(span: Span) -> Span:
    words = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", " ", span.text)
    stripped = words.rstrip(" ,")
    stripped = re.sub(r"полутора", "полтора", stripped, flags=re.IGNORECASE)
    one = re.match(r"миллион|million", stripped, re.IGNORECASE)
    return Span(span.start, span.start + len(span.text.rstrip(" ,")), f"1 {one[0].lower()}" if one else stripped)


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


def sum_value(words: str) -> Decimal | None:
    """Return the number that an amount in words means: «2,5 млн» is 2500000; None if the words are not understood."""
    folded = re.sub(rf"{_MONEY}|[$€₽]", "", fold(words)).strip()
    if re.fullmatch(r"полмиллиона|пол-?лимона|half a million", folded):
        return Decimal(500_000)
    scale = next((value for unit, value in _UNITS.items() if re.search(rf"(?<![а-яa-z])(?:{unit})$", folded)), 1)
    digits = re.match(_DIGITS, folded)
    if digits:
        return _digits(digits[0]) * scale
    spoken = [_WORDS[word] for word in re.findall(r"\w+", folded) if word in _WORDS]
    if spoken:
        return sum(spoken, Decimal(0)) * scale
    return Decimal(scale) if scale > 1 else None


def _digits(written: str) -> Decimal:
    grouped = re.sub(r"(?<=\d)[ ](?=\d{3})|(?<=\d)[.,](?=\d{3}(?!\d))", "", written)
    return Decimal(grouped.replace(",", "."))


def percents(text: str) -> tuple[Span, ...]:
    """Return all percentages in a text; the text of a span is the number with a decimal point, without the percent sign."""
    return tuple(Span(m.start(), m.end(), m[1].replace(",", ".")) for m in _PERCENT.finditer(_unquoted(text)))


def numbers(text: str) -> tuple[Span, ...]:
    """Return all record numbers in a text, such as №481 or «сделка 481»; the text of a span is only the digits."""
    return tuple(Span(m.start(), m.end(), m[1] or m[2]) for m in _record_numbers(_unquoted(text)))


def _record_numbers(folded: str) -> Iterator[re.Match[str]]:
    for match in _NUMBER.finditer(folded):
        after = folded[match.end() : match.end() + 12]
        # «сделку 2 млн» names a sum, not a record.
        if match[1] or not re.match(rf"[.,]\d|\s?(?:\d{{3}}\b|{_UNIT}|{_MONEY})", after):
            yield match


def phones(text: str) -> tuple[Span, ...]:
    """Return all phone numbers of 10 to 15 digits in a text; the text of a span is the digits, with the plus if there is one."""
    found = []
    for match in _PHONE.finditer(text):
        digits = re.sub(r"\D", "", match[0])
        if 10 <= len(digits) <= 15 and (match[0].startswith("+") or digits[0] in "78" or "(" in match[0]):
            found.append(Span(match.start(), match.end(), ("+" if match[0].startswith("+") else "") + digits))
    return tuple(found)


def emails(text: str) -> tuple[Span, ...]:
    """Return all e-mail addresses in a text, in order."""
    return tuple(Span(m.start(), m.end(), m[0]) for m in _EMAIL.finditer(text))


def urls(text: str) -> tuple[Span, ...]:
    """Return all web addresses in a text, in order and without closing punctuation."""
    return tuple(Span(m.start(), m.start() + len(m[0].rstrip(".!?)")), m[0].rstrip(".!?)")) for m in _URL.finditer(text))
