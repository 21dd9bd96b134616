"""The scale at the left of a line: round numbers in few words."""

import math
from dataclasses import dataclass
from typing import Final

from bot.i18n.translate import Translator

_MOST_TICKS: Final = 5
_WORDS: Final = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"), (1e3, "thousand"))


@dataclass(frozen=True, slots=True)
class Axis:
    """From `low` to `high`, with lines at `ticks`."""

    low: float
    high: float
    ticks: tuple[float, ...]


def build_axis(numbers: list[float]) -> Axis:
    """Always with 0."""
    low, high = min(0.0, *numbers, 0.0), max(0.0, *numbers, 0.0)
    if high == low:
        return Axis(0, 1, (0,))
    step = _round_step((high - low) / _MOST_TICKS)
    first, last = math.floor(low / step), math.ceil(high / step)
    return Axis(first * step, last * step, tuple(number * step for number in range(first, last + 1)))


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999) * power


def name_tick(number: float, axis: Axis, tr: Translator, *, is_percent: bool) -> str:
    """All in the word of the largest: «0,5 млн»."""
    largest = max(abs(axis.low), abs(axis.high))
    scale, word = next(
        ((scale, word) for scale, word in _WORDS if largest >= scale and not is_percent), (1.0, "percent" if is_percent else "none")
    )
    if not number:
        return "0"
    digits = tr.translate("picture-tick", number=round(abs(number) / scale, 2), word=word)
    return f"−{digits}" if number < 0 else digits
