"""A currency that was named with a sum is never lost: it is set with it, or the sum is refused. Over the sandbox portal."""

from typing import Any

import pytest

from bot.i18n.translate import Translator
from orchestrator.domain.effect import Outcome, Pending, Provenance
from orchestrator.gate.normalize.sums import RawSum, find_largest_sum
from tests.unit.gate.gate_kit import made
from tests.unit.gate.gate_kit import refusal as refusal_of
from tests.unit.gate.sandbox_kit import Desk
from tests.unit.spine_kit import VERA, effect

ROW = {"PRODUCT_NAME": "Кабель", "QUANTITY": 2}


def told(found: Outcome, locale: Any = "ru") -> str:
    """What the person reads."""
    assert found.reason is not None
    return Translator(locale).translate_notice(found.reason)


@pytest.mark.parametrize("value", ["5000|USD", "5000 USD", "$5 000", "5 тыс. долларов"])
async def test_a_sum_in_another_currency_is_not_written_over_one_that_is_there(desk: Desk, value: str) -> None:
    found = await desk.refused("crm.deal.update", {"id": 423, "fields": {"OPPORTUNITY": value}})
    assert told(found) == (
        "Сделка №423 в рублях, а сумма названа в долларах. Назовите сумму в рублях или напишите: "
        "«смени валюту сделки 423 на доллары и сумму на 5 000»"
    )
    assert "roubles" in told(found, "en")
    assert "set CURRENCY_ID to USD" in found.detail


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("crm.item.update", {"entityTypeId": 2, "id": 423, "fields": {"opportunity": "5000|USD"}}),
        ("crm.deal.productrows.set", {"id": 423, "rows": [{**ROW, "PRICE": "100|USD"}]}),
        ("crm.item.productrow.add", {"fields": {"ownerId": 423, "ownerType": "D", "productName": "Кабель", "price": "100 евро"}}),
        ("crm.deal.add", {"fields": {"TITLE": "Экспорт", "OPPORTUNITY": "3000|EUR", "CURRENCY_ID": "USD"}}),
        ("batch", {"cmd": {"a": "crm.deal.update?id=423&fields[OPPORTUNITY]=5000%20USD"}}),
        ("batch", {"cmd": ["crm.deal.update?id=423&fields[OPPORTUNITY]=5000|USD"]}),
    ],
)
async def test_nor_in_any_other_form(desk: Desk, method: str, params: dict[str, Any]) -> None:
    found = await desk.refused(method, params)
    assert " назван" in told(found)


@pytest.mark.parametrize("value", ["150000|RUB", "150 000 рублей", 150000])
async def test_the_same_currency_is_a_plain_number(desk: Desk, value: Any) -> None:
    await desk.done("crm.deal.update", {"id": 423, "fields": {"OPPORTUNITY": value}})
    assert desk.wire.writes()[-1] == ("crm.deal.update", {"id": 423, "fields": {"OPPORTUNITY": 150000}})


async def test_roubles_do_not_become_dollars(desk: Desk) -> None:
    """The other way round: the deal is in dollars."""
    await desk.done("crm.deal.update", {"id": 423, "fields": {"OPPORTUNITY": 8000, "CURRENCY_ID": "USD"}})
    found = await desk.refused("crm.deal.update", {"id": 423, "fields": {"OPPORTUNITY": "9000|RUB"}})
    assert told(found).startswith("Сделка №423 в долларах, а сумма названа в рублях.")


async def test_both_at_once_are_shown_and_done(desk: Desk) -> None:
    pending = await desk.wish("crm.deal.update", {"id": 423, "fields": {"OPPORTUNITY": "5000 долларов", "CURRENCY_ID": "USD"}})
    lines = {line["field"]: (line["before"], line["after"]) for line in desk.card(pending).preview["lines"]}
    assert [text.replace("\u00a0", " ") for text in lines["OPPORTUNITY"]] == ["275 000 ₽", "5 000 $"]
    assert "CURRENCY_ID" in lines
    done = await desk.approve(pending)
    assert done.status == "succeeded"
    deal = await desk.ask("crm.deal.get", id=423)
    assert (deal["OPPORTUNITY"], deal["CURRENCY_ID"]) == ("5000.00", "USD")


@pytest.mark.parametrize(
    ("method", "params", "sent"),
    [
        ("crm.deal.add", {"fields": {"TITLE": "Экспорт", "OPPORTUNITY": "3000|EUR"}}, {"OPPORTUNITY": 3000, "CURRENCY_ID": "EUR"}),
        ("crm.lead.add", {"fields": {"TITLE": "Экспорт", "OPPORTUNITY": "3000,50 евро"}}, {"OPPORTUNITY": 3000.5, "CURRENCY_ID": "EUR"}),
        (
            "crm.item.add",
            {"entityTypeId": 2, "fields": {"title": "Экспорт", "opportunity": "3000 EUR"}},
            {"opportunity": 3000, "currencyId": "EUR"},
        ),
    ],
)
async def test_a_new_record_gets_the_currency(desk: Desk, method: str, params: dict[str, Any], sent: dict[str, Any]) -> None:
    assert (await desk.done(method, params)).status == "succeeded"
    assert desk.wire.writes()[-1][1]["fields"].items() >= sent.items()


