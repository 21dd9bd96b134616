"""A sum is read exactly or asked about, and what is shown reads back as what it was."""

import re
from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.directory.value_references import format_sum_question
from orchestrator.language.money_format import SIGNS
from orchestrator.language.money_parser import LARGEST, Sum, UnclearSum, find_amounts, format_sum, format_sum_short, has_currency, parse_sum
from orchestrator.language.text import Locale

READ = [
    ("150 000", "150000", None),
    ("150\u00a0000", "150000", None),
    ("1\u202f200\u2009000 руб.", "1200000", "RUB"),
    ("150к", "150000", None),
    ("150К", "150000", None),
    ("150k", "150000", None),
    ("150 тыс", "150000", None),
    ("150 тыс.", "150000", None),
    ("150 т.р.", "150000", "RUB"),
    ("150 тр", "150000", "RUB"),
    ("150р", "150", "RUB"),
    ("1,5 млн", "1500000", None),
    ("1.5 млн руб", "1500000", "RUB"),
    ("1,25млн₽", "1250000", "RUB"),
    ("2 млрд", "2000000000", None),
    ("полтора миллиона", "1500000", None),
    ("полторы тысячи рублей", "1500", "RUB"),
    ("два с половиной миллиона", "2500000", None),
    ("2 с половиной млн руб", "2500000", "RUB"),
    ("two and a half million dollars", "2500000", "USD"),
    ("сорок восемь тысяч пятьсот", "48500", None),
    ("миллион двести тысяч пятьсот", "1200500", None),
    ("полмиллиона", "500000", None),
    ("пол миллиона", "500000", None),
    ("полтора ляма", "1500000", None),
    ("пол ляма", "500000", None),
    ("полляма", "500000", None),
    ("полутора миллионов", "1500000", None),
    ("двухсот тыщ", "200000", None),
    ("тыща", "1000", None),
    ("сто косарей", "100000", None),
    ("пятьсот рублей", "500", "RUB"),
    ("две тысячи пятьсот рублей", "2500", "RUB"),
    ("миллион", "1000000", None),
    ("тысяча долларов", "1000", "USD"),
    ("сто двадцать пять тысяч рублей", "125000", "RUB"),
    ("двух миллионов", "2000000", None),
    ("1 млн 200 тыс", "1200000", None),
    ("1 млн 200 000 руб", "1200000", "RUB"),
    ("150 000,50 ₽", "150000.5", "RUB"),
    ("150 руб 50 коп", "150.5", "RUB"),
    ("$1,200.50", "1200.5", "USD"),
    ("$1,500", "1500", "USD"),
    ("€1.200,50", "1200.5", "EUR"),
    ("1,500,000", "1500000", None),
    ("0,500 млн", "500000", None),
    ("12 тыс. долларов", "12000", "USD"),
    ("100 белорусских рублей", "100", "BYN"),
    ("500 KZT", "500", "KZT"),
    ("USD 500", "500", "USD"),
    ("two hundred fifty thousand dollars", "250000", "USD"),
    ("one and a half million", "1500000", None),
    ("half a million", "500000", None),
    ("a million euros", "1000000", "EUR"),
    ("₽1.2M", "1200000", "RUB"),
    ("1.5m", "1500000", None),
    ("3bn", "3000000000", None),
    ("0", "0", None),
    ("150000.", "150000", None),
]


@pytest.mark.parametrize(("text", "amount", "currency"), READ)
def test_a_sum_is_read_exactly(text: str, amount: str, currency: str | None) -> None:
    """Every usual way to write money gives its exact amount and currency."""
    assert parse_sum(text) == Sum(Decimal(amount), currency)


