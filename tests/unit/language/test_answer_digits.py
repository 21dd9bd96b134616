"""Beside numbers that code counted, a model's own numbers are left out."""

import pytest

from orchestrator.language.answer_digits import keep_known_numbers


@pytest.mark.parametrize(
    ("text", "most", "kept"),
    [
        ("Больше всех выиграл Борис.", None, "Больше всех выиграл Борис."),
        ("Всего 35,3 млн ₽. Это на 12 % больше!", None, "Всего 35,3 млн ₽."),
        ("Это втрое. Ещё 7 сделок.\nВот отчёт.", None, "Это втрое. Вот отчёт."),
        ("Раз. Два. Три.", 1, "Раз."),
        ("Цифра 99.", 1, ""),
        ("Встреча в 10:30 записана.", None, "Встреча в 10:30 записана."),
        ("", None, ""),
    ],
)
def test_only_numbers_of_the_sources_are_told(text: str, most: int | None, kept: str) -> None:
    """A sentence with a number from elsewhere is dropped whole."""
    assert keep_known_numbers(text, ["итого 35,3 млн ₽", "в 10:30"], most=most) == kept
