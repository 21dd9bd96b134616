"""What a person types is read as they meant it, or asked again; nothing is guessed."""

import pytest

from engines.scenarios.core.answers import Expected, InputType
from engines.scenarios.core.day_answers import Mistake


@pytest.mark.parametrize(("kind", "typed", "value"), [
    ("number", "1 500 000", 1_500_000), ("number", "1\u00a0500,5", 1500.5), ("integer", "150 000", 150_000), ("number", "−5", -5),
    ("number", "0,125", 0.125), ("number", "1500.125", 1500.125), ("number", "1,50", 1.5), ("integer", "700 тыс", 700_000),
    ("integer", "700к", 700_000), ("integer", "1,5 млн", 1_500_000), ("number", "700 000 ₽", 700_000),
    ("number", "700000 руб.", 700_000), ("number", "1.5m", 1_500_000), ("integer", "семьсот тысяч", 700_000),
    ("integer", "двадцать пять", 25), ("number", "пусть будет 500 тысяч", 500_000), ("number", "2 млн 300 тыс", 2_300_000),
    ("phone", "+7 901 123-45-67", "+79011234567"),
])  # fmt: skip
def test_what_is_meant_is_read(kind: InputType, typed: str, value: object) -> None:
    """Spaces divide thousands, commas are decimal."""
    assert Expected(type=kind).read("text", typed) == value


@pytest.mark.parametrize(("kind", "typed"), [
    ("number", "5 10"), ("number", "1 5000"), ("number", "около 700 тыс"), ("number", "10-15"), ("integer", "25%"),
    ("integer", "1e5"), ("integer", "100 20"), ("number", "٣"), ("phone", "٣٣٣٣٣٣٣"),
])  # fmt: skip
def test_what_has_no_one_meaning_is_asked_again(kind: InputType, typed: str) -> None:
    """Two numbers are not joined to a larger one, and digits of other scripts reach no record."""
    assert isinstance(Expected(type=kind).read("text", typed), Mistake)


@pytest.mark.parametrize(("kind", "typed", "thousands", "decimals"), [
    ("number", "150.000", "150000", "150"), ("integer", "150.000", "150000", "150"), ("number", "1,500", "1500", "1.5"),
    ("number", "−1,500", "-1500", "-1.5"), ("number", "+12.345", "12345", "12.345"), ("number", "150.000 ₽", "150000", "150"),
    ("number", "1,500 тыс", "1500000", "1500"),
])  # fmt: skip
def test_what_may_be_thousands_or_decimals_is_asked_again(kind: InputType, typed: str, thousands: str, decimals: str) -> None:
    """The sentence shows both numbers, each written so that it is read at once."""
    mistake = Expected(type=kind).read("text", typed)
    assert mistake == Mistake("answer-number-ambiguous", {"thousands": thousands, "decimals": decimals})
    assert Expected(type="number").read("text", thousands) == int(thousands)


def test_a_number_with_three_decimals_can_be_typed() -> None:
    """12.345 is asked again; with a zero more it is read."""
    assert Expected(type="number").read("text", "12.3450") == 12.345


@pytest.mark.parametrize(("question", "typed", "lost"), [
    ("Бюджет?", "100 $", "$"), ("Бюджет в долларах?", "700 000 ₽", "₽"), ("Бюджет, €?", "$1,200.50", "$"),
])  # fmt: skip
def test_a_currency_of_which_the_question_does_not_speak_is_not_dropped(question: str, typed: str, lost: str) -> None:
    """The answer becomes a plain number, so a sentence asks for one; a currency that the question names may be typed."""
    mistake = Expected(type="number", question=question).read("text", typed)
    assert isinstance(mistake, Mistake)
    assert (mistake.code, mistake.args["currency"]) == ("answer-number-currency", lost)
    assert Expected(type="number", question="Бюджет в долларах?").read("text", "100 $") == 100


def test_the_sentence_about_a_number_knows_that_it_must_be_whole() -> None:
    """Its example would be taken."""
    assert Expected(type="integer").read("text", "много") == Mistake("scenario-answer-number", {"type": "integer"})
