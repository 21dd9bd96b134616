"""Sums are written as the portal writes them, and never so that one sum looks like another."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.language.money_format import format_sum, format_sum_short, parse_currency_style
from tests.unit.directory.reference_kit import desk

# As crm.currency.list gives them: separators and signs may be HTML, decimals are text.
RUB: dict[str, Any] = {"CURRENCY": "RUB", "FORMAT_STRING": "# &#8381;", "DEC_POINT": ",", "THOUSANDS_SEP": "&nbsp;", "DECIMALS": "2"}
USD: dict[str, Any] = {"CURRENCY": "USD", "FORMAT_STRING": "US$ #", "DEC_POINT": ".", "THOUSANDS_SEP": ",", "DECIMALS": "2"}
PLAIN: dict[str, Any] = {"CURRENCY": "CAD", "FORMAT_STRING": "$#", "DEC_POINT": ".", "THOUSANDS_SEP": None, "DECIMALS": "2"}
YEN: dict[str, Any] = {"CURRENCY": "JPY", "FORMAT_STRING": "¥#", "DEC_POINT": ".", "THOUSANDS_SEP": ",", "DECIMALS": "0"}
DINAR: dict[str, Any] = {"CURRENCY": "KWD", "FORMAT_STRING": "# динар", "DEC_POINT": ".", "THOUSANDS_SEP": "", "DECIMALS": "3"}
BOOK = {row["CURRENCY"]: parse_currency_style(row) for row in (RUB, USD, PLAIN, YEN, DINAR)}


def shown(amount: str, currency: str, **more: Any) -> str:
    return format_sum(Decimal(amount), currency, book=BOOK, **more).replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("amount", "currency", "text"),
    [
        ("1234567.5", "RUB", "1 234 567,50 ₽"),
        ("1234567.00", "RUB", "1 234 567 ₽"),
        ("-0.01", "RUB", "-0,01 ₽"),
        ("1234.5", "USD", "US$ 1,234.50"),
        ("-1234", "USD", "-US$ 1,234"),
        ("1234.005", "USD", "US$ 1,234.005"),
        ("1234.5", "CAD", "$1,234.50"),
        ("1234", "JPY", "¥1,234"),
        ("1234.5", "JPY", "¥1,234.50"),
        ("1234.5", "KWD", "1234.500 динар"),
        ("1234.5", "XYZ", "1 234,50 XYZ"),
    ],
)
def test_a_sum_has_the_portals_sign_separators_and_decimals(amount: str, currency: str, text: str) -> None:
    """No kopeck that is there is dropped, none that is not is invented; an unknown currency is its code."""
    assert shown(amount, currency) == text
    assert shown(amount, currency, locale="en") == text or currency == "XYZ"


def test_a_short_sum_has_the_portals_sign() -> None:
    """Millions are said in the person's language, so that a comma is what it is there."""
    assert format_sum_short(Decimal(1_200_000), "USD", book=BOOK).replace("\u00a0", " ") == "US$ 1,2 млн"
    assert format_sum_short(Decimal(1_200_000), "RUB", locale="en", book=BOOK).replace("\u00a0", " ") == "1.2M ₽"


@pytest.mark.parametrize(
    "row",
    [
        {"FORMAT_STRING": "1#"},
        {"FORMAT_STRING": "# 000"},
        {"FORMAT_STRING": "-#"},
        {"FORMAT_STRING": "# #"},
        {"FORMAT_STRING": "no place"},
        {"FORMAT_STRING": "# " + "x" * 40},
        {"DEC_POINT": "0", "THOUSANDS_SEP": " "},
        {"DEC_POINT": ",", "THOUSANDS_SEP": ","},
        {"DEC_POINT": ".", "THOUSANDS_SEP": "0"},
        {"DEC_POINT": "", "THOUSANDS_SEP": ""},
        {"DECIMALS": "-3"},
        {"DECIMALS": "many"},
        {},
    ],
)
def test_a_setting_that_would_change_a_sum_is_not_followed(row: dict[str, Any]) -> None:
    """Digits, signs and equal separators of an odd setting never reach a sum."""
    style = parse_currency_style({"FORMAT_STRING": "# ¤", "DEC_POINT": ",", "THOUSANDS_SEP": " ", "DECIMALS": "2", **row})
    text = format_sum(Decimal("1234567.5"), "RUB", book={"RUB": style}).replace("\u00a0", " ")
    assert text in {"1 234 567,50 ¤", "1 234 567,50 ₽"}


@given(st.text(max_size=20), st.text(max_size=3), st.one_of(st.none(), st.text(max_size=3)), st.decimals("-1e12", "1e12", places=2))
def test_no_setting_can_change_the_digits_of_a_sum(pattern: str, point: str, group: str | None, amount: Decimal) -> None:
    """Whatever the portal's table holds, the digits shown are those of the amount."""
    row = {"FORMAT_STRING": pattern, "DEC_POINT": point, "THOUSANDS_SEP": group, "DECIMALS": "2"}
    text = format_sum(amount, "XXX", book={"XXX": parse_currency_style(row)})
    digits = "".join(char for char in text if char.isdigit())
    assert digits == "".join(char for char in format_sum(amount) if char.isdigit())
    assert "\n" not in text


async def test_names_write_sums_with_the_portals_table_and_without_it_with_their_own() -> None:
    """The table is one read an hour; a portal that does not give it changes nothing."""
    async with desk({"crm.currency.list": {"result": [RUB, USD], "total": 0}}) as here:
        assert await here.naming.format_money("1234.50", "USD", "ru") == "US$\u00a01,234.50"
        assert await here.naming.format_money(5, "", "ru") == "5"
        assert await here.naming.format_money("много", "RUB", "ru") == "много"
        assert here.portal.count("crm.currency.list") == 1
    async with desk({}) as here:
        assert await here.naming.format_money("1234.50", "USD", "ru") == "1\u00a0234,50\u00a0$"
