"""Phones on cards: as people write them, and never another number."""

import pytest

from orchestrator.language.text import format_dialed_phone, format_phone


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


@pytest.mark.parametrize(("written", "shown"), [
    ("89011234567", "+7 901 123-45-67"),
    ("8 (495) 123-45-67", "+7 495 123-45-67"),
    ("8 800 555 35 35", "+7 800 555-35-35"),
    ("79011234567", "+7 901 123-45-67"),
    ("81012345678", "8 101 234-56-78"),
    ("+375291234567", "+375291234567"),
    ("8 901", "8 901"),
    ("8 901 ivan@example.ru", "8 901 ivan@example.ru"),
])  # fmt: skip
def test_a_number_of_a_list_can_be_dialed_once_it_is_copied(written: str, shown: str) -> None:
    """In the international form; «8 10» leads abroad, and what is no number stays."""
    assert format_dialed_phone(written) == shown
