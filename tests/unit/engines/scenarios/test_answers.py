"""What a person types is read as they meant it, or asked again; nothing is guessed."""

import pytest

from engines.scenarios.core.answers import Expected, InputType, Mistake


@pytest.mark.parametrize(
    ("kind", "typed", "value"),
    [
        ("number", "1 500 000", 1_500_000),
        ("number", "1\u00a0500,5", 1500.5),
        ("integer", "150 000", 150_000),
        ("number", "−5", -5),
        ("number", "0,125", 0.125),
        ("number", "1500.125", 1500.125),
        ("number", "1,50", 1.5),
        ("phone", "+7 901 123-45-67", "+7 901 123-45-67"),
    ],
)
def test_what_is_meant_is_read(kind: InputType, typed: str, value: object) -> None:
    """Spaces divide thousands, commas are decimal."""
    assert Expected(type=kind).read("text", typed) == value


@pytest.mark.parametrize(
    ("kind", "typed"),
    [("number", "5 10"), ("number", "1 5000"), ("integer", "100 20"), ("number", "٣"), ("phone", "٣٣٣٣٣٣٣")],
)
def test_what_has_no_one_meaning_is_asked_again(kind: InputType, typed: str) -> None:
    """Two numbers are not joined to a larger one, and digits of other scripts reach no record."""
    assert isinstance(Expected(type=kind).read("text", typed), Mistake)


@pytest.mark.parametrize(
    ("kind", "typed", "thousands", "decimals"),
    [
        ("number", "150.000", "150000", "150"),
        ("integer", "150.000", "150000", "150"),
        ("number", "1,500", "1500", "1.5"),
        ("number", "−1,500", "-1500", "-1.5"),
        ("number", "+12.345", "12345", "12.345"),
    ],
)
def test_what_may_be_thousands_or_decimals_is_asked_again(kind: InputType, typed: str, thousands: str, decimals: str) -> None:
    """The sentence shows both numbers, each written so that it is read at once."""
    mistake = Expected(type=kind).read("text", typed)
    assert mistake == Mistake("answer-number-ambiguous", {"thousands": thousands, "decimals": decimals})
    assert Expected(type="number").read("text", thousands) == int(thousands)


def test_a_number_with_three_decimals_can_be_typed() -> None:
    """12.345 is asked again; with a zero more it is read."""
    assert Expected(type="number").read("text", "12.3450") == 12.345
