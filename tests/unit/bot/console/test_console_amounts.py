"""Numbers of the console as people write them in their language."""

from decimal import Decimal

import pytest

from bot.console.words import format_count, format_duration, format_money
from bot.i18n.translate import Translator

RU, EN = Translator("ru"), Translator("en")


@pytest.mark.parametrize(
    ("seconds", "ru", "en"),
    [
        (0, "0 с", "0 s"),
        (0.04, "меньше 0,1 с", "less than 0.1 s"),
        (2.54, "2,5 с", "2.5 s"),
        (41.7, "42 с", "42 s"),
        (59.9, "1 мин", "1 min"),
        (90, "1,5 мин", "1.5 min"),
        (3599, "1 ч", "1 h"),
        (7200, "2 ч", "2 h"),
    ],
)
def test_a_duration_is_written_in_the_unit_and_with_the_decimal_sign_of_the_reader(seconds: float, ru: str, en: str) -> None:
    assert (format_duration(RU, seconds), format_duration(EN, seconds)) == (ru, en)


@pytest.mark.parametrize(
    ("amount", "ru", "en"),
    [
        (Decimal(0), "0 ₽", "₽0"),
        (0.004, "меньше 0,01 ₽", "less than ₽0.01"),
        (Decimal("1234.5"), "1 234,50 ₽", "₽1,234.50"),
        (0.3349, "0,33 ₽", "₽0.33"),
    ],
)
def test_money_is_written_to_the_cent_and_what_costs_less_does_not_look_free(amount: Decimal | float, ru: str, en: str) -> None:
    assert (format_money(RU, amount, "RUB").replace("\u00a0", " "), format_money(EN, amount, "RUB")) == (ru, en)


def test_thousands_of_a_count_stand_apart() -> None:
    assert (format_count(RU, 12345).replace("\u00a0", " "), format_count(EN, 12345)) == ("12 345", "12,345")
