"""The tool `calculate`: sums and percent as people write them, and nothing that is no calculation."""

import pytest

from orchestrator.engines.shared.calculator import NotCalculable, calculate_text


@pytest.mark.parametrize(("text", "result", "currency"), [
    ("150 000 + 20%", "180000", None), ("10% от 150 000", "15000", None), ("сколько будет 12,5% от 84 300 ₽?", "10537.5", "RUB"),
    ("15% с 340 тысяч", "51000", None), ("1,5 млн ₽ / 3", "500000", "RUB"), ("150к - 15%", "127500", None),
    ("(100+50)+10%", "165", None), ("100 - 10%*50", "95", None), ("100 + 18% + 5%", "123.9", None), ("0,1+0,2", "0.3", None),
    ("2 х 3", "6", None), ("100 разделить на 4", "25", None), ("150 000 рублей плюс 20 процентов", "180000", "RUB"),
    ("$1,200.50 * 2", "2401", "USD"), ("7:2", "3.5", None), ("100$ × 95₽", "9500", None),
])  # fmt: skip
def test_people_write_calculations_in_their_own_way(text: str, result: str, currency: str | None) -> None:
    """Spaces in numbers, decimal commas, multipliers, currencies, percent of a sum, and words for signs are understood."""
    value, named = calculate_text(text)
    assert (str(value), named) == (result, currency)


@pytest.mark.parametrize("text", [
    "9**9**9", "1/0", "__import__('os')", "%", "(", ")", "()", "", "10 000 000 000 000", "1e5", "сделка Ромашка", "1 2", "100 50",
    "5 тыс 300 + 1", "100$ + 5€", "100 долларов плюс 5 евро", "(" * 200, "1+" * 900 + "1",
])  # fmt: skip
def test_what_is_no_calculation_is_refused(text: str) -> None:
    """Nothing but numbers, signs and the known words is evaluated, and nothing endless."""
    with pytest.raises(NotCalculable):
        calculate_text(text)
