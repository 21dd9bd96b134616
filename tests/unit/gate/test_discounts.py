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


@pytest.mark.parametrize(
    ("row", "fields"),
    [
        (PUMP, {"discountTypeId": 2, "discountRate": 5, "price": 12000}),
        (PUMP, {"quantity": 3}),
        ({**PUMP, "TAX_RATE": 20}, {"discountTypeId": 1, "discountSum": 400}),
    ],
)
async def test_a_price_that_was_given_or_cannot_be_known_stays(desk: Desk, row: dict[str, Any], fields: dict[str, Any]) -> None:
    assert await change(desk, row, fields) == fields
