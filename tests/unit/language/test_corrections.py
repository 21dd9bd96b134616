"""A correction that names the old value and the new one is read as the new one."""

import pytest

from orchestrator.language.request_words import strip_value_words


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("не 5, а 50 тысяч", "50 тысяч"),
        ("нет, не 500, а 550", "550"),
        ("не в пятницу, а в субботу", "в субботу"),
        ("не Борис, а Вера", "Вера"),
        ("только 50 тысяч", "50 тысяч"),
        ("ок, но 10 тысяч", "10 тысяч"),
        ("не 5 и не 10", "не 5 и не 10"),
    ],
)
def test_the_new_value_of_a_correction_is_left(said: str, value: str) -> None:
    assert strip_value_words(said) == value
