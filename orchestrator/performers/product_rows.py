"""Reads the product rows of deals for a report: one list a deal, fifty lists a request."""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Final

from bitrix.errors import BitrixError
from orchestrator.analytics.products import ProductRow, ProductsUnread
from orchestrator.directory.portal_reads import PortalReader
from state.stored import JsonObject

_METHOD: Final = "crm.item.productrow.list"
_DEAL: Final = "D"


class PortalProducts:
    def __init__(self, reads: PortalReader) -> None:
        self._reads = reads

    async def read_product_rows(self, deals: Sequence[int]) -> list[ProductRow]:
        lists = [(_METHOD, {"filter": {"=ownerType": _DEAL, "=ownerId": number}}) for number in deals]
        try:
            rows_by_deal = await self._reads.load_lists(lists)
        except BitrixError as error:
            raise ProductsUnread(f"the portal does not give product rows now: {error.code}") from None
        return [parse_row(row, deal) for deal, rows in zip(deals, rows_by_deal, strict=True) for row in rows if isinstance(row, dict)]


def parse_row(row: JsonObject, deal: int) -> ProductRow:
    """What is no number counts as none."""
    product = str(row.get("productId") or "")
    return ProductRow(
        deal=deal,
        product=int(product) if product.isdecimal() else 0,
        name=str(row.get("productName") or ""),
        quantity=_to_decimal(row.get("quantity")),
        price=_to_decimal(row.get("price")),
        discount=_to_decimal(row.get("discountSum")),
    )


def _to_decimal(number: object) -> Decimal:
    try:
        amount = Decimal(str(number if number is not None else 0))
    except InvalidOperation:
        return Decimal(0)
    return amount if amount.is_finite() else Decimal(0)
