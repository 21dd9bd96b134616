from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from bitrix.errors import Refused
from orchestrator.analytics.products import ProductRow, ProductsUnread
from orchestrator.performers.product_rows import PortalProducts


class FakeReads:
    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[Any] = []

    async def load_lists(self, reads: Sequence[Any]) -> Any:
        self.asked += reads
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def test_rows_are_read_deal_by_deal_in_one_go() -> None:
    row = {"productId": 7, "productName": "Насос", "price": "90.5", "quantity": 2, "discountSum": 9.5}
    reads = FakeReads([[row, {"productName": "Услуга", "price": None, "quantity": "много", "productId": 0}], []])
    rows = await PortalProducts(reads).read_product_rows([1, 2])  # type: ignore[arg-type]
    assert rows == [
        ProductRow(deal=1, product=7, name="Насос", quantity=Decimal(2), price=Decimal("90.5"), discount=Decimal("9.5")),
        ProductRow(deal=1, product=0, name="Услуга", quantity=Decimal(0), price=Decimal(0)),
    ]
    assert [params["filter"] for _, params in reads.asked] == [{"=ownerType": "D", "=ownerId": 1}, {"=ownerType": "D", "=ownerId": 2}]


async def test_a_portal_that_refuses_is_told() -> None:
    with pytest.raises(ProductsUnread, match="ACCESS_DENIED"):
        await PortalProducts(FakeReads(Refused("ACCESS_DENIED", "нет", 403))).read_product_rows([1])  # type: ignore[arg-type]
