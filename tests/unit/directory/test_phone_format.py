"""Phones on cards: as people write them, and never another number."""

import pytest

from orchestrator.language.text import format_phone


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("+79011234567", "+7 901 123-45-67"),
        ("79011234567", "+7 901 123-45-67"),
        ("+7 (901) 123 45 67", "+7 901 123-45-67"),
        ("89011234567", "8 901 123-45-67"),
        ("74951234567", "+7 495 123-45-67"),
        ("+375291234567", "+375291234567"),
        ("+1 202 555 0100", "+1 202 555 0100"),
        ("9011234567", "9011234567"),
        ("+790112345678", "+790112345678"),
        ("112", "112"),
        ("+79011234567 доб. 5", "+79011234567 доб. 5"),
        ("++79011234567", "++79011234567"),
        ("ivan@example.ru", "ivan@example.ru"),
        ("", ""),
    ],
)
def test_a_number_is_grouped_or_left_as_it_is(written: str, shown: str) -> None:
    assert format_phone(written) == shown
