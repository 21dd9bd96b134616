"""Reads small numbers written as words, in Russian and English: «сто двадцать пять» is 125."""

import re
from collections.abc import Sequence
from typing import Final

_RUSSIAN: Final = {
    1: "один одна одну одно одного одной",
    2: "два две двух двум",
    3: "три трех трем",
    4: "четыре четырех",
    5: "пять пяти",
    6: "шесть шести",
    7: "семь семи",
    8: "восемь восьми",
    9: "девять девяти",
    10: "десять десяти",
    11: "одиннадцать одиннадцати",
    12: "двенадцать двенадцати",
    13: "тринадцать тринадцати",
    14: "четырнадцать четырнадцати",
    15: "пятнадцать пятнадцати",
    16: "шестнадцать шестнадцати",
    17: "семнадцать семнадцати",
    18: "восемнадцать восемнадцати",
    19: "девятнадцать девятнадцати",
    20: "двадцать двадцати",
    30: "тридцать тридцати",
    40: "сорок сорока",
    50: "пятьдесят пятидесяти",
    60: "шестьдесят шестидесяти",
    70: "семьдесят семидесяти",
    80: "восемьдесят восьмидесяти",
    90: "девяносто девяноста",
    100: "сто ста",
    200: "двести двухсот",
    300: "триста трехсот",
    400: "четыреста четырехсот",
    500: "пятьсот пятисот",
    600: "шестьсот шестисот",
    700: "семьсот семисот",
    800: "восемьсот восьмисот",
    900: "девятьсот девятисот",
}
_ENGLISH: Final = {
    **dict(enumerate("one two three four five six seven eight nine ten eleven twelve".split(), start=1)),  # noqa: SIM905 — a word list reads best as words
    **dict(enumerate("thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(), start=13)),  # noqa: SIM905 — as above
    **{
        tens * 10: word
        for tens, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)  # noqa: SIM905 — as above
    },
}
VALUES: Final = {word: value for table in (_RUSSIAN, _ENGLISH) for value, words in table.items() for word in words.split()}
HUNDRED: Final = "hundred"
# Longest first, so that an alternation never stops at «пят» of «пятьсот».
PATTERN: Final = "|".join(sorted([*VALUES, HUNDRED], key=len, reverse=True))


def read_words(words: Sequence[str]) -> int | None:
    """Return the number that folded words spell, up to 999; None if they are not a well-formed number."""
    total, room = 0, 1000
    for word in words:
        if word == HUNDRED:
            if not 1 <= total < 10:  # noqa: PLR2004 — "two hundred", never "twenty hundred"
                return None
            total, room = total * 100, 100
            continue
        value = VALUES.get(word)
        if value is None or value >= room:
            return None
        total, room = total + value, _find_room_below(value)
    return total or None


def _find_room_below(value: int) -> int:
    """Return the limit for the next word: hundreds may be followed by tens and units, tens by units, units and teens by nothing."""
    for step in (100, 10):
        if value >= step and value % step == 0:
            return step
    return 0


_ORDINALS: Final = {
    **dict(enumerate(("перв", "втор", "третье", "четверт", "пят", "шест", "седьм", "восьм", "девят", "десят"), start=1)),
    **{number: word.removesuffix("ь") for word, number in VALUES.items() if word.endswith("надцать")},
    20: "двадцат",
    30: "тридцат",
}
_ORDINAL: Final = re.compile(
    rf"(?<!\w)(?:(двадцать|тридцать) )?({'|'.join(sorted(_ORDINALS.values(), key=len, reverse=True))})(?:ого|го|ое|ому|му|е)?(?!\w)"
    r"(?= (?:числ|янв|фев|мар|апр|ма[яйе]|июн|июл|авг|сен|окт|ноя|дек))"
)


def convert_ordinals(text: str) -> str:
    """Replace Russian ordinals before a month or «числа» by digits: «двадцать пятого декабря» becomes «25 декабря»; expects folded text."""
    values = {word: number for number, word in _ORDINALS.items()}
    return _ORDINAL.sub(lambda found: str(VALUES.get(found[1] or "", 0) + values[found[2]]), text)
