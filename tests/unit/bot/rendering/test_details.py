"""«Подробнее» speaks words: what, from what to what, and why it asks; no method and no parameter."""

from bot.rendering.kinds import render_message
from bot.rendering.spans import to_plain_text
from tests.unit.bot.rendering.card_kit import RU, a_batch, a_card


def test_the_details_of_a_card_are_words() -> None:
    """Record with its number, values, reasons with the rule, who asks."""
    reasons = [{"code": "gate-critical", "args": {"field": "OPPORTUNITY"}}, {"code": "gate-rule", "args": {"why": "Проверьте сумму"}}]
    text = to_plain_text(render_message("details", a_card(reasons=reasons), RU))
    assert "«Ромашка» (https://p/crm/deal/details/481/) №481" in text
    assert "Сумма: 1 000 000 ₽ → 1 200 000 ₽" in text
    assert "Почему спрашиваю\n• Меняется сумма\n• Проверьте сумму" in text
    assert text.endswith("Просит Анна")
    assert "crm." not in text
    assert "OPPORTUNITY" not in text


def test_the_details_of_a_batch_name_every_record() -> None:
    """As many as its card lists."""
    text = to_plain_text(render_message("details", a_batch(3), RU))
    assert all(f"Сделка-{number}" in text for number in (1, 2, 3))
