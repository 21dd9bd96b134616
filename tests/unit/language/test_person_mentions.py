"""Whether a first name in a text is that of a colleague, or of somebody else who has it too."""

import pytest

from orchestrator.language.person_mentions import is_of_namesakes


@pytest.mark.parametrize(
    ("text", "is_other"),
    [
        ("новый заказчик: ООО Полюс, Кирилл Седов, хочет насосы", True),
        ("заведи контакт Кирилла Седова из Полюса", True),
        ("Кирилл Седов просит счёт, заведи сделку", True),
        ("add the contact Кирилл Sedov", True),
        ("заведи сделку Полюс на Кирилла", False),
        ("заведи сделку Полюс Кириллу", False),
        ("заведи сделку на Кирилла, сумма 5000", False),
        ("сделку веди Кирилл Дроздов", False),
        ("сделку Кириллу Дроздову", False),
        ("Заведи Кириллу сделку", False),
        ("контакт Кирилл Седов, сделку отдай Кириллу", False),
        ("пусть ведёт Кирилл: Седов наш клиент", False),
        ("заведи сделку Полюс", False),
    ],
)
def test_a_first_name_with_another_last_name_is_of_somebody_else(text: str, *, is_other: bool) -> None:
    """In doubt it is the colleague's: the caller asks."""
    assert is_of_namesakes("Кирилл", "Дроздов", text) is is_other
