"""A discount given alone lowers the price, and with it the sum of the deal."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.effect import Pending
from tests.unit.gate.sandbox_kit import Desk, a_desk

DEAL = 410
PUMP = {"PRODUCT_NAME": "Насос", "PRICE": 12400, "QUANTITY": 2}
TEN_OFF = {"DISCOUNT_TYPE_ID": 2, "DISCOUNT_RATE": 10}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with a_desk(tmp_path) as made:
        yield made


async def change(desk: Desk, row: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """What is sent for a change of the only row of the deal, after its card was approved."""
    await desk.world.client.call("crm.deal.productrows.set", {"id": DEAL, "rows": [row]})
    desk.wire.sent.clear()
    waiting = await desk.wish("crm.item.productrow.update", {"id": 1, "fields": fields})
    assert isinstance(waiting, Pending), waiting
    assert (await desk.approve(waiting)).status == "succeeded"
    ((_, sent),) = desk.wire.writes()
    return dict(sent["fields"])


@pytest.mark.parametrize(
    ("row", "fields", "price"),
    [
        (PUMP, {"discountTypeId": 2, "discountRate": 5}, 11780),
        (PUMP, {"discountRate": 5}, 11780),
        (PUMP, {"discountTypeId": 1, "discountSum": 400}, 12000),
        ({**PUMP, "PRICE": 11160, **TEN_OFF}, {"discountRate": 5}, 11780),
        ({**PUMP, "PRICE": 11160, **TEN_OFF}, {"discountRate": 0}, 12400),
        ({**PUMP, "TAX_RATE": 20}, {"discountTypeId": 2, "discountRate": 5}, 11780),
    ],
)
async def test_a_discount_alone_comes_with_its_price(desk: Desk, row: dict[str, Any], fields: dict[str, Any], price: float) -> None:
    """Of the price without the discount that the row has already."""
    sent = await change(desk, row, fields)
    assert sent == {**fields, "price": price}
    deal = await desk.ask("crm.deal.get", id=DEAL)
    assert float(deal["OPPORTUNITY"]) == 2 * price


async def test_a_row_that_says_nothing_of_a_discount_is_sent_as_it_is(desk: Desk) -> None:
    assert await change(desk, PUMP, {"quantity": 3}) == {"quantity": 3}


DISCOUNTED = {**PUMP, "PRICE": 11780, "DISCOUNT_TYPE_ID": 2, "DISCOUNT_RATE": 5, "DISCOUNT_SUM": 620}


def build_set(*rows: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return "crm.deal.productrows.set", {"id": DEAL, "rows": list(rows)}


def build_add(**fields: Any) -> tuple[str, dict[str, Any]]:
    return "crm.item.productrow.add", {"fields": {"ownerId": DEAL, "ownerType": "D", "productName": "Насос", "quantity": 2, **fields}}


@pytest.mark.parametrize(
    ("call", "left", "before", "after"),
    [
        (build_add(price=12400, discountTypeId=2, discountRate=5), "11 780", "5.00, discountSum 620.00", "5.00, discountSum 652.63"),
        (build_add(price="12400", discountRate="5"), "11 780", "5.00, discountSum 620.00", "5.00, discountSum 652.63"),
        (build_add(price=12400, discountTypeId=1, discountSum=400), "12 000", "3.23, discountSum 400.00", "3.13, discountSum 400.00"),
        (build_add(price=12400, discountRate=5, discountSum=620), "11 780", "5.00, discountSum 620.00", "5.00, discountSum 652.63"),
        (build_add(price=12000, discountRate=5, taxRate=20), "11 400", "5.00, discountSum 500.00", "5.00, discountSum 526.32"),
        (build_add(price=12400, discountTypeId=1, discountSum=400, taxRate=20), "none", "none", "3.73, discountSum 400.00"),
        (build_add(price=12400, discountRate=100), "0", "none", "none"),
        (build_set({**PUMP, **TEN_OFF}), "11 160", "10.00, discountSum 1240.00", "10.00, discountSum 1377.78"),
        (build_set(DISCOUNTED, {**PUMP, **TEN_OFF}), "11 160", "10.00, discountSum 1240.00", "10.00, discountSum 1377.78"),
    ],
)
async def test_a_price_beside_a_discount_must_say_whether_it_is_after_it(
    desk: Desk, call: tuple[str, dict[str, Any]], left: str, before: str, after: str
) -> None:
    """Nothing is sent; the person reads what would be paid, the model both complete rows."""
    found = await desk.refused(*call)
    assert found.reason is not None
    assert (found.reason.code, found.reason.args["left"]) == ("gate-row-discount", left)
    assert before in found.reason.args["before"]
    assert after in found.reason.args["after"]


@pytest.mark.parametrize(
    ("call", "total"),
    [
        (build_add(price=11780, discountTypeId=2, discountRate=5, discountSum=620), 23560),
        (build_add(price=11780, discountTypeId=1, discountRate=5, discountSum=620), 23560),
        (build_add(price=80000, discountRate=20, discountSum=16666.67, taxRate=20, taxIncluded="Y"), 160000),
        (build_add(price=12000, discountTypeId=1, discountSum=400, discountRate=3.23), 24000),
        (build_add(price=12400, discountTypeId=2, discountRate=0), 24800),
        (build_add(price=0, discountTypeId=2, discountRate=100), 0),
        (build_set(DISCOUNTED), 23560),
    ],
)
async def test_a_complete_row_is_sent_as_it_is_and_its_card_has_the_sum_of_the_deal(
    desk: Desk, call: tuple[str, dict[str, Any]], total: float
) -> None:
    """Also in the vendor's own form: rate, and an amount without tax."""
    await desk.world.client.call("crm.deal.productrows.set", {"id": DEAL, "rows": []})
    desk.wire.sent.clear()
    waiting = await desk.wish(*call)
    assert isinstance(waiting, Pending), waiting
    (after,) = [line["after"] for line in desk.card(waiting).preview["lines"] if line["field"].startswith("ROWS_TOTAL")]
    assert (await desk.approve(waiting)).status == "succeeded"
    assert desk.wire.writes() == [call]
    assert float((await desk.ask("crm.deal.get", id=DEAL))["OPPORTUNITY"]) == total
    assert "".join(sign for sign in after if sign.isdigit()) == f"{total:.0f}"


