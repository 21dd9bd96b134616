"""Writes counts, durations and money of the console as people write them in their language. Pure: no input or output."""

from decimal import Decimal
from typing import Final

from bot.i18n.translate import Translator
from orchestrator.language.money_format import format_sum

_CENT: Final = Decimal("0.01")
_SHORTEST: Final = 0.1
_MINUTE: Final = 60
_HOUR: Final = 3600
_WITH_TENTHS: Final = 10
"""Below so many units a duration has a digit after the decimal sign."""


def format_count(tr: Translator, count: int) -> str:
    """Return a whole number with its thousands apart: «12 345»."""
    return format_sum(Decimal(count), locale=tr.locale)


def format_money(tr: Translator, amount: Decimal | float, currency: str) -> str:
    """Return what something cost, to the cent: «1,50 ₽»; for less than a cent it says so, so that it does not look free."""
    exact = Decimal(str(amount))
    if 0 < exact < _CENT:
        return tr.translate("console-less-than", least=format_sum(_CENT, currency, locale=tr.locale))
    return format_sum(exact.quantize(_CENT), currency, locale=tr.locale)


def format_duration(tr: Translator, seconds: float) -> str:
    """Return a duration in seconds, minutes or hours: «0,4 с», «12 мин»."""
    if 0 < seconds < _SHORTEST:
        return tr.translate("console-less-than", least=tr.translate("console-duration", unit="seconds", value=_SHORTEST))
    unit, value = ("seconds", seconds)
    if round(seconds) >= _MINUTE:
        unit, value = ("minutes", seconds / _MINUTE) if round(seconds / _MINUTE) < _MINUTE else ("hours", seconds / _HOUR)
    return tr.translate("console-duration", unit=unit, value=round(value, 1) if value < _WITH_TENTHS else round(value))
