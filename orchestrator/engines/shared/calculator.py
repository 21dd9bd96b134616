"""Calculates sums of money and percent as people write them; never by `eval`."""

import math
import re
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from orchestrator.domain.finding import DefinitionRefused
from orchestrator.expressions.conditions import ConditionFailed, compile_condition
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.money_parser import LARGEST, find_amounts
from orchestrator.language.text import Locale, fold

_WORDS: Final = load_lexicon("calculator")
_SIGNS: Final = {word: sign for sign, words in _WORDS.read_lists("signs").items() for word in words}
_PERCENT: Final = frozenset(_WORDS.read_words("percent"))
_OF: Final = frozenset(_WORDS.read_words("of"))
_LEFT_OUT: Final = frozenset(_WORDS.read_words("left_out"))
_NAMED: Final = "|".join(sorted(map(re.escape, [*_SIGNS, *_PERCENT, *_OF, *_LEFT_OUT]), key=len, reverse=True))
_TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>\d{1,3}(?: \d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)?)"
    rf"|(?P<word>(?:{_NAMED})(?![^\W\d_])|[-+*/()%×÷:·−–=?])|(?P<end>$))"
)
_PLAIN: Final = {"×": "*", "·": "*", "÷": "/", ":": "/", "−": "-", "–": "-"}
_ADDING: Final = re.compile(rf"[-+−–]|(?:{'|'.join(re.escape(word) for word, sign in _SIGNS.items() if sign in '+-')})(?![^\W\d_])")
_DIGITS: Final = 6


class NotCalculable(ValueError):
    """The text is no calculation."""


@dataclass(frozen=True, slots=True)
class _Number:
    text: str


@dataclass(slots=True)
class _Level:
    pieces: list[str] = field(default_factory=list)

    def add_percent(self, number: str, after: str) -> None:
        """Of what stands before a plus or minus (100 + 20 % is 120), otherwise hundredths."""
        sign = self.pieces[-1] if self.pieces else ""
        if sign in {"+", "-"} and len(self.pieces) > 1 and after not in {"*", "/", "of"}:
            whole = "".join(self.pieces[:-1])
            self.pieces = [f"(({whole})*(1{sign}{number}/100))"]
        else:
            self.pieces.append(f"({number}/100)")


def calculate_text(text: str, locale: Locale = "ru") -> tuple[Decimal, str | None]:
    """Return (result, currency if exactly one is named). Raises NotCalculable."""
    plain, currency = _write_sums(text, locale)
    source = _build_expression(_split_tokens(plain))
    try:
        value = compile_condition(source, known=()).evaluate({})
    except (DefinitionRefused, ConditionFailed):
        raise NotCalculable(text) from None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or abs(value) > LARGEST:
        raise NotCalculable(text)
    result = Decimal(repr(value)).quantize(Decimal(1).scaleb(-_DIGITS), ROUND_HALF_UP)
    return (result.quantize(Decimal(1)) if result == result.to_integral_value() else result.normalize()), currency


def _write_sums(text: str, locale: Locale) -> tuple[str, str | None]:
    """Return (text with plain numbers, currency). Raises NotCalculable."""
    folded, plain, at = fold(text), "", 0
    currencies: set[str] = set()
    for amount, start, end in find_amounts(text, locale=locale):
        if start < at:
            continue
        currencies |= {amount.currency} if amount.currency else set()
        plain += f"{folded[at:start]} {amount.amount:f} "
        at = end
    if len(currencies) > 1 and _ADDING.search(plain + folded[at:]):
        raise NotCalculable(text)  # 100 $ and 5 € are no sum
    return plain + folded[at:], currencies.pop() if len(currencies) == 1 else None


def _split_tokens(text: str) -> list[_Number | str]:
    tokens: list[_Number | str] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise NotCalculable(text)
        if match["end"] is not None:
            break
        if match["number"]:
            tokens.append(_Number(match["number"].replace(" ", "").replace(",", ".")))
        else:
            word = match["word"]
            tokens.append("%" if word in _PERCENT else "of" if word in _OF else _SIGNS.get(word, _PLAIN.get(word, word)))
        at = match.end()
    return [token for token in tokens if token not in {"=", "?"} and token not in _LEFT_OUT]


def _build_expression(tokens: list[_Number | str]) -> str:
    levels = [_Level()]
    for place, token in enumerate(tokens):
        after = [one if isinstance(one, str) else "" for one in tokens[place + 1 : place + 3]]
        match token:
            case "(" | ")":
                _step_into(levels, token)
            case _Number() if place and isinstance(tokens[place - 1], _Number):
                raise NotCalculable(token.text)  # «100 50» is not 10050
            case _Number() if after[:1] == ["%"]:
                levels[-1].add_percent(token.text, after[1] if len(after) > 1 else "")
            case _Number():
                levels[-1].pieces.append(token.text)
            case "%":
                if place == 0 or not isinstance(tokens[place - 1], _Number):
                    raise NotCalculable("%")
            case "of":
                levels[-1].pieces.append("*")
            case sign:
                levels[-1].pieces.append(sign)
    if len(levels) != 1:
        raise NotCalculable("(")
    return "".join(levels[0].pieces)


def _step_into(levels: list[_Level], bracket: str) -> None:
    if bracket == "(":
        levels.append(_Level())
        return
    if len(levels) == 1:
        raise NotCalculable(bracket)
    inner = "".join(levels.pop().pieces)
    levels[-1].pieces.append(f"({inner})")
