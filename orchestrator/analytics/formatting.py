"""Numbers as people read them, each rounded once."""

from collections.abc import Sequence
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from orchestrator.analytics.findings import Number
from orchestrator.analytics.words import say
from orchestrator.domain.report import Cell, Unit
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.money_format import NO_BREAK_SPACE, format_sum_short
from orchestrator.language.text import Locale

NOTHING: Final = "–"
MINUS: Final = "−"
_MONTHS: Final = {locale: load_lexicon("dates").read_words("shown", locale, "months") for locale in ("ru", "en")}
_MONTHS_ALONE: Final = {locale: load_lexicon("dates").read_words("shown", locale, "months_alone") for locale in ("ru", "en")}
_STEPS: Final = (
    (Decimal(10**9), Decimal(10**7)),
    (Decimal(10**6), Decimal(10**5)),
    (Decimal(1000), Decimal(1)),
    (Decimal(0), Decimal("0.01")),
)
_TENTH: Final = Decimal("0.1")
_HUNDREDTH: Final = Decimal("0.01")


class NumberFormat:
    """`currency` is that of all money of a report."""

    def __init__(self, locale: Locale, currency: str) -> None:
        self.locale = locale
        self.currency = currency

    def build_cell(self, number: Number, before: Number = None, *, unit: Unit, has_before: bool = False, adds_up: bool = False) -> Cell:
        """Money comes in hundredths. Of what adds up, nothing before means zero."""
        value, earlier = _to_shown(number, unit), _to_shown(before, unit)
        cell = Cell(value=value, text=self.format_number(number, unit))
        if not has_before:
            return cell
        if adds_up and earlier is None:
            earlier = 0.0
        change, change_text = self._compare(value, earlier, unit)
        text = self.format_number(before if before is not None or not adds_up else 0, unit)
        return cell.model_copy(update={"before": earlier, "before_text": text, "change": change, "change_text": change_text})

    def format_number(self, number: Number, unit: Unit) -> str:
        if number is None:
            return NOTHING
        match unit:
            case "money":
                return self._format_money(Decimal(str(number)) / 100)
            case "percent":
                return f"{self._format_decimal(number)}{NO_BREAK_SPACE if self.locale == 'ru' else ''}%"
            case "count":
                if 0 < abs(number) < 1:
                    return self._format_decimal(number, step=_HUNDREDTH)
                return self._format_decimal(number, whole=isinstance(number, int))
            case _:
                return self._format_span(number, unit)

    def format_change(self, number: Number, unit: Unit) -> str:
        """With its sign."""
        if number is None:
            return NOTHING
        text = self.format_number(abs(number), unit)
        return f"{MINUS if number < 0 else '+' if number > 0 else ''}{text}"

    def _compare(self, now: float | None, before: float | None, unit: Unit) -> tuple[float | None, str]:
        if now is None or before is None:
            return None, ""
        if unit == "percent":
            points = _round(now - before)
            return (
                None,
                f"{_write_sign(points)}{self._format_decimal(abs(float(points)))}{NO_BREAK_SPACE}{say('units', 'points', self.locale)}",
            )
        if before == 0:
            return None, say("answer", "new", self.locale) if now else ""
        change = 100 * (now - before) / abs(before)
        rounded = Decimal(str(change)).quantize(_TENTH if abs(change) < 10 and change else Decimal(1), rounding=ROUND_HALF_UP)  # noqa: PLR2004 - «+8,3 %», but «+31 %»
        return change, f"{_write_sign(rounded)}{self._format_decimal(abs(float(rounded)))}{NO_BREAK_SPACE if self.locale == 'ru' else ''}%"

    def _format_money(self, amount: Decimal) -> str:
        step = next(step for bound, step in _STEPS if abs(amount) >= bound)
        rounded = (amount / step).quantize(Decimal(1), rounding=ROUND_HALF_UP) * step
        return format_sum_short(rounded, self.currency or None, locale=self.locale).replace("-", MINUS)

    def _format_decimal(self, number: float, *, whole: bool = False, step: Decimal = _TENTH) -> str:
        rounded = _round(number, step)
        is_whole = whole or rounded == rounded.to_integral_value()
        text = f"{int(rounded):,d}" if is_whole else f"{rounded.normalize():,f}"
        text = text if self.locale == "en" else text.replace(",", NO_BREAK_SPACE).replace(".", ",")
        return text.replace("-", MINUS)

    def _format_span(self, number: float, unit: Unit) -> str:
        forms = say("units", unit, self.locale).split()
        rounded = _round(number)
        return f"{self._format_decimal(float(rounded))}{NO_BREAK_SPACE}{_choose_form(rounded, forms)}"


def _to_shown(number: Number, unit: Unit) -> float | None:
    if number is None:
        return None
    return round(float(number) / 100, 4) if unit == "money" else float(number)


def _round(number: float, step: Decimal = _TENTH) -> Decimal:
    return Decimal(repr(float(number))).quantize(step, rounding=ROUND_HALF_UP)


def _write_sign(number: Decimal) -> str:
    return MINUS if number < 0 else "+" if number > 0 else ""


def _choose_form(number: Decimal, forms: Sequence[str]) -> str:
    """Of Russian three forms (1 день, 2 дня, 5 дней; a fraction takes the second), of English two."""
    if len(forms) == 2:  # noqa: PLR2004 - English
        return forms[0] if number == 1 else forms[1]
    if number != number.to_integral_value():
        return forms[1]
    count = abs(int(number))
    if count % 10 == 1 and count % 100 != 11:  # noqa: PLR2004 - Russian plural
        return forms[0]
    return forms[1] if count % 10 in {2, 3, 4} and count % 100 not in {12, 13, 14} else forms[2]


def format_date(day: date, locale: Locale, *, has_year: bool = True) -> str:
    """«1 октября 2026»."""
    return f"{day.day} {_MONTHS[locale][day.month - 1]}" + (f" {day.year}" if has_year else "")


def format_month(day: date, locale: Locale) -> str:
    return f"{_MONTHS_ALONE[locale][day.month - 1]} {day.year}"
