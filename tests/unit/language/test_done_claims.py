"""What a reply says of changes is told apart from what it says of records."""

import pytest

from orchestrator.language.done_claims import claims_change


@pytest.mark.parametrize(
    "text",
    [
        "✅ Готово! Сумма сделки 481 теперь 500 000 ₽.",
        "Поставил Ромашке 500 тысяч.",
        "Хорошо, уже записала.",
        "Нашёл сделку. Перенёс её в «Финальный счёт».",
        "Напомню завтра в 9.",
        "Сумма сделки обновлена: 500 000 ₽.",
        "Done! I've updated the deal amount to 500,000.",
        "The amount has been changed.",
    ],
)
def test_a_reply_that_says_it_is_done_is_a_claim(text: str) -> None:
    assert claims_change(text, "поставь Ромашке сумму 500 тысяч")


def test_a_mere_word_claims_something_after_an_order_or_a_number() -> None:
    assert claims_change("Готово.", "ок, но 10 тысяч")
    assert claims_change("Done!", "move it to won")


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        ("кто менял сумму Ромашки", "Поставил Борис 5 ноября."),
        ("сумма Ромашки верная?", "Изменил её Борис вчера."),
        ("сделка Ромашка", "Сделка создана 5 ноября, сумма изменена вчера."),
        ("поставь Ромашке 500 тысяч", "Какую сумму поставить: 500 000 или 50 000?"),
        ("поставь Ромашке 500 тысяч", "Не нашёл Ромашку. Сделать поиск по всем?"),
        ("привет", "Готово."),
        ("привет", "Здравствуйте! Могу обновить сделку или поставить задачу."),
        ("what changed in the deal", "Updated the amount on Monday by Boris."),
    ],
)
def test_other_replies_claim_nothing(request_: str, text: str) -> None:
    assert not claims_change(text, request_)