async def test_rows_that_stay_keep_their_discount(desk: Desk) -> None:
    """A list read from the portal and written back with another quantity: the portal may give the rate alone."""
    row = {**PUMP, "PRICE": 11160, **TEN_OFF}
    await desk.world.client.call(*build_set(row))
    assert (await desk.done(*build_set({**row, "QUANTITY": 3}))).status == "succeeded"


@pytest.mark.parametrize("price", [11780, 12400])
async def test_a_changed_row_may_have_the_price_that_its_discount_leaves(desk: Desk, price: float) -> None:
    """12 400 less 5 % is 11 780: another price beside the discount is not understood."""
    await desk.world.client.call(*build_set(PUMP))
    found = await desk.wish("crm.item.productrow.update", {"id": 1, "fields": {"price": price, "discountTypeId": 2, "discountRate": 5}})
    assert isinstance(found, Pending) == (price == 11780)


@pytest.mark.parametrize(
    "call", [build_add(discountTypeId=2, discountRate=5), build_set({"PRODUCT_NAME": "Насос", "DISCOUNT_RATE": 5, "QUANTITY": 1})]
)
async def test_a_discount_of_no_price_asks_for_it(desk: Desk, call: tuple[str, dict[str, Any]]) -> None:
    assert getattr((await desk.refused(*call)).reason, "code", "") == "gate-row-price"


async def test_a_discount_whose_price_cannot_be_known_asks_for_it(desk: Desk) -> None:
    """An amount is one without tax; whether the person means it so is not known."""
    await desk.world.client.call(*build_set({**PUMP, "TAX_RATE": 20}))
    found = await desk.refused("crm.item.productrow.update", {"id": 1, "fields": {"discountTypeId": 1, "discountSum": 400}})
    assert getattr(found.reason, "code", "") == "gate-row-price"


async def test_a_batch_is_held_to_the_same(desk: Desk) -> None:
    """A discount alone gets its price there, too; a row that does not say which price it means stops all of it."""
    await desk.world.client.call(*build_set(PUMP))
    change = "crm.item.productrow.update?id=1&fields[discountRate]=5"
    add = "crm.item.productrow.add?fields[ownerId]=410&fields[ownerType]=D&fields[price]=12400&fields[discountRate]=5"
    found = await desk.wish("batch", {"cmd": {"a": change, "b": add}})
    assert getattr(found.reason, "args", {}).get("reason") == "gate-row-discount"
    assert (await desk.done("batch", {"cmd": {"a": change}})).status == "succeeded"
    assert float((await desk.ask("crm.deal.get", id=DEAL))["OPPORTUNITY"]) == 23560