async def test_commands_of_a_batch_get_it_too(desk: Desk) -> None:
    """A new deal in euros, whose sum a later command changes."""
    add = "crm.deal.add?fields[TITLE]=Экспорт&fields[OPPORTUNITY]=3000|EUR"
    later = "crm.deal.update?id=$result[a]&fields[OPPORTUNITY]=1500|{}"
    assert (await desk.done("batch", {"cmd": {"a": add, "b": later.format("EUR")}})).status == "succeeded"
    deal = (await desk.ask("crm.deal.list", filter={"TITLE": "Экспорт"}))[0]
    assert deal["CURRENCY_ID"] == "EUR"
    await desk.refused("batch", {"cmd": {"a": add, "b": later.format("USD")}})


async def test_what_cannot_be_read_for_certain_is_not_sent(desk: Desk) -> None:
    """The portal would make 1 of it."""
    await desk.refused("crm.deal.update", {"id": 423, "fields": {"OPPORTUNITY": "1,500 долларов"}})


@pytest.mark.parametrize(
    ("text", "fields", "said"),
    [
        ("поставь сделке 423 сумму 5000 долларов", {"OPPORTUNITY": 5000}, "смени валюту сделки 423 на доллары и сумму на 5 000"),
        ("сделке 423 сумму 100 тыс. $", {"OPPORTUNITY": "100000"}, "а сумма названа в долларах"),
        ("подними сумму сделки 423 на 500 долларов", {"OPPORTUNITY": 275500}, "а названо в долларах. Пересчитайте"),
        ("поставь сделке 423 сумму 5000 рублей", {"OPPORTUNITY": 5000}, ""),
        ("поставь сделке 423 сумму 300 000, аванс был 5000 долларов", {"OPPORTUNITY": 300000}, ""),
        ("смени валюту сделки 423 на доллары и сумму на 5000 долларов", {"OPPORTUNITY": 5000, "CURRENCY_ID": "USD"}, ""),
    ],
)
async def test_a_bare_number_of_the_model_is_held_against_the_words(desk: Desk, text: str, fields: dict[str, Any], said: str) -> None:
    """A model that leaves the currency out of its number does not lose it."""
    given = effect(
        "crm.deal.update",
        {"id": 423, "fields": fields},
        provenance=Provenance(message=None, targets=frozenset({"deal:423"}), person_text=text),
    )
    found = await desk.world.submit(desk.session, given, actor=VERA)
    if not said:
        assert isinstance(found, Pending)
        return
    assert isinstance(found, Outcome)
    assert said in told(found)
    assert desk.wire.writes() == []


async def test_texts_and_filters_stay(desk: Desk) -> None:
    """A comment keeps its words; what is looked for is compared with a number."""
    await desk.done("crm.deal.update", {"id": 423, "fields": {"COMMENTS": "5000 USD"}})
    assert desk.wire.writes()[-1][1]["fields"] == {"COMMENTS": "5000 USD"}
    await desk.done("crm.deal.list", {"filter": {">OPPORTUNITY": "5000|USD"}})
    assert any(">OPPORTUNITY': 5000" in str(line) for line in desk.wire.sent)


def test_the_largest_sum_is_never_nothing() -> None:
    """Zero is a sum like another; only what cannot be read counts as the largest."""
    assert find_largest_sum([RawSum(value=0), RawSum(value="500"), RawSum(value=-700)]) == RawSum(value=-700)
    assert find_largest_sum([RawSum(value="много"), RawSum(value="500")]) == RawSum(value="много")


@pytest.mark.parametrize(
    ("written", "amount", "currency"),
    [
        ("1 500 000 USD", 1_500_000, "USD"),
        ("1\u00a0500\u00a0000 USD", 1_500_000, "USD"),
        ("1,500,000 USD", 1_500_000, "USD"),
        ("1.500.000 EUR", 1_500_000, "EUR"),
        ("$1,500,000", 1_500_000, "USD"),
        ("1 500 000,50 ₽", 1_500_000.5, "RUB"),
        ("1,500,000.50 EUR", 1_500_000.5, "EUR"),
        ("1500000|USD", 1_500_000, "USD"),
    ],
)
def test_grouped_digits_with_a_currency_become_the_number_they_are(written: str, amount: float, currency: str) -> None:
    """Neither a thousandth of it nor a thousand times as much reaches the portal."""
    found = made(effect("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": written}}))
    assert (found.params["fields"], found.named_currencies) == ({"OPPORTUNITY": amount}, (("OPPORTUNITY", currency),))


@pytest.mark.parametrize("written", ["1,500 USD", "1.500 USD", "1,500 руб"])
def test_one_group_that_may_be_decimals_is_refused_with_its_currency(written: str) -> None:
    """1.50 or 1500: the model is told which shape is clear."""
    assert refusal_of("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": written}}) == "gate-param-invalid"


@pytest.mark.parametrize("written", ["1 500 000", "1,500.000,50 USD", "1 500 000|USD"])
def test_grouped_digits_that_are_no_clear_sum_are_not_made_one(written: str) -> None:
    """They stay as they are written, and a limit takes what it cannot read for more than itself."""
    found = made(effect("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": written}}))
    assert (found.params["fields"], found.named_currencies) == ({"OPPORTUNITY": written}, ())
    assert RawSum(value=written).plain == "?"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (999, "999 RUB"),
        ("1000.00", "1 000 RUB"),
        (1_500_000, "1 500 000 RUB"),
        ("1500000.5", "1 500 000.50 RUB"),
        ("-1234567.891", "-1 234 567.89 RUB"),
        ("много", "? RUB"),
    ],
)
def test_a_sum_is_shown_in_groups_of_three(value: object, text: str) -> None:
    """One digit too many is seen only so."""
    assert RawSum(value=value, currency="RUB").text == text