REFUSED = [
    ("1,500", "two_readings"),
    ("1.500", "two_readings"),
    ("1,500 млн", "two_readings"),
    ("1.500 руб", "two_readings"),
    ("-5", "negative"),
    ("−150 000 ₽", "negative"),
    ("минус 5 тыс", "negative"),
    ("5 000 000 млн", "too_large"),
    ("9" * 24, "too_large"),
    ("1,2345", "below_kopeck"),
    ("0,000000015 млн", "below_kopeck"),
    ("NaN", "no_sum"),
    ("inf", "no_sum"),
    ("", "no_sum"),
    ("тысячи рублей", "no_sum"),
    ("5-7 млн", "more_than_sum"),
    ("15%", "more_than_sum"),
    ("1 млн 200", "more_than_sum"),
    ("8 800 555 35 35", "more_than_sum"),
    ("150кг", "more_than_sum"),
    ("150 к", "more_than_sum"),
    ("1e9", "more_than_sum"),
    ("1\u200b50", "more_than_sum"),
    ("1\u06650", "more_than_sum"),
    ("1\u00b2", "more_than_sum"),
    ("15 000 0", "more_than_sum"),
    ("0 500", "more_than_sum"),
    ("11:30", "more_than_sum"),
    ("9" * 5000, "more_than_sum"),
    ("150 000 и 200 000", "more_than_sum"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_what_is_not_one_certain_sum_is_refused_with_its_reason(text: str, reason: str) -> None:
    """No sum is guessed, and each refusal has its question."""
    with pytest.raises(UnclearSum) as caught:
        parse_sum(text)
    assert caught.value.reason == reason
    assert format_sum_question(caught.value)
    assert format_sum_question(caught.value, locale="en")


def test_a_sum_with_two_readings_offers_both() -> None:
    """«1,500» is asked about in Russian and certain in English."""
    with pytest.raises(UnclearSum) as caught:
        parse_sum("1,500")
    assert [option.amount for option in caught.value.options] == [Decimal("1.5"), Decimal(1500)]
    assert format_sum_question(caught.value) == "Какая это сумма? 1,50 или 1\u00a0500"
    assert parse_sum("1,500", locale="en") == Sum(Decimal(1500))


SENTENCES = [
    ("поставь Ромашке 1,5 млн до 25 декабря", ["1,5 млн"]),
    ("сделка №481 на 150 000 ₽", ["150 000 ₽"]),
    ("сумму 5000", ["5000"]),
    ("сумма сделки: 250000, срок 25.12", ["250000"]),
    ("сумма - 150 000", ["150 000"]),
    ("полтора миллиона и $1,200.50", ["полтора миллиона", "$1,200.50"]),
    ("пять миллионов рублей, не шесть", ["пять миллионов рублей"]),
    ("с 1 млн до 1,2 млн.", ["1 млн", "1,2 млн."]),
    ("поставь два с половиной миллиона", ["два с половиной миллиона"]),
    ("двадцать пять тысяч триста", ["двадцать пять тысяч триста"]),
    ("сумма двадцать пять тысяч триста, срок завтра", ["двадцать пять тысяч триста"]),
    ("двадцать пять тысяч триста штук", ["двадцать пять тысяч"]),
    ("150 тысяч 500 рублей", ["150 тысяч 500 рублей"]),
    ("150 тыс 500 руб 50 коп, потом 10 рублей", ["150 тыс 500 руб 50 коп", "10 рублей"]),
    ("150 тысяч, 500 рублей", ["150 тысяч", "500 рублей"]),
    ("150 тысяч 1500 рублей", ["150 тысяч", "1500 рублей"]),
    ("150 тысяч 500 сделок", ["150 тысяч"]),
    ("скидка два с половиной процента", []),
    ("сумма -150 000", []),
    ("бюджет 1,500", []),
    ("перенеси на 25.12.2026 в 11:30", []),
    ("позвони +7 999 123-45-67", []),
    ("8 800 555 35 35", []),
    ("8 800 555 35 35 руб", []),
    ("миллион-5", []),
    ("добавь 150 к сумме", []),
    ("сделка 481000", []),
    ("сделка №481 000", []),
    ("скидка 15%, этап 2, 2026 год", []),
    ("", []),
]


@pytest.mark.parametrize(("text", "written"), SENTENCES)
def test_sums_in_a_sentence_are_found_and_other_numbers_left_alone(text: str, written: list[str]) -> None:
    """Dates, times, phones, percents and record numbers are not money."""
    assert [text[start:end] for _, start, end in find_amounts(text)] == written


AMOUNTS = st.decimals(min_value=0, max_value=LARGEST, places=2)
LOCALES = st.sampled_from(["ru", "en"])
CURRENCIES = st.sampled_from([None, *SIGNS, "AED", "BYN"])


@given(AMOUNTS, CURRENCIES, LOCALES)
def test_the_full_form_reads_back_as_the_same_sum(amount: Decimal, currency: str | None, locale: Locale) -> None:
    """What is shown on a card is exactly what will be written."""
    assert parse_sum(format_sum(amount, currency, locale=locale), locale=locale) == Sum(amount, currency)


@given(AMOUNTS, CURRENCIES, LOCALES)
def test_the_short_form_never_lies(amount: Decimal, currency: str | None, locale: Locale) -> None:
    """Below a million it is exact; above it is at most 5,000 off, and no decimal is an idle zero."""
    short = format_sum_short(amount, currency, locale=locale)
    back = parse_sum(short, locale=locale).amount
    assert abs(back - amount) <= (0 if amount < 10**6 else 5000)
    if abs(amount) >= 10**6:
        whole, _, decimals = short.replace("\u00a0", " ").partition("," if locale == "ru" else ".")
        assert not re.match(r"[0-9]*0(?![0-9])", decimals), (whole, decimals)


@pytest.mark.parametrize(
    ("amount", "short", "english"),
    [
        ("1200000", "1,2 млн ₽", "₽1.2M"), ("1249999", "1,25 млн ₽", "₽1.25M"), ("1999999", "2 млн ₽", "₽2M"),
        ("3099500", "3,1 млн ₽", "₽3.1M"), ("2000000", "2 млн ₽", "₽2M"), ("999999.99", "999 999,99 ₽", "₽999,999.99"),
        ("1254300000", "1 254,3 млн ₽", "₽1,254.3M"), ("2000000000", "2 млрд ₽", "₽2B"), ("-1250000", "-1,25 млн ₽", "-₽1.25M"),
        ("0", "0 ₽", "₽0"),
    ],
)  # fmt: skip
def test_the_short_form(amount: str, short: str, english: str) -> None:
    """Empty decimals mark a rounded sum, billions are used only when exact."""
    assert format_sum_short(Decimal(amount), "RUB").replace("\u00a0", " ") == short
    assert format_sum_short(Decimal(amount), "RUB", locale="en") == english


def test_the_full_form_keeps_every_digit() -> None:
    """Nothing is rounded away, and what is no number is refused."""
    assert format_sum(Decimal(1200000), "RUB") == "1\u00a0200\u00a0000\u00a0₽"
    assert format_sum(Decimal("0.005")) == "0,005"
    assert format_sum(Decimal("1E+5"), "CHF", locale="en") == "100,000\u00a0CHF"
    assert format_sum(Decimal(10) ** 40, locale="en").count(",") == 13
    for odd in ("NaN", "Infinity"):
        with pytest.raises(ValueError, match="finite"):
            format_sum_short(Decimal(odd))


TEXTS = [*(row[0] for row in READ), *(row[0] for row in REFUSED), *(row[0] for row in SENTENCES)]
PIECES = sorted({piece for text in TEXTS for piece in text.split() if len(piece) < 20})
ODD = [*" .,-+:№%", "\u00a0", "\u200b", "\u0665", "\u00b2"]


@given(st.lists(st.sampled_from([*PIECES, *ODD]), max_size=10).map("".join) | st.lists(st.sampled_from(PIECES), max_size=10).map(" ".join))
def test_any_text_is_a_sum_or_unclear(text: str) -> None:
    """Nothing but UnclearSum is raised, no result is negative or too large, and found places lie in the text in order."""
    with suppress(UnclearSum):
        assert 0 <= parse_sum(text).amount <= LARGEST
    places = [place for _, *place in find_amounts(text)]
    assert all(0 <= start < end <= len(text) for start, end in places)
    assert places == sorted(places)


@given(
    st.sampled_from(TEXTS)
    | st.lists(st.sampled_from([*PIECES, *ODD]), max_size=10).map("".join)
    | st.lists(st.sampled_from(PIECES), max_size=10).map(" ".join)
)
def test_a_text_with_a_sum_in_a_currency_names_one(text: str) -> None:
    """The quick look leaves out no text in which a sum with a currency stands."""
    found = any(one.currency for one, _, _ in find_amounts(text))
    assert has_currency(text) or not found


def test_a_text_without_a_currency_names_none() -> None:
    """A number alone, and a word that only begins like a currency, are not read as one."""
    assert [has_currency(text) for text in ("подними сумму сделки 481 до 500 000", "1,5 млн", "рубрика 5", "5 ₽", "$5", "5 рублей")] == [
        *[False] * 3,
        *[True] * 3,
    ]


@pytest.mark.parametrize(
    ("words", "amount"),
    [("миллион двести", 1_200_000), ("два миллиона пятьсот", 2_500_000), ("пол-ляма", 500_000), ("пол-миллиона", 500_000)],
)
def test_thousands_that_people_leave_unsaid_are_read(words: str, amount: int) -> None:
    """«Миллион двести» is 1,200,000, as everybody says it."""
    assert parse_sum(words).amount == amount


@pytest.mark.parametrize(
    "words", ["миллион пять", "миллион двести десять", "миллион рублей двести", "тысяча двести", "миллион двести человек"]
)
def test_a_number_behind_millions_that_may_mean_anything_is_refused(words: str) -> None:
    """Only round hundreds at the end are thousands; the person is asked about the rest."""
    with pytest.raises(UnclearSum):
        parse_sum(words)


GROUPED = [
    ("1 500 000", "1500000"),
    ("1,500,000", "1500000"),
    ("1.500.000", "1500000"),
    ("1'500'000", "1500000"),
    ("1’500’000", "1500000"),
    ("12 345 678", "12345678"),
    ("123,456,789", "123456789"),
    ("1 500 000,50", "1500000.5"),
    ("1 500 000.5", "1500000.5"),
    ("1.500.000,50", "1500000.5"),
    ("1,500,000.50", "1500000.5"),
    ("1'500,50", "1500.5"),
    ("1.500,50", "1500.5"),
    ("1,500.5", "1500.5"),
]


@pytest.mark.parametrize("locale", ["ru", "en"])
@pytest.mark.parametrize(("text", "amount"), GROUPED)
def test_grouped_digits_are_one_sum_in_every_usual_form(text: str, amount: str, locale: Locale) -> None:
    """Three digits a group, one sign between all of them, and the other sign before the decimals: money even without a currency."""
    assert parse_sum(text, locale=locale) == Sum(Decimal(amount))
    assert parse_sum(f"{text} руб", locale=locale) == Sum(Decimal(amount), "RUB")
    assert [(found.amount, end - start) for found, start, end in find_amounts(f"договор {text} утром", locale=locale)] == [
        (Decimal(amount), len(text))
    ]


@pytest.mark.parametrize(
    "text",
    [
        "1,500.000,50",
        "1.500,000.50",
        "1,500,000,50",
        "1.500.000.50",
        "1 500.000,50",
        "1 500,000.50",
        "1,500,00",
        "1,50,000",
        "1,5000,000",
        "1500,000,000",
        "1500.000.000",
        "1500 000",
        "12 34 567",
        "1 500 00",
        "01,500,000",
        "0.500.000",
        "01 500",
        "0 500 000",
        "1:500,50",
        "1/500.50",
    ],
)
@pytest.mark.parametrize("locale", ["ru", "en"])
def test_digits_in_groups_of_another_form_are_no_sum(text: str, locale: Locale) -> None:
    """A group of two or four digits, two signs mixed, a leading zero: whatever was meant, it is not guessed."""
    with pytest.raises(UnclearSum) as caught:
        parse_sum(text, locale=locale)
    assert (caught.value.reason, find_amounts(text, locale=locale)) == ("more_than_sum", [])


@pytest.mark.parametrize(
    ("text", "amount"), [("1234,500", "1234.5"), ("0,500", "0.5"), ("12,50", "12.5"), ("1,5", "1.5"), ("1 500,500", "1500.5")]
)
def test_three_digits_behind_a_sign_are_decimals_where_they_can_be_no_group(text: str, amount: str) -> None:
    """A longer head, a leading zero or other groups before it leave one reading."""
    assert parse_sum(text) == Sum(Decimal(amount))


@pytest.mark.parametrize(
    ("words", "amount"),
    [
        ("миллион сто", 1_100_000),
        ("миллион сто пятьдесят", 1_150_000),
        ("миллион двести пятьдесят", 1_250_000),
        ("миллион пятьдесят", None),
        ("миллион девяносто", None),
        ("миллион сто двадцать", None),
        ("миллион сто двадцать пять", None),
    ],
)
def test_unsaid_thousands_are_round_and_at_least_a_hundred(words: str, amount: int | None) -> None:
    """«Миллион сто» is 1,100,000; «миллион пятьдесят» and «миллион сто двадцать» may mean anything."""
    if amount is None:
        with pytest.raises(UnclearSum):
            parse_sum(words)
    else:
        assert parse_sum(words) == Sum(Decimal(amount))
